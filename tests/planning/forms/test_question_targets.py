"""The fewest people for the targets of all questions, against exhaustive search over sizes and dealings."""

import itertools
from dataclasses import fields, replace

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.allocation.proof.bound import fewest_people
from dpstrata.allocation.variances import question_parts
from extent import few
from questionnaires import question
from surveys import random_survey

SUMS = {"release": "sums", "device_epsilon": 3.0}


def targeted(questionnaire, errors):
    """The same questions, each with a standard error to reach."""
    names = [
        field.name for field in fields(dps.Question) if field.name not in ("target_se", "target_margin", "_")
    ]
    return dps.Questionnaire(
        [
            dps.Question(**{name: getattr(each, name) for name in names}, target_se=float(error))
            for each, error in zip(questionnaire, errors, strict=True)
        ]
    )


def survey(seed, release, rates):
    """A small survey with targets a little above what its best sizes reach."""
    questionnaire, forms, strata, rng = random_survey(
        seed, strata=(2, 2), sizes=(8, 11) if rates else (4, 9), rates=rates
    )
    asked = {
        "release": "sums",
        "device_epsilon": float(rng.uniform(1, 8)),
        "epsilon": float(rng.uniform(0.5, 4)),
    }
    if release == "microdata":
        asked, forms = {"epsilon": float(rng.uniform(1, 8))}, [{**each, "tables": []} for each in forms]
    best = dps.design(strata, questions=questionnaire, forms=forms, at_most=int(strata.sizes.sum()), **asked)
    sizes = best.problem.upper if release == "sums" else best.sample_sizes
    ranges = np.array([each.range for each in questionnaire])
    by_shares = replace(best.problem, forms=replace(best.problem.forms, dealt_by_shares=True))
    reached = np.sqrt(variances(by_shares, sizes)) * ranges
    targets = np.maximum(reached, 0.01 * ranges) * rng.uniform(1.1, 1.6, len(ranges))
    return strata, {"questions": targeted(questionnaire, targets), "forms": forms, **asked}, rng


def variances(problem, sizes):
    """Variance of every question in squared ranges, without what devices save the office."""
    parts = question_parts(problem, np.asarray(sizes), finite_population=True, credited=False)
    return parts.of_population(problem.terms.coefficients).total


CASES = [
    (seed, release, rates)
    for seed in range(few(1, of=4))
    for release in ("sums", "microdata")
    for rates in (False, True)
]


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "release", "rates"), CASES)
def test_people_for_targets(seed, release, rates):
    """All targets are reached, and the fewest who reach them lie between the bound and the design."""
    strata, asked, _ = survey(seed, release, rates)
    plan = dps.design(strata, **asked)
    targets = np.array([each.target_se / each.range for each in asked["questions"]]) ** 2
    assert all(each.target_met for each in plan.questions)
    assert plan.certificate.value == plan.total
    every = itertools.product(
        *(range(low, high + 1) for low, high in zip(plan.problem.lower, plan.problem.upper, strict=True))
    )
    fewest = next(
        sum(sizes)
        for sizes in sorted(every, key=sum)
        if (variances(plan.problem, sizes) <= targets * (1 + 1e-12)).all()
    )
    assert plan.certificate.lower_bound <= fewest <= plan.total
    assert plan.certificate.optimal == (plan.certificate.lower_bound == plan.total)


@pytest.mark.slow
@pytest.mark.parametrize("release", ["sums", "microdata"])
@pytest.mark.parametrize("seed", range(20, few(22, of=32)))
def test_the_bound_holds_at_any_prices(seed, release):
    """However people are dealt the forms, and whatever prices someone thought of."""
    strata, asked, rng = survey(seed, release, rates=bool(seed % 2))
    problem = dps.design(strata, **asked).problem
    targets = np.array([each.target_se / each.range for each in asked["questions"]]) ** 2
    prices = 10 ** rng.uniform(0, 3, len(targets)) * (rng.random(len(targets)) < 0.8)
    bound = fewest_people(problem, targets, problem.lower, prices, finite_population=True)
    forms, terms = problem.forms, problem.terms
    least = 0.0
    for i in range(len(strata)):
        best = np.inf
        for n in range(int(problem.lower[i]), int(problem.upper[i]) + 1):
            for dealt in _dealings(n, len(forms.shares), int(forms.fewest[i])):
                parts = forms.stratum_parts(
                    terms,
                    np.full(len(strata), n),
                    np.tile(dealt, (len(strata), 1)),
                    terms.response_rates,
                    finite_population=True,
                    credited=False,
                )
                best = min(best, n + terms.coefficients[i] ** 2 * float(parts.total[i] @ prices))
        least += best
    assert bound <= least - float(prices @ targets) + 1e-9 * least
    assert bound >= 0.4 * least - float(prices @ targets)


def _dealings(n, forms, fewest):
    if forms == 1:
        return [np.array([n])]
    return [np.array([m, n - m]) for m in range(fewest, n - fewest + 1)]


def test_one_question_needs_no_more_than_it_takes():
    """With one form and one question the bound is the fewest there are."""
    questionnaire = dps.Questionnaire([question("a", "yes_no", target_se=0.05)])
    plan = dps.design(dps.Strata([4000, 6000]), questions=questionnaire, epsilon=1, **SUMS)
    assert plan.certificate.optimal
    fewer = dps.design(
        dps.Strata([4000, 6000]), questions=targeted(questionnaire, [0.055]), epsilon=1, **SUMS
    )
    assert fewer.total < plan.total


def test_a_design_for_targets_is_saved_and_loaded(tmp_path):
    questionnaire = dps.Questionnaire(
        [
            question("a", "yes_no", target_se=0.06),
            question("b", "scale", target_se=0.3),
            question("c", "number"),
        ]
    )
    plan = dps.design(dps.Strata([4000, 6000]), questions=questionnaire, epsilon=1, **SUMS)
    plan.save(tmp_path / "design.json")
    assert dps.load_design(tmp_path / "design.json") == plan


def test_a_margin_is_a_target():
    strata = dps.Strata([4000, 6000])
    by_error, by_margin = (
        dps.design(
            strata, questions=dps.Questionnaire([question("a", "yes_no", **target)]), epsilon=1, **SUMS
        )
        for target in ({"target_se": 0.05}, {"target_margin": 0.05 * 1.959963984540054})
    )
    assert by_error.total == by_margin.total


@pytest.mark.parametrize("release", [SUMS, {}], ids=["sums", "microdata"])
def test_an_unreachable_target_is_named(release):
    questionnaire = dps.Questionnaire([question("a", "yes_no"), question("b", "scale", target_se=0.001)])
    with pytest.raises(dps.InfeasibleError) as refusal:
        dps.design(dps.Strata([400, 600]), questions=questionnaire, epsilon=1, **release)
    sentence = str(refusal.value)
    assert sentence.startswith(
        "question 'b' cannot reach a standard error of 0.001: the best that these budgets"
    )
    assert ("device_epsilon" in sentence) == bool(release)


@pytest.mark.slow
@pytest.mark.parametrize("release", [SUMS, {}], ids=["sums", "microdata"])
@pytest.mark.parametrize(
    ("target", "goal"), [("target_se", "standard error"), ("target_margin", "margin of error")]
)
def test_the_nearest_target_is_in_the_unit_that_was_asked_for_and_can_be_met(release, target, goal):
    def designed(value):
        asked = dps.Questionnaire([question("a", "yes_no"), question("b", "scale", **{target: value})])
        return dps.design(dps.Strata([400, 600]), questions=asked, epsilon=1, **release)

    with pytest.raises(dps.InfeasibleError, match=f"cannot reach a {goal} of 0.001: the best") as refusal:
        designed(0.001)
    error = refusal.value
    assert (error.argument, error.cell.row, error.cell.column) == (target, 1, target)
    assert f"allow is {error.nearest:g}," in str(error)
    met = designed(error.nearest).questions[1]
    reached = met.standard_error if target == "target_se" else met.margin
    assert error.nearest * 0.95 < reached <= error.nearest


@pytest.mark.parametrize(("option", "value"), [("total", 100), ("at_most", 100), ("budget", 100.0)])
def test_targets_determine_the_total(option, value):
    questionnaire = dps.Questionnaire([question("a", "yes_no", target_se=0.05)])
    with pytest.raises(
        dps.InputError, match=f"determine how many people are invited, so {option} cannot be given"
    ):
        dps.design(
            dps.Strata([400, 600]), questions=questionnaire, forms="one", epsilon=1, **{option: value}, **SUMS
        )


def test_targets_need_equal_costs():
    questionnaire = dps.Questionnaire([question("a", "yes_no", target_se=0.09)])
    with pytest.raises(
        dps.NotAvailableError, match="targets of questions require the same cost of an invitation"
    ):
        dps.design(
            dps.Strata([400, 600], costs=[1, 2]), questions=questionnaire, forms="one", epsilon=1, **SUMS
        )


def test_a_target_that_one_form_cannot_reach_is_refused_in_a_sentence():
    """The search of prices comes to the limit of double precision here."""
    questions = [
        dps.Question("q0", "number", lower=0, upper=100, target_se=18.17),
        dps.Question("q1", "yes_no", importance=2.666, blank=False),
        dps.Question("q2", "yes_no", importance=0.2117),
        dps.Question("q3", "category", importance=0.6726, blank=False, categories=["a", "b", "c", "d"]),
        dps.Question("q4", "scale", importance=0.59, lower=1, upper=11, levels="all"),
        dps.Question("q5", "number", importance=1.344, lower=0, upper=1),
    ]
    strata, asked = dps.Strata([17512], names=["s0"], costs=[2.5]), dps.Questionnaire(questions)
    with pytest.raises(dps.InfeasibleError, match=r"question 'q0' cannot reach a standard error of 18\.17"):
        dps.design(
            strata,
            epsilon=1.568,
            questions=asked,
            spreads=dps.Spreads(strata, asked, sds={"q5": [0.1325]}, means={"q5": [0.5323]}),
            release="sums",
            device_epsilon=1.904,
            forms="one",
        )
