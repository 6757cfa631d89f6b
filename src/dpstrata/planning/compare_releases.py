"""What a design would give if someone else were trusted with raw answers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpstrata.designs.choice import BEST
from dpstrata.designs.record import Design
from dpstrata.errors import InfeasibleError, InputError
from dpstrata.planning.best import design_as_asked
from dpstrata.survey.releases import kind_of
from dpstrata.survey.releases.base import Release
from dpstrata.words.numbers import figure


@dataclass(frozen=True, slots=True, eq=False)
class TrustComparison:
    """The same question answered with noise on every answer and by a trusted curator.

    Attributes
    ----------
    local, curator : Design or None
        The two designs; ``None`` where no design meets the question.
    """

    local: Design | None
    curator: Design | None

    @property
    def ratio(self) -> float | None:
        """Variance with noise on every answer over that of the curator, where both can be designed."""
        if self.local is None or self.curator is None or self.curator.variance == 0:
            return None
        return self.local.variance / self.curator.variance

    @property
    def in_words(self) -> str:
        """What local protection costs, in a sentence."""
        if self.local is None or self.curator is None:
            other = "with a trusted curator it can" if self.curator is not None else "nor by a curator"
            return f"With noise on every answer the question cannot be met, {other}."
        if self.local.inputs.asks_for_least:
            return (
                f"Noise on every answer needs {self.local.strata.counted(self.local.total)}, a trusted "
                f"curator {self.curator.strata.counted(self.curator.total)}."
            )
        first, second = (_described(plan) for plan in (self.local, self.curator))
        return (
            f"With noise on every answer {first}, with a trusted curator {second}: not having to trust "
            f"anyone costs {self.ratio or 1.0:.3g} times the variance."
        )

    def __repr__(self) -> str:
        return self.in_words


def _described(plan: Design) -> str:
    value = plan.variance if plan.standard_error is None else plan.standard_error
    measure = "an objective" if plan.standard_error is None else "a standard error"
    return f"{plan.strata.counted(plan.total)} give {measure} of {figure(value)}"


def compare_trust(plan: Design) -> TrustComparison:
    """Answer the question of a design with noise on every answer, and by a trusted curator.

    Parameters
    ----------
    plan : Design
        The design. A mechanism that a curator cannot use is replaced by the additive one that does best; a
        cap on single answers is left out there, since there are none.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000, 9000, 10000], sds=[0.283, 0.08, 0.0226, 0.0064])
    >>> round(dps.compare_trust(dps.design(strata, epsilon=1.0, total=200)).ratio, 2)
    3.29
    """
    if not isinstance(plan, Design):
        raise InputError(f"compare_trust needs a Design, got {type(plan).__name__}.")
    mechanism = plan.inputs.mechanism if plan.choice is None else BEST
    local, curator = (_with_release(plan, kind_of(name), mechanism) for name in ("local", "curator"))
    return TrustComparison(local, curator)


def _with_release(plan: Design, kind: type[Release], mechanism: str) -> Design | None:
    """Answer the question of a design with another release, if it can be met."""
    inputs = kind.instead_of(plan.inputs)
    fits = inputs.release.misfit(plan.mechanism) is None
    try:
        return design_as_asked(
            plan.strata, replace(inputs, mechanism=mechanism if fits else BEST), warn=False
        )
    except InfeasibleError:
        return None
