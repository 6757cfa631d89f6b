"""The page about sums holds what its script computes, and that is what was promised."""

import itertools
from pathlib import Path

import pytest
from generated import fill
from release_tables import figures, release_tables

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "sums.md"
FOUR = {  # standard errors with at most 200, 2,000 and all people; at epsilon 0.1, and at 1
    "every noised answer": (("0.0217", "0.0205", "0.0205"), ("0.0094", "0.0056", "0.0050")),
    "sums, E = 8": (("0.0089", "0.0027", "0.0009"), ("0.0075", "0.0023", "0.0002")),
    "sums, E = 5": (("0.0124", "0.0039", "0.0011"), ("0.0117", "0.0036", "0.0007")),
    "sums, E = 3": (("0.0217", "0.0070", "0.0018"), ("0.0216", "0.0068", "0.0015")),
    "one number, E = 5": (("0.0121", "0.0037", "0.0008"), ("0.0118", "0.0036", "0.0007")),
    "sums of raw answers": (("0.0082", "0.0025", "0.0008"), ("0.0065", "0.0019", "0.0001")),
}


def test_the_page_holds_the_tables():
    text = fill(PAGE.read_text(encoding="utf-8"))
    assert release_tables() in text
    assert "| every noised answer | 0.0217 / 0.0205 (best at 584) / same | 0.0094 / 0.0056 / 0.0050" in text
    assert text.count("| sums of raw answers |") == 3


@pytest.mark.parametrize("release", FOUR)
def test_four_strata(release):
    rows = figures(0)[release]
    assert tuple(tuple(f"{error:.4f}" for error, _ in row) for row in rows) == FOUR[release]


def test_schools():
    """Everyone asked at epsilon 0.1: with published answers 146 people are best."""
    error, people = figures(2)["every noised answer"][0][-1]
    assert (f"{error:.4f}", people) == ("0.0493", 146)
    assert f"{figures(2)['sums, E = 5'][0][-1][0]:.4f}" == "0.0174"
    assert f"{figures(2)['one number, E = 5'][0][-1][0]:.4f}" == "0.0030"
    assert f"{figures(2)['one number, of raw answers'][0][-1][0]:.4f}" == "0.0023"


@pytest.mark.parametrize("place", [0, 1, 2])
def test_more_people_and_larger_budgets_help(place):
    table = figures(place)
    for name, rows in table.items():
        for row in rows:
            errors = [error for error, _ in row]
            assert errors == sorted(errors, reverse=True), name
    ordered = [table[f"sums, E = {E}"] for E in (3, 5, 8)] + [table["sums of raw answers"]]
    for less, more in itertools.pairwise(ordered):
        assert all(a[0] >= b[0] for x, y in zip(less, more, strict=True) for a, b in zip(x, y, strict=True))
