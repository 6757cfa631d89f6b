"""Amplification against enumeration of every sample and every output."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpstrata as dps


def output_distribution(answers: tuple[int, ...], sample_size: int, e: float) -> np.ndarray:
    """Number of ones among noised bits of a secret sample: enumerate samples and noise."""
    keep = math.exp(e) / (1 + math.exp(e))
    counts = np.zeros(sample_size + 1)
    samples = list(itertools.combinations(range(len(answers)), sample_size))
    for sample in samples:
        for noised in itertools.product((0, 1), repeat=sample_size):
            probability = math.prod(
                keep if answers[i] == bit else 1 - keep for i, bit in zip(sample, noised, strict=True)
            )
            counts[sum(noised)] += probability / len(samples)
    return counts


@pytest.mark.parametrize(("population", "sample_size"), [(4, 1), (4, 2), (5, 3), (5, 5)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_local_budget_gives_exactly_the_central_loss(population, sample_size, epsilon):
    e = dps.local_epsilon(epsilon, sample_size=sample_size, stratum_size=population)
    losses = []
    for others in itertools.product((0, 1), repeat=population - 1):
        one, zero = (output_distribution((bit, *others), sample_size, e) for bit in (1, 0))
        losses.append(np.max(np.abs(np.log(one / zero))))
    assert max(losses) <= epsilon * (1 + 1e-12)
    assert max(losses) >= epsilon * (1 - 1e-9)  # tight: all others answer 0, all noised answers are 1


@given(
    epsilon=st.floats(1e-6, 100),
    stratum_size=st.integers(1, 10**12),
    share=st.floats(0, 1),
)
def test_round_trip(epsilon, stratum_size, share):
    n = max(1, round(share * stratum_size))
    e = dps.local_epsilon(epsilon, sample_size=n, stratum_size=stratum_size)
    assert e >= epsilon * (1 - 1e-12)
    assert dps.central_epsilon(e, sample_size=n, stratum_size=stratum_size) == pytest.approx(
        epsilon, rel=1e-12
    )


def test_arrays_and_the_whole_stratum():
    e = dps.local_epsilon(1.0, sample_size=np.array([10, 1000]), stratum_size=1000)
    assert e[0] == pytest.approx(5.1523, abs=1e-4)
    assert e[1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": 0.0, "sample_size": 1, "stratum_size": 2}, "epsilon must be positive"),
        ({"epsilon": math.nan, "sample_size": 1, "stratum_size": 2}, "epsilon must be positive"),
        ({"epsilon": 1.0, "sample_size": 3, "stratum_size": 2}, "at most stratum_size"),
        ({"epsilon": 1.0, "sample_size": 0, "stratum_size": 2}, "at least 1"),
        ({"epsilon": 1.0, "sample_size": 1.5, "stratum_size": 2}, "whole numbers"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(dps.InputError, match=words):
        dps.local_epsilon(**arguments)
