"""What a mechanism says it is never worse than, against the textbook variances of all of them."""

import math

import mpmath
import numpy as np
import pytest

from dpstrata.errors import InputError
from dpstrata.privacy.mechanisms import MECHANISMS, get_mechanism
from dpstrata.privacy.mechanisms.staircase import BETTER_FROM
from problems import answers_of, plain_variance

pytestmark = pytest.mark.slow

STEPS = (None, 1, 2, 3, 4, 7, 10, 100, 1000, 10**6, 10**9)
BUDGETS = np.unique(
    np.concatenate(
        [np.geomspace(1e-6, 100, 500), np.linspace(3, 6, 200), BETTER_FROM + np.linspace(-1e-6, 1e-6, 5)]
    )
)
INTERVALS = (
    (0.0, math.inf),
    (1e-6, BETTER_FROM),
    (BETTER_FROM, 100.0),
    (BETTER_FROM - 0.5, BETTER_FROM),
    (BETTER_FROM, BETTER_FROM + 0.5),
    (0.1, 3.0),
    (6.0, 20.0),
    (4.0, 5.0),
)


def fitting(steps):
    found = {}
    for name in MECHANISMS:
        try:
            mechanism = get_mechanism(name, answers_of(steps))
        except InputError:
            continue
        if not mechanism.needs_delta:
            found[name] = mechanism
    return found


def exact_variances(name, steps, answer_range, budgets):
    with mpmath.workdps(50):
        R = mpmath.mpf(answer_range)
        return [plain_variance(name, mpmath.mpf(float(e)), R, steps) for e in budgets]


@pytest.mark.parametrize("steps", STEPS)
def test_no_claim_is_false_at_any_budget(steps):
    variances = {name: exact_variances(name, steps, 1.0, BUDGETS) for name in fitting(steps)}
    for name, mechanism in fitting(steps).items():
        for least, most in INTERVALS:
            inside = np.flatnonzero((least <= BUDGETS) & (most >= BUDGETS))
            for other in mechanism.never_worse_than(least, most) & variances.keys():
                assert other != name
                worst = max((variances[name][i] / variances[other][i], BUDGETS[i]) for i in inside)
                assert worst[0] <= 1 + 1e-14, (name, other, steps, float(worst[1]))


@pytest.mark.parametrize("answer_range", [1e-30, 0.3, 8000.0, 1e30])
def test_the_range_of_answers_changes_nothing(answer_range):
    budgets = (1e-6, 0.5, 4.4, 4.5, 30.0)
    for steps in (None, 1, 2, 50):
        for name in fitting(steps):
            unit = exact_variances(name, steps, 1.0, budgets)
            scaled = exact_variances(name, steps, answer_range, budgets)
            for v, w in zip(unit, scaled, strict=True):
                assert float(w / v) == pytest.approx(answer_range**2)


@pytest.mark.parametrize("additive", [False, True], ids=["microdata", "sums"])
@pytest.mark.parametrize("steps", STEPS)
def test_what_is_never_best_is_left_out_and_what_can_be_is_not(steps, additive):
    """Over all budgets, those that no claim leaves out are exactly those that are best at some budget."""
    usable = {name: each for name, each in fitting(steps).items() if each.additive or not additive}
    variances = {name: exact_variances(name, steps, 1.0, BUDGETS) for name in usable}
    winners = {min(variances, key=lambda name: variances[name][i]) for i in range(len(BUDGETS))}
    beaten = frozenset().union(*(each.never_worse_than(0.0, math.inf) for each in usable.values()))
    assert set(variances) - beaten == winners
    if additive:
        assert winners == ({"discrete_laplace"} if steps == 1 else {"staircase"})
    else:
        scale = {"cells"} if steps is not None and 2 <= steps <= 20 else set()
        assert winners == ({"randomized_response"} if steps == 1 else {"sine"} | scale)


def test_staircase_and_piecewise_cross_once():
    """Where 2w³ − 3w² − 1 = 0, with w = cosh(e/2)^(1/3)."""
    w = math.cosh(BETTER_FROM / 2) ** (1 / 3)
    assert 2 * w**3 - 3 * w**2 - 1 == pytest.approx(0, abs=1e-13)
    below, above = BETTER_FROM * (1 - 1e-9), BETTER_FROM * (1 + 1e-9)
    for e, better in ((below, "piecewise"), (above, "staircase")):
        rows = {name: exact_variances(name, None, 1.0, [e])[0] for name in ("piecewise", "staircase")}
        assert min(rows, key=rows.get) == better
    assert round(BETTER_FROM, 4) == 4.4678


def test_a_false_claim_would_be_seen(monkeypatch):
    kind = type(get_mechanism("tulap", answers_of()))
    monkeypatch.setattr(kind, "never_worse_than", lambda self, least, most: frozenset({"laplace"}))
    with pytest.raises(AssertionError, match="tulap"):
        test_no_claim_is_false_at_any_budget(None)
