"""The options as Pydantic models: what JSON may hold. Whoever makes a design of it checks the values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field, create_model

from dpstrata.survey.options import Option

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
