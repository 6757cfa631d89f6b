r"""One number for the population, or one for each group of the named domains, with one draw of noise each.

The office weights the means of the strata by their people and adds noise to the figure alone. One answer of
stratum i moves it by at most :math:`a_i R / n_i`, far less than a sum, so one draw takes the place of many:
``allocation.single_mean`` has the mathematics. Groups of one column do not overlap, and cost no more than
one figure; several columns share the budget inside the sample.

The office's noise is always discrete Laplace noise, on whole numbers of a fine grid, whatever devices use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from dpstrata.errors import NotAvailableError, option
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.noise import NO_NOISE, Noise
from dpstrata.survey.goals import has_targets
from dpstrata.survey.releases import OPTION
from dpstrata.survey.releases.aggregated import Aggregated
from dpstrata.words.numbers import plain_number

if TYPE_CHECKING:
    from dpstrata.survey.inputs import Inputs

_AT_OFFICE = ("laplace", "discrete_laplace")  # the same noise, on a fine grid and on that of the answers


@dataclass(frozen=True, slots=True)
class Mean(Aggregated):
    """One noised number for the population, or one for each domain."""

    name: ClassVar[str] = "mean"
    noise_power: ClassVar[Literal[1, 2]] = 1
    noised_once: ClassVar[bool] = True

    budget_of: ClassVar[str] = "epsilon of the figure"
    noise_sd_of: ClassVar[str] = "an answer on the device"
    published: ClassVar[str] = "a noised figure"
    published_one: ClassVar[str] = "one noised figure"
    noised_at_office: ClassVar[str] = "each published figure"
    told: ClassVar[str] = "mean"

    # --- checks -------------------------------------------------------------------------------

    def check(self, inputs: Inputs) -> None:
        """Refuse what one draw of noise for a figure is not worked out for."""
        Aggregated.check(self, inputs)
        mean = option(OPTION, self.name)
        if not inputs.promise.any_mechanism:
            raise NotAvailableError(
                f"{mean} supports pure epsilon only, got a promise of {inputs.promise.title}."
            )
        if inputs.objective != "mean":
            raise NotAvailableError(
                f"{mean} minimises the variance of the population mean, got "
                f"{option('objective', inputs.objective)}."
            )
        if has_targets(inputs.domains):
            raise NotAvailableError(
                f"{mean} supports no targets for domains in this version of dpstrata; give only the names of "
                "their columns."
            )

    def misfit(self, mechanism: Mechanism) -> str | None:
        """Without devices, require the noise that the office adds anyway."""
        if self.device_epsilon is not None or mechanism.name in _AT_OFFICE:
            return Aggregated.misfit(self, mechanism)
        return (
            "the office adds discrete Laplace noise to each published figure, so "
            f"{option(OPTION, self.name)} without {option('device_epsilon')} needs "
            f"{option('mechanism', 'laplace')}, got {option('mechanism', mechanism.name)}."
        )

    # --- mathematics --------------------------------------------------------------------------

    def noise(self, mechanism: Mechanism) -> Noise:
        """Add nothing stratum by stratum."""
        return NO_NOISE

    # --- words --------------------------------------------------------------------------------

    @property
    def who_noises(self) -> str:
        """Name the layers."""
        if self.device_epsilon is None:
            return "the office sees raw answers, and noises each published figure once"
        return "devices noise every answer, and the office noises each published figure once"

    @property
    def in_title(self) -> str:
        """Say where the noise is."""
        if self.device_epsilon is None:
            return " at the office on each published figure"
        return (
            f" on devices at epsilon = {plain_number(self.device_epsilon)}, and the office's (discrete "
            "Laplace) on each published figure"
        )

    @property
    def noise_goes_to(self) -> str:
        """Name what a draw is added to."""
        return "a published figure" if self.device_epsilon is None else "an answer on the device"

    @property
    def assumption(self) -> str:
        """Say what the office must do, and whom it must be trusted with."""
        if self.device_epsilon is None:
            return (
                "the office may be trusted with raw answers, and publishes the noised figures and the "
                "numbers of answers, and nothing else about them"
            )
        return (
            "the office publishes the noised figures once, with the numbers of answers, and no single answer"
        )

    def seen_in_words(self) -> str:
        """Name what has to be seen for the largest loss."""
        if self.device_epsilon is None:
            return "the noised figures, knowing everyone invited"
        return "what a person's device sends, or the noised figures, knowing everyone invited"
