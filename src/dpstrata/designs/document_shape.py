"""The shape of the design document, as Pydantic models: what its JSON may hold.

``python -m dpstrata.designs.document_shape`` prints what is made from it for others: the JSON Schema of the
document or, with the word ``options``, the options as the page reads them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from dpstrata.designs.document import FORMAT, VERSION
from dpstrata.survey.options import LARGEST_TOTAL, OPTIONS, RECORDED, Option
from dpstrata.survey.questionnaires.question import Kind

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
_KINDS: dict[type, Any] = {
    int: Annotated[int, Field(strict=True)],
    float: Number,
    bool: Annotated[bool, Field(strict=True)],
    str: Annotated[str, Field(strict=True)],
}


def model_of(
    name: str,
    base: type[BaseModel],
    options: Iterable[Option],
    *,
    forms: Mapping[str, Any],
    required: bool,
) -> type[BaseModel]:
    """Make the model of an object with an entry for each option.

    Parameters
    ----------
    name : str
        What the schema calls it.
    base : type
        The model that it extends; its docstring describes it.
    options : iterable of Option
        The options.
    forms : mapping
        The types of options that have a form of their own.
    required : bool
        Whether every option must be there.
    """
    parts: dict[str, Any] = {}
    for each in options:
        kind = forms[each.name] if each.name in forms else _KINDS[each.kind]
        about: Any = Field(
            ... if required else each.default,
            description=each.sentence,
            json_schema_extra=range_of(each),
        )
        parts[each.name] = (kind | None if each.optional else kind, about)
    return create_model(name, __base__=base, __doc__=base.__doc__, **parts)


def range_of(option: Option) -> dict[str, Any]:
    """Return what can be given, in the words of JSON Schema; whoever makes a design requires it."""
    stated = {
        "minimum": option.least,
        "maximum": option.most,
        "exclusiveMinimum": option.above,
        "enum": list(option.choices) or None,
    }
    return {word: end for word, end in stated.items() if end is not None}


Count = Annotated[int, Field(ge=1, le=LARGEST_TOTAL)]
CountOrNone = Annotated[int, Field(ge=0)]
Real = Annotated[float, Field(allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class TranslationPart(_Part):
    """A question in another language."""

    language: str
    text: str = ""
    labels: list[str] = []


class QuestionPart(_Part):
    """One question."""

    name: str
    kind: Kind
    lower: Real | None = None
    upper: Real | None = None
    step: Real | None = None
    levels: Literal["all"] | None = None
    categories: list[str] = []
    importance: Real = 1.0
    target_se: Real | None = None
    target_margin: Real | None = None
    together: str | None = None
    everyone: bool = False
    blank: bool = False
    no_first: bool = False
    text: str = ""
    labels: list[str] = []
    translations: list[TranslationPart] = []


class QuestionnairePart(_Part):
    """What is asked."""

    language: str = ""
    title: str = ""
    questions: Annotated[list[QuestionPart], Field(min_length=1)]


class TablePart(_Part):
    """What the office publishes of some questions of a form."""

    questions: list[str]
    budget: Annotated[float, Field(gt=0, le=1)]


class FormInputPart(_Part):
    """A form as it was chosen."""

    questions: list[str]
    levels: list[Annotated[int, Field(ge=0, le=1000)]]
    share: Annotated[float, Field(gt=0, le=1)]
    tables: list[TablePart]
    mechanism: str


class InputsBase(_Part):
    """Every argument of the design as given."""

    default_questions: bool = False
    spreads: dict[str, dict[str, list[Real | list[Real | None] | None]]] | None = None
    forms: Literal["auto"] | list[FormInputPart] = "auto"


if TYPE_CHECKING:
    InputsPart = InputsBase
else:
    InputsPart = model_of(
        "InputsPart",
        InputsBase,
        RECORDED.values(),
        forms={
            "questions": QuestionnairePart,
            "domains": dict[str, str | dict[str, str] | None],
        },
        required=True,
    )


class StratumPart(_Part):
    """One stratum: what is known of it and what was designed for it."""

    stratum: str
    size: Count
    sd: Real
    sd_source: Literal["public", "prior", "bound", "private_pilot", "confidential"]
    sample_size: Count
    relaxed_size: Real
    local_epsilon: Real | None
    noise_sd: Real
    coefficient: Real | None = None
    cost: Real | None = None
    min: int | None = None
    max: Count | None = None
    response_rate: Real | None = None
    sd_epsilon: Real | None = None
    capped: bool | None = None
    central_epsilon: Real | None = None
    extra: dict[str, str | int | float | bool | None] = {}


class CertificatePart(_Part):
    """The exchange inequality."""

    optimal: bool
    largest_gain: Real | None
    smallest_loss: Real | None
    margin: Real | None
    tie: Literal["none", "equal", "open"]


class BoundPart(_Part):
    """What no design can beat, where exchanges prove nothing."""

    optimal: bool
    measure: Literal["variance", "planned_variance", "cost", "total"]
    value: Real
    lower_bound: Real
    searched: bool
    prices: list[Real]


class DomainPart(_Part):
    """A group of strata and the precision of its mean."""

    column: str
    group: str
    strata: Count
    population: Count
    sample_size: Count
    standard_error: Real
    target: Real | None
    asked: str | None
    expected_mean: Real | None
    shadow_price: Real | None


class ComparisonPart(_Part):
    """An allocation scored under the same privacy."""

    design: str
    sample_sizes: list[Count]
    variance: Real
    ratio: Real
    variance_without_privacy: Real
    cost: Real | None


class VariancePart(_Part):
    """The variance by its cause."""

    sampling: Real
    privacy: Real


class ChoicePart(_Part):
    """What one mechanism would give."""

    mechanism: str
    total: Count | None
    variance: Real | None
    cost: Real | None


class OutcomePart(_Part):
    """How the total came about, where it was not simply given."""

    best_total: Count
    best_variance: Real
    limit: Count | None
    variance_at_limit: Real | None
    target_variance: Real | None
    variance_with_one_fewer: Real | None
    budget: Real | None
    cost: Real | None
    least_cost: bool


class FigurePart(_Part):
    """A published mean with one draw of noise."""

    column: str
    group: str
    scale: Real


class FormPart(_Part):
    """A form: who is asked what."""

    questions: list[str]
    levels: list[CountOrNone]
    mechanism: str
    cells: CountOrNone
    replaced: Real
    share: Real
    sample_sizes: list[Count]


class QuestionResultPart(_Part):
    """The precision of one question."""

    name: str
    kind: str
    standard_error: Real
    margin: Real
    sampling: Real
    device: Real
    office: Real
    standard_error_without_privacy: Real
    if_split: Real
    target: Real | None
    expected: Real | None


class FormsBoundPart(_Part):
    """How close the forms come to the best there could be."""

    value: Real
    lower_bound: Real
    prices: list[Real]


class WavesPart(_Part):
    """What a pilot and the main wave spend and invite together."""

    epsilon: Real
    total: Count
    forms: Literal["auto", "one"] | list[FormInputPart] | list[list[str]]
    pilot_digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None


class DesignDocument(_Part):
    """A design, with everything needed to check it and to carry out the survey."""

    format: Literal["dpstrata.design"]
    version: Literal[5]
    created_with: str
    inputs: InputsPart
    strata: Annotated[list[StratumPart], Field(min_length=1)]
    total: Count
    cost: Real | None
    variance: Real
    standard_error: Real | None
    standard_error_without_privacy: Real | None
    variance_parts: VariancePart
    certificate: CertificatePart | BoundPart
    domains: list[DomainPart]
    outcome: OutcomePart | None
    choice: list[ChoicePart] | None
    comparison: list[ComparisonPart]
    privacy: dict[str, Any]
    figures: list[FigurePart] | None = None
    waves: WavesPart | None = None
    forms: list[FormPart] | None = None
    questions: list[QuestionResultPart] | None = None
    forms_bound: FormsBoundPart | None = None


_TYPES: dict[type, str] = {int: "integer", float: "number", bool: "boolean", str: "string"}


def design_schema() -> str:
    """Return the schema as JSON text."""
    dialect = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{FORMAT}:{VERSION}",
    }
    return json.dumps(dialect | DesignDocument.model_json_schema(), indent=1) + "\n"


def options_json() -> str:
    """Return every option of a design with its type, default and limits, as JSON text."""
    options: dict[str, dict[str, Any]] = {
        name: {
            **({"type": _TYPES[each.kind]} if each.kind in _TYPES else {}),
            "default": each.default,
            **range_of(each),
        }
        for name, each in OPTIONS.items()
    }
    return json.dumps(options, indent=1) + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.write(options_json() if sys.argv[1:] == ["options"] else design_schema())
