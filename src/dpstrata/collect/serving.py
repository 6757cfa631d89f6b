"""Serving a survey: the respondents' page and the collector behind it, until someone stops them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dpstrata.collect.collector import Collector
from dpstrata.collect.folder import SurveyFolder, open_folder
from dpstrata.collect.postgresql_store import UnreachableError
from dpstrata.errors import InputError, without_passwords
from dpstrata.privacy.amplification import BATCH_DELTA, batch_epsilon
from dpstrata.servers.running import encryption_of, serve_app, until_stopped
from dpstrata.words.released import collecting_in_words

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_NAME = "the collector"
_PAUSE = 1.0  # seconds between two attempts to connect
_log = logging.getLogger(__name__)


def collect_survey(
    survey: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    public_host: str | None = None,
    certificate: str | Path | None = None,
    private_key: str | Path | None = None,
    database: str | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> None:
    """Take what respondents' pages send, until it is interrupted.

    Parameters
    ----------
    survey : path
        The folder that :func:`invite` made.
    host : str
        The address to listen on; by default this machine alone can reach it, which suits a proxy.
    port : int, optional
        By default the first free one from 8000 on.
    public_host : str, optional
        The name under which respondents reach it, through a proxy or directly.
    certificate, private_key : path, optional
        Files in PEM with which it encrypts (TLS) where no proxy does; the first with the whole chain.
    database : str, optional
        Address of the PostgreSQL database, if the survey has one.
    say : callable
        Takes a line for the user.

    Raises
    ------
    InputError
        If another collector is using the folder, or the port or the certificate cannot be used.
    """
    _require_name(public_host)
    encryption = encryption_of(certificate, private_key)
    folder = open_folder(survey, database)
    with until_stopped(_NAME, say), folder.alone() as alone:
        if not alone and database is None:
            raise InputError(
                f"only one collector can use the SQLite database of {survey}, got another that is running."
            )
        collector = Collector(folder)
        _start(collector, database)
        try:
            closed = "The survey is closed: respondents are told so, and no more answers are counted."
            for sentence in [closed] if collector.closed else _in_words(folder, collector.batch):
                say(sentence)

            def make() -> ASGIApp:
                from dpstrata.collect.contract import make_page_app

                return make_page_app(folder.kit, collector, host=public_host or host)

            serve_app(make, name=_NAME, host=host, port=port, browser=False, say=say, encryption=encryption)
        finally:
            collector.stop()


def _start(collector: Collector, database: str | None) -> None:
    """Start a collector, as soon as a PostgreSQL that may start at the same time as this is there."""
    waiting = False
    while True:
        try:
            collector.start()
        except UnreachableError:
            if not waiting:
                _log.warning(
                    "Waiting for the database at %s; if this takes long, check its address and your rights.",
                    without_passwords(str(database)),
                )
            waiting = True
            time.sleep(_PAUSE)
        else:
            return


def _require_name(host: str | None) -> None:
    """Require a bare name or number, since nobody's browser would ask for anything else."""
    if host is None:
        return
    try:
        right = urlsplit(f"//{host}").hostname == host.strip("[]").lower()
    except ValueError:
        right = False
    if not right:
        raise InputError.must(
            "public_host", "be a name like survey.example.org, without https://, port or path", host
        )


def _in_words(folder: SurveyFolder, batch: int) -> list[str]:
    """Say what is promised, and what a batch adds to it."""
    plan = folder.plan
    budgets = {plan.inputs.device_epsilon or plan.local_epsilon(i) for i in range(len(plan.strata))}
    rows = {form.get("cells") for form in folder.kit.to_dict()["forms"]}  # None where none are drawn
    worst = max(
        budget if cells is None else batch_epsilon(budget, cells=cells, batch=batch)
        for budget in budgets
        for cells in rows
    )
    return collecting_in_words(promised=max(budgets), within=worst, batch=batch, delta=BATCH_DELTA)
