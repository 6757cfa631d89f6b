"""Answers that the office gets as they were given, and adds up itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpstrata.errors import InputError, option
from dpstrata.fielding.randomizers.form import FormRandomizer
from dpstrata.files.tables import Table
from dpstrata.survey.releases import OPTION


class RawRandomizer(FormRandomizer):
    """Nothing is done to single answers."""

    def randomized(self, stratum: int, raw: Sequence[Any]) -> list[Any]:
        """Refuse: the office noises what it publishes."""
        raise InputError(
            f"with {option(OPTION, self.plan.inputs.release)} and no {option('device_epsilon')} the office "
            "sees raw answers and noises what it publishes, not single answers."
        )

    def published(self, stratum: int, report: Any) -> dict[str, Any]:
        """Refuse: no single answer is published."""
        raise NotImplementedError("raw answers are not published")

    def levels_in_browser(self) -> tuple[int, ...]:
        """Refuse: devices randomise nothing."""
        raise InputError(
            "a kit needs answers that are randomised on devices, and here the office sees raw answers; "
            f"design with {option('device_epsilon')}."
        )

    def report_column(self, table: Table) -> str | None:
        """Return none: there are no reports."""
        return None

    def as_sent(self, stratum: int, answers: Sequence[Any], *, from_devices: bool) -> Sequence[Any]:
        """Return the answers as they were given."""
        return answers
