"""Everything dpstrata raises or warns with, in one tree.

::

    DpstrataError
    ├── InputError (ValueError)            an argument, a file or a table that cannot be used
    │   ├── MistakesError                  mistakes in a table, all of them at once
    │   │   ├── StrataError                in the strata
    │   │   └── QuestionnaireError         in a questionnaire, or in what is known of its answers
    │   └── InfeasibleError                requests that contradict each other
    ├── PrecisionError (ArithmeticError)   an answer that could not be proven, so is not given
    ├── NotAvailableError (NotImplementedError)   understood, but not part of this version
    └── MissingExtraError (ImportError)    an optional package; the message says how to install it

    DpstrataWarning (UserWarning)          usable, but probably not what was meant

Each carries what it is about: the ``argument``, its ``value`` and ``where`` it stood, where there is such a
thing, and a sentence that mentions options by :func:`option`, so that whoever shows it can name them as the
reader knows them (:class:`Sentence`). Nobody has to take a sentence apart.
"""

from __future__ import annotations

import copyreg
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

# A mention is marked by characters that Unicode keeps free for such use, with a word of this process: no text
# that someone else wrote, such as the name of a file, can be taken for one.
_WORD = os.urandom(8).hex()
_OPENS, _PARTS, _CLOSES = (f"{mark}{_WORD}" for mark in ("\ufdd0", "\ufdd1", "\ufdd2"))
_MENTION = re.compile(f"{_OPENS}(\\w+?)(?:{_PARTS}(.*?))?{_CLOSES}", re.DOTALL)
_NOTHING: Any = object()
# A word for a password before "=", as in connection strings; a folder named like that ("/key=3/") is none.
SECRET_OPTION = r"(?<![\w/])\w*(?:password|passwd|pwd|secret|token|key)\s*=\s*"
# In addresses (a path has lost one of the slashes) and in what people write instead of one.
_PASSWORDS = (
    re.compile(r"(\b[a-z][\w+.-]+:/{1,2}[^\s/:@]*:)[^\n]+(?=@)", re.IGNORECASE),
    re.compile(r"(?<![\w/.:-])([\w.+-]+:)(?![/\\])\S+(?=@)"),  # ann:hunter2@db
    re.compile(  # ann/hunter2@db, but not folder/name@place.csv
        r"(?<![\w./~\\-])(\w+/)[^\s/@]+(?=@(?:[\w.-]+(?:/|:\d)|[\w-]+['\")]*[.,:;]?(?:\s|$)))"
    ),
    re.compile(
        rf"({SECRET_OPTION})('[^']*'|\"[^\"]*\"|[^\s;&]+?(?=['\")]*[.,:]?(?:[\s;&]|$)))", re.IGNORECASE
    ),
)


def without_passwords(text: str) -> str:
    """Write stars for every password of a database address in a text.

    Examples
    --------
    >>> without_passwords("postgresql://ann:hunter2@db/people does not exist.")
    'postgresql://ann:***@db/people does not exist.'
    >>> without_passwords("host=db password=hunter2")
    'host=db password=***'
    >>> without_passwords("md:people?motherduck_token=hunter2: not a file.")
    'md:people?motherduck_token=***: not a file.'
    """
    for pattern in _PASSWORDS:
        text = pattern.sub(r"\1***", text)
    return text


class Mention(NamedTuple):
    """An option that a sentence mentions, alone or with a value.

    Attributes
    ----------
    name : str
        The argument.
    value : str or None
        As Python writes it; ``None`` where the option alone is meant.
    """

    name: str
    value: str | None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value}"


def option(name: str, value: object = _NOTHING, spec: str = "") -> str:
    """Mention an option in a sentence.

    Parameters
    ----------
    name : str
        The argument of the function that people call.
    value : object, optional
        The value it has, or should have.
    spec : str
        How to write a number, as in ``format``; anything else is written as Python does.

    Examples
    --------
    >>> sentence = Sentence(f"{option('at_most')} must be at least 12, got {option('at_most', 9000, ',')}.")
    >>> str(sentence)
    'at_most must be at least 12, got at_most=9,000.'
    >>> sentence.worded(lambda mention: mention.name.upper())
    'AT_MOST must be at least 12, got AT_MOST.'
    """
    shown = None if value is _NOTHING else format(value, spec) if spec else repr(value)
    return _mark(name, shown)


def _mark(name: str, value: str | None) -> str:
    return f"{_OPENS}{name}{'' if value is None else _PARTS + value}{_CLOSES}"


class Sentence(str):
    """A sentence for people that mentions options; as plain text it names them as Python does.

    Whatever it quotes, it shows no password of a database address.
    """

    __slots__ = ("_marked",)
    _marked: str

    def __new__(cls, text: str) -> Sentence:
        """Read the mentions in ``text``."""
        marked = text._marked if isinstance(text, Sentence) else without_passwords(text)
        sentence = super().__new__(cls, _MENTION.sub(lambda found: str(Mention(found[1], found[2])), marked))
        sentence._marked = marked
        return sentence

    def __reduce__(self) -> tuple[Any, ...]:
        return _said, tuple(self.parts)  # another process has other marks

    @property
    def marked(self) -> str:
        """Its text with the mentions, to be part of another sentence."""
        return self._marked

    @property
    def parts(self) -> Iterator[str | Mention]:
        """The pieces of text and the mentions between them, in order."""
        end = 0
        for found in _MENTION.finditer(self._marked):
            if found.start() > end:
                yield self._marked[end : found.start()]
            yield Mention(found[1], found[2])
            end = found.end()
        if end < len(self._marked):
            yield self._marked[end:]

    @property
    def mentions(self) -> list[Mention]:
        """The options that it mentions, in order."""
        return [part for part in self.parts if isinstance(part, Mention)]

    def worded(self, name: Callable[[Mention], str]) -> str:
        """Write it with options named as the reader knows them."""
        return "".join(name(part) if isinstance(part, Mention) else part for part in self.parts)


def _said(*parts: str | Mention) -> Sentence:
    """Put the parts of a sentence together again."""
    return Sentence("".join(_mark(*part) if isinstance(part, Mention) else part for part in parts))


class CellMistake(NamedTuple):
    """What is wrong with one cell of a table; rows count from 0, and without the header."""

    row: int
    column: str
    message: str


class DpstrataError(Exception):
    """Base class of the errors that dpstrata raises on purpose.

    Attributes
    ----------
    sentence : Sentence
        What is wrong and what to do.
    argument : str or None
        The argument it is about: the first that the sentence mentions, unless stated.
    value : object
        The value that was given for it, where it is kept.
    where : str or None
        The stratum, row or file in which it was found.

    Examples
    --------
    >>> import dpstrata as dps
    >>> try:
    ...     dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=5000)
    ... except dps.DpstrataError as error:
    ...     print(error.argument, error.value)
    total 5000
    """

    def __init__(
        self, message: str, *, argument: str | None = None, value: object = None, where: str | None = None
    ) -> None:
        self.sentence = Sentence(message)
        first = next(iter(self.sentence.mentions), None)
        self.argument = argument if argument is not None or first is None else first.name
        self.value = without_passwords(value) if isinstance(value, str) else value
        self.where = None if where is None else without_passwords(where)
        super().__init__(self.sentence)

    def __reduce__(self) -> tuple[Any, ...]:
        # As it is: what a subclass was made from differs from the sentence that came of it.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class InputError(DpstrataError, ValueError):
    """Input that cannot be used; the message states what must hold and what was given.

    Examples
    --------
    >>> import dpstrata as dps
    >>> dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=-1, total=40)
    Traceback (most recent call last):
        ...
    dpstrata.errors.InputError: epsilon must lie between 1e-06 and 100, got epsilon=-1.
    """

    @classmethod
    def must(
        cls,
        argument: str,
        requirement: str,
        value: object,
        spec: str = "",
        *,
        where: str | None = None,
        then: str = "",
    ) -> InputError:
        """Say what an argument must be, what was got and what to do.

        Parameters
        ----------
        argument : str
            The argument.
        requirement : str
            What follows "must".
        value : object
            What was given.
        spec : str
            How to write a number, as in ``format``.
        where : str, optional
            The stratum, row or file.
        then : str
            What to do, as a sentence of its own.

        Examples
        --------
        >>> str(InputError.must("total", "be at least 12, the sum of the minimums", 10))
        'total must be at least 12, the sum of the minimums, got total=10.'
        """
        place = f" in {where}" if where else ""
        sentence = f"{option(argument)} must {requirement}, got {option(argument, value, spec)}{place}."
        return cls(f"{sentence} {then}".rstrip(), argument=argument, value=value, where=where)


class MistakesError(InputError):
    """One or more mistakes in a table or in what it describes.

    Attributes
    ----------
    mistakes : tuple of str
        Every mistake found, each with its place.
    cells : tuple of CellMistake
        The same by cell, where they came from a table.
    """

    SHOWN = 5
    SOURCE = "the table"

    def __init__(
        self,
        mistakes: Sequence[str],
        *,
        source: str | None = None,
        cells: Sequence[CellMistake] = (),
        kinds: Sequence[tuple[str, int]] = (),
        advice: str = "",
    ) -> None:
        """Put mistakes into one message.

        Parameters
        ----------
        mistakes : sequence of str
            Every mistake.
        source : str, optional
            Where they were found.
        cells : sequence of CellMistake
            The same by cell.
        kinds : sequence of (str, int), optional
            What the message says instead, where many mistakes are alike: a sentence for each kind, and how
            many mistakes it stands for.
        advice : str
            A last sentence, on what helps against several of them.
        """
        source = self.SOURCE if source is None else source
        self.mistakes = tuple(map(Sentence, mistakes))
        self.cells = tuple(cells)
        said = [
            (Sentence(words).marked, number) for words, number in kinds or ((each, 1) for each in mistakes)
        ]
        if len(said) == 1:
            message = f"{source}: {said[0][0]}"
        else:
            lines = [f"  - {words}" for words, _ in said[: self.SHOWN]]
            if len(said) > self.SHOWN:
                lines.append(f"  - and {sum(number for _, number in said[self.SHOWN :]):,} more")
            message = f"{source}: {len(self.mistakes):,} mistakes.\n" + "\n".join(lines)
        super().__init__(f"{message}\n{advice}" if advice else message)


class StrataError(MistakesError):
    """One or more mistakes in the strata.

    Examples
    --------
    >>> import dpstrata as dps
    >>> try:
    ...     dps.Strata([700, 0, 900], [0.3, 0.1, -1])
    ... except dps.StrataError as error:
    ...     for mistake in error.mistakes:
    ...         print(mistake)
    size must be a whole number from 1 to 10^12, got 0 in stratum '2'.
    sd must be a number >= 0, got -1 in stratum '3'.
    """

    SOURCE = "the strata"


class QuestionnaireError(MistakesError):
    """One or more mistakes in a questionnaire, or in what is known of the answers to it.

    Examples
    --------
    >>> import dpstrata as dps
    >>> try:
    ...     dps.Question("health", "scale", lower=1)
    ... except dps.QuestionnaireError as error:
    ...     print(error)
    question 'health': upper must be a number for a scale question, got nothing.
    """

    SOURCE = "the questionnaire"


class InfeasibleError(InputError):
    """Requests that no design can meet together.

    Attributes
    ----------
    misses : tuple of (bool, float) or None
        How far the best possible design misses the request: whether the precision is out of reach (and not
        only its cost), and by what factor. ``None`` where there is no such measure.
    nearest : int, float or None
        The value of ``argument`` nearest to the one asked for that a design can meet, where it is known.
    cell : CellMistake or None
        Where a table of questions asks for it.

    Examples
    --------
    >>> import dpstrata as dps
    >>> try:
    ...     dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, target_se=0.001)
    ... except dps.InfeasibleError as error:
    ...     print(error.argument, "can be", error.nearest)
    target_se can be 0.0239
    """

    def __init__(
        self,
        message: str,
        *,
        misses: tuple[bool, float] | None = None,
        nearest: float | None = None,
        cell: CellMistake | None = None,
        **about: Any,
    ) -> None:
        super().__init__(message, **about)
        self.cell = cell
        self.misses = misses
        self.nearest = nearest


class PrecisionError(DpstrataError, ArithmeticError):
    """A result that could not be proven with the available arithmetic.

    Examples
    --------
    >>> import dpstrata as dps
    >>> issubclass(dps.PrecisionError, ArithmeticError)  # so it is caught where arithmetic goes wrong
    True
    """


class NotAvailableError(DpstrataError, NotImplementedError):
    """A request that dpstrata understands but this version does not support.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata([700, 900])
    >>> dps.pilot(strata, epsilon=1, pilot_epsilon=0.3, total=90, pilot_total=20, gdp=1)
    Traceback (most recent call last):
        ...
    dpstrata.errors.NotAvailableError: a pilot supports only a total and a promise of epsilon, got gdp=1.
    """


class MissingExtraError(DpstrataError, ImportError):
    """An optional dependency that is not installed.

    Examples
    --------
    >>> raise MissingExtraError("Spark frames need", "spark")
    Traceback (most recent call last):
        ...
    dpstrata.errors.MissingExtraError: Spark frames need an extra: pip install 'dpstrata[spark]'.
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} an extra: pip install 'dpstrata[{extra}]'.")


class DpstrataWarning(UserWarning):
    """A warning about input that works but is probably not what was meant.

    Attributes
    ----------
    sentence : Sentence
        What it is, with the options that it mentions.

    Examples
    --------
    >>> import warnings
    >>> import dpstrata as dps
    >>> with warnings.catch_warnings(record=True) as raised:
    ...     warnings.simplefilter("always", dps.DpstrataWarning)
    ...     plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=1500)
    >>> str(raised[0].message).partition(";")[0]
    'total=1,500 exceeds the best total'
    """

    def __init__(self, message: str) -> None:
        self.sentence = Sentence(message)
        super().__init__(self.sentence)
