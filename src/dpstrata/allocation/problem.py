"""The optimisation problem: minimise Σ f_i(n_i) over whole numbers within limits that add up to a total."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpstrata.allocation.domains import Family
from dpstrata.allocation.form_terms import FormTerms
from dpstrata.allocation.terms import Terms
from dpstrata.errors import InfeasibleError, option
from dpstrata.numerics.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    r"""Minimise :math:`\sum_i f_i(n_i)` subject to :math:`\sum_i n_i = \eta`, :math:`l_i \le n_i \le h_i`.

    Parameters
    ----------
    forms : FormTerms
        How people are asked.
    terms : Terms
        The functions f_i, which sum up all questions.
    lower, upper : array of int
        1 <= lower <= upper <= stratum size.
    total : int
        Σ n_i, from Σ lower to Σ upper.
    families : tuple of Family
        The published figures, where each has one draw of noise besides; see ``single_mean``.
    scales : tuple of array
        Of several families, the scales of the noise of their figures at the sizes of a design. Other sizes
        keep their proportions. Those of a single family follow from the sizes.

    Raises
    ------
    InfeasibleError
        If no sample sizes meet limits and total together.

    Examples
    --------
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    >>> problem = plan.problem
    >>> problem.total, problem.lower.tolist(), problem.upper.tolist()
    (40, [1, 1], [700, 900])
    """

    forms: FormTerms
    terms: Terms
    lower: IntArray
    upper: IntArray
    total: int
    families: tuple[Family, ...] = ()
    scales: tuple[FloatArray, ...] = ()

    def __post_init__(self) -> None:
        if not np.all(self.lower <= self.upper):
            i = int(np.argmax(self.lower > self.upper))
            raise InfeasibleError(
                f"the minimum of a stratum must be at most its maximum, "
                f"got {self.lower[i]} and {self.upper[i]} in stratum {i + 1}.",
                where=f"stratum {i + 1}",
            )
        least, most = int(self.lower.sum()), int(self.upper.sum())
        if self.total < least:
            raise self._infeasible(f"at least the sum of the minimums ({least:,})", least)
        if self.total > most:
            everyone = np.array_equal(self.upper, self.terms.sizes)
            limit = "the population" if everyone else "the sum of the maximums"
            raise self._infeasible(f"at most {limit} ({most:,})", most)

    @property
    def planned(self) -> bool:
        """Whether something else is minimised than comes out: not all answer, or people are dealt forms."""
        return self.terms.random_answers or self.forms.dealt_out

    def _infeasible(self, limit: str, nearest: int) -> InfeasibleError:
        return InfeasibleError(
            f"{option('total')} must be {limit}, got {option('total', self.total, ',')}.",
            value=self.total,
            nearest=nearest,
        )

    def asked(self, forms: FormTerms) -> Problem:
        """Pose the same problem where people are asked in the same way, with other importances or spreads."""
        terms = replace(
            self.terms,
            variances=forms.core(),
            noise=forms.noise(),
            series_factors=forms.series_factors,
        )
        return replace(self, forms=forms, terms=terms)

    @property
    def correction(self) -> float:
        """What the finite population correction takes off the variance of every design."""
        return float((self.terms.coefficients**2 * self.forms.correction(self.terms.sizes)).sum())

    def objective(self, sizes: IntArray | FloatArray) -> float:
        """Σ f_i at the given sizes, without the finite population correction."""
        return float(self.terms.values(np.asarray(sizes, dtype=float)).sum())
