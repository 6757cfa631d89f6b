"""How answers are randomised, form by form: a module here for each way."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, SupportsIndex

from dpstrata.errors import InputError
from dpstrata.fielding.randomizers.alone import AloneRandomizer
from dpstrata.fielding.randomizers.noise import NoiseRandomizer
from dpstrata.fielding.randomizers.raw import RawRandomizer
from dpstrata.fielding.randomizers.row import RowRandomizer

if TYPE_CHECKING:
    from dpstrata.designs.record import Design
    from dpstrata.fielding.randomizers.randomizer import Randomizer


def randomizers_of(plan: Design) -> list[Randomizer]:
    """Return what is done to the answers on every form of a design, in their order."""
    return [_randomizer(plan, place) for place in range(_forms(plan))]


def randomizer_of(plan: Design, form: SupportsIndex) -> Randomizer:
    """Return what is done to the answers on a form, numbered from 1 on."""
    number = 0 if isinstance(form, bool) or not isinstance(form, SupportsIndex) else index(form)
    if not 1 <= number <= _forms(plan):
        raise InputError(f"form must be a whole number from 1 to {_forms(plan)}.")
    return _randomizer(plan, number - 1)


def _forms(plan: Design) -> int:
    """Count the forms; to noise one person's answer need not wait for the budgets of all strata."""
    return len(plan.inputs.chosen_forms) if plan.inputs.rows else 1


def _randomizer(plan: Design, place: int) -> Randomizer:
    if not plan.inputs.rows:
        return NoiseRandomizer(plan)
    form = plan.inputs.chosen_forms[place]
    if form.raw:
        return RawRandomizer(plan, place)
    return RowRandomizer(plan, place) if form.keeps_rows else AloneRandomizer(plan, place)
