"""What many simulated surveys gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dpstrata.words.what_if import simulation_lines

_SHORTFALL = 0.4  # of an interval's coverage, relative to the chance that it may miss


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """What many simulated surveys gave, beside what the design predicted.

    Each figure has its Monte Carlo standard error next to it.

    Attributes
    ----------
    replications, seed : int
        How many surveys, and the seed that repeats them.
    bias, bias_error : float
        Mean error of the estimate; for objectives other than ``mean``, of Σ a times the stratum means; of
        categories that of the share furthest off.
    variance, variance_error : float
        Empirical variance of the estimate; for other objectives Σ a² times that of the stratum means; of
        categories half the sum over their shares.
    predicted_variance : float
        What the design says.
    coverage, coverage_error : float or None
        Share of intervals that hold the true mean: those that :func:`dpstrata.estimate` would print; of a
        questionnaire's question, estimate ± margin of the design. ``None`` for objectives other than
        ``mean``, and for categories.
    predicted_coverage : float or None
        The design's confidence.
    worst_case : bool
        Whether the design plans with the worst answers; less variance and more coverage then agree with it.
    questions : dict of str to Simulation
        Of a questionnaire, every question in its own units; the variance of a category is half the sum over
        its shares, and its bias that of the first one. All together are weighted by importance, in units of
        their ranges.
    """

    replications: int
    seed: int
    bias: float
    bias_error: float
    variance: float
    variance_error: float
    predicted_variance: float
    coverage: float | None
    coverage_error: float | None
    predicted_coverage: float | None
    worst_case: bool = False
    questions: Mapping[str, Simulation] = field(default_factory=dict)

    @property
    def variance_z(self) -> float:
        """Distance of the variance from its prediction, in Monte Carlo errors."""
        return (self.variance - self.predicted_variance) / self.variance_error

    def agrees(self, errors: float = 4.0) -> bool:
        """Whether bias, variance and coverage are within so many Monte Carlo errors of the prediction.

        Where the prediction is a worst case, better is within it too. Intervals may cover more than their
        confidence, and fall short of it by two fifths of what is left to one: 95% intervals cover at least
        93%.
        """
        off = self.variance - self.predicted_variance
        return (
            abs(self.bias) <= errors * self.bias_error
            and (off if self.worst_case else abs(off)) <= errors * self.variance_error
            and self._covers(errors)
            and all(question.agrees(errors) for question in self.questions.values())
        )

    def _covers(self, errors: float) -> bool:
        if self.coverage is None or self.coverage_error is None or self.predicted_coverage is None:
            return True
        least = self.predicted_coverage - _SHORTFALL * (1.0 - self.predicted_coverage)
        return self.coverage >= least - errors * self.coverage_error

    def __repr__(self) -> str:
        return simulation_lines(self)
