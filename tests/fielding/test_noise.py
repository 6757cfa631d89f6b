"""Noising real answers: bias, variance, refusals, and no answer in any message."""

import math

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.fielding.randomizers.noise import noise_at
from dpstrata.privacy.mechanisms import MECHANISMS
from laws import drawn_variance
from problems import CASES
from surveys import reports_of

STRATA = dps.Strata([10_000_000, 3_000_000], [0.2, 0.3], names=["a", "b"])


def design(mechanism="laplace", questions=(0, 1), delta=0.0, **more):
    return dps.design(
        STRATA, epsilon=0.05, total=60_000, mechanism=mechanism, questions=questions, delta=delta, **more
    )


def test_every_mechanism_is_a_case():
    # categories have tests of their own in test_categories.py
    assert {*(mechanism for mechanism, *_ in CASES), "category_response"} == set(MECHANISMS)


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "answers", "delta"), CASES)
@pytest.mark.parametrize("stratum", ["a", "b"])
def test_noised_answers_have_the_right_mean_and_variance(mechanism, answers, delta, stratum):
    """10,000 answers at the upper end, where every mechanism has its full variance; 6.2 Monte Carlo errors."""
    plan = design(mechanism, answers, delta)
    sd = plan.noise_sds[plan.strata.names.index(stratum)]
    draws = reports_of(plan, stratum, np.ones(10_000))
    assert abs(draws.mean() - 1) < 6.2 * sd / math.sqrt(10_000)
    spread = math.sqrt(np.mean((draws - 1) ** 4) - sd**4) / math.sqrt(10_000)
    assert abs(draws.var() - sd**2) < 6.2 * spread + 1e-3 * sd**2


def test_one_answer_at_a_time():
    plan = design()
    assert isinstance(dps.randomize(plan, "a", 0.5).value, float)
    draws = reports_of(plan, "a", np.full(20_000, 0.5))
    assert draws.std() == pytest.approx(plan.noise_sds[0], rel=0.08)


def test_answers_are_clipped_if_the_design_says_so_and_other_units_scaled_back():
    strata = dps.Strata([100_000], [20.0], names=["a"])
    survey = {"epsilon": 30, "total": 100, "questions": (100, 200)}
    plan = dps.design(strata, **survey, clip=True)
    draws = reports_of(plan, "a", [1e9, -1e9, 150.0])
    assert draws == pytest.approx([200, 100, 150], abs=60 * plan.noise_sds[0])
    with pytest.raises(dps.InputError, match=r"lie in \[100, 200\], got 2 of 3 outside.*clip=True"):
        reports_of(dps.design(strata, **survey), "a", [1e9, -1e9, 150.0])
    for questions in ("yes_no", (0, 100, 1), None):
        with pytest.raises(dps.InputError, match="clip requires questions to be a range"):
            dps.design(dps.Strata([900]), epsilon=1, total=9, questions=questions, clip=True)
    with pytest.raises(dps.InputError, match="clip must be True or False, got clip=1"):
        dps.design(strata, **survey, clip=1)


@pytest.mark.parametrize(
    ("plan", "stratum", "answer", "words"),
    [
        (design(), "z", 0.4321, "has no stratum 'z'"),
        (design(), "a", "secret-4321", "the answer must be a number from 0 to 1"),
        (design(), "a", float("nan"), "the answer must be a number from 0 to 1"),
        (design(), "a", 10**400, "the answer must be a number from 0 to 1"),
        (design(), "a", 4321j, "the answer must be a number from 0 to 1"),
        (design("discrete_laplace", (0, 1, 0.25)), "a", 0.4321, "must lie on the grid"),
        (design("discrete_laplace", (0, 1, 0.25)), "a", 4321, r"must lie in .* got 1 of 1 outside"),
        (
            design("randomized_response", "yes_no"),
            "a",
            -4321,
            "the answer must be yes or no",
        ),
        (design(), "a", 1.4321, r"must lie in \[0, 1\], got 1 of 1 outside"),
        (design(release="sums"), "a", 0.4321, "noises what it publishes, not single answers"),
        ("plan", "a", 0.4321, "needs a Design, got str"),
    ],
)
def test_refusals_show_no_answer(plan, stratum, answer, words):
    with pytest.raises(dps.InputError, match=words) as caught:
        dps.randomize(plan, stratum, answer)
    assert "4321" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(("mechanism", "answers", "delta"), CASES)
def test_the_variance_on_the_grid_is_nearly_that_of_the_design(mechanism, answers, delta):
    """With what rounding to a grid adds at most; estimates count on it to that."""
    plan = design(mechanism, answers, delta)
    noise = noise_at(plan, 1)
    levels = noise.levels(np.arange(min(noise.steps, 10**6) + 1))
    rounding = 0.0 if noise.steps == plan.inputs.space.steps else 0.25 * np.diff(levels).max() ** 2
    drawn = plan.inputs.space.range**2 * (drawn_variance(noise, noise.steps) + rounding)
    if mechanism == "cells":  # planned with a curve above the largest variance, see test_cells.py
        assert 0.94 <= drawn / plan.noise_sds[1] ** 2 <= 1
        return
    few = 1e-3 if mechanism in ("piecewise", "sine") else 3e-6
    assert drawn == pytest.approx(plan.noise_sds[1] ** 2, rel=few)


def test_more_answers_than_invitations_are_refused():
    plan = dps.design(dps.Strata([7000, 8000], [0.2, 0.1], names=["a", "b"]), epsilon=1, total=100)
    most = int(plan.sample_sizes[0])
    assert len(reports_of(plan, "a", np.full(most, 0.5))) == most
    with pytest.raises(dps.InputError, match="more would break its promise"):
        reports_of(plan, "a", np.full(most + 1, 0.5))
    with pytest.raises(dps.InputError, match="every answer must be a number"):
        reports_of(plan, "a", np.ma.masked_array([0.4321, 0.5], mask=[True, False]))


@pytest.mark.parametrize(("promise", "sd"), [({"zcdp": 2.0}, 0.5), ({"gdp": 2.0}, 0.5)])
def test_noise_of_other_promises_has_the_spread_of_its_definition(promise, sd):
    """Answers in a range of 1: sd = 1/√(2ρ) for zCDP ρ (Bun and Steinke 2016), 1/μ for μ-GDP (Dong and others)."""
    strata = dps.Strata([9000], [0.3], ["a"])
    plan = dps.design(strata, total=6000, mechanism="gaussian", **promise)
    noised = reports_of(plan, "a", np.full(6000, 0.25))
    # the variance of 6,000 draws has a relative error of √(2/6,000); a scale off by 10% would be 21% off
    assert abs(np.var(noised - 0.25) / sd**2 - 1) < 5.5 * math.sqrt(2 / 6000)
    assert abs(np.mean(noised) - 0.25) < 5.5 * sd / math.sqrt(6000)


def test_strata_are_looked_up_once_a_design(monkeypatch):
    """A survey is noised stratum by stratum: what one costs must not grow with the number of strata."""
    names = [f"s{i}" for i in range(200)]
    plan = dps.design(dps.Strata([500] * 200, [0.3] * 200, names), epsilon=1, total=400)
    looked_at = []
    listed = dps.Strata.names.fget
    monkeypatch.setattr(dps.Strata, "names", property(lambda self: looked_at.append(1) or listed(self)))
    monkeypatch.setattr(dps.Design, "local_epsilons", property(lambda self: looked_at.append(1)))
    for name in names:
        dps.randomize(plan, name, 0.5)
    assert len(looked_at) == 1


def test_the_budget_of_one_stratum_is_that_among_all():
    strata = dps.Strata([500, 900, 70], [0.3, 0.2, 0.4], ["a", "b", "c"])
    plan = dps.design(strata, epsilon=1, total=100, local_epsilon_cap=2.5)
    assert plan.capped.any()
    assert [plan.local_epsilon(row) for row in range(3)] == plan.local_epsilons.tolist()
    assert math.isnan(dps.design(strata, zcdp=0.5, total=100, mechanism="gaussian").local_epsilon(0))
