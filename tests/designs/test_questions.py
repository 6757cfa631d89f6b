"""The precision of every question, against surveys that are carried out by other code."""

import numpy as np
import pytest

import dpstrata as dps
from extent import few
from questionnaires import carry_out, form, people, question, spreads_of, truth

REPLICATIONS = few(6_000, of=20_000)
WHO = {"strata": [30, 50], "total": 44}


def kinds(*names, **more):
    return dps.Questionnaire(
        [question(f"q{j}", kind, **more.get(f"q{j}", {})) for j, kind in enumerate(names)]
    )


ALL = kinds("yes_no", "category", "scale", "number")
LEVELS = {"q0": 2, "q1": 3, "q2": 5, "q3": 3}
TOGETHER = kinds("yes_no", "category", "scale", "number", q0={"together": "t"}, q1={"together": "t"})
EVERYONE = kinds("yes_no", "category", "scale", "number", q0={"everyone": True})
TWO_OF_EACH = kinds("yes_no", "yes_no", "number", "number")

APART = [
    form(["q0", "q3"], [2, 3], 0.4, [(["q0"], 0.5), (["q3"], 0.5)]),
    form(["q1", "q2"], [3, 5], 0.6, [(["q1"], 0.3), (["q2"], 0.7)]),
]
CELLS = [
    form(["q0", "q1"], [2, 3], 0.4, [(["q0", "q1"], 1.0)]),
    form(["q2", "q3"], [5, 3], 0.6, [(["q2", "q3"], 1.0)]),
]
CASES = {
    "tables of questions": (ALL, APART, LEVELS),
    "tables of cells": (ALL, CELLS, LEVELS),
    "one form": (
        ALL,
        [form(ALL_NAMES := ["q0", "q1", "q2", "q3"], [2, 3, 5, 3], 1.0, [(ALL_NAMES, 1.0)])],
        LEVELS,
    ),
    "a form each": (
        ALL,
        [form([name], [k], 0.25, [([name], 1.0)]) for name, k in LEVELS.items()],
        LEVELS,
    ),
    "together, beside another": (
        TOGETHER,
        [
            form(["q0", "q1", "q2"], [2, 3, 5], 0.7, [(["q0", "q1"], 0.6), (["q2"], 0.4)]),
            form(["q3"], [3], 0.3, [(["q3"], 1.0)]),
        ],
        LEVELS,
    ),
    "everyone": (
        EVERYONE,
        [
            form(["q0", "q1"], [2, 3], 0.5, [(["q0"], 0.5), (["q1"], 0.5)]),
            form(["q0", "q2", "q3"], [2, 5, 3], 0.5, [(["q0", "q2", "q3"], 1.0)]),
        ],
        LEVELS,
    ),
    "numbers at their ends": (
        TWO_OF_EACH,
        [
            form(["q0", "q2"], [2, 2], 0.5, [(["q0", "q2"], 1.0)]),
            form(["q1", "q3"], [2, 4], 0.5, [(["q1"], 0.5), (["q3"], 0.5)]),
        ],
        {"q0": 2, "q1": 2, "q2": 2, "q3": 4},
    ),
}


def design(case, release, *, rates=None, epsilon=1.0, E=3.0):
    questionnaire, forms, levels = CASES[case]
    strata = dps.Strata(WHO["strata"], response_rates=rates)
    population = people(questionnaire, WHO["strata"], levels, np.random.default_rng(len(case)))
    asked = {"release": "sums", "device_epsilon": E}
    if release == "microdata":
        epsilon, asked, forms = 5.0, {}, [{**each, "tables": []} for each in forms]
    plan = dps.design(
        strata,
        questions=questionnaire,
        spreads=spreads_of(strata, questionnaire, population),
        forms=forms,
        epsilon=epsilon,
        total=WHO["total"],
        **asked,
    )
    return plan, population


def scored(plan, population, estimates):
    """Bias and variance of each question with their Monte Carlo errors; of a category as the library counts it."""
    for name, true in truth(plan.inputs.questions, population).items():
        off = estimates[name] - true
        half = 0.5 if len(true) > 1 else 1.0
        squares = half * ((off - off.mean(axis=0)) ** 2).sum(axis=1)
        yield (
            name,
            np.abs(off.mean(axis=0)) / np.maximum(off.std(axis=0), 1e-300) * np.sqrt(len(off)),
            squares.mean(),
            squares.std() / np.sqrt(len(off)),
        )


@pytest.mark.slow
@pytest.mark.parametrize("release", ["sums", "microdata"])
@pytest.mark.parametrize("case", CASES)
def test_variances_of_questions(case, release):
    """Estimates are unbiased, and their variance, with every part of it, is what the design says."""
    plan, population = design(case, release)
    planned = {each.name: each for each in plan.questions}
    both = {"devices": True, "office": True}
    for parts, more in (
        (("sampling",), {"devices": False, "office": False}),
        (("sampling", "device"), {"office": False}),
        (("sampling", "device", "office"), {}),
    ):
        estimates = carry_out(plan, population, REPLICATIONS, seed=7, **{**both, **more})
        for name, bias, variance, error in scored(plan, population, estimates):
            assert bias.max() < 4.5, (name, parts)
            said = sum(getattr(planned[name], part) for part in parts)
            # numbers that lie between levels are rounded, which the design counts as noise of the device
            if parts == ("sampling",) and planned[name].kind == "number":
                continue
            assert variance == pytest.approx(said, abs=4.5 * error), (name, parts)
    assert planned[name].standard_error ** 2 == pytest.approx(said, rel=1e-12)


@pytest.mark.parametrize("release", ["sums", "microdata"])
@pytest.mark.parametrize("case", ["tables of questions", "tables of cells"])
def test_variances_where_not_everyone_answers(case, release):
    plan, population = design(case, release, rates=[0.9, 0.9])
    planned = {each.name: each for each in plan.questions}
    estimates = carry_out(plan, population, REPLICATIONS, seed=8)
    for name, bias, variance, error in scored(plan, population, estimates):
        assert bias.max() < 4.5, name
        assert variance == pytest.approx(planned[name].standard_error ** 2, abs=4.5 * error), name


def test_a_wrong_variance_is_noticed():
    """With noise of the office that is 10% too small, or without credit, these surveys would not agree."""
    plan, population = design("tables of questions", "sums", E=4.0)
    for factor in (0.9, 1.1):
        estimates = carry_out(plan, population, 20_000, seed=7)
        far = [
            abs(variance - factor * planned.standard_error**2) / error
            for planned, (_, _, variance, error) in zip(
                plan.questions, scored(plan, population, estimates), strict=True
            )
        ]
        assert min(far) > 4.5


# --- a single question is on one form ---------------------------------------------------------------

STRATA = dps.Strata([40, 300, 5000], [0.3, 0.4, 0.2])
ONE = {
    "microdata": {"total": 90},
    "capped": {"total": 90, "local_epsilon_cap": 2},
    "replaced": {"total": 90, "questions": "yes_no", "mechanism": "randomized_response"},
    "categories": {"total": 90, "questions": ["a", "b", "c"]},
    "wide": {"total": 90, "questions": (0, 8000)},
    "sums": {"total": 90, "release": "sums"},
    "devices": {"total": 90, "release": "sums", "device_epsilon": 6, "questions": "yes_no"},
    "mean": {"total": 90, "release": "mean"},
    "mean of devices": {"total": 90, "release": "mean", "device_epsilon": 2},
    "target": {"target_se": 0.09},
    "not all answer": {"total": 90, "response_rate": 0.6},
    "gdp": {"total": 90, "epsilon": None, "gdp": 1.0},
    "for each stratum": {"total": 90, "objective": "trace"},
}


@pytest.mark.parametrize("case", ONE)
def test_a_single_question_is_on_one_form(case):
    strata = dps.Strata(STRATA.sizes) if case in ("categories", "wide") else STRATA
    plan = dps.design(strata, **{"epsilon": 1.0} | ONE[case])
    (form,), (asked,) = plan.forms, plan.questions
    assert (form.share, form.questions, asked.name) == (1.0, ("answer",), "answer")
    assert form.sample_sizes.tolist() == plan.sample_sizes.tolist()
    assert bool(form.tables) == (plan.inputs.release == "sums")
    if case in ("replaced", "categories", "devices"):
        device = plan.inputs.device_epsilon
        y = np.expm1(plan.local_epsilons if device is None else np.array([device]))
        assert form.cells == (3 if case == "categories" else 2)
        assert form.replaced == pytest.approx(float((form.cells / (form.cells + y)).max()))
        assert form.least_replaced == pytest.approx(float((form.cells / (form.cells + y)).min()))
    else:
        assert (form.cells, form.replaced, form.least_replaced) == (0, 0.0, 0.0)
    assert asked.sampling + asked.device + asked.office == pytest.approx(asked.standard_error**2)
    assert asked.if_split == asked.standard_error
    assert (asked.target, asked.target_met) == ((0.09, True) if case == "target" else (None, None))
    if case == "for each stratum":
        plan = dps.evaluate(strata, plan.sample_sizes, epsilon=1.0)
        assert asked.standard_error == pytest.approx(plan.standard_error, rel=1e-12)
        return
    assert asked.standard_error == pytest.approx(plan.standard_error, rel=1e-12)
    assert asked.standard_error_without_privacy == pytest.approx(plan.standard_error_without_privacy)
    assert (asked.office > 0) == (plan.inputs.release != "microdata")
    assert (asked.device > 0) == (
        plan.inputs.release == "microdata" or plan.inputs.device_epsilon is not None
    )


def test_the_only_question_of_a_form_is_precise_in_the_units_of_its_answers():
    strata = dps.Strata([700, 800, 900], names=["A", "B", "C"])
    asked = {"questions": (0, 8000), "epsilon": 1, "release": "sums", "device_epsilon": 4, "forms": "one"}
    plan = dps.design(strata, total=300, **asked)
    (question,) = plan.questions
    assert plan.standard_error == pytest.approx(question.standard_error, rel=1e-12)
    assert plan.sds == pytest.approx(np.full(3, 4000), rel=1e-3)
    assert dps.evaluate(strata, plan.sample_sizes, **asked).best.precision == pytest.approx(plan.precision)
    again = dps.design(strata, target_se=plan.standard_error, **asked)
    assert 0.95 * plan.standard_error < again.standard_error <= plan.standard_error  # it counts on no credit
