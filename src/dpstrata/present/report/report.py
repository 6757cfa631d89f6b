"""The report of a design, with the curves that need planning: as text, as HTML file, as PDF."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.results.results import Results
from dpstrata.files.printing import print_page, require_printer
from dpstrata.files.writing import write_atomically
from dpstrata.planning.curves import epsilon_rows, precision_rows
from dpstrata.present.charts.chart import require_charts
from dpstrata.present.report.page import TITLE, Curves, make_page
from dpstrata.present.report.results import Published, make_results_page

_STRATA_TIMES_POINTS = 80_000


def report_html(plan: Design, *, title: str = TITLE) -> str:
    """Return the report of a design as one self-contained HTML page.

    Parameters
    ----------
    plan : Design
        The design.
    title : str
        Heading of the report.

    Returns
    -------
    str
        The page, with its charts, without scripts or requests to anywhere. It needs the extra ``charts``.

    Examples
    --------
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    >>> "Proven optimal." in dps.report_html(plan, title="Pilot")
    True
    """
    require_charts()
    points = max(min(40, _STRATA_TIMES_POINTS // len(plan.strata)), 12)
    rows, best = precision_rows(plan, points=points)
    epsilons = epsilon_rows(plan, points=points) if plan.inputs.promise.amplified else None
    return make_page(plan, Curves(rows, best, epsilons), title=title)


def write_report(plan: Design, path: str | Path, *, title: str = TITLE) -> None:
    """Write the report of a design to a file, in full or not at all.

    Parameters
    ----------
    plan : Design
        The design.
    path : path
        Where to: ``.html``, or ``.pdf`` with the extra ``pdf``.
    title : str
        Heading of the report.

    Raises
    ------
    InputError
        If the file has another ending or cannot be written.
    MissingExtraError
        If an extra is missing.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dps.write_report(plan, Path(folder, "design.html"), title="Pilot")
    ...     "Pilot" in Path(folder, "design.html").read_text(encoding="utf-8")
    True
    """
    path = Path(path)
    check_report_path(path)
    page = report_html(plan, title=title)
    write_atomically(path, print_page(page) if path.suffix.lower() == ".pdf" else page.encode())


def results_html(
    plan: Design,
    result: Results,
    published: Published | None = None,
    *,
    title: str | None = None,
    ratios: Sequence[Results] = (),
    pilot: Published | None = None,
    language: str | None = None,
) -> str:
    """Return the results of a survey as one self-contained HTML page to sign.

    Parameters
    ----------
    plan : Design
        The design.
    result : Results
        What :func:`dpstrata.estimate` found.
    published : Published, optional
        The file that it comes from, as :func:`dpstrata.find_published` finds it with its entry in the ledger.
    title : str, optional
        Heading of the report; by default the title of the questionnaire, if it has one.
    ratios : sequence of Results
        What :meth:`Results.ratio` found, to be shown after the other estimates.
    pilot : Published, optional
        If the result is that of two waves, which :func:`dpstrata.combine_waves` found: the file of the first.
    language : str, optional
        Language of the questionnaire in which questions and answers are shown, by default its own; the
        report itself is in English.

    Returns
    -------
    str
        The page, with its charts, without scripts or requests to anywhere. It needs the extra ``charts``.

    Raises
    ------
    InputError
        If the questionnaire is not in this language.

    Examples
    --------
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    >>> strata = [name for name, n in zip(plan.strata.names, plan.sample_sizes) for _ in range(n)]
    >>> result = dps.estimate_means(plan, strata, [0.4 + 0.01 * i for i in range(40)])
    >>> "Where the error comes from" in dps.results_html(plan, result)
    True
    """
    require_charts()
    return make_results_page(
        plan, result, published or Published(), title=title, ratios=ratios, pilot=pilot, language=language
    )


def write_results(
    plan: Design,
    result: Results,
    path: str | Path,
    published: Published | None = None,
    *,
    title: str | None = None,
    ratios: Sequence[Results] = (),
    pilot: Published | None = None,
    language: str | None = None,
) -> None:
    """Write the results of a survey to a file, in full or not at all.

    Parameters
    ----------
    plan, result, published, title, ratios, pilot, language
        As for :func:`results_html`.
    path : path
        Where to: ``.html``, or ``.pdf`` with the extra ``pdf``.

    Raises
    ------
    InputError
        If the file has another ending or cannot be written, or the questionnaire is not in this language.
    MissingExtraError
        If an extra is missing.
    """
    path = Path(path)
    check_report_path(path)
    page = results_html(plan, result, published, title=title, ratios=ratios, pilot=pilot, language=language)
    write_atomically(path, print_page(page) if path.suffix.lower() == ".pdf" else page.encode())


def check_report_path(path: Path) -> None:
    """Refuse at once a path that no report could be written to later."""
    if path.suffix.lower() not in (".html", ".htm", ".pdf"):
        raise InputError(f"a report file must end in .html or .pdf, got {path.name!r}.")
    if path.suffix.lower() == ".pdf":
        require_printer("PDF reports", otherwise=", or write .html and print that to PDF")
    require_charts()
