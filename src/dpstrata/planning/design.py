"""The one question everyone asks: how many people to invite in each stratum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.planning.best import design_as_asked
from dpstrata.privacy.answers.base import Answers
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.options import OF_STRATA, OPTIONS, Objective, Target, refuse_gone
from dpstrata.survey.releases import ReleaseName
from dpstrata.survey.strata import Strata


def design(
    strata: Strata,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    zcdp: float | None = None,
    gdp: float | None = None,
    total: int | None = None,
    at_most: int | None = None,
    budget: float | None = None,
    target_se: float | None = None,
    target_margin: float | None = None,
    target_cv: float | None = None,
    expected_mean: float | None = None,
    mechanism: str = "best",
    objective: Objective = "mean",
    answers: tuple[float, float]
    | tuple[float, float, float]
    | Sequence[float]
    | Answers
    | Literal["binary"]
    | None = None,
    questions: int = 1,
    release: ReleaseName = "microdata",
    device_epsilon: float | None = None,
    local_epsilon_cap: float | None = None,
    min_per_stratum: int = 1,
    min_fraction: float = 0.0,
    max_fraction: float = 1.0,
    domains: Mapping[str, Target] | Sequence[str] | None = None,
    confidence: float = 0.95,
    finite_population: bool = True,
    clip: bool = False,
    response_rate: float | None = None,
    proportion: float | None = None,
    **gone: Any,
) -> Design:
    r"""Allocate a sample to strata so that the private estimate is as precise as it can be.

    Everyone gets the same central ``epsilon`` against whoever sees the release, because who was sampled
    stays secret; a smaller sampling rate hides people better, so its answers may carry less noise. The
    sample sizes solve, over whole numbers,

    .. math::
        \min_n \sum_i a_i^2 \frac{S_i^2 + v(e_i(n_i))}{n_i}
        \quad\text{subject to}\quad \sum_i n_i = \text{total},\; \underline n_i \le n_i \le \overline n_i,
        \qquad e_i(n) = \ln(1 + (e^{\varepsilon} - 1) N_i / n),

    with v(e) the noise variance of one answer at local budget e. The result is exact and carries a proof.

    Parameters
    ----------
    strata : Strata
        Sizes and standard deviations. They, the design and the strata themselves are public and must not be
        computed from the confidential answers.
    epsilon : float
        Central budget, from 1e-6 to 100. Exactly one of ``epsilon``, ``zcdp`` and ``gdp`` is promised.
    delta : float
        By how much a probability may differ beyond the factor that epsilon allows: above 0 and below 0.01 for
        Gaussian noise, 0 for all others.
    zcdp, gdp : float
        ρ of zero-concentrated or μ of Gaussian differential privacy, kept by Gaussian noise. A secret sample
        does not strengthen these, so the noise is the same everywhere.
    total, at_most, budget : number
        People to invite in all strata together; the most to invite, fewer if that is better; or the most that
        all invitations may cost, with a cost for every stratum.
    target_se, target_margin, target_cv : float
        Standard error of the population mean, margin of error at ``confidence``, or standard error relative
        to ``expected_mean``, to reach with as few people, or as little cost, as can be. Exactly one question
        may be asked; a budget may join a target, and is then not to be exceeded. A budget with targets for
        domains alone is spent for the least variance once they are met.
    expected_mean : float
        The mean that ``target_cv`` is relative to; by default that of the column ``expected_mean`` of the
        strata, which gives the mean expected in each and which targets of domains are relative to.
    mechanism : str
        Noise mechanism: ``laplace``, ``discrete_laplace``, ``tulap``, ``randomized_response``, ``staircase``,
        ``piecewise`` or ``gaussian``. ``best``, the default, picks the most precise one that fits answers,
        promise and release; ``choice`` of the result says what it considered, and documents record what it
        picked.
    objective : {"mean", "trace", "unit_free", "custom"}
        Variance of the population mean; sum of the stratum variances; the same relative to each stratum's
        own variance; or the strata's own coefficients.
    answers : (lower, upper), (lower, upper, step) or "binary"
        What can be answered; a step makes it a grid. Left out, the design is for planning with (0, 1) alone:
        no file of answers is noised with it.
    questions : int
        How many questions the same people are asked; each answer spends its share of the local budget.
    release : {"microdata", "sums"}
        What is published: every noised answer, shuffled; or the sum of each stratum's answers, with one draw
        of noise that the office adds.
    device_epsilon : float, optional
        With sums, the budget at which respondents' devices noise all answers of a person before the office
        sees them, from 1e-6 to 100; without it the office sees raw answers, and adds additive noise only. The
        office uses the devices' noise if that is additive, discrete Laplace noise otherwise.
    local_epsilon_cap : float, optional
        The most that one noised answer may spend, however well the sample hides it. Where it binds, the
        release spends less than ``epsilon``.
    min_per_stratum : int
        Fewest people to invite in a stratum, >= 1; smaller strata are sampled in full.
    min_fraction, max_fraction : float
        Smallest and largest sampling rate, 0 <= min_fraction <= max_fraction <= 1.
    domains : mapping or sequence of str, optional
        Columns of the strata (or "stratum") whose groups are domains, each with what its groups must reach:
        one target for all, a mapping from group to target, or ``None``. Targets are of the same kind as that
        of the whole, standard errors if it has none. Names alone ask for nothing but a report.
    confidence : float
        Level of intervals, between 0 and 1.
    finite_population : bool
        Whether the variance reported counts that a stratum sampled in full has no sampling error. It never
        changes the sample sizes.
    clip : bool
        Whether answers outside an interval count as the nearer end of it, and every result is the mean of
        clipped answers; by default they are refused.
    response_rate, proportion : float, optional
        One value for all strata: the publicly known share of people who would answer; the expected share of
        answers at the upper end, from which the standard deviations follow. For strata without their own.
    **gone
        Options of earlier versions, refused with what replaced them.

    Returns
    -------
    Design
        Sample sizes, budgets, noise, variance, certificate.

    Raises
    ------
    InputError
        For input that cannot be used, with one clear sentence.
    InfeasibleError
        For requests that no design meets together, naming both sides.
    NotAvailableError
        For what this version does not carry out.

    Warns
    -----
    DpstrataWarning
        If ``total`` is beyond the best number of interviews, with both standard errors.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000, 9000, 10000], sds=[0.283, 0.08, 0.0226, 0.0064])
    >>> plan = dps.design(strata, epsilon=1.0, total=200)
    >>> plan.sample_sizes
    array([104,  42,  27,  27])
    >>> plan.mechanism.name
    'staircase'
    >>> plan.certificate.optimal
    True
    """
    return design_as_asked(*read_survey(strata, locals()))


def read_survey(strata: object, arguments: Mapping[str, Any]) -> tuple[Strata, Inputs]:
    """Check the arguments of :func:`design`; those left out have their defaults.

    Returns
    -------
    strata : Strata
        With what one value gives to all of them.
    inputs : Inputs
        All other arguments.
    """
    if not isinstance(strata, Strata):
        raise InputError(
            f"strata must be a Strata, got {type(strata).__name__}. "
            "Use Strata(sizes, sds), Strata.from_file(path) or Strata.from_frame(frame)."
        )
    given = {name: value for name, value in arguments.items() if name != "strata"}
    given |= given.pop("gone", {})
    refuse_gone(given)
    unknown = set(given) - set(OPTIONS)
    if unknown:
        raise InputError(f"a design has no option {min(unknown)!r}.")
    shared = {name: given.pop(name, None) for name in OF_STRATA}
    if given.get("target_cv") is not None and given.get("expected_mean") is None:
        means = strata.expected_means()
        if means is not None:
            given["expected_mean"] = float((strata.sizes * means).sum() / strata.population)
    return strata.filled(**shared), Inputs(**given)
