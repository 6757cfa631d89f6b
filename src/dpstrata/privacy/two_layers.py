r"""Devices randomise, then the office adds noise: what both layers together lose inside the sample.

Let a device lose at most E, and let ρ be its common mass :math:`\int \inf_x P_x`: the probability with which
its report does not depend on the answer at all; its report is informative with probability 1 − ρ. Office
noise that alone loses :math:`e_c` about a report then loses e about the answer, with

.. math:: \frac{1}{e^{e} - 1} = \frac{1}{(1 - \rho)(e^{e_c} - 1)} + \frac{1}{e^{E} - 1} .

The device's randomness is drawn once. If the same reports are published k times, only the office's noise is
new, so :math:`k e_c` takes the place of :math:`e_c`; however often, the loss stays below E.
"""

from __future__ import annotations

import math

import numpy as np

from dpstrata.numerics.arrays import FloatArray


def office_budgets(budgets: FloatArray, device_epsilon: float, informative: float | FloatArray) -> FloatArray:
    """Return the budgets at which the office adds noise so that both layers together lose ``budgets``.

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
