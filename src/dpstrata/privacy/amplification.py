"""Privacy amplification by a secret simple random sample, and its inverse.

Balle, Barthe and Gaboardi, "Privacy amplification by subsampling" (2018), theorem 9; also Ullman's
lecture notes (2017). Neighbours replace one person inside a stratum; stratum sizes and sample sizes
are public and fixed before any answer is seen.
"""

from __future__ import annotations  # help() shows the names of types, not what NumPy makes of them

from typing import overload

import numpy as np
import numpy.typing as npt

from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray


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
