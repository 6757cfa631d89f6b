"""Invitations: a secret link for everyone in a sample, and a collector's folder that knows nobody."""

from __future__ import annotations

import hashlib
import hmac
import io
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from dpstrata.collect.folder import DATABASE, DESIGN, KIT, PUBLIC_KEY
from dpstrata.collect.kit import respondent_kit
from dpstrata.collect.postgresql_store import PostgresqlTables
from dpstrata.collect.sealing import office_key as make_office_key
from dpstrata.collect.sealing import public_key
from dpstrata.collect.sqlite_store import SqliteTables
from dpstrata.collect.tables import LostError, Tables
from dpstrata.designs.record import Design
from dpstrata.errors import InputError, MissingExtraError, option
from dpstrata.fielding.answer_files import read_people
from dpstrata.fielding.draw import check_record
from dpstrata.fielding.frames.base import stratum_column
from dpstrata.fielding.keys import read_key, survey_key
from dpstrata.fielding.questionnaires.files import read_forms
from dpstrata.files.writing import (
    remove_unfinished,
    require_apart,
    require_table_path,
    write_atomically,
    write_table,
)

BATCH = 20
_LENGTH = 16  # bytes of a token


@dataclass(frozen=True, slots=True, eq=False)
class Invitee:
    """Someone in the sample.

    Attributes
    ----------
    id : str
        As the sample has it.
    stratum, form : int
        Positions in the design.
    token : str
        What their link ends in.
    """

    id: str
    stratum: int
    form: int
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
    """

    people: int
    digest: str


def hash_of(token: str) -> bytes:
    """Return what the collector knows a token by; 128 random bits cannot be guessed from it."""
    return hashlib.sha256(token.encode()).digest()


def invitees(
    plan: Design, *, sample: Path, key_file: Path, id: str, stratum: str | Sequence[str]
) -> list[Invitee]:
    """Return everyone in the sample with their token: always the same for the same draw."""
    columns = (stratum,) if isinstance(stratum, str) else tuple(stratum)
    if plan.inputs.questionnaire is None:
        raise InputError(
            "a collector needs a design with a questionnaire, got one with a single question. Give the "
            f"question as {option('questionnaire')} of one question."
        )
    secret = read_key(key_file)
    check_record(plan, sample=sample, key=secret, record=sample.with_name("draw.json"))
    people, strata = read_people(sample, id, (stratum_column(columns),))
    key = survey_key(survey_key(secret, plan.digest), "invitations")
    place = {name: i for i, name in enumerate(plan.strata.names)}
    return [
        Invitee(person, place[name], form - 1, _token(key, person))
        for person, name, form in zip(people, strata, read_forms(sample, plan), strict=True)
    ]


def _token(key: bytes, person: str) -> str:
    return urlsafe_b64encode(hmac.digest(key, person.encode(), "sha256")[:_LENGTH]).decode().rstrip("=")


def invite(
    design: str | Path,
    *,
    survey: str | Path,
    sample: str | Path,
    key_file: str | Path,
    id: str,
    stratum: str | Sequence[str],
    office_key: str | Path,
    address: str,
    out: str | Path,
    title: str = "",
    batch: int = BATCH,
    codes: str | Path | None = None,
    database: str | None = None,
) -> Invited:
    """Make the folder of a collector, and a link for everyone in the sample.

    Links are derived from the key of the draw, so the same call makes the same ones again; answers that the
    folder has already collected stay.

    Parameters
    ----------
    design : path
        The document of a design with a questionnaire, whose rows are randomised on devices.
    survey : path
        The folder to make. It holds the design, the kit, the office's public key and the database; it has no
        id, and neither the key of the draw nor the office's private key.
    sample : path
        The sample that was drawn; its record ``draw.json`` is beside it.
    key_file : path
        The key of the draw.
    id : str
        Name of the column that identifies a person.
    stratum : str or sequence of str
        Name of the column of the stratum, or of the columns that were crossed.
    office_key : path
        File with the office's private key, outside ``survey``; created if missing, for its owner alone.
        Keep it off the collector: closing needs it.
    address : str
        Where respondents reach the collector: ``https://survey.example.org``.
    out : path
        The invitations for mail merge (``.csv``, ``.parquet``, ``.xlsx``), with the columns of the ids and
        ``link``. Whoever has a link can answer in that person's place.
    title : str
        What the survey is called.
    batch : int
        How many answers of one stratum and form are counted together, at least 2.
    codes : path, optional
        Folder for QR codes of the links, one SVG file for each person, named by their place in ``out``.
    database : str, optional
        Address of a PostgreSQL database; by default the folder has a SQLite file.

    Returns
    -------
    Invited
        How many people were invited, and the digest of the kit for their letters.

    Raises
    ------
    InputError
        If the sample is not of this design and key, the folder holds another survey, or the office's private
        key would be inside the folder.
    """
    design, folder, sample, out = Path(design), Path(survey), Path(sample), Path(out)
    office_key, key_file = Path(office_key), Path(key_file)
    require_apart(design, sample, key_file, office_key, out)
    require_table_path(out)
    _require_outside(folder, office_key, key_file, sample, out)
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 2:
        raise InputError.must("batch", "be a whole number of at least 2", batch)
    links = links_at(address)
    plan = Design.read(design)
    people = invitees(plan, sample=sample, key_file=key_file, id=id, stratum=stratum)
    kit = respondent_kit(plan, title=title)
    remove_unfinished(out)
    private = make_office_key(office_key)
    _make_folder(
        folder,
        {
            DESIGN: design.read_bytes(),
            KIT: kit.content,
            PUBLIC_KEY: public_key(private).hex().encode() + b"\n",
        },
    )
    _fill(folder, plan, batch, {each.hashed: (each.stratum, each.form) for each in people}, database)
    write_invitations(people, out, id=id, links=links)
    if codes is not None:
        _draw_codes(Path(codes), [links + each.token for each in people])
    return Invited(len(people), kit.digest)


def write_invitations(people: Iterable[Invitee], out: Path, *, id: str, links: str) -> None:
    """Write ids with their links, for their owner alone."""
    listed = list(people)
    link = "link" if id != "link" else "address"
    columns = {id: [each.id for each in listed], link: [links + each.token for each in listed]}
    write_table(columns, out, private=True)


def links_at(address: str) -> str:
    """Return what every link begins with; tokens follow in the fragment, which no server is sent."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise InputError.must("address", "be like https://survey.example.org", address)
    return f"{address.rstrip('/')}/#"


def _require_outside(folder: Path, *paths: Path) -> None:
    """Require that what the collector must not know is not in its folder."""
    inside = folder.resolve()
    for path in paths:
        if inside in path.resolve().parents:
            raise InputError(
                f"{path} must be outside the folder {folder}: the collector must not know it.",
                where=str(path),
            )


def _make_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make the folder, or check that it is of the same survey."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror or error}.", where=str(folder)) from None
    for name, content in files.items():
        path = folder / name
        if path.exists() and path.read_bytes() != content:
            raise InputError(
                f"{folder} must be a new folder or one of this survey, got another {name}.", where=str(path)
            )
    for name, content in files.items():
        write_atomically(folder / name, content)


def _fill(
    folder: Path, plan: Design, batch: int, tokens: dict[bytes, tuple[int, int]], database: str | None
) -> None:
    """Make the database, or check that it has these invitations."""
    path = folder / DATABASE
    tables: Tables
    if database is not None:
        tables = PostgresqlTables(database, plan.digest, make=True)
        there = tables.exists
    else:
        there = path.exists() and path.stat().st_size > 0  # empty: cut short before anything was in it
        tables = SqliteTables(path) if path.exists() else SqliteTables.make(path)
    try:
        if not there:
            with tables.transaction(alone=True):
                tables.create(plan.digest, batch, tokens)
        elif tables.fact("batch") != str(batch) or tables.invited() != tokens:
            raise InputError(
                "the database must have these invitations and this batch, got others.", where=str(folder)
            )
    except LostError:
        raise InputError(
            "the database could not be written; check that it has room, and that you may make tables there."
        ) from None
    finally:
        tables.close()


def _draw_codes(folder: Path, links: Sequence[str]) -> None:
    """Draw a QR code of every link, in files that only their owner may read."""
    try:
        import segno
    except ImportError:
        raise MissingExtraError("QR codes need", "collect") from None
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    digits = len(str(len(links)))
    for number, link in enumerate(links, start=1):
        drawn = io.BytesIO()
        segno.make(link, error="m", micro=False).save(drawn, kind="svg", scale=4)
        write_atomically(folder / f"{number:0{digits}}.svg", drawn.getvalue(), private=True)
