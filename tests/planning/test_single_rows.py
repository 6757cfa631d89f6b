"""A single question whose answers are rows on a form: what is known of it counts, and other releases compare."""

import numpy as np
import pytest

import dpstrata as dps

SIZES = [3000, 5000]


@pytest.mark.parametrize(
    ("questions", "told"),
    [((0, 10), {"sds": {"answer": [1.0, 1.2]}}), ("yes_no", {"proportions": {"answer": [0.1, 0.2]}})],
)
def test_spreads_of_the_strata_are_those_of_the_only_question(questions, told):
    (values,) = next(iter(told.values())).values()
    frame = {"stratum": ["n", "s"], "size": SIZES, "sd" if "sds" in told else "proportion": values}
    import pandas as pd

    strata = dps.Strata.from_frame(pd.DataFrame(frame))
    bare = dps.Strata(SIZES, names=["n", "s"])
    options = {"epsilon": 1, "total": 300, "questions": questions, "forms": "one"}
    plan = dps.design(strata, **options)
    same = dps.design(bare, spreads=dps.Spreads(bare, questions, **told), **options)
    assert np.array_equal(plan.sample_sizes, same.sample_sizes)
    assert plan.variance == pytest.approx(same.variance, rel=1e-12)
    assert plan.variance < 0.8 * dps.design(bare, **options).variance


@pytest.mark.parametrize(
    "question", [dps.Question("q", "yes_no"), dps.Question("q", "scale", lower=1, upper=5)]
)
@pytest.mark.parametrize("options", [{}, {"forms": "one"}, {"release": "sums", "device_epsilon": 3}])
def test_releases_are_compared_whatever_the_question(question, options):
    plan = dps.design(dps.Strata(SIZES), questions=question, epsilon=1, total=400, **options)
    compared = dps.compare_releases(plan, device_epsilon=3)
    assert {each.release for each in compared.options} >= {"microdata", "sums"}


def test_an_empty_cell_is_no_noised_answer(tmp_path):
    plan = dps.design(
        dps.Strata([300, 500], names=["n", "s"]), questions=dps.Question("q", "yes_no"), epsilon=1, total=90
    )
    path = tmp_path / "noised.csv"
    path.write_text("stratum,q\nn,yes\ns,no answer\nn,\n")
    with pytest.raises(dps.InputError, match="column 'q', line 4: no noised answer"):
        dps.estimate(plan, path)


def test_the_na_of_pandas_is_no_answer():
    import pandas as pd

    plan = dps.design(dps.Strata([300, 500]), questions="yes_no", epsilon=1, total=90)
    with pytest.raises(dps.InputError, match="yes or no"):
        dps.randomize(plan, "1", pd.NA)


BLANK = dps.Question("q", "yes_no")
HOME = dps.Question("home", "category", categories=["rent", "own", "other"], blank=False)
TOLD = {
    "a deviation of yes and no": ("yes_no", {"sd": [0.3, 0.4]}, {"answer": [0.1, 0.2]}),
    "a share of yes beside blanks": (BLANK, {"proportion": [0.1, 0.3]}, {"q": [0.1, 0.3]}),
    "shares of categories": (
        HOME,
        {"proportion:rent": [0.2, 0.3], "proportion:own": [0.7, 0.7], "proportion:other": [0.1, 0.0]},
        {"home": [[0.2, 0.7, 0.1], [0.3, 0.7, 0.0]]},
    ),
}


def from_columns(**columns):
    import pandas as pd

    return dps.Strata.from_frame(pd.DataFrame({"stratum": ["n", "s"], "size": SIZES, **columns}))


@pytest.mark.parametrize("case", TOLD)
def test_columns_of_strata_are_what_is_known_of_the_only_question(case):
    questions, columns, proportions = TOLD[case]
    strata, bare = from_columns(**columns), dps.Strata(SIZES, names=["n", "s"])
    options = {"epsilon": 1, "total": 300, "questions": questions, "forms": "one"}
    plan = dps.design(strata, **options)
    same = dps.design(bare, spreads=dps.Spreads(bare, questions, proportions=proportions), **options)
    # the shares that a deviation means add up to the same for N people, and so are a little smaller
    assert plan.variance == pytest.approx(same.variance, rel=1e-3 if "sd" in columns else 1e-12)


KNOWN = {
    "a scale": ((1, 5, 1), {"sds": {"answer": [1.0, 1.2]}}, {"sd": [1.0, 1.2]}),
    "yes and no": ("yes_no", {"proportions": {"answer": [0.1, 0.2]}}, {"proportion": [0.1, 0.2]}),
    "categories": (
        HOME,
        {"proportions": {"home": [[0.2, 0.7, 0.1], [0.3, 0.7, 0.0]]}},
        {"proportion:rent": [0.2, 0.3], "proportion:own": [0.7, 0.7], "proportion:other": [0.1, 0.0]},
    ),
}


@pytest.mark.parametrize("case", KNOWN)
def test_spreads_of_one_question_are_the_columns_of_strata_and_ask_for_no_form(case, tmp_path):
    questions, spreads, columns = KNOWN[case]
    bare = dps.Strata(SIZES, names=["n", "s"])
    asked = {"questions": questions, "epsilon": 1, "total": 300}
    plan = dps.design(bare, spreads=dps.Spreads(bare, questions, **spreads), **asked)
    same = dps.design(from_columns(**columns), **asked)
    assert plan.mechanism.name == same.mechanism.name
    assert plan.sample_sizes.tolist() == same.sample_sizes.tolist()
    assert plan.variance == pytest.approx(same.variance, rel=1e-12)
    assert plan.expected_mean == same.expected_mean
    assert set(plan.strata.sd_sources) == {"prior"}
    plan.save(tmp_path / "d.json")
    assert dps.load_design(tmp_path / "d.json") == plan


def test_where_nothing_is_known_of_one_question_the_worst_is_assumed():
    bare = dps.Strata(SIZES, names=["n", "s"])
    told = dps.Spreads(bare, (0, 10), sds={"answer": [1.5, np.nan]})
    plan = dps.design(bare, spreads=told, questions=(0, 10), epsilon=1, total=300)
    assert plan.strata.sd_sources == ("prior", "bound")
    assert plan.sds == pytest.approx([1.5, 5.0], rel=1e-3)


def test_a_deviation_of_categories_is_their_spread():
    plan = dps.design(from_columns(sd=[0.4, 0.5]), questions=HOME, epsilon=1, total=300, forms="one")
    assert plan.sds == pytest.approx([0.4, 0.5])


def test_one_share_of_a_question_that_may_be_left_blank(tmp_path):
    """Of the others, no and a blank, nothing is known: they share the rest equally."""
    share = np.array([0.1, 0.3])
    others = (1 - share) / 2
    for strata, more in (
        (from_columns(proportion=share), {}),
        (dps.Strata(SIZES[:1], names=["n"]), {"proportion": 0.1}),
    ):
        plan = dps.design(strata, questions=BLANK, epsilon=1, total=300, **more)
        N = plan.strata.sizes
        half = (share * (1 - share) + 2 * others * (1 - others)) / 2
        assert plan.sds == pytest.approx(np.sqrt(half[: len(N)] * N / (N - 1)))
        plan.save(tmp_path / "d.json")
        assert dps.load_design(tmp_path / "d.json") == plan
    with pytest.raises(dps.InputError, match="Give the strata a column for each category instead"):
        dps.design(strata, questions=HOME, epsilon=1, total=300, proportion=0.1)


SCALE = dps.Question("q", "scale", lower=1, upper=5)


@pytest.mark.parametrize(
    ("asked", "reached"),
    [
        ({"target_se": 0.15}, lambda q: q.standard_error / 0.15),
        ({"target_margin": 0.3}, lambda q: q.margin / 0.3),
        ({"target_cv": 0.05, "expected_mean": 3.0}, lambda q: q.standard_error / 0.15),
    ],
)
def test_targets_of_the_survey_are_those_of_its_only_question(asked, reached, tmp_path):
    plan = dps.design(dps.Strata(SIZES), questions=SCALE, epsilon=1, forms="one", **asked)
    (question,) = plan.questions
    assert question.target_met
    assert 0.98 < reached(question) <= 1.0
    plan.save(tmp_path / "d.json")
    assert dps.load_design(tmp_path / "d.json") == plan


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"target_se": 0.1, "total": 90}, "targets of questions determine how many people are invited"),
        ({"target_se": 0.1, "target_margin": 0.2}, "must have one target"),
        ({"target_se": 0.1, "target_cv": 0.2, "expected_mean": 3.0}, "target_cv=0.2 cannot|target_cv cannot"),
        ({"target_cv": 0.2}, "must be given together"),
        (
            {"total": 90, "local_epsilon_cap": 2.0},
            "local_epsilon_cap is for a single question that is noised",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_of_the_only_question_too(asked, message):
    with pytest.raises(dps.InputError, match=message):
        dps.design(dps.Strata(SIZES), questions=SCALE, epsilon=1, forms="one", **asked)


def test_amounts_of_the_only_question_are_clipped():
    """Half of the people would answer twice the upper end: the mean of clipped answers is estimated."""
    options = {"questions": (0, 10), "epsilon": 8, "total": 400, "forms": "one"}
    strata = dps.Strata([400], names=["n"])
    plan = dps.design(strata, clip=True, prior="excess:5", **options)
    assert "clipped to 0–10" in repr(plan)
    answers = np.repeat([0.0, 20.0], 200)
    result = dps.simulate(plan, [{"answer": answers}], replications=200, seed=1)
    assert result.agrees()
    reports = [dps.randomize(plan, "n", float(each)) for each in answers]
    assert len(reports) == 400
    with pytest.raises(dps.InputError, match="the answer must be a number from 0 to 10"):
        dps.randomize(dps.design(strata, **options), "n", 20.0)


def test_a_missing_column_of_domains_is_refused_beside_targets_of_questions():
    asked = [dps.Question("a", "yes_no", target_se=0.06), SCALE]
    with pytest.raises(dps.InputError, match="domains must name columns of the strata"):
        dps.design(dps.Strata(SIZES), questions=asked, epsilon=1, domains=["region"])
