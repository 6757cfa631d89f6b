"""Every option of a design, once: its type, default, range and one sentence.

:class:`Inputs <dpstrata.survey.inputs.Inputs>`, the document's ``inputs``, the JSON API, the flags of the
command line, the table in the documentation and the page's ``options.json`` are made from here. It is a plain
dataclass, so that neither designing nor ``--help`` loads Pydantic; what is read from JSON has a Pydantic
model made of it (:mod:`dpstrata.designs.document_shape`).
"""

# Annotations are read as types here, so they are not postponed.
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, get_origin

from dpstrata.errors import InputError, option
from dpstrata.privacy.mechanisms import MECHANISMS
from dpstrata.privacy.promises import PromiseOptions
from dpstrata.survey.releases import RELEASES, ReleaseName
from dpstrata.survey.targets import LARGEST, SMALLEST, PrecisionTarget, Target, take_target

if TYPE_CHECKING:
    from dataclasses import Field

    from dpstrata.survey.questionnaires.questionnaire import Questionnaire

Group = Literal["goal", "survey", "privacy", "limits"]
Objective = Literal["mean", "trace", "unit_free", "custom"]

LARGEST_TOTAL = 2**62
_MOST_BITS = 2000  # of a number that a message can show


class Option(NamedTuple):
    """One option of :func:`dpstrata.design`.

    Attributes
    ----------
    name : str
        The argument, and the flag with hyphens.
    kind : type
        int, float, bool or str; object for what has a form of its own.
    optional : bool
        Whether it may be left open.
    default : object
        What is meant by leaving it out.
    sentence : str
        What it is, with other options in backticks.
    group : str
        Where it is listed.
    least, most, above : float or None
        Its range; ``above`` is not included.
    choices : tuple of str
        All that it can be, if that is a list.
    typed : str
        What the command line adds about how it is typed.
    take : function or None
        Reads a form of its own.
    """

    name: str
    kind: type
    optional: bool
    default: Any
    sentence: str
    group: Group
    least: float | None
    most: float | None
    above: float | None
    choices: tuple[str, ...]
    typed: str
    take: Callable[[Any], Any] | None

    @property
    def whole(self) -> bool:
        """Whether it is a whole number."""
        return self.kind is int

    @property
    def number(self) -> bool:
        """Whether it is a number."""
        return self.kind in (int, float)

    def read(self, value: Any) -> Any:
        """Take what someone gave for it, as a plain number, word or record.

        Raises
        ------
        InputError
            If it is of another kind or out of range.
        """
        if self.take is not None:
            return self.take(value)
        if value is None and self.optional:
            return None
        if self.number:
            return self.in_range(as_number(self.name, value, whole=self.whole))
        if self.kind is bool and not isinstance(value, bool):
            raise InputError.must(self.name, "be True or False", value)
        if self.choices and not (isinstance(value, str) and value in self.choices):
            raise InputError.must(self.name, f"be one of {', '.join(self.choices)}", value)
        return value

    def in_range(self, value: float) -> float:
        """Require that a number is within its range, and say which end it breaks."""
        if self.above is not None and not value > self.above:
            requirement = f"be above {written(self.above)}"
        elif self.least is not None and not value >= self.least:
            tiny = self.least == SMALLEST and not value > 0
            requirement = "be positive" if tiny else f"be at least {written(self.least)}"
        elif self.most is not None and not value <= self.most:
            requirement = f"be at most {written(self.most)}"
        else:
            return value
        raise InputError.must(self.name, requirement, value, _spec(value))


def as_number(name: str, value: object, *, whole: bool = False) -> float:
    """Take any real number (NumPy's too) as a plain one; whole numbers must be whole.

    Parameters
    ----------
    name : str
        The option that it is given for.
    value : object
        The number.
    whole : bool
        Whether it must be whole.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError.must(name, f"be a {'whole ' if whole else ''}number", value)
    if whole and isinstance(value, Integral) and int(value).bit_length() < _MOST_BITS:
        return int(value)
    try:
        number = float(value)
    except OverflowError:
        raise InputError(f"{option(name)} must be a number of moderate size.") from None
    if not whole:
        return number
    if not number.is_integer():
        raise InputError.must(name, "be a whole number", number, "g")
    return int(number)


def written(end: float) -> str:
    """Write the end of a range for people.

    Examples
    --------
    >>> written(1000), written(1e-6), written(2**62)
    ('1,000', '1e-6', '2^62')
    """
    if end == LARGEST_TOTAL:
        return "2^62"
    return f"{end:,}" if isinstance(end, int) else f"{end:.12g}".replace("e-0", "e-").replace("e+", "e")


def _spec(value: float) -> str:
    return "," if isinstance(value, int) else ".12g"


# --- options with a form of their own ---------------------------------------------------------------


def _as_questions(given: Any) -> "Questionnaire":
    from dpstrata.survey.questionnaires.questionnaire import read_questions

    return read_questions((0, 1) if given is None else given)


def _as_prior(given: Any) -> str | None:
    """Take what is expected of amounts as it is written."""
    from dpstrata.survey.priors import read_prior

    return None if given is None else read_prior(given).text


def _as_domains(given: Any) -> dict[str, Any] | None:
    """Take names alone for domains without targets, and targets as records or plain numbers."""
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Mapping):
        return {str(column): _as_target(str(column), target) for column, target in given.items()} or None
    if given is None or (isinstance(given, Sequence) and all(isinstance(name, str) for name in given)):
        return dict.fromkeys(given or ()) or None
    raise InputError.must("domains", "be column names, or a mapping of column names to targets", given)


def _as_classes(given: Any) -> tuple[str, ...] | None:
    """Take one name for a list of it."""
    names = [given] if isinstance(given, str) else given
    if names is None or (isinstance(names, Sequence) and all(isinstance(name, str) for name in names)):
        return tuple(dict.fromkeys(names or ())) or None
    raise InputError.must("classes", "be column names", given)


def _as_target(where: str, target: object) -> float | PrecisionTarget | dict[str, Any] | None:
    """Take what the domains of a column must reach."""
    if target is None:
        return None
    if isinstance(target, Mapping):
        wanted = {str(group): value for group, value in target.items() if value is not None}
        return {group: take_target(f"{where}={group}", value) for group, value in wanted.items()}
    return take_target(where, target)


# --- the options ------------------------------------------------------------------------------------


def _option(default: Any, sentence: str, group: Group, **about: Any) -> Any:
    """State an option; what ``about`` may hold are the attributes of :class:`Option`."""
    return field(default=default, metadata={"sentence": sentence, "group": group, **about})


def _target(sentence: str) -> Any:
    return _option(None, sentence, "goal", least=SMALLEST, most=LARGEST)


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)  # which ``Inputs`` has
class Options(PromiseOptions):
    """The options of a design that its document records, each checked by itself, for ``Inputs``."""

    total: int | None = _option(
        None, "Total number of people to invite.", "goal", least=1, most=LARGEST_TOTAL
    )
    at_most: int | None = _option(
        None,
        "Maximum number of people to invite; fewer are invited if that is better.",
        "goal",
        least=1,
        most=LARGEST_TOTAL,
    )
    budget: float | None = _target("Maximum cost of all invitations; requires a cost for every stratum.")
    target_se: float | None = _target(
        "Standard error to reach with the fewest people, or at the lowest cost."
    )
    target_margin: float | None = _target(
        "Margin of error at `confidence` to reach with the fewest people, or at the lowest cost."
    )
    target_cv: float | None = _target(
        "Standard error relative to `expected_mean` to reach with the fewest people, or at the lowest cost."
    )
    expected_mean: float | None = _option(
        None, "Mean that `target_cv` is relative to; by default, taken from the column expected_mean.", "goal"
    )
    mechanism: str = _option(
        "best",
        "Noise mechanism; best picks the most precise one that fits.",
        "privacy",
        choices=(*MECHANISMS, "best"),
    )
    objective: Objective = _option(
        "mean",
        "What to minimise. mean: the variance of the population mean. trace: the sum of the stratum "
        "variances. unit_free: that sum, each variance relative to its stratum's own. custom: that sum, "
        "weighted by the column coefficient.",
        "survey",
    )
    questions: "Questionnaire" = _option(
        None,
        "What is asked: a file of questions, or the answers to a single one: yes_no, lower and upper end, "
        "with a step for a scale, or the names of categories; if omitted, 0 to 1, for planning only.",
        "survey",
        typed="Write FILE, yes_no, lower:upper, lower:upper:step or 'rent|own|other'; required to noise "
        "answers from a file.",
        take=_as_questions,
    )
    release: ReleaseName = _option(
        "microdata",
        "What is published. " + " ".join(f"{name}: {what}." for name, (_, what) in RELEASES.items()),
        "privacy",
    )
    device_epsilon: float | None = _option(
        None,
        "Budget at which devices noise a person's answers before the office sees them; without it the office "
        "sees raw answers. Cannot be used with microdata.",
        "privacy",
        least=1e-6,
        most=100.0,
    )
    local_epsilon_cap: float | None = _option(
        None, "Largest local epsilon that one noised answer may spend.", "privacy", least=1e-6, most=1000.0
    )
    min_per_stratum: int | None = _option(
        None,
        "Minimum number of people to invite in a stratum; smaller strata are sampled in full. By default "
        "1 or, with response rates, enough for two answers in every stratum with a chance of 99%, or the "
        "share of that which the total or the budget allows.",
        "limits",
        least=1,
        most=LARGEST_TOTAL,
    )
    min_fraction: float = _option(0.0, "Minimum sampling rate in a stratum.", "limits", least=0.0, most=1.0)
    max_fraction: float = _option(1.0, "Maximum sampling rate in a stratum.", "limits", above=0.0, most=1.0)
    domains: Mapping[str, Target] | None = _option(
        None,
        "Columns whose groups are domains, each with the precision that its groups must reach, if any: "
        "15%cv, 0.02se or 0.03margin. A bare number is of the kind of the target for the whole.",
        "goal",
        typed="COLUMN=TARGET sets a target for each group of a column, COLUMN:GROUP=TARGET for one of them; "
        "may be repeated.",
        take=_as_domains,
    )
    confidence: float = _option(
        0.95, "Confidence level of margins and intervals.", "survey", least=1e-6, most=1.0 - 1e-9
    )
    finite_population: bool = _option(
        True, "Apply the finite population correction; it never changes the sample sizes.", "survey"
    )
    clip: bool = _option(
        False,
        "Count answers outside the range as the nearer end of it; by default they are refused.",
        "survey",
    )
    prior: str | None = _option(
        None,
        "Public expectation of the amounts that `clip` limits, so that results say how much higher the mean "
        "of unlimited amounts is: lognormal:MU:SIGMA, gamma:SHAPE:SCALE, or excess:AMOUNT.",
        "survey",
        take=_as_prior,
    )

    def __post_init__(self) -> None:
        for each in RECORDED.values():
            object.__setattr__(self, each.name, each.read(getattr(self, each.name)))


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class AllOptions(Options):
    """Every option of :func:`dpstrata.design`: those recorded, and those that fill a column of the strata."""

    response_rate: float | None = _option(
        None,
        "Share of people who would answer if invited, for strata that do not state their own.",
        "survey",
        least=1e-12,
        most=1.0,
    )
    proportion: float | None = _option(
        None,
        "Expected share of answers at the upper end, for strata that do not state a spread.",
        "survey",
        least=0.0,
        most=1.0,
    )
    classes: Sequence[str] | None = _option(
        None,
        "Columns that the strata are crossed with and not reported by: weighting classes, whose cells have "
        "sample sizes of their own.",
        "survey",
        typed="May be repeated.",
        take=_as_classes,
    )


def _read(part: "Field[Any]") -> Option:
    """Read an option from its field."""
    kind: Any = part.type
    optional = isinstance(kind, types.UnionType) and types.NoneType in get_args(kind)
    kind = next(each for each in get_args(kind) if each is not types.NoneType) if optional else kind
    about: dict[str, Any] = dict.fromkeys(("least", "most", "above", "take"))
    about |= {"choices": (), "typed": "", **part.metadata}
    about.pop("kind", None)  # of promise, which the registry of promises reads
    if get_origin(kind) is Literal:
        kind, about["choices"] = str, get_args(kind)
    plain = kind if kind in (int, float, bool, str) else object
    return Option(name=part.name, kind=plain, optional=optional, default=part.default, **about)


RECORDED = {part.name: _read(part) for part in fields(Options)}
OPTIONS = {part.name: _read(part) for part in fields(AllOptions)}
OF_STRATA = tuple(name for name in OPTIONS if name not in RECORDED)
"""Options that fill a column of the strata, and are recorded there."""
