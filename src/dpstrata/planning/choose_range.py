r"""The range to which amounts are clipped, chosen from what is publicly expected of them.

A wide range needs much noise, a narrow one cuts amounts off: with n answers, noise of variance c for answers
of range 1, and the range [L, U], the estimated mean has the bias B and the variance

.. math:: V = \frac{\mathrm{Var}(\min(X, U)) + c\,(U - L)^2}{n}, \qquad B = E (X - U)_+ .

B falls with U and V rises. The least B² + V is where

.. math:: n B \bar F = \bar F (U - m_1) + c\,(U - L), \qquad \bar F = P(X > U),\; m_1 = E \min(X, U),

and there is one such U, because :math:`nB - (U - m_1)` falls with U and :math:`c(U - L)/\bar F` rises. There
the bias can be most of a standard error, so that intervals miss too often; a quarter of it costs a 95%
interval under 1% of its coverage.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dpstrata.designs.record import Design
from dpstrata.errors import InputError, option
from dpstrata.files.columns import is_missing
from dpstrata.files.headers import require_columns
from dpstrata.files.tables import EXCEL_ENDINGS, TEXT_ENDINGS, read_table
from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms import MECHANISMS, get_mechanism
from dpstrata.survey.options import LARGEST_TOTAL, as_number
from dpstrata.survey.priors import Distribution, read_prior, values_prior
from dpstrata.words.numbers import read_number
from dpstrata.words.tables import shown_as_html, shown_as_text
from dpstrata.words.what_if import range_sentences, range_table

Aim = Literal["trusted", "least_error"]
AIMS: tuple[Aim, ...] = ("trusted", "least_error")
TRUSTED_BIAS = 0.25
"""The largest bias, in standard errors, of a range whose intervals are to be trusted."""
_BEST = "best"
_FILES = (*TEXT_ENDINGS, ".parquet", *EXCEL_ENDINGS)


@dataclass(frozen=True, slots=True)
class AmountRange:
    """A range to which amounts are clipped, and what it gives.

    Attributes
    ----------
    aim : str
        What it was chosen for: ``trusted``, ``least_error``, or ``given``.
    lower, upper : float
        Its ends.
    clipped_mean : float
        The mean of clipped amounts, which is what the survey estimates.
    bias : float
        How much higher the mean of unlimited amounts is.
    share_above : float
        The share of amounts above the upper end.
    standard_error : float
        Of the estimated mean, from sampling and noise.
    """

    aim: str
    lower: float
    upper: float
    clipped_mean: float
    bias: float
    share_above: float
    standard_error: float

    @property
    def relative_bias(self) -> float:
        """The bias as a share of the mean of unlimited amounts."""
        mean = self.clipped_mean + self.bias
        return self.bias / abs(mean) if mean else math.inf

    @property
    def bias_in_errors(self) -> float:
        """The bias in standard errors."""
        return self.bias / self.standard_error

    @property
    def root_mean_square_error(self) -> float:
        """What bias and standard error come to together."""
        return math.hypot(self.bias, self.standard_error)

    def to_dict(self) -> dict[str, Any]:
        """Return every figure by its name."""
        names = (*AmountRange.__slots__, "relative_bias", "bias_in_errors", "root_mean_square_error")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, eq=False)
class RangeChoice:
    """The range for an amount, beside the other one that could be meant.

    Attributes
    ----------
    chosen : AmountRange
        The range for the aim that was asked for.
    other : AmountRange
        The one for the other aim.
    prior : Distribution
        What is expected of the amounts.
    sample_size : int
        Number of answers.
    noise_variance : float
        Variance of the noise of one answer, for answers of range 1; for sums and a mean, of the noise that
        each answer would have to have for the same precision.
    mechanism : str
        What noises it.
    """

    chosen: AmountRange
    other: AmountRange
    prior: Distribution
    sample_size: int
    noise_variance: float
    mechanism: str

    @property
    def lower(self) -> float:
        """The lower end of the chosen range."""
        return self.chosen.lower

    @property
    def upper(self) -> float:
        """The upper end of the chosen range."""
        return self.chosen.upper

    def at(self, upper: float) -> AmountRange:
        """Return what another upper end gives, such as a rounded one."""
        number = as_number("upper", upper)
        if not self.lower < number <= 1e100:
            raise InputError.must("upper", f"be above {self.lower:g}", number, "g")
        return _Trade(self.prior, self.lower, self.noise_variance, self.sample_size).at(number, "given")

    def stated_prior(self, upper: float | None = None) -> str:
        """Return what to give a design as ``prior``, so that its results say how much higher the mean is.

        Parameters
        ----------
        upper : float, optional
            The upper end that the design has, if it is another one; reference values state the excess there.
        """
        excess = self.prior.excess(self.upper if upper is None else upper)
        return self.prior.stated or f"excess:{excess:.6g}"

    def table(self) -> dict[str, list[Any]]:
        """Return one list per column, the chosen range in the first row."""
        rows = [self.chosen.to_dict(), self.other.to_dict()]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python data."""
        return {
            "prior": self.prior.text,
            "prior_mean": self.prior.mean,
            "stated_prior": self.stated_prior(),
            "sample_size": self.sample_size,
            "noise_variance": self.noise_variance,
            "mechanism": self.mechanism,
            "chosen": self.chosen.to_dict(),
            "other": self.other.to_dict(),
        }

    def __repr__(self) -> str:
        return shown_as_text([range_table(self)], range_sentences(self))

    def _repr_html_(self) -> str:
        return shown_as_html([range_table(self)], range_sentences(self))


@dataclass(frozen=True, slots=True)
class _Trade:
    """Bias against variance, for a prior F, the lower end L, noise c of answers of range 1, and n answers."""

    F: Distribution
    L: float
    c: float
    n: int

    def at(self, upper: float, aim: str) -> AmountRange:
        clipped = self.F.clipped(upper)
        error = math.sqrt((clipped.variance + self.c * (upper - self.L) ** 2) / self.n)
        return AmountRange(aim, self.L, upper, clipped.mean, clipped.excess, clipped.above, error)

    def is_trusted(self, upper: float) -> bool:
        """Whether the bias is at most a quarter of the standard error; from some end on it always is."""
        given = self.at(upper, "")
        return given.bias <= TRUSTED_BIAS * given.standard_error

    def is_beyond_least(self, upper: float) -> bool:
        """Whether B² + V rises: n·B − (U − m₁) < c(U − L)/F̄."""
        B, m1, _, above = self.F.clipped(upper)
        return self.n * B * above <= above * (upper - m1) + self.c * (upper - self.L)

    def best(self, aim: Aim) -> AmountRange:
        beyond = self.is_trusted if aim == "trusted" else self.is_beyond_least
        return self.at(_first(beyond, self.L, max(self.F.mean - self.L, 1e-300)), aim)


def _first(holds: Callable[[float], bool], lower: float, width: float) -> float:
    """Bisect for the smallest upper end at which something holds, which holds from there on."""
    least = 0.0
    while not holds(lower + width):
        least, width = width, 2.0 * width
    while least < (middle := (least + width) / 2) < width and width - least > 1e-13 * width:
        least, width = (least, middle) if holds(lower + middle) else (middle, width)
    return lower + width


def choose_range(
    prior: str | Path | Sequence[float] | FloatArray,
    *,
    sample_size: int | None = None,
    local_epsilon: float | None = None,
    plan: Design | None = None,
    lower: float = 0.0,
    aim: Aim = "trusted",
    mechanism: str = _BEST,
    column: str | None = None,
) -> RangeChoice:
    r"""Choose the range to which amounts are clipped, from what is publicly expected of them.

    A wide range needs much noise; a narrow one cuts large amounts off, so that the survey estimates the mean
    of clipped amounts and not of all. Nothing of the survey's own answers may be used to choose it.

    Parameters
    ----------
    prior : str, path or sequence of float
        What is expected: ``"lognormal:MU:SIGMA"`` (mean and standard deviation of the logarithm),
        ``"gamma:SHAPE:SCALE"``, a file of reference values, or the values themselves.
    sample_size : int
        Number of answers that are expected, >= 1.
    local_epsilon : float
        Budget of the noise of one answer, from 1e-6 to 100.
    plan : Design
        In place of both, and of ``mechanism``: a first design, with any range. Its answers and its noise,
        whatever it releases, are taken as they are.
    lower : float
        Lower end of the range; no amount may be expected below it.
    aim : {"trusted", "least_error"}
        ``trusted``: the narrowest range whose bias is at most a quarter of the standard error, so that
        intervals keep their coverage. ``least_error``: the least mean square error; its intervals miss more.
    mechanism : str
        Noise mechanism; ``best`` takes the one with the least noise at this budget.
    column : str, optional
        The column of a file of reference values; needed if it has several.

    Returns
    -------
    RangeChoice
        The range with its bias and standard error, beside that of the other aim.

    Raises
    ------
    InputError
        For input that cannot be used, with one clear sentence.

    Notes
    -----
    The standard error is that of a simple random sample of ``sample_size``, :math:`\sqrt{V}` with

    .. math:: V = [\mathrm{Var}(\min(X, U)) + c\,(U - L)^2] / n ,

    c the variance of noise for answers of range 1. The bias is :math:`E(X - U)_+`.

    Examples
    --------
    >>> import dpstrata as dps
    >>> found = dps.choose_range("lognormal:0:1", sample_size=1000, local_epsilon=3, mechanism="staircase")
    >>> round(found.upper, 2), round(found.chosen.bias_in_errors, 3), round(found.chosen.relative_bias, 3)
    (11.57, 0.25, 0.023)
    >>> round(found.other.upper, 3), round(found.other.relative_bias, 3)
    (8.195, 0.047)

    From a first design, whose sums have less noise:

    >>> strata = dps.Strata(sizes=[7000, 8000], sds=[1.5, 2.0])
    >>> first = dps.design(strata, epsilon=1, total=200, questions=(0, 10), release="sums")
    >>> round(dps.choose_range("lognormal:0:1", plan=first).upper, 2)
    12.41
    """
    expected = _read(prior, column)
    end = as_number("lower", lower)
    if not -1e100 <= end <= expected.least:
        rule = f"be at most {expected.least:g}, the smallest amount that is expected"
        raise InputError.must("lower", rule, end, "g")
    if aim not in AIMS:
        raise InputError.must("aim", f"be one of {', '.join(AIMS)}", aim)
    if plan is not None:
        number, name, noise = _planned(plan, sample_size, local_epsilon, mechanism)
    else:
        number, name, noise = _stated(sample_size, local_epsilon, mechanism)
    trade = _Trade(expected, end, noise, number)
    other = next(each for each in AIMS if each != aim)
    return RangeChoice(trade.best(aim), trade.best(other), expected, number, noise, name)


def _stated(sample_size: int | None, local_epsilon: float | None, mechanism: str) -> tuple[int, str, float]:
    """Take the number of answers, the noise, and its variance for answers of range 1, as given."""
    if sample_size is None or local_epsilon is None:
        raise InputError(
            f"choose_range needs {option('sample_size')} and {option('local_epsilon')}, or {option('plan')}."
        )
    number = int(as_number("sample_size", sample_size, whole=True))
    if not 1 <= number <= LARGEST_TOTAL:
        raise InputError.must("sample_size", "be at least 1", number, ",")
    budget = as_number("local_epsilon", local_epsilon)
    if not 1e-6 <= budget <= 100:
        raise InputError.must("local_epsilon", "be from 1e-6 to 100", budget, "g")
    return number, *_unit_noise(mechanism, budget)


def _planned(
    plan: Design, sample_size: int | None, local_epsilon: float | None, mechanism: str
) -> tuple[int, str, float]:
    """Take the same from a design: noise that each answer would have to have for its precision."""
    if not isinstance(plan, Design):
        raise InputError.must("plan", "be a Design", type(plan).__name__)
    given = {"sample_size": sample_size, "local_epsilon": local_epsilon, "mechanism": mechanism}
    doubled = [name for name, value in given.items() if value not in (None, _BEST)]
    if doubled:
        raise InputError(f"{option(doubled[0])} follows from {option('plan')} and cannot be given too.")
    first, *others = plan.inputs.questions
    if others or not first.space.numbers or plan.standard_error is None:
        raise InputError(f"{option('plan')} must estimate the population mean of one number.")
    answers = plan.total if plan.expected_answers is None else max(round(plan.expected_answers), 1)
    noise = answers * plan.variance_parts.privacy / first.range**2
    return answers, plan.mechanism.name, noise


def _unit_noise(mechanism: str, local_epsilon: float) -> tuple[str, float]:
    """Name the noise, the least if the best is asked for, and return its variance for answers of range 1."""
    space = AnswerSpace()
    if mechanism != _BEST:
        return mechanism, float(get_mechanism(mechanism, space).variance(local_epsilon))
    variances = {name: _variance(name, space, local_epsilon) for name in MECHANISMS}
    best = min(variances, key=lambda name: variances[name])
    return best, variances[best]


def _variance(name: str, space: AnswerSpace, local_epsilon: float) -> float:
    """Return the variance of noise at a budget; infinite where it cannot protect any number."""
    try:
        mechanism = get_mechanism(name, space)
    except InputError:
        return math.inf
    return math.inf if mechanism.needs_delta else float(mechanism.variance(local_epsilon))


def _read(prior: object, column: str | None) -> Distribution:
    """Take a family with its numbers, a file of reference values, or the values."""
    if isinstance(prior, Path) or (isinstance(prior, str) and prior.lower().endswith(_FILES)):
        return values_prior(_column(Path(prior), column))
    if column is not None:
        raise InputError(f"{option('column')} needs a file of reference values.")
    if not isinstance(prior, str):
        return values_prior(prior)  # type: ignore[arg-type]
    read = read_prior(prior, written="lognormal:MU:SIGMA, gamma:SHAPE:SCALE or a file of reference values")
    if not isinstance(read, Distribution):
        raise InputError(
            f"{option('prior')} must say how amounts are distributed (lognormal, gamma or reference values), "
            f"got {prior!r}.",
            value=prior,
        )
    return read


def _column(path: Path, name: str | None) -> list[float]:
    """Read the numbers of one column of a file, leaving out cells without a value."""
    table = read_table(path)
    if name is None and len(table.columns) > 1:
        raise InputError(
            f"{option('column')} must name the column of reference values, got {path.name} with "
            f"{', '.join(list(table.columns)[:5])}."
        )
    name = name if name is not None else next(iter(table.columns))
    require_columns(path.name, table.columns, name)
    numbers: list[float] = []
    for row, cell in enumerate(table.columns[name]):
        if is_missing(cell):
            continue
        number = read_number(cell)
        if number is None:
            raise InputError(f"{path.name}, {table.place(row)}: column {name!r} must hold numbers.")
        numbers.append(number)
    return numbers
