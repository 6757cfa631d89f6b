"""What questions require of the other options of a design, and how their spreads are recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpstrata.errors import InputError, option
from dpstrata.privacy.mechanisms.category_response import CategoryResponse
from dpstrata.survey.forms import AUTO, are_chosen, as_forms, names_on, require_complete, require_partition
from dpstrata.survey.questionnaires.questionnaire import Questionnaire
from dpstrata.survey.questionnaires.spreads import Spreads

if TYPE_CHECKING:
    from dpstrata.survey.inputs import Inputs
    from dpstrata.survey.strata import Strata

Told: TypeAlias = Mapping[str, Mapping[str, list[Any]]]
"""What is known of the answers, as documents hold it: by question and column, a row for each stratum."""

ROWS = "randomized_response"  # what happens to a row, and the name of the noise in documents
# options that speak of one question, and what they are where nobody gave them
_OF_ONE_QUESTION: dict[str, Any] = {
    "target_se": None,
    "target_margin": None,
    "target_cv": None,
    "expected_mean": None,
    "local_epsilon_cap": None,
    "clip": False,
    "prior": None,
    "objective": "mean",
}
_INSTEAD = {
    "target_se": "give each question its own target_se (in an XLSForm: dp_target)",
    "target_margin": "give each question its own target_margin",
}


def are_rows(inputs: Inputs) -> bool:
    """Whether a person's answers are randomised together, as a row on a form."""
    # one category is counted as rows are
    counted = inputs.release == "sums" and inputs.questions[0].names and inputs.device_epsilon is not None
    given = inputs.forms != AUTO or inputs.spreads is not None
    return len(inputs.questions) > 1 or given or bool(counted)


def take_targets(inputs: Inputs) -> None:
    """Make the target of the only question that of the survey, so that it is stated once."""
    put, question = object.__setattr__, inputs.questions[0]
    for name in ("target_se", "target_margin"):
        wanted, stated = getattr(question, name), getattr(inputs, name)
        if wanted is not None and stated not in (None, wanted):
            raise InputError(
                f"{option(name)} is {stated:g}, and the question {question.name!r} has a target of "
                f"{wanted:g}; remove one of them.",
                argument=name,
            )
        if wanted is not None:
            put(inputs, name, wanted)
    put(inputs, "questions", inputs.questions.without_targets())


def take_rows(inputs: Inputs) -> None:
    """Check that the other options go with rows, and fill in those that follow."""
    put = object.__setattr__
    for name, default in _OF_ONE_QUESTION.items():
        if getattr(inputs, name) != default:
            instead = f"; {_INSTEAD[name]}" if name in _INSTEAD else ""
            raise InputError(
                f"{option(name)} is for a single question that is noised by itself{instead}.",
                argument=name,
            )
    alone = len(inputs.questions) == 1 and inputs.mechanism == CategoryResponse.name  # which is the same
    if not alone and inputs.mechanism not in ("best", ROWS):
        raise InputError(
            "rows of answers are always randomised as a whole, by randomized response; remove "
            f"{option('mechanism')}.",
            argument="mechanism",
        )
    _require_release(inputs)
    put(inputs, "mechanism", ROWS)
    put(inputs, "forms", as_forms(inputs.forms))
    names = [question.name for question in inputs.questions]
    if not isinstance(inputs.forms, str):
        everyone = [question.name for question in inputs.questions if question.everyone]
        chosen = are_chosen(inputs.forms)
        require_partition(names_on(inputs.forms), names, everyone, overlap=chosen)
    if are_chosen(inputs.forms):
        require_complete(inputs.forms, list(inputs.questions), tables=inputs.release == "sums")


def _require_release(inputs: Inputs) -> None:
    """Refuse releases and promises that forms are not proven for."""
    if inputs.epsilon is None or inputs.delta or inputs.zcdp is not None or inputs.gdp is not None:
        raise InputError("rows of answers support pure epsilon only; remove delta, zcdp or gdp.")
    if inputs.release == "mean":
        raise InputError(
            f"rows of answers are published as they are or as tables; use {option('release', 'sums')} or "
            f"{option('release', 'microdata')} instead of {option('release', 'mean')}.",
            argument="release",
        )
    if inputs.release == "microdata" and inputs.device_epsilon is not None:
        raise InputError(
            f"with rows of answers, {option('release', 'microdata')} takes the device budget from the "
            f"sample sizes; remove {option('device_epsilon')}, or use {option('release', 'sums')}.",
            argument="device_epsilon",
        )
    if inputs.release == "sums" and inputs.device_epsilon is None:
        raise InputError(
            f"rows are randomised on devices, so {option('release', 'sums')} requires "
            f"{option('device_epsilon')}.",
            argument="device_epsilon",
        )


def told_of(spreads: Spreads) -> Told | None:
    """Write what is known as documents hold it; ``None`` where nothing is."""
    told = {
        name: {
            column: np.where(np.isnan(values), None, values).tolist()  # type: ignore[call-overload]
            for column, values in columns.items()
            if not np.isnan(values).all()
        }
        for name, columns in spreads.values.items()
    }
    return {name: columns for name, columns in told.items() if columns} or None


def told_spreads(strata: Strata, questionnaire: Questionnaire, told: Told | None) -> Spreads:
    """Read it again."""
    given: dict[str, dict[str, Any]] = {"proportion": {}, "sd": {}, "mean": {}}
    for name, columns in (told or {}).items():
        for column, values in columns.items():
            given.setdefault(column, {})[name] = np.array(values, dtype=float)
    return Spreads(
        strata, questionnaire, proportions=given["proportion"], sds=given["sd"], means=given["mean"]
    )
