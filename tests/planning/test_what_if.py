"""Scores of an allocation that someone already has."""

import math

import numpy as np
import pytest

import dpstrata as dps

PAPER = dps.Strata([7000, 8000, 9000, 10000], [math.sqrt(0.08**i) for i in (1, 2, 3, 4)])


def test_a_curator_noises_the_mean_once_in_evaluate_too():
    score = dps.evaluate(PAPER, [100] * 4, epsilon=1, trust="curator")
    shown = np.array(score.table()["noise_sd"])
    weights = PAPER.sizes / PAPER.population
    assert float((weights**2 * shown**2).sum()) == pytest.approx(score.variance_parts.privacy, rel=1e-12)
    for rates in (None, [0.5, 0.6, 0.7, 1.0]):
        strata = dps.Strata(PAPER.sizes, PAPER.sds, response_rates=rates)
        plan = dps.design(strata, epsilon=1, total=400, trust="curator")
        same = dps.evaluate(strata, plan.sample_sizes, epsilon=1, trust="curator")
        assert same.table()["noise_sd"] == plan.noise_sds.tolist()
