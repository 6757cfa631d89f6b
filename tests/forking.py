"""What a process that forks commands of dpstrata does first, so that they need not."""

# ruff: noqa: F401 - what most commands import
import encodings.utf_8_sig
import functools
import gc
from importlib import import_module
from pkgutil import iter_modules

import mpmath
import numpy
import pydantic.type_adapter
import rich._emoji_codes
import rich.table
import scipy.special
import typer._adapters
import typer._click.decorators
import typer.main

import dpstrata.cli.screen
import dpstrata.privacy.mechanisms
import dpstrata.privacy.promises
import dpstrata.survey.questionnaires.kinds
from dpstrata import cli
from dpstrata.designs import reading
from dpstrata.planning import design
from dpstrata.words import designs


def prepare():
    """Import what is imported by name, and build the options of all commands, once."""
    for package in (
        dpstrata.privacy.mechanisms,
        dpstrata.privacy.promises,
        dpstrata.survey.questionnaires.kinds,
    ):
        for module in iter_modules(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    typer.main.get_command = functools.cache(typer.main.get_command)
    typer.main.get_command(cli.app)
    gc.freeze()  # collecting garbage in a child would copy all of it
