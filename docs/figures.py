"""Draw the charts of the documentation; ``make figures`` runs it."""

import csv
import math
import warnings
from pathlib import Path

import numpy as np

import dpstrata as dps
from dpstrata.planning.curves import precision_rows
from dpstrata.present.charts.plan import precision_chart
from dpstrata.present.charts.plot import lines, noise_chart
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms import get_mechanism

IMAGES = Path(__file__).parent / "images"
BOUNDS = Path(__file__).parent.parent / "tests" / "reference" / "least-noise.csv"
CHARTS = {
    "noise-real": (0, 1),
    "noise-binary": "yes_no",
    "noise-grid": (0, 10, 1),
}
SIZES = [20_000] * 3 + [10_000] * 3
SHARES = {  # of people who say yes, as on the page about pilots
    "alike": [0.3] * 6,
    "unequal": [0.5, 0.3, 0.1, 0.3, 0.1, 0.03],
    "very unequal": [0.5, 0.02, 0.01, 0.3, 0.05, 0.01],
}
SPREADS = {
    "alike": [0.15] * 6,
    "unequal": [0.28, 0.15, 0.08, 0.2, 0.1, 0.05],
    "very unequal": [0.28, 0.02, 0.01, 0.2, 0.03, 0.01],
}


def pilot_rows(replications: int = 100) -> list[dict[str, object]]:
    """Simulate pilots of a tenth of 1,000 people and of epsilon."""
    rows = []
    for panel, answers, mechanism, kinds in (
        ("yes/no, randomized response", "yes_no", "randomized_response", SHARES),
        ("numbers, sine", (0, 1), "sine", SPREADS),
        ("numbers, Laplace", (0, 1), "laplace", SPREADS),
    ):
        for kind, values in kinds.items():
            people = [
                (np.arange(n) < n * value).astype(float)
                if kinds is SHARES
                else 0.5 + value * np.sqrt(3) * np.linspace(-1, 1, n)
                for n, value in zip(SIZES, values, strict=True)
            ]
            for epsilon in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0):
                first = dps.pilot(
                    dps.Strata(SIZES),
                    epsilon=epsilon,
                    pilot_epsilon=epsilon / 10,
                    total=1000,
                    pilot_total=100,
                    questions=answers,
                    mechanism=mechanism,
                )
                ratio = dps.simulate_pilot(first, people, replications=replications, seed=1).ratio
                rows.append({"panel": panel, "epsilon": epsilon, "ratio": ratio, "spreads": kind})
    return rows


def least_noise_rows() -> list[dict[str, object]]:
    """Say how many times the least noise there can be every mechanism has."""
    text = BOUNDS.read_text(encoding="utf-8")
    rows: list[dict[str, object]] = []
    for line in csv.DictReader(line for line in text.splitlines() if not line.startswith("#")):
        e, bound = float(line["epsilon"]), float(line["bound"])
        mechanisms = [
            get_mechanism(name, AnswerSpace()) for name in ("sine", "staircase", "piecewise", "laplace")
        ]
        variances = {each.title: float(each.variance(e)) for each in mechanisms}
        variances |= {"Two ends": 0.25 / math.tanh(e / 2) ** 2, "Lower bound": bound}
        rows += [{"e": e, "ratio": v / bound, "mechanism": title} for title, v in variances.items()]
    return rows


def draw_more_interviews() -> None:
    """Draw the precision of the paper's four strata at epsilon 0.1 against the number of interviews."""
    four = dps.Strata.from_file(Path(dps.__file__).parent / "examples" / "four-strata.csv")
    plan = dps.design(four, epsilon=0.1, at_most=34_000, mechanism="laplace")
    with warnings.catch_warnings(action="ignore", category=dps.DpstrataWarning):  # beyond the best total
        everyone = dps.design(four, epsilon=0.1, total=34_000, mechanism="laplace")
    rows, best = precision_rows(everyone)  # up to everyone
    precision_chart(rows, best=best, total=plan.total).save(IMAGES / "more-interviews.svg")


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    draw_more_interviews()
    lines(
        least_noise_rows(),
        x=("e", "local epsilon of one answer"),
        y=("ratio", "noise variance / lower bound"),
        series=("mechanism", "mechanism"),
        title="Sine noise is nearly the least there can be",
        subtitle="Variance of the noise as a multiple of the lower bound for any mechanism",
        log_y=True,
        points=True,
    ).save(IMAGES / "least-noise.svg")
    for name, answers in CHARTS.items():
        noise_chart(answers).save(IMAGES / f"{name}.svg")
    lines(
        pilot_rows(),
        x=("epsilon", "epsilon of both waves"),
        y=("ratio", "variance with a pilot over that without"),
        series=("spreads", "spreads of the strata"),
        title="When a pilot pays",
        subtitle="Below 1 it does: six strata, 1,000 people, a tenth of them and of epsilon in the pilot",
        panels=("panel", "answers and noise"),
        points=True,
    ).save(IMAGES / "pilot.svg")
