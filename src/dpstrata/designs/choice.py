"""Which mechanisms can protect the answers of a survey, which can be the best, and what each would give."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpstrata.allocation.posing import figures_in, forms_in, terms_of
from dpstrata.allocation.variances import variance_parts
from dpstrata.errors import InputError
from dpstrata.privacy.mechanisms import MECHANISMS, get_mechanism, mechanism_class
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.releases import RELEASES, kind_of
from dpstrata.survey.releases.base import Release

if TYPE_CHECKING:
    from dpstrata.designs.record import Design
    from dpstrata.privacy.mechanisms.base import Mechanism

BEST = "best"


@dataclass(frozen=True, slots=True)
class Choice:
    """What one mechanism that was solved gives for the same goal.

    Attributes
    ----------
    mechanism : str
        Its name.
    total : int or None
        People to invite; ``None`` where no design reaches the goal.
    variance : float or None
        Of the estimate, or the objective.
    cost : float or None
        Of the invitations, where they have costs.
    """

    mechanism: str
    total: int | None
    variance: float | None
    cost: float | None

    @property
    def title(self) -> str:
        """The mechanism as people call it; one that only another version has, by its name."""
        return mechanism_class(self.mechanism).title if self.mechanism in MECHANISMS else self.mechanism


def valid_mechanisms(inputs: Inputs) -> dict[str, Mechanism]:
    """Return the mechanisms that protect such answers, and keep such a promise, in the registry's order."""
    valid = {}
    for name in MECHANISMS:
        try:
            mechanism = get_mechanism(name, inputs.space)
        except InputError:
            continue
        fits = mechanism.needs_delta is not inputs.promise.any_mechanism
        if fits and inputs.release_form.misfit(mechanism) is None:
            valid[name] = mechanism
    return valid


def contenders(
    inputs: Inputs,
    least: float = 0.0,
    most: float = math.inf,
    *,
    valid: dict[str, Mechanism] | None = None,
) -> list[str]:
    r"""Name the valid mechanisms that can be the best, in the registry's order.

    Left out is what has at least the variance of another at every local budget between ``least`` and
    ``most``. With the same sample sizes nothing is then more precise with it, whatever is asked: all else in
    f is the same. ``valid`` are all that are valid, if they are known.

    With devices, the office's noise is :math:`g^2 v(e_c)`: g is how far reports reach, and
    :math:`\exp(e_c) - 1` is inversely proportional to the share i of informative ones. As v falls and
    :math:`(\exp(e) - 1)^2 v` rises, it is at least as large where both g and g·i are.
    """
    valid = valid_mechanisms(inputs) if valid is None else valid
    left, E = list(valid), inputs.device_epsilon
    if inputs.release_form.noised_once and E is None:
        return left[:1]  # names of the same noise
    reach = dict.fromkeys(left, (1.0, 1.0))
    if E is not None:  # both layers must be no worse
        least, most = min(least, E), max(most, E)
        reach = {name: (g := each.reach(E), g * each.informative(E)) for name, each in valid.items()}
    for name, mechanism in valid.items():
        if name in left:  # of two that are equal, the first stays
            worse = mechanism.never_worse_than(least, most)
            left = [
                other
                for other in left
                if other not in worse or any(o < n for o, n in zip(reach[other], reach[name], strict=True))
            ]
    return left


def better_mechanism(plan: Design) -> tuple[str, float] | None:
    """Find the mechanism with which the same sample sizes give the least variance, if it is not the design's.

    Returns
    -------
    (title, variance) or None
        ``None`` where no other valid mechanism is better.
    """
    if not plan.inputs.promise.amplified or plan.inputs.rows:  # which are randomised in one way
        return None
    asked = replace(plan.inputs, mechanism=BEST, delta=0.0)  # whoever keeps epsilon keeps it with a delta too
    budgets = plan.local_epsilons
    names = contenders(asked, float(budgets.min()), float(budgets.max()))
    others = [name for name in names if name != plan.inputs.mechanism]
    found = [_with_inputs(plan, each) for each in _each(asked, others)]
    best = min(found, key=lambda row: row[1], default=None)
    return best if best is not None and best[1] < plan.variance * (1.0 - 1e-9) else None


def better_releases(plan: Design) -> list[tuple[Release, str, float]]:
    """Find releases worth suggesting with which the same sample sizes give less variance.

    With the design's own mechanism, or the best one that the release can use.

    Returns
    -------
    list of (release, title, variance)
        With the mechanism's title; empty where no other release is better.
    """
    if plan.waves is not None:  # pilots learn from single answers
        return []
    found = []
    for inputs in (inputs for kind in map(kind_of, RELEASES) for inputs in kind.alternatives(plan)):
        fits = inputs.release_form.misfit(plan.mechanism) is None
        names = [inputs.mechanism] if fits else contenders(inputs)
        best = min(
            ((*_with_inputs(plan, asked), asked.release_form) for asked in _each(inputs, names)),
            key=lambda row: row[1],
        )
        if best[1] < plan.variance * (1.0 - 1e-9):
            found.append((best[2], best[0], best[1]))
    return found


def _each(inputs: Inputs, names: list[str]) -> list[Inputs]:
    return [replace(inputs, mechanism=name) for name in names]


def _with_inputs(plan: Design, inputs: Inputs) -> tuple[str, float]:
    """Return the mechanism and the variance of the same sample sizes with other inputs; nothing is solved."""
    forms = forms_in(inputs, plan.strata)
    terms = terms_of(inputs, plan.strata, forms)
    problem = replace(
        plan.problem, forms=forms, terms=terms, families=figures_in(inputs, plan.strata, forms, terms)
    )
    parts = variance_parts(problem, plan.sample_sizes, finite_population=inputs.finite_population)
    return get_mechanism(inputs.mechanism, inputs.space).title, parts.total
