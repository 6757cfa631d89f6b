"""What a questionnaire requires of the other options of a design, and how its spreads are recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpstrata.errors import InputError, option
from dpstrata.survey.forms import are_chosen, as_forms, names_on, require_complete, require_partition
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
    "answers": None,
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
    "answers": "each question says what can be answered",
    "target_se": "give each question its own target_se (in an XLSForm: dp_target)",
    "target_margin": "give each question its own target_margin",
}


def take_questionnaire(inputs: Inputs) -> None:
    """Check that the other options go with a questionnaire, and fill in those that follow from it."""
    put = object.__setattr__
    questionnaire: object = inputs.questionnaire
    if not isinstance(questionnaire, Questionnaire):
        raise InputError.must("questionnaire", "be a Questionnaire", type(questionnaire).__name__)
    recorded = inputs.mechanism == ROWS  # a document has what was filled in
    for name, default in _OF_ONE_QUESTION.items():
        if getattr(inputs, name) != default and not (recorded and name == "answers"):
            instead = f"; {_INSTEAD[name]}" if name in _INSTEAD else ""
            raise InputError(
                f"{option(name)} is for a single question and cannot be used with "
                f"{option('questionnaire')}{instead}.",
                argument=name,
            )
    if inputs.mechanism not in ("best", ROWS):
        raise InputError(
            f"{option('questionnaire')} always uses randomized response on whole rows; remove "
            f"{option('mechanism')}.",
            argument="mechanism",
        )
    _require_release(inputs)
    put(inputs, "mechanism", ROWS)
    put(inputs, "answers", "binary")
    put(inputs, "forms", as_forms(inputs.forms))
    names = [question.name for question in questionnaire]
    if not isinstance(inputs.forms, str):
        everyone = [question.name for question in questionnaire if question.everyone]
        chosen = are_chosen(inputs.forms)
        require_partition(names_on(inputs.forms), names, everyone, overlap=chosen)
    if are_chosen(inputs.forms):
        require_complete(inputs.forms, list(questionnaire), tables=inputs.release == "sums")


def _require_release(inputs: Inputs) -> None:
    """Refuse releases and promises that forms are not proven for."""
    questionnaire = option("questionnaire")
    if inputs.epsilon is None or inputs.delta or inputs.zcdp is not None or inputs.gdp is not None:
        raise InputError(f"{questionnaire} supports pure epsilon only; remove delta, zcdp or gdp.")
    if inputs.release == "mean":
        raise InputError(
            f"{questionnaire} publishes rows or tables; use {option('release', 'sums')} or "
            f"{option('release', 'microdata')} instead of {option('release', 'mean')}.",
            argument="release",
        )
    if inputs.release == "microdata" and inputs.device_epsilon is not None:
        raise InputError(
            f"{questionnaire} with {option('release', 'microdata')} takes the device budget from the "
            f"sample sizes; remove {option('device_epsilon')}, or use {option('release', 'sums')}.",
            argument="device_epsilon",
        )
    if inputs.release == "sums" and inputs.device_epsilon is None:
        raise InputError(
            f"{questionnaire} randomises rows on devices, so {option('release', 'sums')} requires "
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
