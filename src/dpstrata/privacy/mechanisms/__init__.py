"""The mechanisms, one file each; this registry is the only other place that names them."""

from dpstrata.errors import InputError
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.discrete_laplace import DiscreteLaplace
from dpstrata.privacy.mechanisms.laplace import Laplace
from dpstrata.privacy.mechanisms.tulap import TruncatedUniformLaplace

__all__ = ["MECHANISMS", "Mechanism", "get_mechanism"]

MECHANISMS: dict[str, type[Mechanism]] = {
    mechanism.name: mechanism
    for mechanism in (
        Laplace,
        DiscreteLaplace,
        TruncatedUniformLaplace,
    )
}


def get_mechanism(name: str, *, answer_range: float, steps: int | None) -> Mechanism:
    """Return the mechanism called ``name`` for such answers.

    Raises
    ------
    InputError
        If there is no such mechanism, or it cannot protect such answers.
    """
    if name not in MECHANISMS:
        raise InputError(f"mechanism must be one of {', '.join(MECHANISMS)}, got {name!r}.")
    return MECHANISMS[name](answer_range, steps)
