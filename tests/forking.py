"""What a process that forks commands of dpstrata does first, so that they need not."""

# ruff: noqa: F401 - what most commands import
import encodings.utf_8_sig
import functools
import gc
import io
import sys
from contextlib import redirect_stdout, suppress
from importlib import import_module
from pkgutil import iter_modules

import mpmath
import numpy
import rich.emoji
import rich.table
import scipy.special
import typer.main
from pydantic import TypeAdapter

import dpstrata.cli.screen
import dpstrata.privacy.mechanisms
import dpstrata.privacy.promises
import dpstrata.survey.questionnaires.kinds
from dpstrata import cli
from dpstrata.designs import reading
from dpstrata.planning import design
from dpstrata.words import designs

ON_DEMAND = (dpstrata.privacy.mechanisms, dpstrata.privacy.promises, dpstrata.survey.questionnaires.kinds)


def prepare():
    """Import what registries load on demand, and build the options of all commands, once.

    What a command forgets to import may then be there all the same: `cli/test_from_scratch.py` starts commands
    without this.
    """
    for package in ON_DEMAND:
        for module in iter_modules(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    typer.main.get_command = functools.cache(typer.main.get_command)
    before, sys.argv = sys.argv, ["dpstrata", "--version"]
    with redirect_stdout(io.StringIO()), suppress(SystemExit):
        cli.main()
    sys.argv = before
    gc.freeze()  # collecting garbage in a child would copy all of it
