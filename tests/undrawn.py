"""Charts that nobody looks at: drawing takes most of the time of a report, half a second for the first of a process."""

from dpstrata.present.charts.chart import Chart
from extent import FULL

DRAWN = Chart.svg


def draw(whether):
    """Let charts be drawn from here on, or be empty; `make slow` draws all of them."""
    Chart.svg = DRAWN if whether or FULL else _svg


def _svg(chart):
    """In the place of ``Chart.svg``."""
    return '<svg xmlns="http://www.w3.org/2000/svg"></svg>'
