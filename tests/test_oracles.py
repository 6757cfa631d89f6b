"""Designs and results are those that were frozen."""

import itertools
import math

import pytest

import oracles
from extent import few

pytestmark = pytest.mark.slow

BATCH = 50
CLOSE = 1e-12
"""Largest difference from a frozen number, relative to the number or, if that is larger, to its standard error."""
FORMS_CLOSE = 1e-9


def batches(name, *, step):
    """Put frozen rows into batches: every ``step``-th of them in `make test`, and all in `make slow`."""
    rows = oracles.read(name)[:: few(step, of=1)]
    return [rows[i : i + BATCH] for i in range(0, len(rows), BATCH)]


def by_case(rows):
    """Put the estimates of each case together."""
    return [list(group) for _, group in itertools.groupby(rows, key=lambda row: row["number"])]


def same(frozen, found, *, scale=0.0, close=CLOSE):
    """Whether a number agrees with the frozen one; both may be missing, infinite or NaN."""
    if frozen == "" or found is None:
        return frozen == "" and found is None
    value = float(frozen)
    if not math.isfinite(value):
        return str(value) == str(float(found))
    return abs(value - found) <= close * max(abs(value), scale)


def differing(row, found, *, exact=(), close=(), tolerance=CLOSE):
    """Name the columns that differ, with what is frozen and what was found."""
    names = [
        name
        for name in exact
        if row[name] != str("" if getattr(found, name) is None else getattr(found, name))
    ]
    names += [name for name in close if not same(row[name], getattr(found, name), close=tolerance)]
    return [
        f"{row['seed']} ({row['case']}): {name} {row[name]!r} -> {getattr(found, name)!r}" for name in names
    ]


def made(make, row):
    """Make the case of a frozen row."""
    case = make(int(row["seed"]))
    assert case.checksum == row["checksum"], f"the generator of cases has changed: seed {row['seed']}"
    return case


@pytest.mark.parametrize("batch", batches("oracle-designs.csv", step=1))
def test_a_single_question_is_designed_as_before(batch):
    wrong = []
    for row in batch:
        found = oracles.design_of(made(oracles.single_case, row))
        exact = ("sample_sizes", "certificate", "optimal", "error")
        wrong += differing(row, found, exact=exact, close=("variance", "standard_error", "local_epsilon"))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("batch", batches("oracle-forms.csv", step=2))
def test_a_questionnaire_is_designed_no_worse_than_before(batch):
    wrong = []
    for row in batch:
        case = made(oracles.questionnaire_case, row)
        found = oracles.design_of(case)
        if row["error"] or found.error:
            if found.error or "forms" in case.options:  # forms that are chosen may fit where they did not
                wrong += differing(row, found, exact=("error",))
        elif (row["forms"], row["sample_sizes"]) == (found.forms, found.sample_sizes):
            close = ("variance", "standard_error", "cost")
            wrong += differing(row, found, exact=("people",), close=close, tolerance=FORMS_CLOSE)
        else:
            wrong += worse(row, found, asks_for_least=oracles.asks_for_least(case))
    assert not wrong, "\n".join(wrong)


def worse(row, found, *, asks_for_least):
    """Describe what got worse: for targets the cost or the number of people, otherwise the variance."""
    name = "variance" if not asks_for_least else "cost" if row["cost"] else "people"
    if getattr(found, name) <= float(row[name]) * (1 + FORMS_CLOSE):
        return []
    return differing(row, found, exact=(name, "forms", "sample_sizes"))


RESULTS = by_case(oracles.read("oracle-results.csv"))


@pytest.mark.parametrize(("name", "case"), oracles.result_cases().items(), ids=oracles.result_cases())
def test_fixed_reports_are_estimated_as_before(name, case):
    rows = next(rows for rows in RESULTS if rows[0]["case"] == name)
    assert case.checksum == rows[0]["checksum"], "the generator of reports has changed"
    found = {tuple(str(each[label]) for label in oracles.LABELS): each for each in oracles.results_of(case)}
    frozen = {tuple(row[label] for label in oracles.LABELS): row for row in rows}
    assert set(found) == set(frozen)
    variances = {}
    wrong = []
    for key, row in frozen.items():
        now, error = found[key], float(row["standard_error"])
        first = variances.setdefault(key[:2], error)
        for label in ("answers", "taken_from"):
            if row[label] != str(now[label]):
                wrong.append(f"{key}: {label} {row[label]!r} -> {now[label]!r}")
        for figure in oracles.FIGURES:
            scale = error * first if figure == "covariance" else error
            if not same(row[figure], now[figure], scale=scale):
                wrong.append(f"{key}: {figure} {row[figure]} -> {now[figure]!r}")
    assert not wrong, "\n".join(wrong)


def test_all_frozen_cases_are_there():
    assert [rows[0]["case"] for rows in RESULTS] == list(oracles.result_cases())
    for name, number in (("oracle-designs.csv", oracles.DESIGNS), ("oracle-forms.csv", oracles.FORMS)):
        assert sum(not row["error"] for row in oracles.read(name)) == number
