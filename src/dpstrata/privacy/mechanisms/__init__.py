"""The mechanisms by name: a line each. Loading this package loads none of them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dpstrata.errors import InputError

if TYPE_CHECKING:
    from dpstrata.privacy.answer_space import AnswerSpace
    from dpstrata.privacy.mechanisms.base import Mechanism

# name: the class, in the module of the same name in ``mechanisms/``
MECHANISMS = {
    "sine": "Sine",
    "cells": "Cells",
    "laplace": "Laplace",
    "discrete_laplace": "DiscreteLaplace",
    "tulap": "TruncatedUniformLaplace",
    "randomized_response": "RandomizedResponse",
    "staircase": "Staircase",
    "piecewise": "Piecewise",
    "category_response": "CategoryResponse",
    "gaussian": "Gaussian",
}


def get_mechanism(name: str, space: AnswerSpace) -> Mechanism:
    """Return the mechanism called ``name`` for such answers.

    Raises
    ------
    InputError
        If there is no such mechanism, or it cannot protect such answers.
    """
    if name not in MECHANISMS:
        raise InputError.must("mechanism", f"be one of {', '.join(MECHANISMS)}", name)
    return mechanism_class(name)(space)


def mechanism_class(name: str) -> type[Mechanism]:
    """Load the class of a mechanism."""
    found: type[Mechanism] = getattr(import_module(f"dpstrata.privacy.mechanisms.{name}"), MECHANISMS[name])
    return found
