"""Simulated questionnaires, against the plan and against surveys carried out by other code."""

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.survey.questionnaires.made_up import counts_with_moments
from questionnaires import carry_out, people, question, spreads_of

pytestmark = pytest.mark.slow

KINDS = ("yes_no", "category", "scale", "number")
ASKED = {"sums": {"release": "sums", "device_epsilon": 3.0, "epsilon": 1.0}, "microdata": {"epsilon": 5.0}}
SIZES = [60, 90]


def planned(release, *, everyone=False, rates=None, told=True, **more):
    questionnaire = dps.Questionnaire(
        [question(kind, kind, everyone=everyone and kind == "scale") for kind in KINDS]
    )
    strata = dps.Strata(SIZES, response_rates=rates)
    spreads = None
    if told:
        population = people(
            questionnaire,
            SIZES,
            {"yes_no": 2, "category": 3, "scale": 5, "number": 11},
            np.random.default_rng(3),
        )
        spreads = spreads_of(strata, questionnaire, population)
    asked = {"total": 80, **ASKED[release], **more}
    return dps.design(strata, questions=questionnaire, spreads=spreads, **asked)


@pytest.mark.parametrize("release", ASKED)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"everyone": True},
        {"rates": [0.8, 0.9]},
        {"told": False},
        {"finite_population": False},
        {"forms": "one"},
    ],
    ids=["told", "everyone", "rates", "worst case", "uncorrected", "one form"],
)
def test_simulations_keep_what_is_planned(release, more):
    plan = planned(release, **more)
    result = dps.simulate(plan, dps.synthetic_population(plan), replications=4000, seed=5)
    assert result.agrees()
    assert list(result.questions) == list(KINDS)
    for name in ("yes_no", "category"):
        assert not result.questions[name].worst_case
    assert result.predicted_variance == plan.variance
    assert "Every question in its own units" in repr(result)
    assert result.questions["category"].coverage is None
    assert result.questions["yes_no"].coverage == pytest.approx(0.95, abs=0.025)


@pytest.mark.parametrize("release", ASKED)
def test_two_simulations_agree(release):
    """That of the library, and one written straight from the textbook, on the same people."""
    plan = planned(release)
    names = plan.inputs.questions[1].categories
    made_up = dps.synthetic_population(plan)
    population = [
        {**answers, "category": np.array([names.index(name) for name in answers["category"]], dtype=float)}
        for answers in made_up
    ]
    result = dps.simulate(plan, made_up, replications=6000, seed=1)
    estimates = carry_out(plan, population, 6000, seed=2)
    for name, each in result.questions.items():
        half = 2 if name == "category" else 1
        variance = estimates[name].var(axis=0, ddof=1).sum() / half
        assert variance == pytest.approx(each.variance, rel=0.12)


def test_a_wrong_plan_is_noticed():
    """People who are further apart than the design was told do not agree with it."""
    strata, questionnaire = (
        dps.Strata(SIZES),
        dps.Questionnaire([question("a", "yes_no"), question("b", "scale")]),
    )
    spreads = dps.Spreads(strata, questionnaire, proportions={"a": 0.15})
    plan = dps.design(
        strata,
        questions=questionnaire,
        spreads=spreads,
        total=60,
        epsilon=3,
        device_epsilon=8.0,
        release="sums",
    )
    people = dps.synthetic_population(plan)
    assert dps.simulate(plan, people, replications=2000).agrees()
    wrong = [{**answers, "a": np.arange(len(answers["a"])) % 2} for answers in people]
    result = dps.simulate(plan, wrong, replications=2000)
    assert not result.questions["a"].agrees()
    assert result.questions["b"].agrees()
    assert not result.agrees()


def test_the_seed_repeats_a_simulation():
    plan = planned("sums")
    population = dps.synthetic_population(plan)
    first, again, other = (dps.simulate(plan, population, replications=50, seed=s) for s in (1, 1, 2))
    assert first.variance == again.variance != other.variance


def test_targets_leave_room_for_credit():
    """A target does not count on what devices save the office, so the simulated variance may be below it."""
    questionnaire = dps.Questionnaire([question("a", "yes_no", target_se=0.09), question("b", "yes_no")])
    plan = dps.design(dps.Strata([400, 500]), questions=questionnaire, **ASKED["sums"])
    result = dps.simulate(plan, dps.synthetic_population(plan), replications=2000)
    assert result.questions["a"].worst_case
    assert result.agrees()
    assert result.questions["a"].variance < 1.1 * 0.09**2


def test_made_up_people_are_as_told():
    plan = planned("sums")
    spreads = plan.spreads
    for i, answers in enumerate(dps.synthetic_population(plan)):
        assert {name: len(values) for name, values in answers.items()} == dict.fromkeys(KINDS, SIZES[i])
        told = {
            name: {column: values[i] for column, values in each.items()}
            for name, each in spreads.values.items()
        }
        assert answers["yes_no"].mean() == pytest.approx(told["yes_no"]["proportion"], abs=0.5 / SIZES[i])
        shares = [(answers["category"] == name).mean() for name in ("red", "green", "blue")]
        assert shares == pytest.approx(told["category"]["proportion"], abs=1 / SIZES[i])
        for name in ("scale", "number"):
            assert answers[name].std(ddof=1) == pytest.approx(told[name]["sd"], rel=0.01)
            assert answers[name].mean() == pytest.approx(told[name]["mean"], rel=0.02)


@pytest.mark.parametrize("seed", range(40))
def test_counts_have_the_moments(seed):
    rng = np.random.default_rng(seed)
    points, size = int(rng.integers(2, 30)), int(rng.integers(30, 400))
    mean = rng.uniform(0.05, 0.95)
    # on a grid no spread is below that of the two points beside the mean
    place = mean * (points - 1) % 1 / (points - 1)
    least = place * (1 / (points - 1) - place)
    variance = rng.uniform(least, mean * (1 - mean))
    counts = counts_with_moments(points, size, mean, variance)
    grid = np.linspace(0, 1, points)
    got = counts @ grid / size
    assert counts.sum() == size
    assert counts.min() >= 0
    assert got == pytest.approx(mean, abs=0.02)
    assert counts @ (grid - got) ** 2 / size == pytest.approx(variance, abs=0.01)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda people: [people[0], [1, 2]],
            "stratum '2' must be a mapping from question to answers, got list",
        ),
        (lambda people: people[:1], "the population must have 2 strata, got 1"),
        (
            lambda people: _with(people, "scale", None),
            "must have answers to every question, got none to 'scale'",
        ),
        (
            lambda people: _with(people, "scale", [1.0]),
            "question 'scale' in stratum '1' must have 60 answers, got 1",
        ),
        (lambda people: _with(people, "scale", 3), "must be a list of answers, got 0 dimensions"),
        (
            lambda people: _with(people, "scale", [1.7352] * 60),
            "must lie on the grid .* got one that does not in question 'scale' in stratum '1'",
        ),
        (
            lambda people: _with(people, "yes_no", [7352] * 60),
            "must be yes or no in question 'yes_no' in stratum '1'",
        ),
        (
            lambda people: _with(people, "category", ["7352"] * 60),
            "must be one of red, green, blue.* in question 'category' in stratum '1'",
        ),
        (
            lambda people: _with(people, "number", [float("nan")] * 60),
            "every answer must be a number, got something else in question 'number' in stratum '1'",
        ),
        (
            lambda people: _with(people, "number", ["secret"] * 60),
            "every answer must be a number, got something else in question",
        ),
    ],
)
def test_refused_people(change, message):
    """Each with one sentence that shows no answer."""
    plan = planned("sums")
    with pytest.raises(dps.InputError, match=message) as refusal:
        dps.simulate(plan, change(dps.synthetic_population(plan)))
    assert "7352" not in str(refusal.value)
    assert "secret" not in str(refusal.value)


def _with(people, name, answers):
    first = {key: value for key, value in people[0].items() if key != name}
    return [first if answers is None else {**first, name: answers}, people[1]]
