"""Runs a file as ``python FILE`` does, in a process that was forked with dpstrata imported (see ``command_server``)."""

import runpy
import sys
from pathlib import Path


def main():
    sys.argv = sys.argv[1:]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
