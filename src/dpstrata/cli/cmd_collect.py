"""``dpstrata invite`` and ``collect``: links for a sample, and a server that counts what devices send."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from dpstrata.cli.cmd_release import AcceptResponse, Again
from dpstrata.cli.options import DesignFile
from dpstrata.words.numbers import counted

SampleFile = Annotated[Path, typer.Option(help="The sample that was drawn.")]
KeyFile = Annotated[Path, typer.Option(help="Key of the draw.")]
Id = Annotated[str, typer.Option(help="Column that identifies a person.")]
Stratum = Annotated[
    list[str] | None,
    typer.Option(help="Column with the stratum; repeat the option as in the draw.", show_default="stratum"),
]
Address = Annotated[
    str, typer.Option(help="Where respondents reach the collector, such as https://survey.example.org.")
]
Database = Annotated[
    str | None,
    typer.Option(
        help="Address of a PostgreSQL database; by default, a SQLite file in the folder.",
        envvar="DPSTRATA_DATABASE",
        show_default=False,
    ),
]


def invite_command(
    design: DesignFile,
    survey: Annotated[Path, typer.Option(help="Folder of the survey to make, for the collector.")],
    office_key: Annotated[
        Path,
        typer.Option(
            help="The office's private key; created if missing. Keep it off the collector: closing needs it."
        ),
    ],
    address: Address,
    out: Annotated[Path, typer.Option(help="Invitations for mail merge (.csv, .parquet, .xlsx).")] = Path(
        "invitations.csv"
    ),
    sample: SampleFile = Path("sample.csv"),
    key_file: KeyFile = Path("draw.key"),
    id: Id = "id",
    stratum: Stratum = None,
    title: Annotated[str, typer.Option(help="What the survey is called.", show_default=False)] = "",
    batch: Annotated[
        int, typer.Option(help="How many answers of one stratum and form are counted together.")
    ] = 20,
    codes: Annotated[
        Path | None, typer.Option(help="Folder for QR codes of the links (.svg).", show_default=False)
    ] = None,
    database: Database = None,
) -> None:
    """Make a secret link for everyone in the sample, and the folder of a collector that knows nobody."""
    from dpstrata.collect.invitations import invite

    made = invite(
        design,
        survey=survey,
        sample=sample,
        key_file=key_file,
        id=id,
        stratum=stratum or ["stratum"],
        office_key=office_key,
        address=address,
        out=out,
        title=title,
        batch=batch,
        codes=codes,
        database=database,
    )
    typer.echo(
        f"{counted(made.people, 'person')} invited. Written to {out} and {survey}; the office's private "
        f"key is in {office_key}. Keep it off the collector."
    )
    typer.echo("Digest of the kit, for the letters of invitation:")
    typer.echo(made.digest)


class _Collect(typer.core.TyperGroup):
    """``collect SURVEY`` serves; a word of its own does something else with the survey."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take anything that is not a command for the survey to serve."""
        if args and args[0] not in (*self.commands, "--help", "-h"):
            args = ["serve", *args]
        return super().parse_args(ctx, args)


collect_app = typer.Typer(
    cls=_Collect,
    help="Count what respondents' pages send: collect SURVEY. Other commands oversee and close the survey.",
    no_args_is_help=True,
)
Survey = Annotated[Path, typer.Argument(help="Folder of the survey, made by invite.", show_default=False)]


@collect_app.command("serve")
def collect_command(
    survey: Survey,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(help="Port; by default, the first free one from 8000 up.", show_default=False),
    ] = None,
    public_host: Annotated[
        str | None,
        typer.Option(help="Name under which respondents reach it through a proxy.", show_default=False),
    ] = None,
    database: Database = None,
) -> None:
    """Serve the respondents' page and count what it sends; the word serve may be left out."""
    from dpstrata.collect.serving import collect

    collect(survey, host=host, port=port, public_host=public_host, database=database, say=typer.echo)


@collect_app.command("status")
def status_command(survey: Survey, database: Database = None) -> None:
    """Show how many people have answered: in all, and by stratum from one batch on."""
    from dpstrata.collect.overseeing import survey_status
    from dpstrata.words.released import progress_in_words

    for line in progress_in_words(survey_status(survey, database=database)):
        typer.echo(line)


@collect_app.command("remind")
def remind_command(
    survey: Survey,
    address: Address,
    out: Annotated[Path, typer.Option(help="Reminders for mail merge (.csv, .parquet, .xlsx).")] = Path(
        "reminders.csv"
    ),
    sample: SampleFile = Path("sample.csv"),
    key_file: KeyFile = Path("draw.key"),
    id: Id = "id",
    stratum: Stratum = None,
    only_missing: Annotated[
        bool, typer.Option("--only-missing", help="Leave out those who have answered.")
    ] = False,
    database: Database = None,
) -> None:
    """Write the invitations again, for a reminder: to everyone, or only to those who have not answered."""
    from dpstrata.collect.overseeing import remind
    from dpstrata.words.released import reminded_in_words

    people = remind(
        survey,
        sample=sample,
        key_file=key_file,
        id=id,
        stratum=stratum or ["stratum"],
        address=address,
        out=out,
        only_missing=only_missing,
        database=database,
    )
    typer.echo(reminded_in_words(people, str(out), only_missing=only_missing))


@collect_app.command("close")
def close_command(
    survey: Survey,
    design: Annotated[
        Path, typer.Option(help="The office's copy of the design; the ledger is kept beside it.")
    ],
    office_key: Annotated[Path, typer.Option(help="The office's private key.")],
    out: Annotated[Path, typer.Option(help="New file for the results (.csv, .parquet, .xlsx).")],
    sample: SampleFile = Path("sample.csv"),
    key_file: KeyFile = Path("draw.key"),
    id: Id = "id",
    stratum: Stratum = None,
    database: Database = None,
    again: Again = False,
    accept_response: AcceptResponse = False,
) -> None:
    """Close a survey for ever, open what is sealed, and release the counts; too few answers leave it open."""
    from dpstrata.cli.refusals import in_flags
    from dpstrata.collect.closing import close_survey
    from dpstrata.words.released import collected_sentences

    released = close_survey(
        survey,
        design=design,
        sample=sample,
        key_file=key_file,
        id=id,
        stratum=stratum or ["stratum"],
        office_key=office_key,
        out=out,
        database=database,
        again=again,
        accept_response=accept_response,
    )
    for sentence in collected_sentences(released, out):
        typer.echo(in_flags(sentence))


@collect_app.command("backup")
def backup_command(
    survey: Survey, out: Annotated[Path, typer.Option(help="New file for the copy (.sqlite).")]
) -> None:
    """Copy the SQLite database of a survey, also while a collector is using it."""
    from dpstrata.collect.overseeing import back_up

    back_up(survey, out)
    typer.echo(f"Copied to {out}. It tells as much as the database: keep it as safe.")
