"""The one-dimensional search under every allocation: a price at which the shares add up to the total."""

from typing import NamedTuple

import numpy as np

from dpstrata.numerics.arrays import FloatArray, blocks

_MOST_STEPS = 200
_LEAST_PRICE = 1e-290  # below it a price would soon be zero, and its root no divisor


class Capped(NamedTuple):
    r"""Shares below a kink: :math:`u_i + g_i (\lambda - o)^{-1/p}` up to it, whatever they are above it."""

    base: FloatArray | None
    """``None`` is zero."""
    weight: FloatArray
    origin: float
    kinks: FloatArray
    """Within the limits."""


def balance(
    base: FloatArray | None,
    weight: FloatArray,
    slope: FloatArray | None,
    lower: FloatArray,
    upper: FloatArray,
    total: float,
    start: float | None = None,
    capped: Capped | None = None,
    *,
    power: float = 2.0,
) -> tuple[FloatArray, float]:
    r"""Find shares that add up to ``total``.

    The shares are :math:`x_i = \mathrm{clip}(u_i + g_i (\lambda + s_i)^{-1/p},\ l_i,\ h_i)`, which rise as
    the price λ > 0 falls; a share with :math:`\lambda + s_i \le 0` is at its upper limit.

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
    capped : Capped, optional
        What shares are below a kink; those above are at least the kink.
    power : float
        p, at least 2.

    Returns
    -------
    shares : array
        Real numbers that add up to ``total`` up to rounding.
    price : float
        λ. Where shares jump over the total at one price (strata whose gain is constant), or no positive price
        gives enough, those that jump are filled in their order.

    Notes
    -----
    In :math:`\lambda^{-1/p}` the sum is piecewise linear when there are no slopes, so Newton's method ends
    after a few steps; a bracket keeps it safe elsewhere.
    """
    shares = _Shares(
        out=np.empty(len(weight)),
        base=base,
        weight=weight,
        slope=slope,
        lower=lower if capped is None else capped.kinks,
        upper=upper,
        floor=lower,
        capped=capped,
        power=power,
    )
    price = start or (float(weight.sum()) / total) ** power or 1.0
    first, enough, too_much = price, np.inf, 0.0  # prices whose sums are known to be too small, too large
    for _ in range(_MOST_STEPS):
        miss = total - shares.fill(price)
        if abs(miss) <= 1e-14 * total:
            return shares.out, price
        if miss > 0:
            enough = price
        else:
            too_much = price
        rate = shares.rate(price)
        ratio = 1.0 + miss / rate if rate > 0 else 0.0
        following = price / ratio**power if ratio > 0 else 0.0
        if not too_much < following < enough:
            following = _between(too_much, enough, price)
        if abs(following - price) <= 4e-16 * price or following < max(1e-60 * first, _LEAST_PRICE):
            break
        price = following
    price = shares.fill_the_jump(total, enough, too_much)
    return shares.out, price


class _Shares(NamedTuple):
    """The shares that a price gives, and how fast they change with it."""

    out: FloatArray
    """The shares at the last price."""
    base: FloatArray | None
    weight: FloatArray
    slope: FloatArray | None
    lower: FloatArray
    """Of what is above the kinks, where there are any."""
    upper: FloatArray
    floor: FloatArray
    """Of what is below them."""
    capped: Capped | None
    power: float

    def fill(self, price: float) -> float:
        """Set ``out`` to the shares at ``price`` and return their sum."""
        sum_ = 0.0
        for part in blocks(len(self.weight)):
            x = self.out[part]
            if self.slope is None:
                np.multiply(self.weight[part], price ** (-1.0 / self.power), out=x)
            else:
                room = self.slope[part] + price
                np.divide(self.weight[part], root(np.abs(room), self.power), out=x, where=room > 0)
                x[room <= 0] = np.inf
            if self.base is not None:
                x += self.base[part]
            np.maximum(x, self.lower[part], out=x)
            np.minimum(x, self.upper[part], out=x)
            if (capped := self.capped) is not None and price > capped.origin:
                below = self._below(capped, price, part)
                x[:] = np.where(below < capped.kinks[part], below, x)
            sum_ += float(x.sum())
        return sum_

    def _below(self, capped: Capped, price: float, part: slice) -> FloatArray:
        """Return what the shares would be below their kinks."""
        below: FloatArray = capped.weight[part] / (price - capped.origin) ** (1.0 / self.power)
        if capped.base is not None:
            below += capped.base[part]
        return np.maximum(below, self.floor[part], out=below)

    def rate(self, price: float) -> float:
        """Change of the sum with log(λ^-1/p), at the shares in ``out``."""
        total_rate = 0.0
        for part in blocks(len(self.weight)):
            x = self.out[part]
            inside = (x > self.lower[part]) & (x < self.upper[part])
            rate = self.weight[part]
            if self.slope is not None:
                ratio = price / np.where(inside, self.slope[part] + price, 1.0)
                rate = rate * (ratio * root(ratio, self.power))
            total_rate += float(rate.sum() if inside.all() else np.dot(rate, inside))
            if (capped := self.capped) is not None and price > capped.origin:
                inside = (x > self.floor[part]) & (x < capped.kinks[part])
                total_rate += np.dot(capped.weight[part], inside) * (price / (price - capped.origin)) ** (
                    1.0 + 1.0 / self.power
                )
        return float(total_rate * price ** (-1.0 / self.power))

    def fill_the_jump(self, total: float, enough: float, too_much: float) -> float:
        """Between two neighbouring prices some shares jump: give the rest to them, in their order."""
        above = self.upper
        if too_much > 0.0:
            self.fill(too_much)
            above = self.out.copy()
        if enough == np.inf:
            enough = too_much * (1.0 + 1e-12)
        self.fill(enough)
        room = np.maximum(above - self.out, 0.0)
        before = np.cumsum(room) - room
        np.add(self.out, np.clip(total - self.out.sum() - before, 0.0, room), out=self.out)
        return enough


def root(values: FloatArray, power: float) -> FloatArray:
    """Take a root; the square root is far quicker than others."""
    return np.asarray(np.sqrt(values) if power == 2.0 else values ** (1.0 / power))


def _between(too_much: float, enough: float, price: float) -> float:
    if too_much == 0.0:
        return price / 256.0
    if enough == np.inf:
        return price * 256.0
    return float(np.sqrt(too_much) * np.sqrt(enough))
