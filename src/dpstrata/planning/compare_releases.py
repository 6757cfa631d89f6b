"""What each form of release would give for the same goal, and who learns what."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from dpstrata.designs.choice import BEST
from dpstrata.designs.record import Design
from dpstrata.errors import InfeasibleError, InputError, NotAvailableError, option
from dpstrata.planning.design import design_as_asked
from dpstrata.survey.forms import AUTO
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.releases import OPTION, kind_of
from dpstrata.survey.releases.sums import device_budget
from dpstrata.words.tables import shown_as_html, shown_as_text
from dpstrata.words.what_if import release_table


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseOption:
    """One form of release for the goal of a design.

    Attributes
    ----------
    release : str
        ``microdata``, ``sums`` or ``mean``.
    device_epsilon : float or None
        The device budget, if devices noise by themselves.
    design : Design or None
        The design; ``None`` where no design meets the goal.
    """

    release: str
    device_epsilon: float | None
    design: Design | None

    @property
    def raw_answers(self) -> bool:
        """Whether the office sees raw answers."""
        return self.design is not None and self.release != "microdata" and self.device_epsilon is None

    @property
    def office_epsilon(self) -> float | None:
        """What the office, or whoever gets hold of its file, can learn at most.

        ``None`` where it sees raw answers, and for promises without an epsilon.
        """
        if self.design is None or self.raw_answers or not self.design.inputs.promise.amplified:
            return None
        return self.design.inputs.release_form.worst_epsilon(float(self.design.local_epsilons.max()))


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseComparison:
    """The same goal with every form of release, a row each.

    Attributes
    ----------
    options : tuple of ReleaseOption
        Every noised answer published; sums, then a mean, of what devices noised; sums, then a mean, of raw
        answers.
    """

    options: tuple[ReleaseOption, ...]

    def table(self) -> dict[str, list[Any]]:
        """Return one list per column, a row for each form of release."""
        rows = [
            {
                "release": each.release,
                "device_epsilon": each.device_epsilon,
                "total": None if each.design is None else each.design.total,
                "variance": None if each.design is None else each.design.variance,
                "standard_error": None if each.design is None else each.design.standard_error,
                "mechanism": None if each.design is None else each.design.mechanism.name,
                "office_sees_raw_answers": each.raw_answers,
                "office_epsilon": each.office_epsilon,
            }
            for each in self.options
        ]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def __repr__(self) -> str:
        return shown_as_text([release_table(self)], [])

    def _repr_html_(self) -> str:
        return shown_as_html([release_table(self)])


def compare_releases(plan: Design, *, device_epsilon: float | None = None) -> ReleaseComparison:
    """Pursue the goal of a design with every form of release, and say what each gives and who learns what.

    Parameters
    ----------
    plan : Design
        The design. Where its noise does not go with a release, the most precise one that does is used; a cap
        on published answers is left out where none are published. Every release of a questionnaire gets forms
        that suit it.
    device_epsilon : float, optional
        Device budget for sums and a mean; by default that of the design, or the largest local epsilon of
        published answers, rounded down to two decimals and at most 100.

    Returns
    -------
    ReleaseComparison
        A row for each form; those whose promise two layers cannot keep are left out, and a mean where it
        does not support what is asked.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000, 9000, 10000], sds=[0.283, 0.08, 0.0226, 0.0064])
    >>> plan = dps.design(strata, epsilon=1.0, total=200)
    >>> compared = dps.compare_releases(plan, device_epsilon=5)
    >>> [round(error, 4) for error in compared.table()["standard_error"]]
    [0.0094, 0.0117, 0.0118, 0.0065, 0.0068]
    """
    if not isinstance(plan, Design):
        raise InputError(f"compare_releases needs a Design, got {type(plan).__name__}.")
    microdata = _with(plan, "microdata", None)
    asked = [microdata]
    if plan.inputs.promise.any_mechanism:
        if device_epsilon is None:
            device_epsilon = plan.inputs.device_epsilon
        if device_epsilon is None and microdata.design is not None:
            device_epsilon = device_budget(float(microdata.design.local_epsilons.max()))
        if device_epsilon is not None:
            asked += _added_up(plan, device_epsilon)
    elif device_epsilon is not None:
        raise InputError(f"{option('device_epsilon')} supports pure epsilon only.")
    asked += _added_up(plan, None)
    return ReleaseComparison(tuple(asked))


def _added_up(plan: Design, device_epsilon: float | None) -> list[ReleaseOption]:
    """Publish sums, or one number where that supports what is asked."""
    found = []
    for release in ("sums", "mean"):
        with suppress(NotAvailableError):
            found.append(_with(plan, release, device_epsilon))
    return found


def _with(plan: Design, release: str, device_epsilon: float | None) -> ReleaseOption:
    """Pursue the goal of a design with another release."""
    given = {OPTION: release, "device_epsilon": device_epsilon}
    if all(getattr(plan.inputs, name) == value for name, value in given.items()):
        return ReleaseOption(release, device_epsilon, plan)
    # the forms and the noise that suit the other release
    given |= {"forms": AUTO, "mechanism": BEST}
    inputs: Inputs = replace(plan.inputs, **{**kind_of(release).leaves_out, **given})
    named = plan.choice is None and not (inputs.rows or plan.inputs.rows)
    if named and inputs.release_form.misfit(plan.mechanism) is None:
        inputs = replace(inputs, mechanism=plan.inputs.mechanism)
    try:
        made = design_as_asked(plan.strata, inputs, warn=False)
    except InfeasibleError:
        made = None
    return ReleaseOption(release, inputs.device_epsilon, made)
