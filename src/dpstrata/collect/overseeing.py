"""What the office does while a survey is collected: see how far it is, remind people, keep a copy."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpstrata.collect.folder import POSTGRESQL, open_folder
from dpstrata.collect.invitations import (
    invitees,
    links_at,
    read_kept,
    require_invitations,
    require_outside,
    warn_without_tls,
    write_invitations,
)
from dpstrata.collect.sqlite_store import SqliteTables
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
    for (stratum, _), number in turnout.items():
        answered[stratum] += number
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


def back_up(survey: str | Path, out: str | Path) -> None:
    """Copy the SQLite database of a survey as it is now, also while a collector is using it.

    Parameters
    ----------
    survey : path
        The folder that :func:`invite` made.
    out : path
        The copy, a new file. It tells as much as the database: keep it as safe.

    Raises
    ------
    InputError
        If there is something at ``out`` already, or the database is a PostgreSQL one.
    """
    survey, out = Path(survey), Path(out)
    if (survey / POSTGRESQL).exists():
        raise InputError("this survey is in a PostgreSQL database: copy it with pg_dump.", where=str(survey))
    with open_folder(survey).connected() as tables:
        assert isinstance(tables, SqliteTables)
        try:
            os.close(os.open(out, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError as error:
            raise InputError(f"{out} cannot be made: {error.strerror or error}.", where=str(out)) from None
        try:
            tables.copy(out)
        except BaseException:
            out.unlink()
            raise
