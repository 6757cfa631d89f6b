"""The kit: everything that respondents' devices need to know of a design, as one public JSON document."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from dpstrata.collect.languages import tag_of
from dpstrata.designs.record import Design
from dpstrata.errors import InputError, option
from dpstrata.fielding.randomizers import randomizers_of
from dpstrata.fielding.randomizers.form import odds_in
from dpstrata.fielding.sample import ReportKey
from dpstrata.files.writing import write_atomically
from dpstrata.privacy.rows import DENOMINATOR
from dpstrata.survey.questionnaires.kinds.base import LONGEST_TITLE, is_plain
from dpstrata.survey.questionnaires.question import Question
from dpstrata.survey.questionnaires.questionnaire import Questionnaire, shorthand_of
from dpstrata.words.consent import languages

VERSION = 1


@dataclass(frozen=True, slots=True)
class Kit:
    """A kit, and what a server that hands it out must know besides.

    Attributes
    ----------
    content : bytes
        The JSON document, always the same bytes for the same design and words.
    cells : tuple of tuple of int
        For each form, how many different reports there are: at each of the kit's odds, or at all of them.
    odds : tuple of int
        For each stratum, the position of its odds in the kit.

    Examples
    --------
    >>> import json
    >>> import dpstrata as dps
    >>> questions = dps.Questionnaire([dps.Question("smokes", "yes_no", text="Do you smoke?")])
    >>> plan = dps.design(
    ...     dps.Strata([500]), questions=questions, epsilon=1, device_epsilon=2, release="sums", total=40
    ... )
    >>> kit = dps.respondent_kit(plan)
    >>> sorted(json.loads(kit.content))
    ['consent', 'denominator', 'design', 'forms', 'kit', 'languages', 'odds', 'title']
    """

    content: bytes = field(repr=False)
    cells: tuple[tuple[int, ...], ...]
    odds: tuple[int, ...]

    @property
    def title(self) -> str:
        """What the survey is called; empty if it has no title."""
        return str(self.to_dict()["title"])

    @property
    def digest(self) -> str:
        """SHA-256 of the content: publish it, so that everyone can check that they got the same kit."""
        return hashlib.sha256(self.content).hexdigest()

    def odds_of(self, key: ReportKey) -> int:
        """Return the position of the odds at which a device draws."""
        return self.odds[key.stratum]

    def cells_at(self, form: int, odds: int) -> int:
        """Return how many different reports there are of a form, at odds in this position."""
        cells = self.cells[form]
        return cells[odds if len(cells) > 1 else 0]

    def cells_of(self, key: ReportKey) -> int:
        """Return how many different reports people with this key can send."""
        return self.cells_at(key.form, self.odds_of(key))

    def to_dict(self) -> dict[str, Any]:
        """Return the document."""
        data: dict[str, Any] = json.loads(self.content)
        return data

    def save(self, path: str | Path) -> None:
        """Write the document, whole or not at all.

        Raises
        ------
        InputError
            If the file does not end in ``.json``, or something other than a kit is there.
        """
        path = Path(path)
        if path.suffix.lower() != ".json":
            raise InputError(f"the file of a kit must end in .json, got {path.name!r}.", where=str(path))
        if path.exists() and not _is_kit(path):
            raise InputError(f"{path} exists and is not a kit; it is not overwritten.", where=str(path))
        write_atomically(path, self.content)


def _is_kit(path: Path) -> bool:
    try:
        there = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(there, dict) and "kit" in there and "forms" in there


def read_kit(path: Path, plan: Design) -> Kit:
    """Read the kit of a design from its file, as it was written: its digest is in letters.

    Raises
    ------
    InputError
        If it is not a kit of this design.
    """
    try:
        content = path.read_bytes()
        data = json.loads(content)
        right = (data["kit"], data["design"]) == (VERSION, plan.digest)
        laws, positions = _laws_of(plan)
        right = right and data["odds"] == [str(law.odds) for law in laws]
        kit = replace(kit_from_content(content), odds=positions)
    except (OSError, ValueError, KeyError, TypeError):
        right = False
    if not right:
        raise InputError(f"{path} must be the kit of this design, got something else.", where=str(path))
    return kit


def kit_from_content(content: bytes) -> Kit:
    """Read a kit that was made before; the odds of strata, which a preview does not use, are left out."""
    forms = json.loads(content)["forms"]
    cells = [[draw["cells"] for draw in form.get("draws", [form])] for form in forms]
    return Kit(content, tuple(tuple(map(int, each)) for each in cells), ())


class _Law(NamedTuple):
    """How devices of a stratum draw: P, and for each form that is not drawn as a row its cells."""

    odds: int
    draws: tuple[dict[str, Any] | None, ...]


def _laws_of(plan: Design) -> tuple[list[_Law], tuple[int, ...]]:
    """Return the different laws, and for each stratum the position of its own."""
    randomizers = randomizers_of(plan)
    laws = [
        _Law(odds_in(plan, row), tuple(randomizer.specification(row) for randomizer in randomizers))
        for row in range(len(plan.strata))
    ]
    written = [json.dumps(law, sort_keys=True) for law in laws]
    different = dict(zip(written, laws, strict=True))
    ranked = sorted(different, key=lambda text: (different[text].odds, text))
    return [different[text] for text in ranked], tuple(map(ranked.index, written))


def respondent_kit(plan: Design, *, title: str = "", text: str | None = None) -> Kit:
    """Make the kit of a design: what respondents' devices ask, and how they randomise what is answered.

    It has the questions of every form with their texts in every language, the levels that answers are put on,
    the odds with which a row is kept, and what respondents are told. It holds no secret: publish it, and
    print its digest in the letter of invitation.

    Parameters
    ----------
    plan : Design
        A design whose devices send one of a number of cells: a row, or the answer to one question.
    title : str
        What the survey is called, a line of at most 200 characters; by default that of the questionnaire.
    text : str, optional
        The only question as respondents read it; needed where the design was given a shorthand, which does
        not hold its words.

    Returns
    -------
    Kit
        The document with its digest.

    Raises
    ------
    InputError
        If devices of this design send nothing that can be counted.

    Notes
    -----
    The odds are P/Q with Q = 2⁴⁰, the largest such fraction that is at most exp(E) − 1, so that a row of K
    cells, kept in P of P + KQ cases and otherwise drawn from all K, loses at most E. Of the cells of a number
    those in the window of its level are 1 + P/Q times as likely as the others.

    Examples
    --------
    >>> import dpstrata as dps
    >>> questions = dps.Questionnaire([dps.Question("smokes", "yes_no", text="Do you smoke?")])
    >>> strata = dps.Strata([5000, 8000], names=["north", "south"])
    >>> plan = dps.design(
    ...     strata, questions=questions, epsilon=1, device_epsilon=2, release="sums", total=400
    ... )
    >>> kit = dps.respondent_kit(plan, title="Health in the city")
    >>> kit.cells, len(kit.digest)
    (((3,),), 64)
    """
    if not isinstance(plan, Design):
        raise InputError(f"a kit needs a Design, got {type(plan).__name__}.")
    title = title or plan.inputs.questions.title
    if not isinstance(title, str) or not is_plain(title) or len(title) > LONGEST_TITLE:
        rule = f"be a line of at most {LONGEST_TITLE} characters"
        raise InputError.must("title", rule, title if isinstance(title, str) else type(title).__name__)
    randomizers = randomizers_of(plan)
    levels = [randomizer.levels_in_browser() for randomizer in randomizers]
    questions = _asked(plan, text)
    named = {question.name: question for question in questions}
    laws, positions = _laws_of(plan)
    told = {language: _told(plan, language) for language in languages()}
    data = {
        "kit": VERSION,
        "design": plan.digest,
        "title": title.strip(),
        "languages": [{"name": name, "tag": tag_of(name)} for name in questions.languages],
        "denominator": str(DENOMINATOR),
        "odds": [str(law.odds) for law in laws],
        "forms": [
            {
                **_drawn(math.prod(levels[t]), [law.draws[t] for law in laws]),
                "questions": [
                    _question(named[question.name], each, questions.languages)
                    for question, each in zip(randomizer.questions, levels[t], strict=True)
                ],
                **_told_on(plan, told, t + 1),
            }
            for t, randomizer in enumerate(randomizers)
        ],
        "consent": told,
    }
    content = json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
    return replace(kit_from_content(content), odds=positions)


def _drawn(rows: int, draws: Sequence[dict[str, Any] | None]) -> dict[str, Any]:
    """Say how many rows there are, or how cells are drawn at each of the odds."""
    return {"cells": rows} if None in draws else {"draws": draws}


def _told(plan: Design, language: str, form: int | None = None) -> str:
    """Return what respondents are told: a title, and parts with a heading each, apart by empty lines."""
    return str(plan.consent(language, form=form)).rstrip("\n")


def _told_on(plan: Design, told: Mapping[str, str], form: int) -> dict[str, Any]:
    """Return the parts, by language and position, that respondents with this form are told differently."""
    if len(plan.forms) < 2:
        return {}
    parts = {
        language: {
            str(place): own
            for place, (own, part) in enumerate(
                zip(_told(plan, language, form).split("\n\n"), text.split("\n\n"), strict=True)
            )
            if own != part
        }
        for language, text in told.items()
    }
    return {"consent": parts} if any(parts.values()) else {}


def _asked(plan: Design, text: str | None) -> Questionnaire:
    """Return the questions as respondents read them."""
    questions = plan.inputs.questions
    if len(questions) > 1:
        if text is not None:
            raise InputError(
                f"{option('text')} is for a single question, and the questions of a questionnaire have "
                "texts.",
                argument="text",
            )
        return questions
    (question,) = questions
    asked = text or question.text or ("" if shorthand_of(questions) else question.name)
    if not isinstance(asked, str) or not asked.strip():
        raise InputError(
            f"{option('text')} must be the question as respondents read it, because the question of this "
            "design has no text.",
            argument="text",
        )
    if text is None:
        return questions
    return Questionnaire([replace(question, text=asked)], language=questions.language)


def _question(question: Question, levels: int, languages: Sequence[str]) -> dict[str, Any]:
    """Describe a question: what its levels stand for, and its words in every language."""
    kind = question.of_kind
    words = [question.wording(language) for language in languages]
    values = [_written(kind.answer_at(question, place, levels)) for place in range(levels)]
    labels = [list(each) for _, each in words]
    described: dict[str, Any] = {
        "name": question.name,
        "kind": question.kind,
        "values": values,
        "text": [text or question.name for text, _ in words],
    }
    if any(labels):
        described["labels"] = labels
    points = question.answer_count or 0
    if question.kind == "scale" and points != levels:  # what can be answered is more than there are levels
        described["points"] = [_written(kind.answer_at(question, place, points)) for place in range(points)]
    if question.no_first:
        described["noFirst"] = True
    if question.lower is not None:
        described |= {"lower": _written(question.lower), "upper": _written(question.upper)}
    return described


def _written(value: object) -> str:
    """Write an answer as JavaScript would: whole numbers without a decimal point."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
