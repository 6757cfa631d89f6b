"""The result: sample sizes with everything needed to defend them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dpstrata.allocation.comparison import Comparison, compare_designs
from dpstrata.allocation.domains import (
    Domain,
    Figure,
    Partition,
    describe_domains,
    figures_of,
    find_partitions,
)
from dpstrata.allocation.posing import DefaultMinimum, describe_default
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.bound import Bound, certify_budget, certify_questions, certify_targets
from dpstrata.allocation.proof.certificate import Certificate, certify
from dpstrata.allocation.proof.forms import FormsBound
from dpstrata.allocation.proof.single_mean import certify_figures
from dpstrata.allocation.response import (
    chance_of_empty_stratum,
    chance_of_no_answer,
    is_worth_a_warning,
    minimum_against_empty,
)
from dpstrata.allocation.single_mean import SingleMean
from dpstrata.allocation.variances import (
    VarianceParts,
    noise_by_column,
    stratum_variances,
    variance_if_some_answer,
    variance_parts,
)
from dpstrata.designs.choice import Choice, better_mechanism, better_releases
from dpstrata.designs.consent import consent_of
from dpstrata.designs.document import (
    design_columns,
    design_digest,
    design_document,
    design_table,
    save_design,
)
from dpstrata.designs.questions import (
    DesignedForm,
    DesignedQuestion,
    expected_answers,
    forms_of,
    questions_of,
    variance_targets,
)
from dpstrata.designs.waves import Waves
from dpstrata.files.tables import FrameLibrary, frame_of
from dpstrata.numerics.arrays import ALL, BoolArray, FloatArray, IntArray, Rows, read_only
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.survey.costs import total_cost
from dpstrata.survey.goals import Budget, Outcome
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.strata import Strata
from dpstrata.words.consent import Consent
from dpstrata.words.designs import as_html, as_text, response_in_words
from dpstrata.words.statement import privacy_statement

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

    from dpstrata.survey.questionnaires.spreads import Spreads
    from dpstrata.survey.releases.base import Release


@dataclass(frozen=True, eq=False)  # without slots: what follows from its fields is held once it is asked for
class Design:
    """How many people to invite in each stratum, with the privacy promise and the proof.

    Made by :func:`dpstrata.design` and :func:`dpstrata.load_design`. Arrays are read-only and in the order
    of the strata.

    Attributes
    ----------
    strata : Strata
        The population.
    inputs : Inputs
        What was asked for.
    problem : Problem
        The optimisation problem; ``dps.solve(plan.problem, method=...)`` solves it another way.
    sample_sizes : array of int
        People to invite.
    relaxed_sizes : array of float
        The optimal sizes if they need not be whole numbers.
    certificate : Certificate or Bound
        The proof of optimality or, with unequal costs or several targets, of the gap to it.
    outcome : Outcome or None
        How the total was found, where it was not given.
    choice : tuple of Choice or None
        The result of each mechanism that was tried, if the best was asked for; mechanisms that cannot be the
        best are not tried.
    waves : Waves or None
        What it shares with the other wave, if it is one of two.
    forms_bound : FormsBound or None
        With a questionnaire, the proof of how close its forms come to the best there could be.
    """

    strata: Strata
    inputs: Inputs
    problem: Problem
    sample_sizes: IntArray
    relaxed_sizes: FloatArray
    certificate: Certificate | Bound
    outcome: Outcome | None = None
    choice: tuple[Choice, ...] | None = None
    waves: Waves | None = None
    forms_bound: FormsBound | None = None

    @classmethod
    def certified(
        cls,
        strata: Strata,
        inputs: Inputs,
        problem: Problem,
        sample_sizes: IntArray | FloatArray,
        relaxed_sizes: FloatArray,
        outcome: Outcome | None = None,
        *,
        prices: tuple[float, ...] | None = None,
        searched: bool = False,
    ) -> Design:
        """Build a design and check its proof: the exchanges, or the bound that ``prices`` give."""
        sizes = read_only(np.asarray(sample_sizes, dtype=np.int64))
        proof = _prove(strata, inputs, problem, sizes, prices=prices, searched=searched)
        return cls(strata, inputs, problem, sizes, read_only(relaxed_sizes), proof, outcome)

    # --- what was designed --------------------------------------------------------------------

    @cached_property
    def total(self) -> int:
        """People to invite in all strata together."""
        return int(self.sample_sizes.sum())

    @property
    def mechanism(self) -> Mechanism:
        """What noises an answer."""
        return self.problem.forms.mechanism

    @property
    def sds(self) -> FloatArray:
        """Standard deviations the design used; of a questionnaire those of all questions on average."""
        return self.problem.forms.sds

    @cached_property
    def local_epsilons(self) -> FloatArray:
        """Budget that what one person sends may spend, in each stratum.

        NaN for a promise that a secret sample does not strengthen: there is no such budget.
        """
        if not self.inputs.promise.amplified:
            return read_only(np.full(len(self.strata), np.nan))
        return read_only(self._budgets(ALL))

    def local_epsilon(self, row: int) -> float:
        """Budget of one stratum, without a look at the others; NaN as above."""
        return float(self._budgets(np.array([row]))[0]) if self.inputs.promise.amplified else math.nan

    @property
    def scaled_by_answers(self) -> bool:
        """Whether noise, and with it the budgets, is set after the field from the numbers of answers."""
        return bool(self.problem.families)

    def budgets_given(self, answers: IntArray) -> FloatArray:
        """Return those budgets once it is known how many people answered in each stratum.

        They are the same unless noise is set after the field; where nobody answered nothing is spent then.
        """
        if not self.scaled_by_answers:
            return self.local_epsilons
        return read_only(SingleMean(self.problem).budgets_given(answers))

    def losses_inside(self, times: int = 1, *, budgets: FloatArray | None = None) -> FloatArray:
        """Return what those in the sample lose if the same reports are released several times, by stratum.

        Never more than the device budget, where there is one: whatever is made of them, reports lose no more.

        Parameters
        ----------
        times : int
            How often, >= 0.
        budgets : array, optional
            What one release may lose, by default :attr:`local_epsilons`.
        """
        budgets = self.local_epsilons if budgets is None else budgets
        return self.problem.forms.losses_inside(budgets, times)

    def _budgets(self, rows: Rows) -> FloatArray:
        if self.problem.families:
            return SingleMean(self.problem).budgets_at(self.sample_sizes)[rows]
        budgets = self.problem.terms.budgets(self.sample_sizes[rows].astype(float), rows).e
        cap = self.problem.terms.cap
        return budgets if cap is None else np.minimum(budgets, cap)

    @cached_property
    def capped(self) -> BoolArray:
        """Whether the cap on the local budget binds, in each stratum."""
        kinks = self.problem.terms.kinks
        if kinks is None:
            return read_only(np.zeros(len(self.strata), dtype=bool))
        return read_only(self.sample_sizes < kinks)

    @cached_property
    def central_epsilons(self) -> FloatArray:
        """What the release spends, in each stratum: epsilon, or less where the cap binds; NaN as above."""
        return read_only(self.problem.terms.central_epsilons(self.sample_sizes.astype(float)))

    @cached_property
    def cost(self) -> float | None:
        """What all invitations cost, if the strata say what one does."""
        return None if self.strata.costs is None else total_cost(self.strata.costs, self.sample_sizes)

    @cached_property
    def chance_of_empty_stratum(self) -> float:
        """Chance that some stratum is left without an answer, and takes its neighbour's result."""
        return self.chance_of_empty_stratum_at(self.sample_sizes)

    def chance_of_empty_stratum_at(self, sample_sizes: IntArray) -> float:
        """Return the same for another allocation."""
        rates = self.problem.terms.response_rates
        return 0.0 if rates is None else chance_of_empty_stratum(self.strata.sizes, rates, sample_sizes)

    @property
    def risks_empty_stratum(self) -> bool:
        """Whether that chance is worth a warning."""
        return is_worth_a_warning(self.chance_of_empty_stratum)

    def minimum_against_empty(self) -> tuple[int, int] | None:
        """Find the least number of invitations to every stratum with which that chance is at most 1%.

        Returns
        -------
        (int, int) or None
            That minimum and how many invitations it takes in all; ``None`` if none within the limits does.
        """
        lower, upper = self.problem.lower, self.problem.upper
        least = minimum_against_empty(self.strata.sizes, self._response_rates, upper)
        return None if least is None else (least, int(np.clip(least, lower, upper).sum()))

    @cached_property
    def default_minimum(self) -> DefaultMinimum | None:
        """What the default minimum per stratum takes and does; ``None`` where there is none."""
        return describe_default(self.inputs, self.strata, self.problem, self.sample_sizes)

    @property
    def emptiest_stratum(self) -> str:
        """The stratum likeliest to be left without an answer if everyone is invited whom the limits allow."""
        chances = chance_of_no_answer(self.strata.sizes, self._response_rates, self.problem.upper)
        return self.strata.name(int(np.argmax(chances)))

    @property
    def _response_rates(self) -> FloatArray:
        rates = self.problem.terms.response_rates
        return np.ones(len(self.strata)) if rates is None else rates

    @property
    def expected_answers(self) -> float | None:
        """How many people would answer; ``None`` if everyone who is invited does."""
        rates = self.problem.terms.response_rates
        return None if rates is None else float((rates * self.sample_sizes).sum())

    @property
    def response_in_words(self) -> str | None:
        """How many people would answer, and how likely a stratum is left without any; ``None`` if all do."""
        return response_in_words(self)

    @property
    def outcome_in_words(self) -> str | None:
        """How the total came about and what others would give; ``None`` if there is nothing to say."""
        if self.outcome is None:
            return None
        mean, unit = self.inputs.objective == "mean", self.strata.unit
        return self.inputs.goal.outcome_in_words(self.outcome, self.total, mean=mean, unit=unit)

    @cached_property
    def domains(self) -> tuple[Domain, ...]:
        """What every domain gets, the whole population first; empty if none was asked for."""
        if self.inputs.domains is None:
            return ()
        prices = None
        if isinstance(self.certificate, Bound) and not self.problem.families:
            # where a budget is spent, its own price comes first
            prices = self.certificate.prices[int(self.inputs.goal.spends_budget) :]
        return describe_domains(
            self.partitions,
            self.stratum_variances,
            self.sample_sizes,
            prices,
            noise_by_column(self.problem, self.sample_sizes, list(self.inputs.domains)),
        )

    @cached_property
    def partitions(self) -> tuple[Partition, ...]:
        """The strata grouped by every column of domains; the whole population comes first."""
        return find_partitions(self.strata, self.inputs)

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """What is published with one draw of noise each, and at what scale; empty for other releases.

        With response rates it is the scale if as many answer as expected; it is set after the field.
        """
        if not self.problem.families:
            return ()
        scales = SingleMean(self.problem).scales_at(self.sample_sizes)
        return figures_of(self.partitions, scales)

    @cached_property
    def forms(self) -> tuple[DesignedForm, ...]:
        """The forms: a single question is on one, which everyone gets."""
        return forms_of(self)

    @cached_property
    def questions(self) -> tuple[DesignedQuestion, ...]:
        """The precision of every question."""
        return questions_of(self, self.sample_sizes)

    @cached_property
    def spreads(self) -> Spreads:
        """What is known of the answers to a questionnaire."""
        return self.inputs.spreads_in(self.strata)

    @cached_property
    def noise_sds(self) -> FloatArray:
        """Standard deviation, by stratum, of the noise of a published answer, or with sums of the mean."""
        return read_only(
            np.sqrt(
                self.problem.forms.released_variances(self.problem.terms, self.sample_sizes.astype(float))
            )
        )

    @cached_property
    def stratum_variances(self) -> tuple[FloatArray, FloatArray]:
        """Variance of each stratum's mean, from sampling and from privacy."""
        sampling, privacy = stratum_variances(
            self.problem, self.sample_sizes, finite_population=self.inputs.finite_population
        )
        return read_only(sampling), read_only(privacy)

    @cached_property
    def stratum_errors(self) -> FloatArray:
        """Standard error of each stratum's mean; of a questionnaire a typical one, in units of a range."""
        sampling, privacy = self.stratum_variances
        return read_only(np.sqrt(sampling + privacy))

    @cached_property
    def variance_parts(self) -> VarianceParts:
        """The variance, split into what the sample would give without privacy and what privacy adds."""
        return variance_parts(
            self.problem,
            self.sample_sizes,
            finite_population=self.inputs.finite_population,
            of_strata=self.stratum_variances,
        )

    @property
    def variance(self) -> float:
        """Variance of the estimated population mean; for other objectives the value of the objective."""
        return self.variance_parts.total

    @property
    def standard_error(self) -> float | None:
        """Root of the variance for the population mean, ``None`` for other objectives."""
        return float(np.sqrt(self.variance)) if self.inputs.objective == "mean" else None

    @property
    def standard_error_without_privacy(self) -> float | None:
        """The standard error if everyone in the sample were asked every question and no noise were added."""
        return float(np.sqrt(self.variance_parts.sampling)) if self.inputs.objective == "mean" else None

    @cached_property
    def expected_mean(self) -> float | None:
        """The mean that is expected of the only question, as far as anything says so."""
        found = expected_answers(self)
        return found[0] if len(found) == 1 else None

    @property
    def privacy(self) -> Mapping[str, Any]:
        """The promise, what must stay secret for it to hold, and what it does not cover."""
        spent = self.strata.sd_epsilons
        return privacy_statement(
            self.inputs,
            self.local_epsilons,
            central=self.central_epsilons[self.capped],
            on_deviations=0.0 if spent is None else float(spent.max()),
            everyone_answers=self.problem.terms.response_rates is None,
            most_hidden=float((self.strata.sizes / self.sample_sizes).max()),
            waves=self.waves,
        )

    def consent(
        self,
        language: str | None = None,
        *,
        noised_at: Literal["device", "office"] | None = None,
        form: int | None = None,
    ) -> Consent:
        """Write what respondents are told: who sees what, what is published, how it works.

        Parameters
        ----------
        language : str, optional
            A code such as ``de``, or a name; by default that of the questionnaire, or English.
        noised_at : {"device", "office"}, optional
            Where published answers are noised; by default on devices.
        form : int, optional
            A form of the questionnaire, from 1 on; by default what holds for all.
        """
        return consent_of(self, language, noised_at, form)

    def compare(self) -> tuple[Comparison, ...]:
        """Score this design and the classical ones of the same cost; with equal costs, of as many people."""
        return self._comparison

    @cached_property
    def _comparison(self) -> tuple[Comparison, ...]:
        return compare_designs(
            self.problem,
            self.sample_sizes,
            finite_population=self.inputs.finite_population,
            costs=self.strata.costs,
            own=self.variance_parts,
        )

    def better_mechanism(self) -> tuple[str, float] | None:
        """Title and variance of the noise with which the same sample sizes do best, if it is another one."""
        return self._better_mechanism

    @cached_property
    def _better_mechanism(self) -> tuple[str, float] | None:
        return better_mechanism(self)

    def better_releases(self) -> list[tuple[Release, str, float]]:
        """Other releases with which the same sample sizes do better, each with title and variance."""
        return list(self._better_releases)

    @cached_property
    def _better_releases(self) -> tuple[tuple[Release, str, float], ...]:
        return tuple(better_releases(self))

    # --- as tables, documents and files -------------------------------------------------------

    def columns(self) -> dict[str, list[Any]]:
        """One list per column of the table of strata, as in the design document."""
        return design_columns(self)

    def table(self) -> dict[str, list[Any]]:
        """Return the columns, then those of the strata that dpstrata does not know.

        One of those with the name of a column of the design is called ``NAME_given``.
        """
        return design_table(self)

    def to_frame(self, library: FrameLibrary | None = None) -> IntoDataFrame:
        """Return the table of strata as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            Which kind; by default the first of them that is installed.
        """
        return frame_of(design_table(self), library)

    @classmethod
    def read(cls, path: str | Path) -> Design:
        """Read a design document and check its proof again; :func:`dpstrata.load_design` also solves it anew.

        What a search has shown about designs that it left out (``searched``) is taken from the document.

        Raises
        ------
        InputError
            If the file is not a design document, is of another version, or does not agree with itself.
        """
        from dpstrata.designs.reading import read_design

        return read_design(path, cls)

    def to_dict(self) -> dict[str, Any]:
        """Return the design document as plain Python data."""
        return design_document(self)

    @property
    def precision(self) -> float:
        """What it is made as small as possible for: the standard error, or the value of another objective."""
        return self.variance if self.standard_error is None else self.standard_error

    def precision_if(self, share: float) -> float | None:
        """Return the same if a share of those invited answers; ``None`` for designs that count on one.

        Those have response rates, or a mean, whose noise is set by the number of answers; or they are waves.
        """
        if self.expected_answers is not None or self.scaled_by_answers or self.waves is not None:
            return None
        correct = self.inputs.finite_population
        variance = variance_if_some_answer(self.problem, self.sample_sizes, share, finite_population=correct)
        return variance if self.standard_error is None else math.sqrt(variance)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what was asked and decided, however the file is laid out and on whatever machine."""
        return design_digest(self)

    def save(self, path: str | Path) -> None:
        """Write the design document (``.json``), or the table of strata (``.csv``, ``.parquet``, ``.xlsx``).

        The file appears whole or not at all.

        Raises
        ------
        InputError
            If a file of another kind is there, or another design that was drawn or released.
        """
        save_design(self, Path(path))

    def __eq__(self, other: object) -> bool:
        """Whether both make the same document."""
        return isinstance(other, Design) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def _prove(
    strata: Strata,
    inputs: Inputs,
    problem: Problem,
    sizes: IntArray,
    *,
    prices: tuple[float, ...] | None,
    searched: bool,
) -> Certificate | Bound:
    """Check the proof of sample sizes: the exchanges, or the bound that ``prices`` give."""
    correct = inputs.finite_population
    if inputs.asks_by_question:
        targets = variance_targets(inputs)
        return certify_questions(problem, targets, sizes, prices or (), finite_population=correct)
    if problem.families:
        return certify_figures(problem, sizes, prices or (0.0,), finite_population=correct)
    if prices is None:
        return certify(problem, sizes)
    if isinstance(goal := inputs.goal, Budget):
        assert strata.costs is not None
        return certify_budget(
            problem,
            strata.costs,
            goal.budget,
            sizes,
            prices[0],
            finite_population=correct,
            searched=searched,
            partitions=find_partitions(strata, inputs) if goal.targets else (),
            target_prices=prices[1:],
        )
    parts = find_partitions(strata, inputs)
    return certify_targets(
        problem, strata.costs, parts, sizes, prices, finite_population=correct, searched=searched
    )
