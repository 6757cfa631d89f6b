"""What is expected of an amount: moments against quadrature, and how priors are written."""

import mpmath as mp
import numpy as np
import pytest

import dpstrata as dps
from dpstrata.survey.priors import Gamma, Lognormal, read_prior, values_prior
from extent import crossed

PRIORS = [Lognormal(0.0, 1.0), Lognormal(7.5, 0.8), Lognormal(2.0, 2.0), Gamma(2.0, 1500.0), Gamma(0.4, 3.0)]


def density(prior, x):
    if isinstance(prior, Lognormal):
        z = (mp.log(x) - prior.mu) / prior.sigma
        return mp.exp(-z * z / 2) / (x * prior.sigma * mp.sqrt(2 * mp.pi))
    return mp.exp((prior.shape - 1) * mp.log(x / prior.scale) - x / prior.scale) / (
        prior.scale * mp.gamma(prior.shape)
    )


@pytest.mark.slow
@pytest.mark.parametrize(("prior", "times"), crossed(PRIORS, [0.3, 1.0, 4.0]))
def test_moments_are_those_of_the_density(prior, times):
    """Quadrature over ln x, which knows no closed form."""
    upper = times * prior.mean
    with mp.workdps(25):
        cut, ends = mp.log(upper), (mp.log(prior.mean) - 60, mp.log(prior.mean) + 25)

        def average(f, *places):
            return float(mp.quad(lambda t: f(mp.exp(t)) * density(prior, mp.exp(t)) * mp.exp(t), places))

        steps = [*mp.linspace(ends[0], cut, 9), *mp.linspace(cut, ends[1], 9)[1:]]
        mean = average(lambda x: min(x, upper), *steps)
        square = average(lambda x: min(x, upper) ** 2, *steps)
        beyond = average(lambda x: max(x - upper, 0), *steps[8:])
        above = average(lambda x: 1, *steps[8:])
    got = prior.clipped(upper)
    assert got.mean == pytest.approx(mean, rel=1e-9)
    assert got.excess == pytest.approx(beyond, rel=1e-8)
    assert got.above == pytest.approx(above, rel=1e-9)
    assert got.variance == pytest.approx(square - mean**2, rel=1e-8)
    assert got.mean + got.excess == pytest.approx(prior.mean, rel=1e-12)


def test_reference_values_are_averaged():
    prior = values_prior([5.0, 1.0, 3.0, 9.0])
    assert prior.least == 1.0
    assert prior.clipped(4.0) == pytest.approx((1.5, 3.0, 1.5, 0.5))
    assert prior.excess(9.0) == 0.0


@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: prior.text)
def test_what_is_written_reads_again(prior):
    assert read_prior(prior.text) == prior
    assert read_prior("excess:12.5").excess(1e9) == 12.5


def test_nothing_is_left_where_the_range_has_everything():
    for prior in PRIORS:
        assert prior.excess(1e60) == 0.0
        assert prior.clipped(0.0)[:2] == pytest.approx((prior.mean, 0.0))


@pytest.mark.parametrize(
    "given",
    [
        *("", "normal:0:1", "lognormal", "lognormal:0", "lognormal:a:b", "lognormal:0:nan", "gamma:1:2:3"),
        *(
            "excess:x",
            "lognormal:0:0",
            "lognormal:0:-1",
            "gamma:0:1",
            "gamma:1:-1",
            "excess:-1",
            "lognormal:0:11",
        ),
        *(3, None),
    ],
)
def test_what_is_no_prior_is_refused_in_a_sentence(given):
    with pytest.raises(dps.InputError, match=r"^prior must (be|have) .*, got prior="):
        read_prior(given)


@pytest.mark.parametrize("given", [[], [1.0], [2.0, 2.0], [1.0, np.nan], [1.0, np.inf], ["a", "b"]])
def test_values_must_be_different_numbers(given):
    with pytest.raises(dps.InputError, match=r"^prior must .*reference values"):
        values_prior(given)
