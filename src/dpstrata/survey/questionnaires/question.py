"""One question of a questionnaire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Literal

from dpstrata.errors import QuestionnaireError
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.survey.questionnaires.kinds.base import QuestionKind, kind_named
from dpstrata.survey.questionnaires.question_checks import read_question
from dpstrata.survey.questionnaires.translation import Translation

Kind = Literal["yes_no", "category", "scale", "number"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question: what can be answered, how much it matters, and who is asked.

    Parameters
    ----------
    name : str
        A short name, a line of text; results are listed under it.
    kind : "yes_no", "category", "scale" or "number"
        ``category`` is one of several named answers, ``scale`` a number on a grid, ``number`` any number in a
        range.
    lower, upper : float, optional
        Smallest and largest answer of a scale or number, lower < upper.
    step : float, optional
        Distance between neighbouring points of a scale, 1 by default; at most 100 points beside other
        questions.
    categories : sequence of str
        From 2 to 1,000 names that differ in more than case.
    importance : float
        Weight of the squared standard error, in units of the range, against those of other questions, from
        1e-6 to 1e6.
    target_se, target_margin : float, optional
        Standard error or margin of error to reach, > 0, in the units of the answer; for yes/no and categories
        as a share. For a category it is the root of half the sum of the variances of its shares. At most one
        of the two.
    together : str, optional
        A name that this question shares with others: all of them are asked on the same form, so that they can
        be tabulated together.
    everyone : bool
        Whether it is on every form; it cannot be kept together with others then.
    blank : bool, optional
        Whether the question may be left blank; by default yes/no and category questions may, scales and
        numbers never. A blank is then an answer of its own, called ``no answer``, which is randomised and
        counted like the others. A row in which any other question is left blank does not count.
    no_first : bool
        Whether respondents read no before yes; the answers to a yes/no question are otherwise in the other
        order.
    text : str
        The question as respondents read it.
    labels : sequence of str
        The answers of a category question as respondents read them, in the order of its categories, or no and
        yes; by default the names of the categories.
    translations : sequence of Translation
        The same in other languages.

    Raises
    ------
    QuestionnaireError
        With every mistake found.

    Examples
    --------
    >>> import dpstrata as dps
    >>> trust = dps.Question("trust", "scale", lower=1, upper=5, text="How much do you trust the police?")
    >>> trust.levels
    5
    >>> dps.Question("home", "category", categories=["rent", "own", "other"]).answers
    'rent, own, other, or blank'
    >>> dps.Question("smokes", "yes_no", blank=False).answers
    'yes or no'
    """

    name: str
    kind: Kind
    _: KW_ONLY
    lower: float | None = None
    upper: float | None = None
    step: float | None = None
    categories: Sequence[str] = ()
    importance: float = 1.0
    target_se: float | None = None
    target_margin: float | None = None
    together: str | None = None
    everyone: bool = False
    blank: bool | None = None
    no_first: bool = False
    text: str = ""
    labels: Sequence[str] = ()
    translations: Sequence[Translation] = ()

    def __post_init__(self) -> None:
        read, found = read_question({name: getattr(self, name) for name in FIELDS})
        if found:
            source = f"question {self.name!r}" if isinstance(self.name, str) and self.name else "a question"
            raise QuestionnaireError([f"{finding.words}." for finding in found], source=source)
        for name, value in read.items():
            object.__setattr__(self, name, value)

    @property
    def of_kind(self) -> QuestionKind:
        """What questions of this kind have in common."""
        return kind_named(self.kind, blank=bool(self.blank))

    @property
    def space(self) -> AnswerSpace:
        """What privacy needs to know of its answers."""
        return self.of_kind.space(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The answers that are names, a blank among them; none of numbers, and yes and no are 1 and 0."""
        return self.of_kind.cases(self)

    @property
    def range(self) -> float:
        """Distance between the largest and the smallest answer; 1 for yes/no and categories."""
        return self.of_kind.range(self)

    @property
    def candidates(self) -> tuple[int, ...]:
        """Numbers of levels that its answers can be put on; a design chooses one of them for a number."""
        return self.of_kind.candidates(self)

    @property
    def levels(self) -> int | None:
        """How many different answers there are; ``None`` for a number, whose levels a design chooses."""
        return self.candidates[0] if len(self.candidates) == 1 else None

    @property
    def answers(self) -> str:
        """What can be answered, in words."""
        return self.of_kind.answers(self)

    def wording(self, language: str) -> tuple[str, tuple[str, ...]]:
        """Return its text and labels in a language; what is not translated, in that of the questionnaire."""
        own = next((each for each in self.translations if each.language == language), self)
        return own.text or self.text, tuple(own.labels or self.labels)


FIELDS = tuple(part.name for part in fields(Question))
