r"""What is lost to someone who sees the answers of a batch, but not whose is whose.

The privacy blanket of Balle, Bell, Gascón and Nissim (2019): of B rows, each is drawn at random from all K
with probability ρ, and the M of them that are hide the one that is not. With W uniform,

.. math:: \delta(\varepsilon) \le \frac{1}{\rho B}\, E\Bigl(\sum_{i=1}^{M} L_i\Bigr)_+, \qquad
    L = K\,\bigl(\mu_x(W) - e^{\varepsilon} \mu_{x'}(W)\bigr), \qquad M \sim \mathrm{Bin}(B, \rho)

for two answers x and x'; μ is what a device sends.
"""

from __future__ import annotations

import math

import numpy as np

DELTA = 1e-5
LARGEST = 200
"""The largest batch whose loss is worked out in about a second; the time grows with its cube."""


def batch_epsilon(epsilon: float, *, cells: int, batch: int, delta: float = DELTA) -> float:
    """Return the loss, up to ``delta``, to someone who sees a batch of rows in no order.

    Parameters
    ----------
    epsilon : float
        The budget of a device, > 0.
    cells : int
        K, how many different rows there are; at least 2.
    batch : int
        B, how many rows are seen together; at least 1.
    delta : float
        Between 0 and 1.

    Returns
    -------
    float
        At most ``epsilon``; an upper bound, found to 0.1%.

    Examples
    --------
    >>> round(batch_epsilon(2.0, cells=10, batch=20), 1), round(batch_epsilon(2.0, cells=10, batch=100), 1)
    (1.5, 0.8)
    """
    low, high = 0.0, epsilon
    while high - low > 1e-3 * epsilon:
        middle = (low + high) / 2
        low, high = (low, middle) if _delta_at(middle, epsilon, cells, batch) <= delta else (middle, high)
    return high


def _delta_at(loss: float, epsilon: float, cells: int, batch: int) -> float:
    """Bound δ at a loss: sum over the rows drawn at random, those at x, and those at x'."""
    replaced = cells / (math.expm1(epsilon) + cells)
    kept, factor = cells * (1 - replaced) + replaced, math.exp(loss)
    at_x, at_other, elsewhere = kept - factor * replaced, replaced - factor * kept, replaced * (1 - factor)
    total = 0.0
    for drawn in range(1, batch + 1):
        weight = _binomial(batch, np.array([drawn]), replaced)[0]
        x = np.arange(drawn + 1)
        others = np.arange(drawn + 1)[:, None]
        left = drawn - x
        chance = _binomial(drawn, x, 1 / cells) * _binomial(
            left, np.minimum(others, left), 1 / max(cells - 1, 1)
        )
        value = x * at_x + others * at_other + (left - others) * elsewhere
        total += weight * float((np.where(others <= left, chance, 0.0) * np.maximum(value, 0.0)).sum())
    return total / (replaced * batch)


def _binomial(n: object, k: object, p: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    from scipy.special import gammaln, xlog1py, xlogy

    n, k = np.asarray(n, dtype=float), np.asarray(k, dtype=float)
    log = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, p) + xlog1py(n - k, -p)
    return np.asarray(np.exp(log))
