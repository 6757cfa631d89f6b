"""Closing a survey: what is still sealed is opened, the counts are released like any others, and deleted."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dpstrata.collect.folder import CLOSING, SurveyFolder, open_folder
from dpstrata.collect.invitations import Invitee, invitees, require_outside
from dpstrata.collect.sealing import Opener, public_key, read_office_key
from dpstrata.collect.tables import CLOSED, Counted, Tables
from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.collected import Collected, report_keys
from dpstrata.fielding.draw import drawn_columns
from dpstrata.fielding.keys import read_key
from dpstrata.fielding.randomizers import randomizers_of
from dpstrata.fielding.releasing import (
    Batch,
    Files,
    Released,
    is_unfinished,
    release,
    require_releasable,
    with_response,
)
from dpstrata.fielding.sample import ReportKey

_PATIENCE = 30.0  # seconds in which a running collector must have stopped taking answers


def close_survey(
    survey: str | Path,
    *,
    design: str | Path,
    sample: str | Path,
    key_file: str | Path,
    id: str | None = None,
    stratum: str | Sequence[str] | None = None,
    office_key: str | Path,
    out: str | Path,
    database: str | None = None,
    again: bool = False,
    accept_response: bool = False,
) -> Released:
    """Close a survey for ever, and release what was collected.

    A collector that is running takes no more answers; it goes on to tell late respondents so, before anything
    leaves their device. What was still sealed is opened, in memory alone. Then the counts go the way of every
    release: onto the ledger first, and with the same noise. Once the results are in place, the database
    forgets all answers; who answered stays. A run that was killed is taken up by the next.

    Parameters
    ----------
    survey : path
        The folder of the survey.
    design : path
        The office's copy of the design document; the ledger ``ledger.json`` is kept beside it.
    sample, key_file, id, stratum : path, path, str, str or sequence of str, optional
        As in :func:`publish`.
    office_key : path
        The office's private key.
    out : path
        What is published, as by :func:`publish` or :func:`privatize`. It must not exist yet.
    database : str, optional
        Address of the PostgreSQL database, if the survey has one.
    again, accept_response : bool
        As in :func:`publish`.

    Raises
    ------
    InputError
        If files do not belong together, too few people have answered, or the release would be refused:
        then the survey stays open. If the survey was closed before and its results are in place.
    """
    folder = open_folder(survey, database)
    files = Files.given(design=design, answers=folder.path, sample=sample, out=out, key_file=key_file)
    require_outside(folder.path, files.design.with_name("ledger.json"), files.sample, files.key, files.out)
    plan, private = Design.read(files.design), read_office_key(Path(office_key))
    if plan.digest != folder.plan.digest:
        raise InputError(f"{files.design} must be the design of the survey in {survey}, got another.")
    if public_key(private) != folder.public_key:
        raise InputError(f"{office_key} must be the office's key of this survey, got another.")
    id, columns = drawn_columns(files.sample, id, stratum)
    people = invitees(plan, sample=files.sample, key_file=files.key, id=id, stratum=columns)
    opener = Opener(private, plan.digest)
    with folder.connected() as tables:
        if tables.fact("state") != CLOSED:
            # To find now what would prevent the release.
            _counted(folder, tables, opener)
            batch = with_response(
                _batch(plan, files, people, tables, _made_up(tables)), accept_response=accept_response
            )
            require_releasable(batch, again=again)
            _stop(folder, tables)
        counted = _counted(folder, tables, opener)
        batch = _batch(plan, files, people, tables, counted or _made_up(tables))
        if not counted and not is_unfinished(batch):
            raise InputError(
                f"the survey in {survey} was closed before: its results were published, and its answers were "
                "deleted."
            )
        batch = with_response(batch, accept_response=accept_response)
        return release(batch, again=again)


def _stop(folder: SurveyFolder, tables: Tables) -> None:
    """Take no more answers: through the collector that is using the file, or at once if there is none."""
    with folder.alone() as alone:
        if alone or folder.database is not None:
            tables.mark_closed()
            return
    request = folder.path / CLOSING
    try:
        end = time.monotonic() + _PATIENCE
        while tables.fact("state") != CLOSED:
            request.touch(mode=0o600)  # again and again: a collector that starts takes no old request
            if time.monotonic() > end:
                raise InputError(
                    "the collector must stop taking answers when it is asked to, got no reply from it. Stop "
                    "it and close again."
                )
            time.sleep(0.05)
    finally:
        request.unlink(missing_ok=True)


def _made_up(tables: Tables) -> Counter[Counted]:
    """Return one cell for everyone who answered, where no more must be known than how many they are."""
    return Counter({(key, 0): number for key, number in tables.turnout().items()})


def _counted(folder: SurveyFolder, tables: Tables, opener: Opener) -> Counter[Counted]:
    """Return what was counted, with what is still sealed: one cell for every token that was used.

    The sum is never written: the difference of two copies would show the last few cells of a stratum and
    form. Nothing is left once the results are in place.
    """
    with tables.transaction(alone=True):
        counted, sealed, turnout = tables.counted(), tables.sealed(), tables.turnout()
        deleted = tables.fact("state") == CLOSED and not counted and not sealed
    counted += Counter(opener.open(content) for content in sealed.values())
    found: Counter[ReportKey] = Counter()
    for (key, _), number in counted.items():
        found[key] += number
    cells = {key: folder.kit.cells_of(key) for key in report_keys(folder.plan)}
    whole = found == turnout and all(0 <= cell < cells.get(key, 0) for key, cell in counted)
    if not whole and not deleted:
        raise InputError(
            "the database must have one answer for every link that was used, got others: something else "
            "than a collector has changed it."
        )
    return counted


def _batch(
    plan: Design, files: Files, people: Sequence[Invitee], tables: Tables, counted: Counter[Counted]
) -> Batch:
    """Put together who answered and what was counted, of which nobody knows how they belong together."""
    used, randomizers = tables.used(), randomizers_of(plan)
    cells: dict[ReportKey, list[int]] = {}
    for key, cell in sorted(counted.elements()):
        cells.setdefault(key, []).append(cell)
    reports = {
        key: randomizers[key.form].reports_of_cells(key.stratum, given) for key, given in cells.items()
    }
    collected = Collected(reports, from_devices=True)
    collected.require_sound(plan)
    return Batch(
        plan=plan,
        files=files,
        drawn={each.id: each.key for each in people},
        people=[each.id for each in people if each.hashed in used],
        collected=collected,
        blank=0,
        secret=read_key(files.key),
        response=None,
        forget=tables.forget,
    )
