"""What-if questions about a questionnaire, the figures it must reach, and every sentence that refuses one."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

import dpstrata as dps
from commands import run
from dpstrata.allocation.variances import question_parts, variance_parts
from questionnaires import question

EXAMPLES = Path(dps.__file__).parent / "examples"
SUMS = {"release": "sums", "device_epsilon": 3.0}
KINDS = ("yes_no", "category", "scale", "number")


@pytest.fixture(scope="module")
def strata():
    with pytest.warns(dps.DpstrataWarning, match="no spread column"):
        return dps.Strata.from_file(EXAMPLES / "six-occupations.csv")


def example(name, strata):
    questionnaire = dps.Questionnaire.from_file(EXAMPLES / f"{name}.csv")
    spreads = dps.Spreads.from_file(EXAMPLES / f"{name}-spreads.csv", strata, questionnaire)
    return {"questions": questionnaire, "spreads": spreads, "epsilon": 1}


def quality(plan, errors):
    """√(Σ w·SE²/Σ w), standard errors in units of each question's range."""
    questions = list(plan.inputs.questions)
    weights = np.array([each.importance for each in questions])
    relative = np.array([error / each.range for error, each in zip(errors, questions, strict=True)])
    return math.sqrt(float((weights * relative**2).sum() / weights.sum()))


# --- figures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "E", "figure"), [("health10", 3.0, 0.067), ("health10", 5.0, 0.047), ("opinion20", 5.0, 0.069)]
)
def test_precision_of_the_examples(strata, name, E, figure):
    """Without what devices save the office; at most 5% above, and several times better than a split budget."""
    plan = dps.design(strata, **example(name, strata), at_most=600, release="sums", device_epsilon=E)
    parts = question_parts(plan.problem, plan.sample_sizes, finite_population=True, credited=False)
    variances = parts.of_population(plan.problem.terms.coefficients).total
    ranges = [each.range for each in plan.inputs.questions]
    assert quality(plan, np.sqrt(variances) * ranges) <= 1.05 * figure
    total = variance_parts(plan.problem, plan.sample_sizes, finite_population=True, credited=False).total
    assert quality(plan, np.sqrt(variances) * ranges) == pytest.approx(math.sqrt(total), rel=1e-12)
    assert quality(plan, [each.standard_error for each in plan.questions]) == pytest.approx(
        plan.standard_error, rel=1e-12
    )
    assert quality(plan, [each.if_split for each in plan.questions]) > 2 * plan.standard_error
    assert plan.certificate.optimal
    assert int(plan.sample_sizes.sum()) == sum(int(form.sample_sizes.sum()) for form in plan.forms) <= 600


# --- what if ---------------------------------------------------------------------------------------


def test_evaluate_sets_sizes_beside_the_best(strata):
    asked = example("health10", strata) | SUMS
    given = [30, 60, 100, 110, 130, 170]
    scored = dps.evaluate(strata, given, **asked)
    assert scored.best.total == sum(given)
    assert scored.ratio > 1.01
    assert scored.standard_error > scored.best.standard_error
    assert not scored.certificate.optimal
    errors = [
        (mine.standard_error, best.standard_error)
        for mine, best in zip(scored.questions, scored.best.questions, strict=True)
    ]
    assert all(mine > best for mine, best in errors)
    assert scored.to_dict()["questions"][0]["best_standard_error"] == errors[0][1]
    assert [table.header[0] for table in scored.text_tables()] == ["stratum", "question"]
    assert quality(scored.best, [mine for mine, _ in errors]) == pytest.approx(
        scored.standard_error, rel=1e-12
    )
    again = dps.evaluate(strata, scored.best.sample_sizes, **asked)
    assert again.ratio == 1.0
    assert again.certificate.optimal


def test_evaluate_of_one_question():
    scored = dps.evaluate(dps.Strata([100, 200], [0.3, 0.2]), [20, 20], epsilon=1)
    (asked,) = scored.questions
    assert asked.standard_error == pytest.approx(scored.standard_error, rel=1e-12)
    assert [each["name"] for each in scored.to_dict()["questions"]] == ["answer"]
    assert len(scored.text_tables()) == 1


def test_evaluate_refuses_targets_of_questions():
    questionnaire = dps.Questionnaire([question("a", "yes_no", target_se=0.05)])
    with pytest.raises(dps.InputError, match="evaluate takes no targets of questions; remove target_se and"):
        dps.evaluate(dps.Strata([100, 200]), [20, 20], questions=questionnaire, epsilon=1, **SUMS)


def test_evaluate_needs_people_for_all_forms():
    questionnaire = dps.Questionnaire([question("a", "yes_no"), question("b", "yes_no")])
    with pytest.raises(dps.InputError, match="must lie between 4 and 100, got 3 in stratum 'north'"):
        dps.evaluate(
            dps.Strata([100, 200], names=["north", "south"]),
            [3, 20],
            questions=questionnaire,
            forms=[["a"], ["b"]],
            epsilon=1,
            **SUMS,
        )


@pytest.mark.parametrize("release", [SUMS, {}], ids=["sums", "microdata"])
def test_sensitivity_to_wrong_spreads(strata, release):
    plan = dps.design(strata, **example("income5", strata), at_most=600, **release)
    doubt = dps.sensitivity(plan, factor=1.5, strata=2)
    larger, smaller, *others = doubt.scenarios
    assert larger.variance > plan.variance > smaller.variance
    assert all(each.ratio >= 1 for each in doubt.scenarios)
    assert len(others) == 4
    assert doubt.shares.sum() == pytest.approx(1.0)
    # what is added by all strata together is what all of them add
    assert (doubt.if_larger - plan.variance).sum() == pytest.approx(larger.variance - plan.variance, rel=1e-9)


def test_sensitivity_is_what_another_design_would_say(strata):
    """Scaled spreads of yes/no are those that other proportions have: the variance is that of the same sizes."""
    questionnaire = dps.Questionnaire([question("a", "yes_no"), question("b", "yes_no")])
    small, factor = 0.1, 1.5
    large = (1 - math.sqrt(1 - 4 * factor**2 * small * (1 - small))) / 2
    told, true = (
        dps.Spreads(strata, questionnaire, proportions=dict.fromkeys("ab", share)) for share in (small, large)
    )
    asked = {"questions": questionnaire, "forms": [["a"], ["b"]], "epsilon": 1, **SUMS}
    plan = dps.design(strata, spreads=told, total=400, **asked)
    [row] = [each for each in dps.sensitivity(plan, factor=factor).scenarios if each.scenario == "all larger"]
    scored = dps.evaluate(strata, plan.sample_sizes, spreads=true, **asked)
    assert row.variance == pytest.approx(scored.variance, rel=1e-6)
    assert row.best_variance == pytest.approx(min(scored.best.variance, scored.variance), rel=1e-6)


def test_no_spread_exceeds_what_answers_allow(strata):
    """Where nothing is known, the worst case is planned for, and nothing can be larger."""
    questionnaire = dps.Questionnaire([question(kind, kind) for kind in KINDS])
    plan = dps.design(strata, questions=questionnaire, epsilon=1, total=300, **SUMS)
    larger = dps.sensitivity(plan, factor=3.0, strata=0).scenarios[0]
    assert larger.variance == pytest.approx(plan.variance, rel=1e-12)


def test_sweep_over_budgets(strata):
    rows = dps.sweep(
        strata, **example("income5", strata) | SUMS | {"device_epsilon": [1.0, 3.0, 6.0]}, total=[300, 600]
    )
    assert [(row["device_epsilon"], row["total"]) for row in rows] == list(
        itertools.product([1.0, 3.0, 6.0], [300, 600])
    )
    errors = [row["standard_error"] for row in rows]
    assert errors == sorted(errors, reverse=True)


def test_sweep_says_why_there_is_none():
    questionnaire = dps.Questionnaire([question("a", "yes_no"), question("b", "yes_no")])
    rows = dps.sweep(
        dps.Strata([3, 200]),
        questions=questionnaire,
        forms=[["a"], ["b"]],
        epsilon=1,
        total=[50, 60],
        **SUMS,
    )
    assert [row["standard_error"] for row in rows] == [None, None]
    assert "every form needs at least 2 people in every stratum" in rows[0]["problem"]


@pytest.mark.slow
def test_commands(tmp_path, strata):
    asked = [
        EXAMPLES / "six-occupations.csv",
        *("--questions", EXAMPLES / "income5.csv", "--spreads", EXAMPLES / "income5-spreads.csv"),
        *("--epsilon", "1", "--release", "sums", "--device-epsilon", "3"),
    ]
    sizes = "30,60,100,110,130,170"
    shown = run(tmp_path, "evaluate", *asked, "--sample-sizes", sizes).stdout
    assert "Standard errors of the questions, each in its own units" in " ".join(shown.split())
    scored = json.loads(run(tmp_path, "evaluate", *asked, "--sample-sizes", sizes, "--json").stdout)
    assert [each["name"] for each in scored["questions"]] == ["q1", "q2", "q3", "q4", "q5"]
    swept = json.loads(run(tmp_path, "sweep", *asked[:-1], "1,3", "--total", "300", "--json").stdout)
    assert [row["device_epsilon"] for row in swept] == [1, 3]
    assert run(tmp_path, "design", *asked, "--total", "300", "--out", "design.json").returncode == 0
    assert "all larger" in run(tmp_path, "sensitivity", "design.json").stdout
    compared = json.loads(run(tmp_path, "compare-releases", "design.json", "--json").stdout)
    assert compared["release"] == ["microdata", "sums", "mean", "sums", "mean"]
    assert compared["device_epsilon"] == [None, 3.0, 3.0, None, None]


# --- every pair of kinds ---------------------------------------------------------------------------

PAIRS = list(itertools.combinations_with_replacement(KINDS, 2))


@pytest.mark.slow
@pytest.mark.parametrize("release", [SUMS, {}], ids=["sums", "microdata"])
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_questions_of_two_kinds(first, second, release):
    """Apart, together, and one of them for everyone: all are designed, published and proven."""
    strata = dps.Strata([400, 600])
    apart, together, everyone = (
        dps.Questionnaire(
            [question("a", first, **more), question("b", second, **{**more, "everyone": False})]
        )
        for more in ({}, {"together": "t"}, {"everyone": True})
    )
    for questionnaire, forms in (
        (apart, "auto"),
        (apart, [["a"], ["b"]]),
        (together, "auto"),
        (everyone, [["b"]]),
    ):
        plan = dps.design(strata, questions=questionnaire, forms=forms, epsilon=2, total=100, **release)
        assert plan.certificate.optimal
        assert [each.name for each in plan.questions] == ["a", "b"]
        assert all(0 < each.standard_error_without_privacy < each.standard_error for each in plan.questions)
        published = [set(table.questions) for form in plan.forms for table in form.tables]
        assert bool(published) == bool(release)
        if questionnaire is together:
            assert [set(form.questions) for form in plan.forms] == [{"a", "b"}]
            assert published in ([], [{"a", "b"}])


def test_some_may_get_the_questions_for_everyone_alone(tmp_path):
    """Where another question makes rows much noisier: nobody gave such a form, and none is refused."""
    categories = [str(case) for case in range(8)]
    questionnaire = dps.Questionnaire(
        [question("a", "category", categories=categories, everyone=True), question("b", "scale")]
    )
    strata = dps.Strata([400, 600])
    plan = dps.design(strata, questions=questionnaire, epsilon=2, total=100, **SUMS)
    assert [form.questions for form in plan.forms] == [("a", "b"), ("a",)]
    assert plan.certificate.optimal
    assert plan.forms_bound.relative_gap < 0.01
    one = dps.design(strata, questions=questionnaire, forms=[["a", "b"]], epsilon=2, total=100, **SUMS)
    assert plan.standard_error <= one.standard_error
    plan.save(tmp_path / "design.json")
    assert dps.load_design(tmp_path / "design.json") == plan


# --- refused ---------------------------------------------------------------------------------------

APART = [["a"], ["b"], ["c"]]


def three(**more):
    return dps.Questionnaire([question(name, "scale", **more) for name in "abc"])


def refusal(strata, **asked):
    with pytest.raises(dps.DpstrataError) as refused:
        dps.design(strata, **{"epsilon": 1, "total": 60, **SUMS, **asked})
    return str(refused.value)


@pytest.mark.parametrize(
    ("strata", "rest"),
    [
        (
            {"sizes": [5, 3, 500]},
            "got 3 in stratum '2'. Merge small strata ('1', '2'), or give at most 1 form with forms.",
        ),
        ({"sizes": [1, 500]}, "got 1 in stratum '1'. Merge small strata ('1')."),
        (
            {"sizes": [4, 500]},
            "got 4 in stratum '1'. Merge small strata ('1'), or give at most 2 forms with forms.",
        ),
        (
            {"sizes": [90, 500], "maxs": [5, 500]},
            "Merge small strata ('1'), or give at most 2 forms with forms.",
        ),
        (
            {"sizes": [2] * 8 + [90]},
            "('1', '2', '3', '4', '5' and 3 more), or give at most 1 form with forms.",
        ),
    ],
)
def test_strata_too_small_for_their_forms(strata, rest):
    said = refusal(dps.Strata(**strata), questions=three(), forms=APART)
    assert said.startswith(
        "every form needs at least 2 people in every stratum, so 3 forms must have 6, got "
    )
    assert said.endswith(rest)


def test_forms_need_more_people_where_not_everyone_answers():
    said = refusal(dps.Strata([300, 30], response_rates=[0.5, 0.5]), questions=three(), forms=APART)
    assert "got 15 in stratum '2'. Merge small strata ('2')" in said


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"release": "mean", "forms": APART}, "release='mean' needs one form with all questions"),
        ({"device_epsilon": None, "mechanism": "laplace"}, "the office noises counts with discrete Laplace"),
        ({"release": "microdata"}, "remove device_epsilon, or use release='sums'."),
        ({"target_se": 0.1}, "give each question its own target_se (in an XLSForm: dp_target)."),
        ({"local_epsilon_cap": 3.0}, "local_epsilon_cap is for a single question"),
        ({"objective": "trace"}, "objective is for a single question"),
        ({"mechanism": "laplace"}, "by randomized response; remove mechanism."),
        ({"delta": 1e-6}, "rows of answers support pure epsilon only; remove delta, zcdp or gdp."),
        (
            {"epsilon": None, "zcdp": 1.0},
            "rows of answers support pure epsilon only; remove delta, zcdp or gdp.",
        ),
        ({"forms": [["a"], ["b"]]}, "every question must be on one form, got 'c' on none."),
        ({"forms": [["a", "b"], ["b", "c"]]}, "every question must be on one form, got 'b' on 2."),
        ({"forms": [["a", "b", "c", "d"]]}, "form 1 of forms has an unknown question 'd'."),
        ({"forms": [["a", "a", "b", "c"]]}, "form 1 of forms has a question twice."),
        ({"forms": "two"}, "forms must be auto, one, or a list of lists of question names, got 'two'."),
        (
            {"total": 5, "forms": APART},
            "total must be at least 12, two people on each of 3 forms in every stratum, got total=5.",
        ),
        ({"questions": "questions"}, "questions must be 'yes_no', a range"),
    ],
)
def test_what_does_not_go_with_a_questionnaire(asked, message):
    said = refusal(dps.Strata([400, 600]), **{"questions": three(), **asked})
    assert message in said
    assert said.count(". ") <= 2


@pytest.mark.parametrize(
    "more", [{"together": "t"}, {"everyone": True}, {}], ids=["together", "everyone", "one form"]
)
def test_too_many_rows_for_a_form(more):
    """Fifty questions on one form have more rows of answers than anything can be learned from."""
    questionnaire = dps.Questionnaire([question(f"q{j}", "scale", **more) for j in range(50)])
    said = refusal(dps.Strata([400, 600]), questions=questionnaire, forms="auto" if more else "one")
    assert "at most 1,000,000 different rows of answers together, got 8.9e+34 from 'q0', 'q1'" in said


def test_kept_together_on_several_forms():
    said = refusal(dps.Strata([400, 600]), questions=three(together="t"), forms=[["a", "b"], ["c"]])
    assert said.startswith(
        "questions that are kept together must be on one form of forms, got 'a' and 'c' on several"
    )


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 30.0])
@pytest.mark.parametrize("E", [0.1, 30.0])
@pytest.mark.parametrize("importance", [1e-6, 1e6])
def test_extreme_budgets_and_importances(epsilon, E, importance):
    questionnaire = dps.Questionnaire(
        [question("a", "yes_no", importance=importance), question("b", "scale"), question("c", "number")]
    )
    plan = dps.design(
        dps.Strata([2, 400, 600]), questions=questionnaire, forms="one", epsilon=epsilon, total=90, release="sums",
        device_epsilon=E,
    )  # fmt: skip
    assert plan.certificate.optimal
    assert all(np.isfinite(each.standard_error) for each in plan.questions)
    assert plan.forms[0].sample_sizes.sum() == 90


# --- steps that are for one question -----------------------------------------------------------------


@pytest.mark.parametrize("release", [SUMS, {}], ids=["sums", "microdata"])
def test_single_answers_are_not_noised(release):
    """That would spend the budget of a whole row on each of them."""
    plan = dps.design(dps.Strata([400, 600]), questions=three(), forms="one", epsilon=1, total=20, **release)
    with pytest.raises(dps.InputError, match="answers must be a mapping"):
        dps.randomize(plan, "1", 1.0)


def test_every_release_of_a_questionnaire_is_compared(strata):
    """Either way round the rows are the designs that someone would get who asked for that release."""
    asked = {"questions": three(), "epsilon": 1, "total": 60}
    rows, tables = dps.design(strata, **asked), dps.design(strata, **asked, **SUMS)
    for plan in (rows, tables):
        compared = dps.compare_releases(plan, device_epsilon=SUMS["device_epsilon"])
        assert [(each.release, each.device_epsilon) for each in compared.options] == [
            ("microdata", None),
            ("sums", SUMS["device_epsilon"]),
            ("mean", SUMS["device_epsilon"]),
            ("sums", None),
            ("mean", None),
        ]
        assert [each.design.variance for each in compared.options[:2]] == [rows.variance, tables.variance]
        assert compared.table()["office_sees_raw_answers"] == [False, False, False, True, True]
        trusted = compared.options[3].design
        assert [form.mechanism for form in trusted.forms] == ["none"]
        assert trusted.variance < tables.variance
        assert compared.table()["office_epsilon"][1] == SUMS["device_epsilon"]
        assert "typical standard error" in repr(compared)
        assert [each.design is plan for each in compared.options].count(True) == 1
    assert dps.compare_releases(tables).options[1].design is tables
    other = dps.compare_releases(tables, device_epsilon=1.5).options[1].design
    assert other.inputs.device_epsilon == 1.5
    assert other.variance > tables.variance
