"""The command line: a thin layer over the library, a file a command."""

import os
import sys
import warnings

import typer

from dpstrata.cli.cmd_collect import (
    collect_app,
    consent_command,
    invite_command,
    kit_command,
    respond_command,
)
from dpstrata.cli.cmd_design import (
    choose_range_command,
    compare_command,
    design_command,
    main_design_command,
    pilot_command,
    report_command,
    serve_command,
    solve_epsilon_command,
)
from dpstrata.cli.cmd_field import (
    draw_command,
    estimate_command,
    frame_command,
    privatize_command,
    publish_command,
)
from dpstrata.cli.cmd_paper import paper_command
from dpstrata.cli.cmd_what_if import (
    compare_releases_command,
    evaluate_command,
    sensitivity_command,
    sweep_command,
)
from dpstrata.cli.refusals import in_flags, usage_in_words

_UsageError: type[Exception] = typer.BadParameter.__bases__[0]  # which Typer does not export

app = typer.Typer(
    name="dpstrata",
    help="Private surveys of people in strata: designed exactly, answered on devices, published as sums.",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _command in {
    "design": design_command,
    "compare": compare_command,
    "evaluate": evaluate_command,
    "sweep": sweep_command,
    "sensitivity": sensitivity_command,
    "compare-releases": compare_releases_command,
    "solve-epsilon": solve_epsilon_command,
    "choose-range": choose_range_command,
    "frame": frame_command,
    "draw": draw_command,
    "privatize": privatize_command,
    "publish": publish_command,
    "estimate": estimate_command,
    "pilot": pilot_command,
    "main-design": main_design_command,
    "report": report_command,
    "consent": consent_command,
    "kit": kit_command,
    "respond": respond_command,
    "invite": invite_command,
    "serve": serve_command,
    "paper": paper_command,
}.items():
    app.command(_name)(_command)
app.add_typer(collect_app, name="collect")


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


STEPS = {
    "Count the strata of your population.": "frame people.csv --id person --stratum region --out strata.csv",
    "Design it: how many people to invite, and what their devices do with the answers.": (
        "design strata.csv --questions questions.xlsx --epsilon 1 --device-epsilon 4 --release sums "
        "--at-most 600 --out design.json"
    ),
    "Draw the secret sample, and make everyone in it a link.": (
        "invite design.json people.csv --id person --stratum region --address https://survey.example.org"
    ),
    "Collect what the devices send.": "collect survey --public-host survey.example.org",
    "Close it, publish the sums, and write a report to sign.": "collect close survey --report results.html",
}


def first_steps() -> str:
    """Return the five steps, each in words and as a command that can be copied."""
    steps = [
        f"{number}. {words}\n   $ dpstrata {command}"
        for number, (words, command) in enumerate(STEPS.items(), start=1)
    ]
    return "\n".join(
        [
            "A whole private survey, in five commands:",
            "",
            *steps,
            "",
            "To plan in the browser instead: dpstrata serve. All commands: dpstrata --help.",
        ]
    )


def main() -> None:
    """Run the command line; a user sees one clear message, never a traceback."""
    from dpstrata.errors import DpstrataError, DpstrataWarning, without_passwords

    def show_warning(message: Warning | str, category: type[Warning], *_: object) -> None:
        typer.echo(f"Warning: {in_flags(getattr(message, 'sentence', str(message)))}", err=True)

    warnings.simplefilter("ignore")
    warnings.simplefilter("always", DpstrataWarning)
    warnings.showwarning = show_warning  # type: ignore[assignment]
    if not sys.argv[1:]:
        typer.echo(first_steps())
        sys.exit(0)
    try:
        sys.exit(app(sys.argv[1:], prog_name="dpstrata", standalone_mode=False))
    except _UsageError as error:
        typer.echo(f"Error: {without_passwords(usage_in_words(error))}", err=True)
        sys.exit(2)
    except DpstrataError as error:
        typer.echo(f"Error: {in_flags(error.sentence)}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except MemoryError:
        typer.echo("Error: there is not enough memory for this many strata.", err=True)
        sys.exit(1)
    except OSError as error:
        words = f"{error.filename or 'a file'} cannot be used: {error.strerror or error}."
        typer.echo(f"Error: {without_passwords(words)}", err=True)
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
