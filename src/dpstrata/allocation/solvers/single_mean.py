"""One draw of noise for each figure: sample sizes and scales together.

Figures that overlap are solved in ``overlapping_figures``; for those that do not:

1. Relax: at a price λ of a person each figure has a best strength, the root of a rising slope; the price at
   which their people add up to the total is found around it.
2. Round: at given strengths the problem is that of the sampling variance with higher minimums, which the
   exact solver solves. The strengths are then raised to what those sizes allow.
3. Improve: the proof (``proof.walk``) bounds each strength; try the one with the lowest bound, and
   add the price that belongs to it, until no bound is left below what was found. Of several figures it bounds
   how they share the people (there too), and the same is done with all strengths together.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.single_mean import stated_bound
from dpstrata.allocation.proof.walk import ENOUGH, Minimisers, Walk, below
from dpstrata.allocation.single_mean import SingleMean
from dpstrata.allocation.solvers.exact import solve_exactly
from dpstrata.allocation.solvers.overlapping_figures import solve_shared_room
from dpstrata.allocation.solvers.sizes_at_price import find_price
from dpstrata.allocation.solvers.solution import SingleMeanSolution
from dpstrata.numerics.arrays import FloatArray, IntArray, blocks

_CLOSE = 1e-6  # relative gap at which the search ends
_MOST_TRIES = 12
_PASSES = 4
_FURTHER = 4.0
_FAR = (0.0, 0.1, 0.5, 2.0, 10.0, 100.0)  # where figures have prices of their own
_BESIDE = (0.9, 0.98, 1.02, 1.1)  # prices that limit how many people a figure may have
_STRENGTH_STEPS = 60
_PRICE_TOLERANCE = 3e-4  # what is lost is of the order of its square
_STRENGTH_TOLERANCE = 1e-4


def solve_single_mean(problem: SingleMean) -> SingleMeanSolution:
    r"""Find the sample sizes and scales with the least variance, and prove how close they come to the best.

    Parameters
    ----------
    problem : SingleMean
        Terms without noise, bounds, total and figures.

    Returns
    -------
    SingleMeanSolution
        Sizes that add up to the total, the scale of every figure, and the bound.

    Notes
    -----
    Minimise :math:`\sum_i f_i(n_i) + \sum_g 2\omega_g b_g^2` over whole :math:`l_i \le n_i \le h_i` with
    :math:`\sum_i n_i = \eta` and scales :math:`b_g > 0`, subject to
    :math:`\sum_g a_{ig} R / b_g \le r_i n_i \ln(1 + cN_i/n_i)` in every stratum.
    """
    if len(problem.families) > 1:
        return solve_shared_room(problem)
    search = _BestSoFar(problem)
    search.run()
    strengths = (search.strengths,)
    bound = stated_bound(problem, search.sizes, strengths, search.lower_bound, search.prices)
    return SingleMeanSolution(search.sizes, strengths, bound, search.guess)


class _Relaxation:
    """The best real sizes, nearly: a price, and the strengths of the figures.

    What was found last is where the next search starts.
    """

    def __init__(self, problem: SingleMean) -> None:
        self.problem = problem
        (self.family,) = problem.families
        (self.weights,) = problem.noise_weights
        inner = problem.problem
        self.lower, self.upper = inner.lower.astype(float), inner.upper.astype(float)
        self.roots = inner.terms.core_weights(inner.total)
        self.squares = self.roots**2
        self.per_strength = self.family.coefficients * problem.answer_range
        self.widest = self.family.smallest(problem.levels(self.upper, self.family))
        self.strengths = self.family.smallest(problem.levels(self._shares(), self.family))
        self.x = self._shares()
        self.needed = self.x.copy()

    def _shares(self) -> FloatArray:
        """Sizes between the bounds."""
        room = self.upper - self.lower
        spare = self.problem.problem.total - self.lower.sum()
        return np.asarray(self.lower + room * (spare / max(room.sum(), 1.0)))

    def run(self) -> None:
        """Find the price at which the people add up to the total, nearly, and what belongs to it."""
        least = float(self.lower.sum()) - 0.5
        wanted = self.problem.problem.total - least
        self.price = find_price(
            lambda price: self._people(price) - least,
            wanted,
            self._first_price(),
            tolerance=_PRICE_TOLERANCE,
        )
        self._people(self.price)

    def _first_price(self) -> float:
        """Twice Neyman's, or what the noise alone would pay."""
        total = self.problem.problem.total
        noise = float((self.weights / self.strengths**2).sum())
        return float(self.roots.sum() / total) ** 2 + 2.0 * noise / total

    def _people(self, price: float) -> float:
        """Sum of the best sizes at a price; the best strengths are found on the way."""
        self._best_strengths(price)
        free = self.roots / np.sqrt(price)
        self.x = np.clip(np.maximum(self.needed, free), self.lower, self.upper)
        return float(self.x.sum())

    def _best_strengths(self, price: float) -> None:
        """Find the roots of the slopes by Newton's method in logarithms, inside a bracket."""
        low, high = np.zeros_like(self.strengths), self.widest.copy()
        s = np.minimum(self.strengths, high)
        for _ in range(_STRENGTH_STEPS):
            ratio, steepness = self._slope(price, s)  # of what people cost to what noise costs, 1 at the root
            low, high = np.where(ratio <= 1.0, s, low), np.where(ratio >= 1.0, s, high)
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                following = s * ratio ** (-1.0 / steepness)
            middle = np.where(low > 0, np.sqrt(low * high), 0.5 * high)
            following = np.where((following > low) & (following < high), following, middle)
            done = np.abs(following - s) <= _STRENGTH_TOLERANCE * s
            s = np.where(ratio == 1.0, s, following)
            if np.all(done):
                break
        self.strengths = s

    def _slope(self, price: float, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        r"""s³·Σ(λ + f')·x'(s)/(2W), and nearly how steep it is in log s."""
        loss, rise = np.empty_like(self.x), np.empty_like(self.x)
        for rows in blocks(len(loss)):
            needed = self.per_strength[rows] * s[self.family.codes[rows]]
            x = self.problem.real_sizes(needed, np.maximum(self.needed[rows], 1e-6), rows)
            _, slope = self.problem.room_and_slope(x, rows)
            gain = self.squares[rows] / (x * x)
            binds = (gain < price) & (x > self.lower[rows])
            use = np.where(binds, self.per_strength[rows] / slope, 0.0)
            self.needed[rows], loss[rows] = x, (price - gain) * use
            rise[rows] = 2.0 * gain * use  # x ∝ s nearly, so λ + f' rises with 2·(A/x²) for a unit of log s
        cost, rise = self.family.sums(loss), self.family.sums(rise)
        steepness = 3.0 + np.divide(rise, cost, out=np.zeros_like(cost), where=cost > 0)
        return s**3 * cost / (2.0 * self.weights), steepness


class _BestSoFar:
    """The best sizes so far, and the prices that bound all others."""

    def __init__(self, problem: SingleMean) -> None:
        self.problem = problem
        (self.family,) = problem.families
        self.value, self.lower_bound = np.inf, -np.inf
        self.prices: list[float] = []

    def run(self) -> None:
        """Search until the bound is close."""
        relaxed = _Relaxation(self.problem)
        relaxed.run()
        self.guess = relaxed.x
        strengths = relaxed.strengths
        while (price := self.try_strengths(strengths)) is None:  # whole people need a few more than there are
            strengths = strengths * (1.0 - 1.0 / 64.0)
        # The price of sampling alone is the sharper one, but says nothing where noise is nearly all.
        sharper = len(self.family) == 1 and 0.5 < price / relaxed.price < 2.0
        price, self.other = (price, relaxed.price) if sharper else (relaxed.price, price)
        self.prices.append(price)
        improve = self._one_figure if len(self.family) == 1 else self._several_figures
        gap = np.inf
        for _ in range(_PASSES):  # from better sizes and a better price the windows are sharper
            walk = self._walk()
            self.lower_bound = walk.bound(self.prices)  # as the certificate will find it
            if self.lower_bound >= self._enough or self.value - self.lower_bound > 0.7 * gap:
                break
            gap = self.value - self.lower_bound
            improve(walk)
            if len(self.family) == 1 and self.lower_bound >= self._enough:
                break  # windows of a single figure widen until they close
        else:
            self.lower_bound = self._walk().bound(self.prices)

    @property
    def _enough(self) -> float:
        return below(self.problem, self.value, _CLOSE)

    def _walk(self) -> Walk:
        return Walk(self.problem, self.sizes, self.strengths, self.prices)

    def try_strengths(self, strengths: FloatArray) -> float | None:
        """Find the best sizes at which strengths keep the promise; return their price, if there are any."""
        inner = self.problem.problem
        lower = np.maximum(inner.lower, self.problem.sizes_for([strengths], self.guess))
        least = self.problem.levels(lower.astype(float), self.family)
        if int(lower.sum()) > inner.total or np.any(self.family.smallest(least) < strengths * (1.0 - 1e-12)):
            return None
        n = np.asarray(solve_exactly(replace(inner, lower=lower)).sizes, dtype=np.int64)
        reached = self.problem.strengths(n, self.family)
        value = self.problem.value(n, [reached])
        if value < self.value:
            self.value, self.sizes, self.strengths = value, n, reached
        return _price_of(inner, lower, n)

    def _one_figure(self, walk: Walk) -> None:
        """Try the strength with the lowest bound, again and again."""
        tried: set[int] = set()
        bounds = walk.envelope(self.prices)
        for _ in range(_MOST_TRIES):
            at = int(np.argmin(bounds))
            self.lower_bound = float(bounds[at])
            if bounds[at] >= self._enough:
                return
            found = None
            if at < len(walk.level) and at not in tried:
                tried.add(at)
                found = self.try_strengths(walk.level[at : at + 1])
            # where whole people are not enough, a high price says so, and below a window a low one
            further = _FURTHER * max(self.prices), min(self.prices) / _FURTHER
            price = next(
                (each for each in (found, self.other, *further) if each not in (None, *self.prices)), None
            )
            if price is None:
                return
            self.prices.append(price)
            bounds = np.maximum(bounds, walk.envelope([price]))

    def _several_figures(self, walk: Walk) -> None:
        """Find the price with the highest bound, and try what belongs to it."""
        total = self.problem.problem.total
        few: Minimisers | None = None  # at the lowest price known to be too high, and
        many: Minimisers | None = None  # at the highest known to be too low
        price, best, tried = self.prices[0], walk.minimisers(self.prices[0]), set[float]()
        for tries in range(_MOST_TRIES):
            tried.add(price)
            found = walk.minimisers(price)
            best = max(best, found, key=lambda each: each.bound)
            self.lower_bound = max(self.lower_bound, best.bound)
            people = found.people.sum()
            few, many = (few, found) if people > total else (found, many)
            self.try_strengths(found.strengths)
            if few is not None and many is not None:
                self.try_strengths(_mixed(few, many, total))
            if best.bound >= self._enough:
                break
            price = _next_price(few, many, total, 1.0 + 0.01 * 4**tries)
            if price in tried:
                break
        self.prices = [best.price]
        if best.bound < below(self.problem, self.value, ENOUGH):
            self._share(walk)

    def _share(self, walk: Walk) -> None:
        """Try how figures share the people with the lowest bound, and add the price that belongs to it."""
        self.prices += [self.prices[0] * beside for beside in _BESIDE]
        for _ in range(_MOST_TRIES):
            shared = walk.shared(self.prices, self.value)
            self.lower_bound = max(self.lower_bound, shared.bound)
            if shared.levels is None or self.lower_bound >= self._enough:
                return
            inside = shared.levels < len(walk.level)
            levels = walk.level[np.where(inside, shared.levels, 0)]
            found = self.try_strengths(np.where(inside, levels, self.strengths))
            if found is not None and found not in self.prices:
                self.prices.append(found)
            elif max(self.prices) < self.prices[0] * max(_FAR):
                self.prices += [self.prices[0] * beside for beside in _FAR]
            else:
                return


def _next_price(few: Minimisers | None, many: Minimisers | None, total: int, step: float) -> float:
    """Return where the two lines meet that bound the bound from above, or go on until there are two."""
    if many is None or few is None:
        known = few or many
        assert known is not None
        return known.price * (1.0 / step if many is None else step)
    more, fewer = (float(each.people.sum()) - total for each in (many, few))
    rise = few.bound - many.bound + more * many.price - fewer * few.price
    return min(max(rise / (more - fewer), many.price), few.price)


def _mixed(few: Minimisers, many: Minimisers, total: int) -> FloatArray:
    """Take the strengths of some figures from one side, the largest first, while there are people for it."""
    more = many.people - few.people
    left = total - few.people.sum()
    strengths = few.strengths.copy()
    for figure in np.argsort(-more, kind="stable").tolist():
        if more[figure] <= left:
            strengths[figure] = many.strengths[figure]
            left -= more[figure]
    return strengths


def _price_of(inner: Problem, lower: IntArray, n: IntArray) -> float:
    """Price at which the sizes are the best: between the gain of the next person and that of the last."""
    terms = inner.terms
    following = terms.gain(n.astype(float))[n < inner.upper]
    last = terms.gain(np.maximum(n - 1.0, 1.0))[n > lower]
    gain = float(following.max()) if following.size else 0.0
    loss = float(last.min()) if last.size else gain
    return max(0.5 * (gain + loss) - terms.origin, 0.0)
