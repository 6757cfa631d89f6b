"""The command line: a thin layer over the library, a file a command."""

import os
import sys
import warnings

import typer

from dpstrata.cli.cmd_design import compare_command, design_command
from dpstrata.cli.cmd_paper import paper_command
from dpstrata.cli.cmd_pilot import main_design_command, pilot_command
from dpstrata.cli.cmd_report import report_command
from dpstrata.cli.cmd_serve import serve_command
from dpstrata.cli.cmd_survey import draw_command, estimate_command, frame_command, privatize_command
from dpstrata.cli.cmd_what_if import evaluate_command, sensitivity_command, sweep_command

app = typer.Typer(
    name="dpstrata",
    help="Exact, certified sample allocation for stratified surveys under differential privacy.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("design", help="Allocate a sample to strata: the exact optimum, with its certificate.")(
    design_command
)
app.command("compare", help="Set the optimum beside Neyman, proportional and equal allocation.")(
    compare_command
)
app.command("evaluate", help="Score an allocation that someone already has, beside the best one.")(
    evaluate_command
)
app.command("sweep", help="Design for many values of epsilon, total, mechanism and others at once.")(
    sweep_command
)
app.command("sensitivity", help="Show what wrong standard deviations would do to a design.")(
    sensitivity_command
)
app.command("frame", help="Count the strata of a frame and write them as a strata file.")(frame_command)
app.command("draw", help="Draw the secret sample of a design from a frame, or check one.")(draw_command)
app.command("privatize", help="Noise answers, one at a time or as a batch.")(privatize_command)
app.command("estimate", help="Estimate means from noised answers, with honest intervals.")(estimate_command)
app.command("pilot", help="Design a first small wave that learns how spread the answers are.")(pilot_command)
app.command("main-design", help="Design the main wave from the noised answers of a pilot.")(
    main_design_command
)
app.command("report", help="Write a design as a report to sign: one HTML file, or PDF.")(report_command)
app.command("serve", help="Plan in the browser: a page served on this machine alone.")(serve_command)
app.command("paper", help="Reproduce the paper: every table, figure and claim, as files and one page.")(
    paper_command
)


def _show_version(value: bool) -> None:
    if value:
        from dpstrata.version import __version__

        typer.echo(f"dpstrata {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    pass


def main() -> None:
    """Run the command line; a user sees one clear message, never a traceback."""
    from dpstrata.errors import DpstrataError, DpstrataWarning

    def show_warning(message: Warning | str, category: type[Warning], *_: object) -> None:
        typer.echo(f"Warning: {message}", err=True)

    warnings.simplefilter("ignore")
    warnings.simplefilter("always", DpstrataWarning)
    warnings.showwarning = show_warning  # type: ignore[assignment]
    try:
        app()
    except DpstrataError as error:
        typer.echo(f"Error: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except MemoryError:
        typer.echo("Error: there is not enough memory for this many strata.", err=True)
        sys.exit(1)
    except OSError as error:
        typer.echo(
            f"Error: {error.filename or 'a file'} cannot be used: {error.strerror or error}.", err=True
        )
        sys.exit(2)
    except Exception as error:
        if os.environ.get("DPSTRATA_DEBUG"):
            raise
        typer.echo(
            f"Error: dpstrata failed unexpectedly ({type(error).__name__}). This is a fault of the program; "
            "set DPSTRATA_DEBUG=1 to see where, and please report it.",
            err=True,
        )
        sys.exit(1)
