"""The one-dimensional search under every allocation: a price at which the shares add up to the total."""

from collections.abc import Callable

import numpy as np

from dpstrata.arrays import FloatArray, blocks

_MOST_STEPS = 200


def balance(
    base: FloatArray | None,
    weight: FloatArray,
    slope: FloatArray | None,
    lower: FloatArray,
    upper: FloatArray,
    total: float,
    start: float | None = None,
) -> tuple[FloatArray, float]:
    r"""Find shares that add up to ``total``.

    The shares are :math:`x_i = \mathrm{clip}(u_i + g_i / \sqrt{\lambda + s_i},\ l_i,\ h_i)`, which rise as
    the price λ falls; a share with :math:`\lambda + s_i \le 0` is at its upper bound.

    Parameters
    ----------
    base, weight, slope : array
        u (``None`` is zero), g >= 0 and s (``None`` is zero).
    lower, upper : array
        Bounds, with Σ lower <= total <= Σ upper.
    total : float
        The sum to reach.
    start : float, optional
        A price near the solution.

    Returns
    -------
    shares : array
        Real numbers that add up to ``total`` up to rounding.
    price : float
        λ. Where shares jump over the total at one price (strata whose gain is constant), those that jump
        are filled in their order.

    Notes
    -----
    In :math:`\tau = (\lambda - \lambda_0)^{-1/2}`, with λ₀ the smallest price that leaves all square
    roots defined for the steepest stratum, the sum is piecewise linear when all slopes are equal, so
    Newton's method ends after a few steps; a bracket keeps it safe elsewhere.
    """
    floor = 0.0 if slope is None else -float(slope.max())
    out = np.empty(len(weight))

    def fill(tau: float) -> tuple[float, float]:
        """Set ``out`` to the shares at ``tau``; return their sum and its derivative."""
        price = floor + tau**-2
        sum_, derivative = 0.0, 0.0
        for part in blocks(len(weight)):
            g, low, high, x = weight[part], lower[part], upper[part], out[part]
            if slope is None:
                rate = g
                np.multiply(g, tau, out=x)
            else:
                room = price + slope[part]
                positive = room > 0
                room = np.where(positive, room, 1.0)
                rate = g / np.sqrt(room)
                x[:] = np.where(positive, rate, np.inf)
                rate = rate / (room * tau**3)
            if base is not None:
                x += base[part]
            np.maximum(x, low, out=x)
            np.minimum(x, high, out=x)
            sum_ += float(x.sum())
            derivative += float(np.dot(rate, (x > low) & (x < high)))
        return sum_, derivative

    if start is not None and start > floor:
        tau = (start - floor) ** -0.5
    else:
        tau = total / float(weight.sum()) if weight.any() else 1.0
    low_tau, high_tau = 0.0, np.inf
    for _ in range(_MOST_STEPS):
        sum_, derivative = fill(tau)
        miss = total - sum_
        if abs(miss) <= 1e-14 * total:
            return out, floor + tau**-2
        if miss > 0:
            low_tau = tau
        else:
            high_tau = tau
        following = tau + miss / derivative if derivative > 0 else 0.0
        if not low_tau < following < high_tau:
            following = _between(low_tau, high_tau, tau)
        if abs(following - tau) <= 4e-16 * tau or following > 1e150:
            break
        tau = following
    tau = _fill_the_jump(fill, out, upper, total, low_tau, high_tau)
    return out, floor + tau**-2


def _between(low: float, high: float, tau: float) -> float:
    if high == np.inf:
        return tau * 16.0
    if low == 0.0:
        return tau / 16.0
    return float(np.sqrt(low) * np.sqrt(high))


def _fill_the_jump(
    fill: Callable[[float], tuple[float, float]],
    out: FloatArray,
    upper: FloatArray,
    total: float,
    low_tau: float,
    high_tau: float,
) -> float:
    """Between two neighbouring prices some shares jump: give the rest to them, in their order."""
    above = upper
    if high_tau < np.inf:
        fill(high_tau)
        above = out.copy()
    if low_tau == 0.0:
        low_tau = high_tau * (1.0 - 1e-12)
    fill(low_tau)
    room = np.maximum(above - out, 0.0)
    before = np.cumsum(room) - room
    out += np.clip(total - out.sum() - before, 0.0, room)
    return low_tau
