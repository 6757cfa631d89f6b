"""What a device does to a row: in whole numbers, never above its budget, and of the right law."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp
from scipy import stats

from dpstrata.privacy import rows
from dpstrata.privacy.rows import (
    DENOMINATOR,
    below,
    cell_of,
    level_of,
    odds_below,
    places_of,
    randomized_cell,
)


def enumerated(size):
    """Every string of so many bytes once, for counting instead of drawing."""
    return itertools.product(range(256), repeat=size)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 3.0, 5.0, 8.0, 30.0, 100.0])
def test_the_odds_never_exceed_the_budget_and_nearly_use_it(epsilon):
    odds = odds_below(epsilon)
    with mp.workdps(120):
        exact = mp.expm1(mp.mpf(epsilon))
        given = mp.mpf(odds) / DENOMINATOR
        assert given <= exact
        assert exact - given < mp.mpf(2) ** -40


@pytest.mark.parametrize("number", [1, 2, 3, 5, 200, 255, 256])
def test_whole_numbers_are_equally_likely(number):
    """Counted over all bytes: each number comes as often as any other, and the rest is drawn anew."""
    counts = Counter()
    for (byte,) in enumerated(1):
        stream = iter([bytes([byte])])
        try:
            counts[below(number, lambda size, stream=stream: next(stream)[:size])] += 1
        except StopIteration:
            counts["again"] += 1
    kept = {drawn: count for drawn, count in counts.items() if drawn != "again"}
    assert set(kept) == set(range(number))
    assert len(set(kept.values())) == 1


@pytest.mark.parametrize(
    ("start", "window", "line", "odds"), [(0, 1, 2, 1), (2, 1, 6, 7), (1, 3, 5, 5), (2, 2, 4, 8)]
)
def test_numbers_in_a_window_are_as_much_likelier_as_the_odds_say(monkeypatch, start, window, line, odds):
    """Every way in which two draws can come out, counted."""
    monkeypatch.setattr(rows, "DENOMINATOR", 2)
    cases = window * odds + 2 * line
    bits = [(number - 1).bit_length() for number in (cases, line)]
    seen = Counter()
    for pair in itertools.product(range(cases), range(line)):
        given = (bytes([number << (8 - size)]) for number, size in zip(pair, bits, strict=True))
        seen[rows.drawn_near(start, window, line, odds, lambda size, given=given: next(given))] += 1
    inside = {seen[number] for number in range(start, start + window)}
    outside = {seen[number] for number in range(line) if not start <= number < start + window}
    assert len(inside) == len(outside) == 1
    assert Fraction(inside.pop(), outside.pop()) == 1 + Fraction(odds, 2)


def test_the_rows_drawn_have_that_law_and_another_is_noticed():
    cells, draws = 6, 20_000
    odds = odds_below(2.0)
    kept, cases = odds, odds + cells * DENOMINATOR
    seen = np.bincount([randomized_cell(3, cells, odds) for _ in range(draws)], minlength=cells)

    def chi_square(replaced):
        expected = np.full(cells, draws * replaced / cells)
        expected[3] += draws * (1 - replaced)
        return float(stats.chisquare(seen, expected).pvalue)

    right = (cases - kept) / cases
    assert chi_square(right) > 1e-7
    assert chi_square(1.1 * right) < 1e-7 or chi_square(0.9 * right) < 1e-7


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 3), Fraction(27, 100), Fraction(1)])
@pytest.mark.parametrize("levels", [2, 4, 7])
def test_levels_are_without_bias(share, levels):
    place = share * (levels - 1)
    down, between = math.floor(place), place - math.floor(place)
    if between == 0:
        assert level_of(share, range(levels), lambda size: b"\0" * size) == place
        return
    ends = {level_of(share, range(levels), lambda size, b=byte: bytes([b]) * size) for byte in (0,)}
    assert ends == {down + 1}  # the smallest number drawn is below the numerator
    drawn = [level_of(share, range(levels)) for _ in range(4000)]
    error = 6 * math.sqrt(float(between * (1 - between)) / 4000)
    assert np.mean(drawn) == pytest.approx(float(place), abs=error)


def test_rows_and_cells_are_one_to_one():
    levels = [2, 3, 4]
    rows = [places_of(cell, levels) for cell in range(24)]
    assert sorted(rows) == sorted(itertools.product(range(2), range(3), range(4)))
    assert [cell_of(row, levels) for row in rows] == list(range(24))
