"""How budgets combine: with a secret simple random sample, in an unordered batch, and of two layers of noise.

The sample: Balle, Barthe and Gaboardi, "Privacy amplification by subsampling" (2018), theorem 9; also
Ullman's lecture notes (2017). Neighbours replace one person inside a stratum; stratum sizes and sample sizes
are public and fixed before any answer is seen.
"""

from __future__ import annotations  # help() shows the names of types, not what NumPy makes of them

import math
from typing import overload

import numpy as np
import numpy.typing as npt

from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray

BATCH_DELTA = 1e-5
LARGEST_BATCH = 200
"""The largest batch whose loss is worked out in about a second; the time grows with its cube."""


@overload
def local_epsilon(epsilon: float, *, sample_size: int, stratum_size: int) -> float: ...
@overload
def local_epsilon(
    epsilon: float, *, sample_size: npt.ArrayLike, stratum_size: npt.ArrayLike
) -> FloatArray | float: ...
def local_epsilon(
    epsilon: float, *, sample_size: npt.ArrayLike, stratum_size: npt.ArrayLike
) -> FloatArray | float:
    r"""Local budget whose secret-sample guarantee is exactly ``epsilon``.

    Assumes simple random sampling without replacement inside one stratum, sizes fixed before any
    answer is seen, and that who was sampled stays secret.

    Parameters
    ----------
    epsilon : float
        Central budget, > 0.
    sample_size, stratum_size : int or array
        Whole numbers with 1 <= sample_size <= stratum_size.

    Returns
    -------
    float or array
        The budget that each noised answer may spend.

    Raises
    ------
    InputError
        If a size is out of range or ``epsilon`` is not positive.

    Notes
    -----
    .. math:: e(n) = \ln\left(1 + (e^{\varepsilon} - 1)\, N / n\right)

    Examples
    --------
    >>> round(local_epsilon(1.0, sample_size=10, stratum_size=1000), 3)
    5.152
    """
    rate = _sampling_rate(epsilon, "epsilon", sample_size, stratum_size)
    return _plain(np.log1p(np.expm1(epsilon) / rate))


@overload
def central_epsilon(local_epsilon: float, *, sample_size: int, stratum_size: int) -> float: ...
@overload
def central_epsilon(
    local_epsilon: npt.ArrayLike, *, sample_size: npt.ArrayLike, stratum_size: npt.ArrayLike
) -> FloatArray | float: ...
def central_epsilon(
    local_epsilon: npt.ArrayLike, *, sample_size: npt.ArrayLike, stratum_size: npt.ArrayLike
) -> FloatArray | float:
    r"""Central budget of answers noised with ``local_epsilon`` when the sample is secret.

    The inverse of :func:`local_epsilon`, under the same assumptions.

    Parameters
    ----------
    local_epsilon : float or array
        Budget of one noised answer, > 0.
    sample_size, stratum_size : int or array
        Whole numbers with 1 <= sample_size <= stratum_size.

    Returns
    -------
    float or array
        The budget that holds for every member of the stratum, sampled or not.

    Raises
    ------
    InputError
        If a size is out of range or ``local_epsilon`` is not positive.

    Notes
    -----
    .. math:: \varepsilon = \ln\left(1 + \tfrac{n}{N}\,(e^{e} - 1)\right)

    Examples
    --------
    >>> round(central_epsilon(5.1523, sample_size=10, stratum_size=1000), 3)
    1.0
    """
    rate = _sampling_rate(local_epsilon, "local_epsilon", sample_size, stratum_size)
    return _plain(np.log1p(rate * np.expm1(np.asarray(local_epsilon, dtype=float))))


def _sampling_rate(
    budget: npt.ArrayLike, name: str, sample_size: npt.ArrayLike, stratum_size: npt.ArrayLike
) -> FloatArray:
    """Check the arguments of an amplification formula and return q = n / N."""
    budgets = np.asarray(budget, dtype=float)
    if not np.all(np.isfinite(budgets) & (budgets > 0)):
        raise InputError.must(name, "be positive and finite", float(np.min(budgets)), "g")
    n, N = np.asarray(sample_size, dtype=float), np.asarray(stratum_size, dtype=float)
    if not (np.all(n == np.floor(n)) and np.all(np.floor(N) == N)):
        raise InputError(f"{option('sample_size')} and {option('stratum_size')} must be whole numbers.")
    if not np.all((n >= 1) & (n <= N)):
        raise InputError(f"{option('sample_size')} must be at least 1 and at most {option('stratum_size')}.")
    rate: FloatArray = n / N
    return rate


def _plain(values: FloatArray) -> FloatArray | float:
    return float(values) if np.ndim(values) == 0 else values


def batch_epsilon(epsilon: float, *, cells: int, batch: int) -> float:
    r"""Return the loss, up to ``BATCH_DELTA``, to someone who sees a batch of rows in no order.

    Parameters
    ----------
    epsilon : float
        The budget of a device, > 0.
    cells : int
        K, how many different rows there are; at least 2.
    batch : int
        B, how many rows are seen together; at least 1.

    Returns
    -------
    float
        At most ``epsilon``; an upper bound, found to 0.1%.

    Notes ----- The privacy blanket of Balle, Bell, Gascón and Nissim (2019): of B rows, each is drawn at
    random from all K with probability ρ, and the M of them that are hide the one that is not. With W uniform,

    .. math:: \delta(\varepsilon) \le \frac{1}{\rho B}\, E\Bigl(\sum_{i=1}^{M} L_i\Bigr)_+, \qquad
        L = K\,\bigl(\mu_x(W) - e^{\varepsilon} \mu_{x'}(W)\bigr), \qquad M \sim \mathrm{Bin}(B, \rho)

    for two answers x and x'; μ is what a device sends.

    Examples
    --------
    >>> round(batch_epsilon(2.0, cells=10, batch=20), 1), round(batch_epsilon(2.0, cells=10, batch=100), 1)
    (1.5, 0.8)
    """
    low, high = 0.0, epsilon
    while high - low > 1e-3 * epsilon:
        middle = (low + high) / 2
        enough = _delta_at(middle, epsilon, cells, batch) <= BATCH_DELTA
        low, high = (low, middle) if enough else (middle, high)
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


def office_budgets(budgets: FloatArray, device_epsilon: float, informative: float | FloatArray) -> FloatArray:
    r"""Return the budgets at which the office adds noise so that both layers together lose ``budgets``.

    Parameters
    ----------
    budgets : array
        e, what may be lost inside the sample, > 0.
    device_epsilon : float
        E, what a device loses, > 0.
    informative : float or array
        1 − ρ of the device, above 0 and at most 1; given whole, since ρ is close to 1 where E is small.

    Returns
    -------
    array
        e_c; infinite where e ≥ E, so that no noise is needed.

    Notes
    -----
    ρ is the common mass :math:`\int \inf_x P_x` of a device: the probability with which its report does not
    depend on the answer at all. Office noise that alone loses :math:`e_c` about a report then loses e about
    the answer, with

    .. math:: \frac{1}{e^{e} - 1} = \frac{1}{(1 - \rho)(e^{e_c} - 1)} + \frac{1}{e^{E} - 1} .

    The device's randomness is drawn once. If the same reports are published k times, only the office's noise
    is new, so :math:`k e_c` takes the place of :math:`e_c`; however often, the loss stays below E.

    Examples
    --------
    >>> office_budgets(np.array([1.0, 3.0]), 3.0, 0.5).round(4)
    array([1.5637,    inf])
    """
    e = np.minimum(budgets, device_epsilon)
    y = math.expm1(device_epsilon)
    # exp(E) − exp(e) from the exponents, so that it keeps its digits where the two budgets are close
    missing = np.exp(e) * np.expm1(device_epsilon - e)
    with np.errstate(divide="ignore"):
        raised = np.log1p(np.expm1(e) * y / (informative * missing))
    return np.where(budgets >= device_epsilon, np.inf, raised)


def joint_losses(
    office_losses: FloatArray, device_epsilon: float, informative: float | FloatArray
) -> FloatArray:
    """Return what is lost inside the sample; the inverse of :func:`office_budgets`.

    Parameters
    ----------
    office_losses : array
        k·e_c, what the office's noise alone loses over all k publications of the same reports; 0 where
        nothing is published, infinite where there is no noise.
    device_epsilon, informative : float, float or array
        As above.

    Examples
    --------
    >>> joint_losses(np.array([0.0, 1.5637, 2 * 1.5637, np.inf]), 3.0, 0.5).round(4)
    array([0.   , 1.   , 2.072, 3.   ])
    """
    with np.errstate(divide="ignore"):
        inverse = np.exp(-office_losses) / -np.expm1(-office_losses)  # 1/expm1, however large
    return np.log1p(1.0 / (inverse / informative + 1.0 / math.expm1(device_epsilon)))
