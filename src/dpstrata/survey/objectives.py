"""What is minimised: the coefficient a_i of each stratum."""

import numpy as np

from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray, read_only
from dpstrata.survey.options import OPTIONS, Objective
from dpstrata.survey.strata import Strata


def coefficients(strata: Strata, sds: FloatArray, objective: Objective) -> FloatArray:
    """Return a_i: N_i/ΣN for ``mean``, 1 for ``trace``, 1/S_i for ``unit_free``, the column for ``custom``.

    Raises
    ------
    InputError
        If the objective is unknown, a coefficient is missing, or ``unit_free`` meets a spread of zero.
    """
    match objective:
        case "mean":
            return read_only(strata.sizes / strata.population)
        case "trace":
            return read_only(np.ones(len(strata)))
        case "unit_free":
            if sds.min() < 1e-30:
                name = strata.name(int(np.argmin(sds)))
                raise InputError(
                    f"{option('objective', objective)} divides by sd, which must be above 0, "
                    f"got 0 in stratum {name!r}.",
                    value=objective,
                    where=f"stratum {name!r}",
                )
            return read_only(1.0 / sds)
        case "custom":
            if strata.coefficients is None:
                raise InputError(
                    f"{option('objective', objective)} needs a coefficient for every stratum, got none.",
                    value=objective,
                )
            if not strata.coefficients.any():
                raise InputError(
                    f"{option('objective', objective)} needs at least one coefficient other than 0.",
                    value=objective,
                )
            return strata.coefficients
    raise InputError.must("objective", f"be one of {', '.join(OPTIONS['objective'].choices)}", objective)
