"""Run the command line by ``python -m dpstrata``."""

from dpstrata.cli import main

main()
