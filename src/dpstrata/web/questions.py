"""Questionnaires on the page: reading one that was sent, and what its design gives question by question."""

from __future__ import annotations

from typing import Any

from dpstrata.designs.record import Design
from dpstrata.files.cells import text_of
from dpstrata.survey.questionnaires.questionnaire import read_questionnaire
from dpstrata.web.limits import LIMITS
from dpstrata.web.replies import RefusedError
from dpstrata.web.uploads import sent_file


def read_questions(name: str, content: bytes) -> dict[str, Any]:
    r"""Read an XLSForm or a table of questions into columns of cells as text.

    Raises
    ------
    QuestionnaireError
        With every question that cannot be protected, and every mistake.
    RefusedError
        If it is, or would unpack to, more than is accepted.

    Examples
    --------
    >>> read = read_questions("q.csv", b"name,kind\nsmokes,yes_no\n")["questionnaire"]
    >>> read["name"], read["kind"]
    (['smokes'], ['yes_no'])
    """
    file = sent_file(name, content)
    found = read_questionnaire(file)
    if len(found) > LIMITS.questions:
        raise RefusedError(
            413, f"a questionnaire may have {LIMITS.questions} questions here, got {len(found):,}."
        )
    columns = {column: [text_of(cell) for cell in cells] for column, cells in found.table().items()}
    return {"name": file.name, "columns": list(columns), "questionnaire": columns}


def describe_forms(plan: Design) -> dict[str, Any]:
    """Return the forms of a design and how precise its questions become."""
    forms = [
        {
            "questions": list(form.questions),
            "rows": form.cells,
            "replaced": form.replaced,
            "share": form.share,
            "total": int(form.sample_sizes.sum()),
        }
        for form in plan.forms
    ]
    questions = [
        {
            "question": each.name,
            "kind": each.kind,
            "standard_error": each.standard_error,
            "margin": each.margin,
            "standard_error_without_privacy": each.standard_error_without_privacy,
            "target": each.target,
        }
        for each in plan.questions
    ]
    return {"forms": forms, "questions": questions}
