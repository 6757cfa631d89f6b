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
    return {"questionnaire": questionnaire, "spreads": spreads, "epsilon": 1}


def quality(plan, errors):
    """√(Σ w·SE²/Σ w), standard errors in units of each question's range."""
    questions = list(plan.inputs.questionnaire)
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
    ranges = [each.range for each in plan.inputs.questionnaire]
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


def test_evaluate_of_one_question_has_no_questions():
    scored = dps.evaluate(dps.Strata([100, 200], [0.3, 0.2]), [20, 20], epsilon=1)
    assert scored.questions == ()
    assert "questions" not in scored.to_dict()
    assert len(scored.text_tables()) == 1


def test_evaluate_refuses_targets_of_questions():
    questionnaire = dps.Questionnaire([question("a", "yes_no", target_se=0.05)])
    with pytest.raises(dps.InputError, match="evaluate takes no targets of questions; remove target_se and"):
        dps.evaluate(dps.Strata([100, 200]), [20, 20], questionnaire=questionnaire, epsilon=1, **SUMS)


def test_evaluate_needs_people_for_all_forms():
    questionnaire = dps.Questionnaire([question("a", "yes_no"), question("b", "yes_no")])
    with pytest.raises(dps.InputError, match="must lie between 4 and 100, got 3 in stratum 'north'"):
        dps.evaluate(
            dps.Strata([100, 200], names=["north", "south"]),
            [3, 20],
            questionnaire=questionnaire,
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
    asked = {"questionnaire": questionnaire, "forms": [["a"], ["b"]], "epsilon": 1, **SUMS}
    plan = dps.design(strata, spreads=told, total=400, **asked)
    [row] = [each for each in dps.sensitivity(plan, factor=factor).scenarios if each.scenario == "all larger"]
    scored = dps.evaluate(strata, plan.sample_sizes, spreads=true, **asked)
    assert row.variance == pytest.approx(scored.variance, rel=1e-6)
    assert row.best_variance == pytest.approx(min(scored.best.variance, scored.variance), rel=1e-6)


def test_no_spread_exceeds_what_answers_allow(strata):
    """Where nothing is known, the worst case is planned for, and nothing can be larger."""
    questionnaire = dps.Questionnaire([question(kind, kind) for kind in KINDS])
    plan = dps.design(strata, questionnaire=questionnaire, epsilon=1, total=300, **SUMS)
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
        questionnaire=questionnaire,
        forms=[["a"], ["b"]],
        epsilon=1,
        total=[50, 60],
        **SUMS,
    )
    assert [row["standard_error"] for row in rows] == [None, None]
    assert "every form needs at least 2 people in every stratum" in rows[0]["problem"]


def test_commands(tmp_path, strata):
    asked = [
        EXAMPLES / "six-occupations.csv",
        *("--questionnaire", EXAMPLES / "income5.csv", "--spreads", EXAMPLES / "income5-spreads.csv"),
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
    refused = run(tmp_path, "compare-releases", "design.json")
    assert refused.returncode != 0
    assert "supports one question only" in " ".join(refused.stderr.split())
