"""``dpstrata invite`` and ``collect``: links for a sample, and a server that counts what devices send.

Before that, ``dpstrata consent``, ``kit`` and ``respond``: what respondents are told, get and see.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from dpstrata.cli.cmd_field import draw_command, estimate_command, require_report_path
from dpstrata.cli.options import (
    OUTPUT,
    AcceptResponse,
    Again,
    Browser,
    DesignFile,
    DrawnId,
    DrawnStratum,
    Json,
    KeyFile,
    Language,
    Port,
    SampleFile,
)
from dpstrata.words.numbers import counted

if TYPE_CHECKING:
    from dpstrata.collect.invitations import Invited
    from dpstrata.collect.letters import Letters

LETTERS = "Letters"


class Places(StrEnum):
    """Where answers can be changed at random."""

    device = "device"
    office = "office"


class CodeFormatName(StrEnum):
    """What kind of file a QR code is."""

    svg = "svg"
    png = "png"


Title = Annotated[
    str,
    typer.Option(
        help="What the survey is called; by default the title of the questionnaire.", show_default=False
    ),
]
Text = Annotated[
    str | None,
    typer.Option(help="The question as respondents read it, for a design with a single question."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        help="Column to add for mail merge, such as that of e-mail addresses; repeat for more.",
        show_default=False,
    ),
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


def consent_command(
    design: DesignFile,
    language: Annotated[
        str | None,
        typer.Option(help="A code such as de, or a name; by default that of the questionnaire, or English."),
    ] = None,
    noised_at: Annotated[
        Places | None,
        typer.Option(help="Where published answers are noised; by default, on devices.", show_default=False),
    ] = None,
    form: Annotated[
        int | None, typer.Option(help="A form of the questionnaire, from 1 on; by default, all of them.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the text (.txt, .html).", rich_help_panel=OUTPUT)
    ] = None,
    json: Json = False,
) -> None:
    """Write what respondents are told about a design: who sees what, what is published, how it works."""
    from json import dumps

    from dpstrata.files.writing import require_apart, write_atomically
    from dpstrata.planning.load import load_design
    from dpstrata.words.consent import as_file

    require_apart(design, out)
    told = load_design(design).consent(
        language, noised_at=None if noised_at is None else noised_at.value, form=form
    )
    if out is not None:
        write_atomically(out, as_file(told, out))
    if json:
        typer.echo(dumps(told.to_dict(), indent=1, ensure_ascii=False))
        return
    typer.echo(str(told), nl=False)


def kit_command(
    design: DesignFile,
    out: Annotated[Path, typer.Option(help="File to write (.json).")],
    title: Title = "",
    text: Text = None,
) -> None:
    """Write the kit of a design: what respondents' devices ask, and how they randomise the answers."""
    from dpstrata.collect.kit import respondent_kit
    from dpstrata.designs.record import Design
    from dpstrata.files.writing import require_apart

    require_apart(design, out)
    kit = respondent_kit(Design.read(design), title=title, text=text)
    kit.save(out)
    typer.echo(f"Kit written to {out}. Its digest, for the letters of invitation:")
    typer.echo(kit.digest)


def respond_command(
    design: DesignFile,
    title: Title = "",
    text: Text = None,
    port: Port = None,
    browser: Browser = True,
) -> None:
    """Preview what respondents see: every form, on this machine only, with nothing stored."""
    from dpstrata.collect.kit import respondent_kit
    from dpstrata.collect.preview import preview
    from dpstrata.designs.record import Design

    kit = respondent_kit(Design.read(design), title=title, text=text)
    preview(kit, port=port, browser=browser, say=typer.echo)


def invite_command(
    design: DesignFile,
    address: Address,
    frame: Annotated[
        str | None,
        typer.Argument(
            help="List of everyone in the population, to draw the sample now; leave it out after draw, which "
            "reads databases too.",
            show_default=False,
        ),
    ] = None,
    survey: Annotated[Path, typer.Option(help="Folder of the survey to make, for the collector.")] = Path(
        "survey"
    ),
    office_key: Annotated[
        Path,
        typer.Option(
            help="The office's private key; created if missing. Keep it off the collector: closing needs it."
        ),
    ] = Path("office.key"),
    out: Annotated[Path, typer.Option(help="Invitations for mail merge (.csv, .parquet, .xlsx).")] = Path(
        "invitations.csv"
    ),
    sample: SampleFile = Path("sample.csv"),
    key_file: KeyFile = Path("draw.key"),
    id: DrawnId = None,
    stratum: DrawnStratum = None,
    keep: Keep = None,
    title: Title = "",
    text: Text = None,
    batch: Annotated[
        int, typer.Option(help="How many answers of one stratum and form are counted together.")
    ] = 20,
    codes: Annotated[
        Path | None, typer.Option(help="Folder for QR codes of the links.", show_default=False)
    ] = None,
    code_format: Annotated[
        CodeFormatName, typer.Option(help="What kind of file a QR code is.")
    ] = CodeFormatName.svg,
    letters: Annotated[
        Path | None,
        typer.Option(help="Folder for letters (.pdf), a page for each person.", rich_help_panel=LETTERS),
    ] = None,
    addresses: Annotated[
        Path | None,
        typer.Option(
            help="Table with the addresses; by default, the frame if it is given.", rich_help_panel=LETTERS
        ),
    ] = None,
    address_line: Annotated[
        list[str] | None,
        typer.Option(
            help="A line of the address: a column, or several, as '{first} {last}'; repeat for more lines.",
            rich_help_panel=LETTERS,
        ),
    ] = None,
    closes: Annotated[
        datetime | None,
        typer.Option(help="Last day to answer.", formats=["%Y-%m-%d"], rich_help_panel=LETTERS),
    ] = None,
    letter_text: Annotated[
        list[str] | None,
        typer.Option(
            help="Text of your own for a language, such as de:letter-de.txt; repeat for further languages.",
            rich_help_panel=LETTERS,
        ),
    ] = None,
    database: Database = None,
) -> None:
    """Make a secret link for everyone in the sample, and a folder for the collector, without names."""
    from dpstrata.cli.screen import progress_of
    from dpstrata.collect.invitations import invite, links_at
    from dpstrata.collect.kit import respondent_kit
    from dpstrata.designs.record import Design
    from dpstrata.files.writing import require_apart

    links_at(address)  # before anyone is drawn
    respondent_kit(Design.read(design), title=title, text=text)
    contacts = _contacts(addresses, frame, named=bool(address_line or keep))
    of_letters = _letters(letters, contacts, address_line or [], closes, letter_text or [])
    if frame is not None:
        require_apart(Path(frame), office_key, out)
        id, stratum = id or "id", stratum or ["stratum"]
        _require_kept(contacts, id, keep or [], out)
        draw_command(design, frame, id, stratum, sample, key_file, verify=sample.exists())
    with progress_of("codes and letters") as progress:
        made = invite(
            design,
            survey=survey,
            sample=sample,
            key_file=key_file,
            id=id,
            stratum=stratum,
            office_key=office_key,
            address=address,
            out=out,
            contacts=contacts,
            keep=keep or [],
            title=title,
            text=text,
            batch=batch,
            codes=codes,
            code_format=code_format.value,
            letters=of_letters,
            database=database,
            progress=progress,
        )
    _say_invited(made, survey, office_key, out, batch)
    if letters is not None:
        typer.echo(f"Letters: {letters}, a page for each person. Whoever has one can answer in their place.")
    typer.echo("Digest of the kit, for the letters of invitation:")
    typer.echo(made.digest)


def _require_kept(contacts: Path | None, id: str, keep: list[str], out: Path) -> None:
    """Check what would be refused after the draw: a file that is there already, and columns to keep."""
    from dpstrata.collect.invitations import require_invitations
    from dpstrata.collect.letters import require_contacts

    require_invitations(out, id, keep)
    if contacts is not None and keep:
        require_contacts(contacts, id=id, columns=keep)


def _say_invited(made: Invited, survey: Path, office_key: Path, out: Path, batch: int) -> None:
    """Say how many were invited, where everything is, and whether their answers can be counted together."""
    from dpstrata.collect.invitations import MOST_COUNTERS

    typer.echo(
        f"{counted(made.people, 'person')} invited. Written to {out} and {survey}; the office's private "
        f"key is in {office_key}. Keep it off the collector."
    )
    if batch > made.together:
        typer.echo(
            f"A batch of {batch} never comes together, since no stratum and form has more than "
            f"{counted(made.together, 'person')}: all answers stay sealed until the survey is closed."
        )
    elif made.counters > MOST_COUNTERS:
        typer.echo(
            f"There are {made.counters:,} different answers by stratum and form, too many for a counter "
            "each: all answers stay sealed until the survey is closed."
        )


def _contacts(addresses: Path | None, frame: str | None, *, named: bool) -> Path | None:
    """Return the table to take columns from; one that is given for nothing is refused."""
    from dpstrata.errors import InputError, option

    if addresses is not None and not named:
        raise InputError(
            f"{option('addresses')} is a table of which columns are used; name them with "
            f"{option('address_line')} or {option('keep')}."
        )
    return addresses or (None if frame is None else Path(frame))


def _letters(
    folder: Path | None,
    contacts: Path | None,
    lines: list[str],
    closes: datetime | None,
    texts: list[str],
) -> Letters | None:
    """Read what letters are to be like; options of theirs need a folder."""
    from dpstrata.collect.letters import Letters, read_texts
    from dpstrata.errors import InputError, option

    if folder is not None:
        table = contacts if lines else None
        return Letters(folder, table, lines, closes and closes.date(), read_texts(texts))
    if lines or closes or texts:
        raise InputError(
            f"lines of addresses, a last day and texts are for letters; give {option('letters')} too."
        )
    return None


class _Collect(typer.core.TyperGroup):
    """``collect SURVEY`` serves; a word of its own does something else with the survey."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take anything that is not a command for the survey to serve."""
        if args and args[0] not in (*self.commands, "--help", "-h"):
            args = ["serve", *args]
        return super().parse_args(ctx, args)


collect_app = typer.Typer(
    cls=_Collect,
    help="Count what respondents' pages send: collect SURVEY, with the options of collect serve. Other "
    "commands oversee and close the survey.",
    no_args_is_help=True,
)
Survey = Annotated[Path, typer.Argument(help="Folder of the survey, made by invite.", show_default=False)]


@collect_app.command("serve")
def collect_command(
    survey: Survey,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Port = None,
    public_host: Annotated[
        str | None,
        typer.Option(help="Name under which respondents reach it, such as survey.example.org."),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(help="Certificate (PEM, with its chain) to encrypt with where no proxy does."),
    ] = None,
    private_key: Annotated[Path | None, typer.Option(help="Private key of the certificate (PEM).")] = None,
    database: Database = None,
) -> None:
    """Serve the respondents' page and count what it sends; the word serve may be left out."""
    from dpstrata.collect.serving import collect_survey

    collect_survey(
        survey,
        host=host,
        port=port,
        public_host=public_host,
        certificate=certificate,
        private_key=private_key,
        database=database,
        say=typer.echo,
    )


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
    id: DrawnId = None,
    stratum: DrawnStratum = None,
    addresses: Annotated[
        Path | None,
        typer.Option(help="Table to take further columns from, such as the frame.", show_default=False),
    ] = None,
    keep: Keep = None,
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
        stratum=stratum,
        address=address,
        out=out,
        contacts=addresses,
        keep=keep or [],
        only_missing=only_missing,
        database=database,
    )
    typer.echo(reminded_in_words(people, str(out), only_missing=only_missing))


@collect_app.command("close")
def close_command(
    survey: Survey,
    design: Annotated[
        Path, typer.Option(help="The office's copy of the design; the ledger is kept beside it.")
    ] = Path("design.json"),
    office_key: Annotated[Path, typer.Option(help="The office's private key.")] = Path("office.key"),
    out: Annotated[Path, typer.Option(help="New file for what is published (.csv, .parquet, .xlsx).")] = Path(
        "published.csv"
    ),
    report: Annotated[
        Path | None,
        typer.Option(
            help="Estimate as well, and write the results as a report to sign (.html, or .pdf with the extra "
            "pdf)."
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(help="Heading of the report; by default, what the survey is called."),
    ] = None,
    language: Language = None,
    sample: SampleFile = Path("sample.csv"),
    key_file: KeyFile = Path("draw.key"),
    id: DrawnId = None,
    stratum: DrawnStratum = None,
    database: Database = None,
    again: Again = False,
    accept_response: AcceptResponse = False,
) -> None:
    """Close a survey for ever, open what is sealed, and release the counts; too few answers leave it open."""
    from dpstrata.cli.refusals import in_flags
    from dpstrata.collect.closing import close_survey
    from dpstrata.collect.folder import title_of
    from dpstrata.designs.record import Design
    from dpstrata.errors import InputError, option
    from dpstrata.present.report.results import require_language
    from dpstrata.words.released import collected_sentences

    if not design.exists():
        raise InputError(
            f"{design} does not exist: close a survey where the office keeps its files, or say where they "
            f"are ({option('design')} and the other options)."
        )
    if report is not None:
        require_report_path(report)
        if language is not None:
            require_language(Design.read(design), language)
    released = close_survey(
        survey,
        design=design,
        sample=sample,
        key_file=key_file,
        id=id,
        stratum=stratum,
        office_key=office_key,
        out=out,
        database=database,
        again=again,
        accept_response=accept_response,
    )
    for sentence in collected_sentences(released, out):
        typer.echo(in_flags(sentence))
    if report is not None:
        title = title or title_of(survey)
        estimate_command(design, str(out), report=report, title=title, language=language)
        typer.echo(f"Report written to {report}.")


@collect_app.command("backup")
def backup_command(
    survey: Survey,
    out: Annotated[Path, typer.Option(help="New file for the copy (.sqlite).")],
    database: Database = None,
) -> None:
    """Copy the database of a survey, also while a collector is using it."""
    from dpstrata.collect.overseeing import back_up

    back_up(survey, out, database=database)
    typer.echo(f"Copied to {out}. It tells as much as the database: keep it as safe.")


@collect_app.command("restore")
def restore_command(
    survey: Survey,
    backup: Annotated[Path, typer.Argument(help="What collect backup wrote.", show_default=False)],
    database: Database = None,
) -> None:
    """Put a backup in place of the database of a survey, while the collector is stopped."""
    from dpstrata.collect.overseeing import restore, survey_status

    restore(survey, backup, database=database)
    answered = survey_status(survey, database=database).answered
    typer.echo(
        f"Restored from {backup}, with {counted(answered, 'answer')}. People who answered since then can "
        "answer again."
    )
