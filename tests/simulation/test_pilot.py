"""Simulated pilots: exact where they can be, right where they cannot, and honest about not paying."""

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.pilots.pilot import pilot_weights
from dpstrata.simulation.pilot import _published
from dpstrata.simulation.stratum import Stratum
from extent import few
from surveys import microdata

SIZES = [4000, 6000, 3000]


def yes_no(*shares):
    return [(np.arange(n) < n * share).astype(float) for n, share in zip(SIZES, shares, strict=True)]


def first_wave(
    *, epsilon=1.0, total=600, share=0.1, questions="yes_no", mechanism="randomized_response", **more
):
    return dps.pilot(
        dps.Strata(SIZES),
        epsilon=epsilon,
        pilot_epsilon=share * epsilon,
        total=total,
        pilot_total=round(share * total),
        questions=questions,
        mechanism=mechanism,
        **more,
    )


def test_it_pays_for_unequal_shares_and_not_otherwise():
    unequal = dps.simulate_pilot(first_wave(), yes_no(0.5, 0.01, 0.02), replications=100, seed=1)
    assert unequal.pays
    assert unequal.knowing < unequal.with_pilot < unequal.worst
    assert unequal.with_pilot < unequal.main_alone
    assert unequal.ratio < 0.9
    alike = dps.simulate_pilot(first_wave(), yes_no(0.3, 0.3, 0.3), replications=100, seed=1)
    assert not alike.pays
    assert alike.knowing == pytest.approx(alike.without_pilot, rel=1e-4)
    assert 1 < alike.ratio < 1.05
    noisy = first_wave(questions=(0, 1), mechanism="laplace")
    numbers = [0.5 + s * np.linspace(-1, 1, n) for n, s in zip(SIZES, (0.4, 0.05, 0.02), strict=True)]
    assert not dps.simulate_pilot(noisy, numbers, replications=50, seed=1).pays


@pytest.mark.slow
def test_it_agrees_with_two_waves_carried_out_from_end_to_end():
    """The squared error of whole simulated surveys, with nothing taken from the formulas but the design."""
    first, people = first_wave(share=0.2), yes_no(0.5, 0.02, 0.1)
    truth = float(np.concatenate(people).mean())
    weights = np.array(SIZES) / sum(SIZES)
    generator = np.random.default_rng(5)
    weight = pilot_weights(first)["answer"]

    def wave(plan):
        values = [
            plan.mechanism.simulated_release(
                generator.choice(everyone, n, replace=False), float(e), generator
            )
            for everyone, n, e in zip(people, plan.sample_sizes, plan.local_epsilons, strict=True)
        ]
        return values, float(weights @ [each.mean() for each in values])

    errors = []
    names = np.array(first.strata.names)
    for _ in range(few(200, of=700)):
        values, one = wave(first)
        main = dps.main_design(first, microdata(np.repeat(names, first.sample_sizes), np.concatenate(values)))
        errors.append(weight * one + (1 - weight) * wave(main)[1] - truth)
    squares = np.array(errors) ** 2
    result = dps.simulate_pilot(first, people, replications=300, seed=2)
    error = np.hypot(squares.std(ddof=1) / np.sqrt(len(squares)), result.with_pilot_error)
    assert abs(squares.mean() - result.with_pilot) < 4 * error


def test_one_wave_is_scored_as_its_design_is():
    people = yes_no(0.5, 0.02, 0.1)
    spreads = [values.std(ddof=1) for values in people]
    result = dps.simulate_pilot(first_wave(), people, replications=10)
    options = {"epsilon": 1, "questions": "yes_no", "mechanism": "randomized_response"}
    true = dps.Strata(SIZES, spreads)
    assert result.knowing == pytest.approx(dps.design(true, total=600, **options).variance)
    told = dps.design(dps.Strata(SIZES), total=600, **options)
    score = dps.evaluate(true, told.sample_sizes, **options)
    assert result.without_pilot == pytest.approx(score.variance)


@pytest.mark.parametrize("mechanism", ["randomized_response", "piecewise", "laplace", "staircase"])
def test_simulated_pilots_show_the_truth_on_average(mechanism):
    first = first_wave(
        mechanism=mechanism, questions="yes_no" if mechanism == "randomized_response" else (0, 1)
    )
    people, repeats = yes_no(0.5, 0.02, 0.1), few(400, of=3000)
    generator = np.random.default_rng(3)
    strata = [Stratum(first, i, {"answer": each}) for i, each in enumerate(people)]
    found = [_published(first, strata, generator)[0] for _ in range(repeats)]
    shown = {"mean": [(each.figures[0].estimates, [0.5, 0.02, 0.1]) for each in found]}
    if mechanism != "randomized_response":
        spread = [values.var(ddof=1) for values in people]
        shown["spread"] = [(each.reports.variances - each.reports.constant, spread) for each in found]
    for pairs in shown.values():
        estimates, right = (np.array(each) for each in zip(*pairs, strict=True))
        error = estimates.std(axis=0, ddof=1) / np.sqrt(repeats)
        assert np.all(np.abs(estimates.mean(axis=0) - right[0]) < 5 * error)


def test_a_seed_repeats_it_and_it_says_that_it_protects_nobody():
    people = yes_no(0.5, 0.02, 0.1)
    one, two = (dps.simulate_pilot(first_wave(), people, replications=10, seed=4) for _ in range(2))
    assert one.with_pilot == two.with_pilot
    assert "protects nobody" in repr(one)
    assert f"both waves combined     {one.ratio:.3f}" in repr(one)


def test_refusals():
    people = yes_no(0.5, 0.02, 0.1)
    with pytest.raises(dps.InputError, match="must follow the design of a pilot"):
        dps.simulate_pilot(dps.design(dps.Strata(SIZES), epsilon=1, total=100), people)
    with pytest.raises(dps.InputError, match="replications must be a whole number >= 10"):
        dps.simulate_pilot(first_wave(), people, replications=1)
    with pytest.raises(dps.InputError, match="must have 3 strata, got 2"):
        dps.simulate_pilot(first_wave(), people[:2])
    partly = dps.pilot(
        dps.Strata(SIZES, response_rates=[0.5] * 3), epsilon=1, pilot_epsilon=0.1, total=600, pilot_total=60
    )
    with pytest.raises(dps.InputError, match="in which everyone answers"):
        dps.simulate_pilot(partly, people)
