"""Sums with two layers of noise on two real populations, many times: real draws of both, and of the samples."""

import csv
import math
import os
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import dpstrata as dps
from dpstrata.fielding.frames import frame_strata, open_frame
from dpstrata.fielding.randomizers.noise import noise_at, office_noise_at
from dpstrata.fielding.results.sums import estimate_from_means
from extent import mean_limit, variance_limits
from laws import drawn_variance

EXAMPLES = Path(dps.__file__).parent / "examples"
REPEATS = int(os.environ.get("DPSTRATA_REPEATS", "120"))  # ten thousand in `make slow`


def population(file, stratum, answer):
    """Answers by stratum."""
    answers = defaultdict(list)
    with open(EXAMPLES / file, newline="") as handle:
        for row in csv.DictReader(handle):
            answers[row[stratum]].append(float(row[answer]))
    return {name: np.array(values) for name, values in answers.items()}


def fair(**options):
    answers = population("fair1978.csv", "occupation", "had_affair")
    strata = frame_strata(open_frame(EXAMPLES / "fair1978.csv", id="person", stratum="occupation"))
    plan = dps.design(strata, min_per_stratum=5, questions="yes_no", release="sums", **options)
    return answers, plan


def schools(**options):
    answers = population("california_schools.csv", "county", "api00")
    # counties with one school have no spread of their own
    answers = {name: values for name, values in answers.items() if len(values) > 1}
    sds = [float(np.std(values, ddof=1)) for values in answers.values()]
    strata = dps.Strata([len(values) for values in answers.values()], sds, names=list(answers))
    plan = dps.design(strata, questions=(200, 1000), release="sums", **options)
    return answers, plan


CASES = {
    "Fair, randomized response": (fair, {"epsilon": 1, "total": 400, "device_epsilon": 3}),
    "Fair, asking everyone": (fair, {"epsilon": 0.1, "total": 6366, "device_epsilon": 2}),
    "Fair, discrete Laplace": (
        fair,
        {"epsilon": 1, "total": 100, "device_epsilon": 3, "mechanism": "discrete_laplace"},
    ),
    "schools, staircase": (
        schools,
        {"epsilon": 1, "total": 100, "device_epsilon": 5, "mechanism": "staircase"},
    ),
    "schools, sine": (schools, {"epsilon": 1, "total": 100, "device_epsilon": 5, "mechanism": "sine"}),
    "schools, raw answers": (schools, {"epsilon": 1, "total": 200, "device_epsilon": None}),
}


def means(plan, name, answers, repeats, rng):
    """Carry a stratum out many times: people drawn, answers noised as on devices, sums as at the office.

    What devices send and the office adds is drawn by the library's own samplers, for all surveys at once.
    """
    row = plan.strata.names.index(name)
    n = int(plan.sample_sizes[row])
    drawn = np.argsort(rng.random((repeats, len(answers))), axis=1)[:, :n] if n < len(answers) else None
    asked = np.tile(answers, (repeats, 1)) if drawn is None else answers[drawn]
    office = office_noise_at(plan, row)
    device = office if plan.inputs.device_epsilon is None else noise_at(plan, row)
    steps = device.place(plan.inputs.space.shares(asked.ravel()))
    if plan.inputs.device_epsilon is None:
        shares = steps / device.steps
    else:
        shares = device.shares(device.randomize(steps))
    one = device.origin_and_unit[1]
    sums = shares.reshape(repeats, n).sum(axis=1)
    if office is not None:
        sums = sums + office.noise(repeats) * one
    return plan.inputs.space.at_shares(sums / n)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_estimates_are_unbiased_and_intervals_cover(case):
    make, options = CASES[case]
    answers, plan = make(**options)
    truth = float(np.mean(np.concatenate(list(answers.values()))))
    repeats = REPEATS if plan.total < 3000 else max(REPEATS // 4, 120)
    rng = np.random.default_rng()
    columns = [means(plan, name, answers[name], repeats, rng) for name in plan.strata.names]
    counts = plan.sample_sizes
    results = [
        estimate_from_means(plan, plan.strata.names, row, counts)[0] for row in np.column_stack(columns)
    ]
    errors = np.array([result.estimate - truth for result in results])
    covered = sum(result.lower <= truth <= result.upper for result in results)
    assert abs(errors.mean()) < mean_limit(errors)
    expected = sum(
        (len(values) / sum(map(len, answers.values()))) ** 2 * of_mean(plan, name, values)
        for name, values in answers.items()
    )
    least, most = variance_limits(repeats, slack=0.01)
    assert least < errors.var(ddof=1) / expected < most
    estimated = np.mean([result.standard_error**2 for result in results])
    assert estimated == pytest.approx(expected, rel=0.05)
    assert binom.cdf(covered, repeats, 0.945) > 1e-7
    # those of numbers are up to a fifth wider than 1.96 standard errors here
    assert binom.sf(covered - 1, repeats, 0.96 if make is fair else 0.98) > 1e-7


def of_mean(plan, name, answers):
    """Variance of the mean of a stratum, with the true spread of its answers."""
    row = plan.strata.names.index(name)
    N, n, R = len(answers), int(plan.sample_sizes[row]), plan.inputs.space.range
    E, device, office = plan.inputs.device_epsilon, noise_at(plan, row), office_noise_at(plan, row)
    noise = 0.0 if E is None else drawn_variance(device, 0) / n
    stretch = 1.0 if E is None else device.width * device.origin_and_unit[1]
    noise += 0.0 if office is None else stretch**2 * drawn_variance(office, 0) / n**2
    spread = np.var(answers, ddof=1) if N > 1 else 0.0
    return spread * (1 / n - 1 / N) + R**2 * noise


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_variance_is_as_planned(case):
    """What is drawn has the variance that the design states, by its own spreads."""
    make, options = CASES[case]
    answers, plan = make(**options)
    total = 0.0
    for row, name in enumerate(plan.strata.names):
        N, n, S = len(answers[name]), int(plan.sample_sizes[row]), float(plan.sds[row])
        noise = of_mean(plan, name, np.zeros(N))
        total += (N / plan.strata.sizes.sum()) ** 2 * (S**2 * (1 / n - 1 / N) + noise)
    # cells of the sine mechanism have its variance to one part in 1,000
    assert plan.variance == pytest.approx(total, rel=1e-3 if plan.inputs.mechanism == "sine" else 1e-6)


def test_the_spread_of_yes_and_no_is_unbiased():
    """A share with mean p and variance V has the mean square p² + V, as two values p ± √V have: no bias on average."""
    N, m, p = 10_000, 400, 0.15
    strata = dps.Strata([N], [0.5], names=["all"])
    plan = dps.design(strata, epsilon=1, total=m, questions="yes_no", release="sums", device_epsilon=0.5)
    values = (np.arange(N) < p * N).astype(float)
    variance = of_mean(plan, "all", values)
    estimated = [
        estimate_from_means(plan, ["all"], [p + side * math.sqrt(variance)], [m]).whole[0].standard_error ** 2
        for side in (-1, 1)
    ]
    assert np.mean(estimated) == pytest.approx(variance, rel=1e-9)
    spreads = [each - of_mean(plan, "all", np.zeros(N)) for each in estimated]
    assert np.mean(spreads) == pytest.approx(np.var(values, ddof=1) * (1 / m - 1 / N), rel=1e-6)
