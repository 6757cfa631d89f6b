"""Invitations: a secret link for everyone in a sample, and a folder for the collector that knows nobody."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import warnings
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from dpstrata.collect.folder import (
    DATABASE,
    DESIGN,
    KIT,
    POSTGRESQL,
    PUBLIC_KEY,
    another_survey,
    origin_of,
    require_database,
    require_same_origin,
)
from dpstrata.collect.kit import Kit, respondent_kit
from dpstrata.collect.letters import CodeFormat, Letters, Writer, check_code_format, draw_codes, read_contacts
from dpstrata.collect.postgresql_store import PostgresqlTables
from dpstrata.collect.sealing import public_key, read_office_key
from dpstrata.collect.sqlite_store import SqliteTables
from dpstrata.collect.tables import CLOSED, Tables, writing_to
from dpstrata.designs.consent import asks_everyone
from dpstrata.designs.record import Design
from dpstrata.errors import DpstrataWarning, InputError, option, without_passwords
from dpstrata.fielding.draw import check_record, drawn_columns, read_sample
from dpstrata.fielding.keys import new_key, read_key, survey_key, write_key
from dpstrata.fielding.sample import ReportKey
from dpstrata.files.writing import (
    make_private_folder,
    remove_unfinished,
    require_apart,
    require_same_kind,
    require_table_path,
    write_atomically,
    write_table,
)
from dpstrata.privacy.amplification import LARGEST_BATCH

BATCH = 20
MOST_COUNTERS = 1_000_000
_LENGTH = 16  # bytes of a token


@dataclass(frozen=True, slots=True, eq=False)
class Invitee:
    """Someone in the sample.

    Attributes
    ----------
    id : str
        As the sample has it.
    key : ReportKey
        What their report is filed under.
    token : str
        What their link ends in.
    """

    id: str
    key: ReportKey
    token: str

    @property
    def hashed(self) -> bytes:
        """What the collector knows the token by."""
        return hash_of(self.token)


@dataclass(frozen=True, slots=True)
class Invited:
    """What came of inviting.

    Attributes
    ----------
    people : int
        How many were invited.
    digest : str
        That of the kit, for the letters.
    together : int
        How many they are at most in one stratum and form; a larger batch never comes together.
    counters : int
        How many different answers there are by stratum and form. Beyond a million, no counters are kept.
    """

    people: int
    digest: str
    together: int
    counters: int


def hash_of(token: str) -> bytes:
    """Return what the collector knows a token by; 128 random bits cannot be guessed from it."""
    return hashlib.sha256(token.encode()).digest()


def invitees(plan: Design, *, sample: Path, key_file: Path, id: str, stratum: Sequence[str]) -> list[Invitee]:
    """Return everyone in the sample with their token: always the same for the same draw."""
    secret = read_key(key_file)
    check_record(plan, sample=sample, key=secret, record=sample.with_name("draw.json"))
    links = survey_key(survey_key(secret, plan.digest), "invitations")
    drawn = read_sample(sample, plan, id=id, stratum=stratum)
    return [Invitee(person, key, _token(links, person)) for person, key in drawn.items()]


def _token(key: bytes, person: str) -> str:
    return urlsafe_b64encode(hmac.digest(key, person.encode(), "sha256")[:_LENGTH]).decode().rstrip("=")


def invite(
    design: str | Path,
    *,
    survey: str | Path,
    sample: str | Path,
    key_file: str | Path,
    id: str | None = None,
    stratum: str | Sequence[str] | None = None,
    office_key: str | Path,
    address: str,
    out: str | Path,
    contacts: str | Path | None = None,
    keep: Sequence[str] = (),
    title: str = "",
    text: str | None = None,
    batch: int = BATCH,
    codes: str | Path | None = None,
    code_format: CodeFormat = "svg",
    letters: Letters | None = None,
    database: str | None = None,
    progress: Callable[[int], None] = lambda number: None,
) -> Invited:
    """Make the folder of a survey for the collector, and a link for everyone in the sample.

    Links are derived from the key of the draw, so the same call makes the same ones again; answers that the
    folder has already collected stay.

    Parameters
    ----------
    design : path
        The document of a design whose devices keep or replace rows of answers, to one question or several of
        any kind (``forms="one"``); or flip the answer to one yes/no question, whose sums or mean are
        published.
    survey : path
        The folder to make. It holds the design, the kit, the office's public key and the database; it has no
        id, and neither the key of the draw nor the office's private key.
    sample : path
        The sample that was drawn; its record ``draw.json`` is beside it.
    key_file : path
        The key of the draw.
    id, stratum : str, str or sequence of str, optional
        Names of the columns of the ids and of the stratum, or of the columns that were crossed; by default
        those of the draw.
    office_key : path
        File with the office's private key, outside ``survey``; created if missing, for its owner alone.
        Keep it off the collector: closing needs it.
    address : str
        Where respondents reach the collector: ``https://survey.example.org``.
    out : path
        The invitations for mail merge (``.csv``, ``.parquet``, ``.xlsx``), with the columns of the ids and
        ``link``. Whoever has a link can answer in that person's place.
    contacts : path, optional
        A table with everyone in the sample, such as the frame, to take columns of ``keep`` from.
    keep : sequence of str
        Columns of ``contacts`` that ``out`` gets too, such as that of e-mail addresses.
    title : str
        What the survey is called.
    text : str, optional
        The question as respondents read it, for a design with a single one.
    batch : int
        How many answers of one stratum and form are counted together, from 2 to 200.
    codes : path, optional
        Folder for QR codes of the links, one file for each person, named by their place in ``out``.
    code_format : {"svg", "png"}
        What kind of file a QR code is.
    letters : Letters, optional
        Letters to write as PDF, one page for each person; they need the extra ``pdf``.
    database : str, optional
        Address of a PostgreSQL database; by default the folder has a SQLite file.
    progress : callable
        Called with how many codes or letters were made since the last call.

    Returns
    -------
    Invited
        How many people were invited, and the digest of the kit for their letters.

    Raises
    ------
    InputError
        If the sample is not of this design and key, the folder or the database holds another survey or one
        that is closed, ``out`` holds something else than invitations, or the office's private key would be
        inside the folder.
    """
    design, folder, sample, out = Path(design), Path(survey), Path(sample), Path(out)
    office_key, key_file = Path(office_key), Path(key_file)
    require_apart(design, sample, key_file, office_key, out)
    for table in (contacts, letters and letters.addresses):
        require_apart(office_key, out, Path(table) if table else None)
    id, columns = drawn_columns(sample, id, stratum)
    require_invitations(out, id, keep)
    secret = [Path(each) for each in (codes, letters and letters.folder) if each]
    require_outside(folder, office_key, key_file, sample, out, *secret)
    require_database(folder, database)
    _require_batch(batch)
    check_code_format(code_format)
    links = links_at(address)
    warn_without_tls(links)
    plan = Design.read(design)
    kit = respondent_kit(plan, title=title, text=text)
    people = invitees(plan, sample=sample, key_file=key_file, id=id, stratum=columns)
    kept = read_kept(contacts, keep, id=id, people=people)
    writer = letters and Writer(
        letters, kit, id=id, people=[each.id for each in people], everyone=asks_everyone(plan)
    )
    remove_unfinished(out)
    private = read_office_key(office_key) if office_key.exists() else new_key()
    filling = _Filling(
        folder, database, plan.digest, batch, kit, public_key(private),
        {each.hashed: each.key for each in people},
    )  # fmt: skip
    filling.check()
    _make_folder(folder, design, kit, office_key, private)
    filling.fill()
    write_invitations(people, out, id=id, links=links, kept=kept)
    listed = [links + each.token for each in people]
    if codes is not None:
        draw_codes(Path(codes), listed, code_format, progress=progress)
    if writer:
        writer.write(listed, progress=progress)
    places = Counter(each.key for each in people)
    return Invited(len(people), kit.digest, max(places.values()), sum(filling.counters.values()))


def read_kept(
    contacts: str | Path | None, keep: Sequence[str], *, id: str, people: Sequence[Invitee]
) -> dict[str, list[str]]:
    """Read the columns to keep, in the order of the people."""
    if not keep:
        return {}
    if contacts is None:
        raise InputError(
            f"{option('keep')} names columns of the frame or of {option('addresses')}, got neither table."
        )
    rows = read_contacts(contacts, id=id, people=[each.id for each in people], columns=keep)
    return {name: [row[name] for row in rows] for name in keep}


def write_invitations(
    people: Sequence[Invitee], out: Path, *, id: str, links: str, kept: Mapping[str, list[str]]
) -> None:
    """Write ids with what is kept of everyone and their links, for their owner alone."""
    columns = {id: [each.id for each in people], **kept, _link(id): [links + each.token for each in people]}
    write_table(columns, out, private=True)


def require_invitations(out: Path, id: str, keep: Sequence[str]) -> None:
    """Require a name for a table of invitations with different columns, and that nothing else is there."""
    columns = (id, *keep, _link(id))
    if len(set(columns)) < len(columns):
        raise InputError.must(
            "keep", f"name other columns than {id!r} and {_link(id)!r}, each once", ", ".join(keep)
        )
    require_table_path(out)
    require_same_kind(out, columns)


def _link(id: str) -> str:
    return "link" if id != "link" else "address"


def links_at(address: str) -> str:
    """Return what every link begins with; tokens follow in the fragment, which no server is sent."""
    address = address.strip()
    if not _is_site(address):
        shown = without_passwords(address)
        raise InputError.must("address", "be like https://survey.example.org", shown)
    return f"{address.rstrip('/')}/#"


def warn_without_tls(links: str) -> None:
    """Warn where a network between respondents and the collector could read along."""
    parts = urlsplit(links)
    if parts.scheme == "http" and not _is_here(str(parts.hostname)):
        warnings.warn(
            DpstrataWarning(
                "the address begins with http, so anyone on the network between respondents and the "
                "collector can read, and change, the page and what devices send; use https."
            ),
            stacklevel=3,
        )


def _is_here(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_site(address: str) -> bool:
    """Whether a link can begin with this: a host, perhaps with a port and a path, and nothing else."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:  # a port out of range, or half of an IPv6 address
        return False
    return (
        parts.scheme in ("http", "https")
        and all((parts.hostname or "").removesuffix(".").split("."))
        and port != 0
        and not parts.netloc.endswith(":")
        and "@" not in parts.netloc
        and all(each.isprintable() and each not in " ?#\\" for each in address)
    )


def _require_batch(batch: object) -> None:
    if isinstance(batch, bool) or not isinstance(batch, int) or not 2 <= batch <= LARGEST_BATCH:
        raise InputError.must("batch", f"be a whole number from 2 to {LARGEST_BATCH}", batch)


def require_outside(folder: Path, *paths: Path) -> None:
    """Require that what the collector must not know is not in its folder."""
    inside = folder.resolve()
    for path in paths:
        if inside in (path.resolve(), *path.resolve().parents):
            raise InputError(
                f"{path} must be outside the folder {folder}: the collector must not know it.",
                where=str(path),
            )


def _make_folder(folder: Path, design: Path, kit: Kit, office_key: Path, private: bytes) -> None:
    """Make the folder and the office's key, or check that they are of the same survey."""
    files = {
        DESIGN: design.read_bytes(),
        KIT: kit.content,
        PUBLIC_KEY: public_key(private).hex().encode() + b"\n",
    }
    _require_same(folder, files)
    make_private_folder(folder)
    if not office_key.exists():  # before anything can be sealed to it
        write_key(office_key, private)
    for name, content in files.items():
        write_atomically(folder / name, content)


def _require_same(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        if path.exists() and path.read_bytes() != content:
            raise another_survey(f"{folder} must be a new folder or one", name)


@dataclass(frozen=True, slots=True, eq=False)
class _Filling:
    """The database of a survey, to be made or to be found as it would be made."""

    folder: Path
    database: str | None
    design: str
    batch: int
    kit: Kit
    public_key: bytes
    tokens: dict[bytes, ReportKey]

    @property
    def counters(self) -> dict[ReportKey, int]:
        """How many cells each key has to which somebody is invited."""
        return {key: self.kit.cells_of(key) for key in set(self.tokens.values())}

    def check(self) -> None:
        """Require that a database outside the folder is of this survey, before anything is written."""
        if self.database is not None:
            tables = PostgresqlTables(self.database, self.design)
            with writing_to(tables):
                if tables.exists:
                    self._require_same(tables)

    def fill(self) -> None:
        """Make the database, unless it is there."""
        path = self.folder / DATABASE
        tables: Tables
        if self.database is not None:
            tables = PostgresqlTables(self.database, self.design, make=True)
        else:
            tables = SqliteTables(path) if path.exists() else SqliteTables.make(path)
        with writing_to(tables):
            origin = origin_of(self.kit.digest, self.public_key)
            facts = {"design": self.design, "batch": str(self.batch), **origin}
            with tables.transaction(alone=True):
                if tables.exists:  # also if someone else has made it since it was checked
                    self._require_same(tables)
                else:
                    few = sum(self.counters.values()) <= MOST_COUNTERS
                    tables.create(facts, self.tokens, self.counters if few else {})
        if self.database is not None:
            said = b"The answers to this survey are in a PostgreSQL database.\n"
            write_atomically(self.folder / POSTGRESQL, said)

    def _require_same(self, tables: Tables) -> None:
        if tables.fact("state") == CLOSED:
            raise InputError("people can be invited to a survey that is open, got one that is closed.")
        require_same_origin(tables, self.kit.digest, self.public_key)
        if tables.fact("batch") != str(self.batch) or tables.invited() != self.tokens:
            raise InputError(
                "the database must have these invitations and this batch, got others.", where=str(self.folder)
            )
