"""The cells of the sine mechanism: privacy, bias and variance by enumeration, and real draws."""

import math

import numpy as np
import pytest
from scipy import stats

from dpstrata.privacy.mechanisms import get_mechanism, sine
from dpstrata.privacy.rows import DENOMINATOR
from laws import drawn_variance, probabilities
from problems import answers_of

FALSE_ALARM = 1e-8


def laws(cells):
    """Probabilities of all outputs, a row for each level."""
    return np.array([probabilities(cells, k)[1] for k in range(cells.steps + 1)])


@pytest.mark.parametrize("window", [3, 8, 64])
@pytest.mark.parametrize("e", [0.1, 0.5, 1.0, 1.97, 1.9722, 1.975, 2.5, 4.0, 6.0, 9.0, 12.0])
def test_loss_bias_and_variance_of_every_level(e, window, monkeypatch):
    monkeypatch.setattr(sine, "_WINDOW", window)
    cells = sine.SineCells(e)
    table = laws(cells)
    assert table.sum(axis=1) == pytest.approx(np.ones(len(table)), abs=1e-12)
    loss = float(np.log(table.max(axis=0) / table.min(axis=0)).max())
    assert 0.999 * e <= loss <= e * (1 + 1e-12)
    read = cells.shares(np.arange(table.shape[1]))
    levels = cells.levels(np.arange(len(table)))
    assert np.abs(table @ read - levels).max() < 1e-12 * max(1.0, np.abs(read).max())
    places = cells.level_places
    assert len(places) == len(levels)
    assert [place / places[-1] for place in places] == pytest.approx(levels, abs=1e-14)
    variances = (table * (read - levels[:, None]) ** 2).sum(axis=1)
    assert variances == pytest.approx(np.full(len(table), variances[0]), rel=1e-9)
    assert drawn_variance(cells, 0) == pytest.approx(variances[0], rel=1e-9)
    if window == 64:
        planned = float(get_mechanism("sine", answers_of()).variance(e))
        rounding = 0.25 * np.diff(levels).max() ** 2
        assert planned * (1 - 1e-3) <= variances[0] <= variances[0] + rounding <= planned * (1 + 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("e", [1.9, 4.0])
def test_real_draws_follow_the_law_and_a_law_1_percent_off_is_rejected(e):
    cells, draws = sine.SineCells(e), 2_000_000
    for k in (0, cells.steps // 2):
        drawn = cells.randomize(np.full(draws, k))
        inside = np.flatnonzero((drawn >= k) & (drawn < k + sine._WINDOW)).size
        ends = np.flatnonzero(drawn >= cells.line).size
        seen = np.array([inside, draws - inside - ends, ends])
        for budget, wrong in ((e, False), (1.01 * e, True)):
            judge = sine.SineCells(budget)
            y, ended = math.expm1(budget), judge.ends / DENOMINATOR
            within = sine._WINDOW * (1 + y) / (cells.line + sine._WINDOW * y)
            expected = draws * np.array([(1 - ended) * within, (1 - ended) * (1 - within), ended])
            keep = expected > 0
            chance = stats.chi2.sf(((seen - expected)[keep] ** 2 / expected[keep]).sum(), keep.sum() - 1)
            assert bool(chance < FALSE_ALARM) is wrong
