"""What the office does while a survey is collected: see how far it is, remind people, back it up."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from dpstrata.collect.folder import DATABASE, SurveyFolder, open_folder
from dpstrata.collect.invitations import (
    invitees,
    links_at,
    read_kept,
    require_invitations,
    require_outside,
    warn_without_tls,
    write_invitations,
)
from dpstrata.collect.postgresql_store import PostgresqlTables
from dpstrata.collect.sqlite_store import SqliteTables, make_beside, put_in_place
from dpstrata.collect.tables import CLOSED, OPEN, writing_to
from dpstrata.errors import InputError
from dpstrata.fielding.draw import drawn_columns
from dpstrata.files.writing import require_apart


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a survey is.

    Attributes
    ----------
    state : str
        ``open`` or ``closed``.
    invited, answered : int
        How many people.
    expected : float
        How many of them the design expects to answer in all.
    batch : int
        How many answers are counted together.
    strata : tuple
        For every stratum its name, how many were invited, and how many answered; ``None`` where that is
        hidden.
    """

    state: str
    invited: int
    answered: int
    expected: float
    batch: int
    strata: tuple[tuple[str, int, int | None], ...]


def survey_status(survey: str | Path, *, database: str | None = None) -> Progress:
    """Count who has answered: in all, and by stratum where that is a batch or more.

    The number of a small stratum must not follow from the others, the total and how many were invited. So
    those that are hidden are at least two, and together at least a batch of their people have answered and
    at least a batch have not; larger strata are hidden where they are needed for that, or else all.

    Parameters
    ----------
    survey : path
        The folder that :func:`invite` made.
    database : str, optional
        Address of the PostgreSQL database, if the survey has one.

    Returns
    -------
    Progress
        How many were invited and have answered.
    """
    folder = open_folder(survey, database)
    with folder.connected() as tables:
        state, batch, turnout = tables.fact("state"), int(tables.fact("batch")), tables.turnout()
    answered: Counter[int] = Counter()
    for key, number in turnout.items():
        answered[key.stratum] += number
    plan = folder.plan
    invited = plan.sample_sizes.tolist()
    shown = _shown([answered[i] for i in range(len(invited))], invited, batch)
    strata = tuple(zip(plan.strata.names, invited, shown, strict=True))
    expected = plan.total if plan.expected_answers is None else plan.expected_answers
    return Progress(state, plan.total, answered.total(), expected, batch, strata)


def _shown(numbers: Sequence[int], invited: Sequence[int], batch: int) -> list[int | None]:
    """Hide small numbers, the smallest first, until neither one of them nor their sum is given away."""
    hidden: set[int] = set()
    for i in sorted(range(len(numbers)), key=numbers.__getitem__):
        answered = sum(numbers[each] for each in hidden)
        missing = sum(invited[each] for each in hidden) - answered
        if numbers[i] >= batch and (not hidden or (len(hidden) > 1 and min(answered, missing) >= batch)):
            break
        hidden.add(i)
    return [None if i in hidden else number for i, number in enumerate(numbers)]


def remind(
    survey: str | Path,
    *,
    sample: str | Path,
    key_file: str | Path,
    id: str | None = None,
    stratum: str | Sequence[str] | None = None,
    address: str,
    out: str | Path,
    contacts: str | Path | None = None,
    keep: Sequence[str] = (),
    only_missing: bool = False,
    database: str | None = None,
) -> int:
    """Write the invitations again, for a letter that reminds people.

    Parameters
    ----------
    survey, sample, key_file, id, stratum, address, out, contacts, keep, database
        As in :func:`invite`.
    only_missing : bool
        Whether to leave out those who have answered. Then whoever sees ``out`` knows who has not.

    Returns
    -------
    int
        How many people are in ``out``.
    """
    folder, sample, key_file, out = open_folder(survey, database), Path(sample), Path(key_file), Path(out)
    require_apart(sample, key_file, out)
    require_apart(out, Path(contacts) if contacts else None)
    require_outside(folder.path, out)
    id, columns = drawn_columns(sample, id, stratum)
    require_invitations(out, id, keep)
    links = links_at(address)
    warn_without_tls(links)
    people = invitees(folder.plan, sample=sample, key_file=key_file, id=id, stratum=columns)
    with folder.connected() as tables:
        if tables.fact("state") != "open":
            raise InputError("only people of a survey that is open can be reminded, got one that is closed.")
        if only_missing:
            used = tables.used()
            people = [each for each in people if each.hashed not in used]
    kept = read_kept(contacts, keep, id=id, people=people)
    write_invitations(people, out, id=id, links=links, kept=kept)
    return len(people)


def back_up(survey: str | Path, out: str | Path, *, database: str | None = None) -> None:
    """Copy the database of a survey as it is now, also while a collector is using it.

    The copy is a SQLite file, also that of a PostgreSQL database. Its rows are in the order of their keys, so
    it does not show in which order people answered.

    Parameters
    ----------
    survey : path
        The folder that :func:`invite` made.
    out : path
        The copy, a new file. It tells who answered, and has the counters: keep it as safe as the database.
    database : str, optional
        Address of the PostgreSQL database, if the survey has one.

    Raises
    ------
    InputError
        If there is something at ``out`` already.
    """
    out = Path(out)
    with open_folder(survey, database).connected() as tables:
        try:
            copy = SqliteTables.make(out)
        except OSError as error:
            raise InputError(f"{out} cannot be made: {error.strerror or error}.", where=str(out)) from None
        try:
            with closing(copy), tables.transaction(alone=True), copy.transaction(alone=True):
                copy.create_empty()
                tables.copy_rows(copy)
        except BaseException:
            out.unlink()
            raise


def restore(survey: str | Path, backup: str | Path, *, database: str | None = None) -> None:
    """Put a backup in place of the database of a survey, while no collector is using it.

    Answers given after the backup was made are lost; their links are open again, so those people can answer
    once more. The database is replaced in one step: a run that is killed leaves the old one or the new one.

    Parameters
    ----------
    survey : path
        The folder that :func:`invite` made; its database may be damaged or missing.
    backup : path
        What :func:`back_up` wrote.
    database : str, optional
        Address of the PostgreSQL database, if the survey has one.

    Raises
    ------
    InputError
        If a collector is using the folder, the backup is damaged or of another survey, or the survey is
        closed and the backup was made before.
    """
    folder, backup = open_folder(survey, database), Path(backup)
    path = folder.path / DATABASE
    with folder.alone() as alone:
        if not alone:
            raise InputError(f"a collector is using {survey}; stop it before you restore a backup.")
        new = make_beside(path)
        try:
            # The copy has a name of its own, so that no journal is rolled back into it.
            shutil.copyfile(backup, new)
            with closing(_check_backup(folder, new, backup)) as checked:
                if checked.fact("state") == OPEN and _is_closed(folder):
                    raise InputError(f"the survey is closed for ever, and {backup} is from before.")
                if database is not None:
                    _replace_rows(database, folder.plan.digest, checked)
            if database is None:
                put_in_place(new, path)
        except OSError as error:
            raise InputError(
                f"{backup} cannot be copied to {survey}: {error.strerror or error}.", where=str(backup)
            ) from None
        finally:
            new.unlink(missing_ok=True)


def _check_backup(folder: SurveyFolder, copied: Path, backup: Path) -> SqliteTables:
    """Open the copy of a backup, which must be of this survey and undamaged."""
    try:
        tables = SqliteTables(copied)
        try:
            folder.require_own(tables)
            tables.check()
        except BaseException:
            tables.close()
            raise
    except InputError:
        raise InputError(
            f"{backup} must be an undamaged backup of this survey, got something else.", where=str(backup)
        ) from None
    return tables


def _replace_rows(database: str, design: str, backup: SqliteTables) -> None:
    """Write a backup to PostgreSQL in one transaction, which no collector is in the middle of."""
    tables = PostgresqlTables(database, design, make=True)
    with writing_to(tables), tables.transaction(alone=True):
        if tables.exists:
            tables.empty()
        else:
            tables.create_empty()
        backup.copy_rows(tables)


def _is_closed(folder: SurveyFolder) -> bool:
    """Whether the database says that the survey is closed; one that is damaged or missing does not."""
    try:
        with folder.connected() as tables:
            return tables.fact("state") == CLOSED
    except InputError:
        return False
