"""Charts and sheets that nobody looks at: drawing and printing take most of the time of reports and letters."""

from contextlib import contextmanager

from dpstrata.collect import letters
from dpstrata.files.printing import print_page
from dpstrata.present.charts.chart import Chart
from dpstrata.present.report import report
from extent import FULL

DRAWN = Chart.svg


def draw(whether):
    """Let charts be drawn and pages printed from here on, or be empty; `make slow` draws and prints all of them."""
    real = whether or FULL
    Chart.svg = DRAWN if real else _svg
    letters.print_page = report.print_page = print_page if real else _print


@contextmanager
def drawing(whether):
    """The same for a while."""
    before = Chart.svg is DRAWN
    draw(whether)
    try:
        yield
    finally:
        draw(before)


def _svg(chart):
    """In the place of ``Chart.svg``."""
    return '<svg xmlns="http://www.w3.org/2000/svg"></svg>'


def _print(page, **_):
    """In the place of ``print_page``."""
    return b"%PDF-1.7\n%%EOF\n"
