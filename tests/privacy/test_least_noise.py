r"""The least noise there can be: a bound that no mechanism is below, and how near to it sine noise is.

Answers are scaled to [−1, 1]. Of all ways to randomise some answers x such that no output is more than X = exp(e)
times as likely for one as for another, and that outputs u have the mean x, the least V for which every variance is at
most V solves a linear program: P_x(u) lies between m(u) and X·m(u), for some m. Whatever the outputs are, V has a lower
bound for any numbers μ_x ≥ 0, a_x and b_x. With

    L_x(u) = μ_x(u − x)² − a_x − b_x(u − x)

the mean of L_x under P_x is at most μ_x·V − a_x, and at least the integral of L_x⁺ − X·L_x⁻ against m. So if

    F(u) = Σ_x (L_x⁺(u) − X·L_x⁻(u)) ≥ 0 for every real u, then V·Σμ_x ≥ Σa_x.

The multipliers of the linear program are such numbers, but for what F lacks between the outputs that the program knows;
lowering every a_x a little makes up for it. F is a parabola between any two roots of the L_x, so that its least value is
found exactly. A bound for some answers is a bound for all.
"""

import csv
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp
from scipy import sparse
from scipy.optimize import linprog

from dpstrata.privacy.mechanisms import get_mechanism, sine
from extent import FULL, few
from problems import MECHANISMS, answers_of

pytestmark = pytest.mark.slow

REFERENCE = Path(__file__).parent.parent / "reference"
ANY_NUMBER = [name for name, steps in MECHANISMS if steps is None]
MOST_ABOVE = {
    0.5: 4.5,
    1.0: 4.0,
    1.5: 4.0,
    2.0: 4.0,
    3.0: 2.6,
    4.0: 1.6,
    5.0: 1.2,
    6.0: 1.1,
}  # % of the bound


# --- the linear program -----------------------------------------------------------------------------


def linear_program(e, answers, outputs):
    """Least worst-case variance over so many answers and outputs on either side of 0, and μ, a and b of the answers.

    Both are positive numbers; whatever an answer x does with an output u, −x does with −u. Unknown are m(u), V and
    r_x(u) between 0 and m(u), with P_x = m + (X − 1)r_x.
    """
    y, K, n = math.expm1(e), len(answers), 2 * len(outputs)
    either = np.concatenate([-outputs[::-1], outputs])
    mirror = sparse.csr_matrix((np.ones(n), (np.arange(n), np.abs(np.arange(n) - (n - 1) / 2).astype(int))))

    def moments(power):
        each = (either - answers[:, None]) ** power
        return [sparse.block_diag([sparse.csr_matrix(y * row) for row in each[:, None]]), each @ mirror]

    below = [-mirror] * K
    at_most = sparse.bmat(
        [
            [sparse.eye(K * n), sparse.vstack(below), None],
            [*moments(2), -np.ones((K, 1))],
        ]
    )
    exactly = sparse.bmat([[*moments(0), sparse.csr_matrix((K, 1))], [*moments(1), None]])
    solved = linprog(
        np.append(np.zeros(at_most.shape[1] - 1), 1.0),
        A_ub=at_most.tocsr(),
        b_ub=np.zeros(at_most.shape[0]),
        A_eq=exactly.tocsr(),
        b_eq=np.repeat([1.0, 0.0], K),
        method="highs-ds",
    )
    assert solved.status == 0, solved.message
    return solved.fun, -solved.ineqlin.marginals[-K:], *solved.eqlin.marginals.reshape(2, K)


def solve(e, answers, outputs):
    """Value of the program for so many answers from 0 to 1 and outputs, and multipliers that hold for every u.

    Outputs go somewhat beyond the largest reading of sine noise.
    """
    x = np.linspace(0.0, 1.0, answers)
    u = (np.arange(outputs) + 0.5) / outputs * 1.15 * get_mechanism("sine", answers_of()).reach(e)
    value, mu, a, b = linear_program(e, x, u)
    return value / 4, lowered(e, *mirrored(x, np.maximum(mu, 0.0), a, b))


def lowered(e, x, mu, a, b):
    """The same multipliers with every a so much lower that F is positive everywhere."""
    low, high = 0.0, max(1e-12 - least_in_doubles(e, x, mu, a, b), 0.0)
    for _ in range(60):
        middle = (low + high) / 2
        enough = least_in_doubles(e, x, mu, a - middle, b) >= 1e-12
        low, high = (low, middle) if enough else (middle, high)
    return x, mu, a - high, b


def mirrored(x, mu, a, b):
    """The multipliers of negative answers, too; of 0, which mirrors itself, they count twice."""
    twice = np.where(x == 0, 2.0, 1.0)
    negative = slice(None, 0, -1)
    return tuple(
        np.concatenate([sign * part[negative], part])
        for sign, part in ((-1, x), (1, twice * mu), (1, twice * a), (-1, twice * b))
    )


# --- the bound --------------------------------------------------------------------------------------


def least_in_doubles(e, x, mu, a, b):
    """Least value of F over all real u, but for the rounding of doubles."""
    square, line, constant = mu, -2 * mu * x - b, mu * x * x - a + b * x
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(line * line - 4 * square * constant)
        far = -0.5 * (line + np.copysign(root, line))
        roots = np.concatenate([far / square, constant / far])
    roots = np.unique(np.append(roots[np.isfinite(roots)], 0.0))
    inside = np.concatenate([roots[:1] - 1, (roots[1:] + roots[:-1]) / 2, roots[-1:] + 1])
    parabolas = (square[:, None] * inside + line[:, None]) * inside + constant[:, None]
    factor = np.where(parabolas < 0, math.exp(e), 1.0)
    square, line, constant = (part @ factor for part in (square, line, constant))
    lowest = np.clip(
        -line / (2 * square), np.append(-np.inf, roots), np.append(roots, np.inf)
    )  # of each parabola, where it holds
    return float(((square * lowest + line) * lowest + constant).min())


def least_value(e, x, mu, a, b):
    """The same in mpmath, written for itself."""
    X = mp.exp(e)
    parabolas = [
        (m, -2 * m * t - s, m * t * t - c + s * t)
        for t, m, c, s in zip(x, mu, a, b, strict=True)
        if (m, c, s) != (0, 0, 0)
    ]
    roots = []
    for square, line, constant in parabolas:
        inner = line**2 - 4 * square * constant
        if square > 0 and inner > 0:
            roots += [(-line - mp.sqrt(inner)) / (2 * square), (-line + mp.sqrt(inner)) / (2 * square)]
        elif square == 0 and line != 0:
            roots.append(-constant / line)
    roots.sort()
    least = mp.inf
    for low, high in zip([-mp.inf, *roots], [*roots, mp.inf], strict=True):
        inside = high - 1 if low == -mp.inf else low + 1 if high == mp.inf else (low + high) / 2
        whole = [mp.mpf(0)] * 3
        for parabola in parabolas:
            square, line, constant = parabola
            factor = X if (square * inside + line) * inside + constant < 0 else 1
            whole = [w + factor * part for w, part in zip(whole, parabola, strict=True)]
        square, line, constant = whole
        assert square > 0
        at = min(max(-line / (2 * square), low), high)
        least = min(least, (square * at + line) * at + constant)
    return least


def proven_bound(e, x, mu, a, b):
    """Lower bound on v(e) of every mechanism, in squared ranges; the numbers are checked to 40 digits."""
    with mp.workdps(40):
        x, mu, a, b = ([mp.mpf(float(each)) for each in part] for part in (x, mu, a, b))
        assert min(mu) >= 0
        assert all(-1 <= each <= 1 for each in x)
        assert least_value(mp.mpf(e), x, mu, a, b) >= 0
        return float(sum(a) / sum(mu) / 4)


# --- what was found ---------------------------------------------------------------------------------


def lines_of(name):
    text = (REFERENCE / name).read_text(encoding="utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


@cache
def bounds():
    """The bound by budget, as it is frozen."""
    return {float(line["epsilon"]): float(line["bound"]) for line in lines_of("least-noise.csv")}


def frozen_multipliers(e):
    found = [line for line in lines_of("least-noise-multipliers.csv") if float(line["epsilon"]) == e]
    return mirrored(*(np.array([float(line[name]) for line in found]) for name in ("answer", "mu", "a", "b")))


@pytest.mark.parametrize("e", MOST_ABOVE)
def test_no_mechanism_has_less_noise(e):
    """The frozen multipliers prove the frozen bound, and sine noise is a few per cent above it."""
    bound = bounds()[e]
    assert bound <= proven_bound(e, *frozen_multipliers(e)) <= bound * (1 + 1e-4)
    variances = {name: float(get_mechanism(name, answers_of()).variance(e)) for name in ANY_NUMBER}
    assert bound <= variances["sine"] <= bound * (1 + MOST_ABOVE[e] / 100)
    assert min(variances, key=variances.get) == "sine"


@pytest.mark.parametrize("e", few((1.0, 4.0), of=tuple(MOST_ABOVE)))
def test_the_linear_program_says_the_same(e):
    """Solved here, coarsely or in full; a mechanism on outputs of a grid needs no less noise than the bound."""
    value, multipliers = solve(e, *few((11, 60), of=(41, 200)))
    bound = proven_bound(e, *multipliers)
    assert bound <= value * (1 + 1e-9)
    assert few(0.97, of=0.99) * bounds()[e] <= bound
    assert value <= float(get_mechanism("sine", answers_of()).variance(e))
    if FULL:  # the frozen bound is about the same answers
        assert bounds()[e] <= value <= 1.004 * bounds()[e]


def test_a_bound_that_is_too_high_has_no_proof():
    x, mu, a, b = frozen_multipliers(2.0)
    with pytest.raises(AssertionError):
        proven_bound(2.0, x, mu, a * 1.002, b)
    with pytest.raises(AssertionError):
        proven_bound(2.05, x, mu, a, b)


# --- the page ---------------------------------------------------------------------------------------


def table_rows():
    """Variances by budget, and by how many per cent they exceed the bound."""
    for e, bound in bounds().items():
        variances = [
            float(get_mechanism(name, answers_of()).variance(e))
            for name in ("sine", "staircase", "piecewise", "laplace")
        ]
        variances.append(1 / (2 * math.tanh(e / 2)) ** 2)  # two ends, at worst
        above = [100 * (v / bound - 1) for v in variances]
        cells = [
            f"{v:#.4g} (+{p:.1f}%)" if p < 10 else f"{v:#.4g} (+{p:,.0f}%)"
            for v, p in zip(variances, above, strict=True)
        ]
        yield f"| {e:g} | {bound:#.5g} | {' | '.join(cells)} |"


def test_the_page_has_these_figures():
    page = (REFERENCE.parent.parent / "docs" / "explanation" / "least-noise.md").read_text(encoding="utf-8")
    table = page[: page.index("## Scales")]
    rows = [line for line in table.splitlines() if line.startswith("| ") and line[2].isdigit()]
    assert rows == list(table_rows())
    assert f"{sine._JOINT:.3f}" == "1.972"
    assert page.count("e = 1.972") == 2
    assert f"a window is {sine._WINDOW} of them" in page
    assert f"{len(frozen_multipliers(1.0)[0])} answers" in page
