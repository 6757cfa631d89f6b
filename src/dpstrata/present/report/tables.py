"""The tables of the report, cut where a reader would stop reading."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpstrata.allocation.proof.bound import Bound
from dpstrata.designs.document import VERSION
from dpstrata.designs.record import Design
from dpstrata.present.report.words import minimised_in_words, three_digits
from dpstrata.privacy.promises import PROMISES
from dpstrata.privacy.promises.epsilon import beliefs
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.options import RECORDED
from dpstrata.survey.releases import OPTION
from dpstrata.version import __version__
from dpstrata.words.designs import noise_in_table
from dpstrata.words.numbers import counted, figure, plain_number, round_up
from dpstrata.words.tables import TextTable

SHOWN = 200
SOURCES = {
    "public": "published, so known to anyone",
    "prior": "known or assumed before the survey",
    "bound": "the largest possible for these answers, or another upper bound",
    "private_pilot": "from a pilot with a privacy budget of its own",
    "confidential": "computed from confidential answers, at a stated budget",
}
_OPTIONAL = {"coefficient": "coefficient", "cost": "cost", "min": "min", "max": "max"}


_IN_WORDS = {
    *PROMISES,
    *(
        "mechanism",
        OPTION,
        "questions",
        "clip",
        "objective",
        "local_epsilon_cap",
        "device_epsilon",
    ),
    *("min_per_stratum", "min_fraction", "max_fraction", "finite_population"),
}


def options_table(plan: Design) -> TextTable:
    """List everything that was asked for."""
    inputs = plan.inputs
    rows = [
        ("privacy promise", inputs.promise.in_words),
        ("noise", _noise_asked_for(plan)),
        ("who noises", inputs.release_form.who_noises),
        *([] if plan.inputs.rows else [("answers", _answers_asked_for(plan))]),
        *([] if inputs.device_epsilon is None else [("device epsilon", plain_number(inputs.device_epsilon))]),
        *(
            [("questions", f"{len(plan.questions):,} on {counted(len(plan.forms), 'form')}")]
            if plan.inputs.rows
            else []
        ),
        ("minimised", minimised_in_words(inputs).rstrip(",")),
    ]
    limits = {
        "largest local epsilon of one noised answer": inputs.local_epsilon_cap,
        "minimum per stratum": None if inputs.min_per_stratum == 1 else inputs.min_per_stratum,
        "minimum sampling rate": inputs.min_fraction or None,
        "maximum sampling rate": inputs.max_fraction if inputs.max_fraction < 1 else None,
    }
    rows += [(what, plain_number(float(value))) for what, value in limits.items() if value is not None]
    if plan.default_minimum is not None:
        part = "" if plan.default_minimum.fits else ", scaled down to what fits"
        rows.append(("minimum per stratum", f"enough for two answers, with a chance of 99%{part}"))
    rows.append(("finite population correction", "yes" if inputs.finite_population else "no"))
    others = (each for each in RECORDED.values() if each.group != "goal" and each.name not in _IN_WORDS)
    rows += [
        (each.name.replace("_", " "), str(value))
        for each in others
        if (value := getattr(inputs, each.name)) != each.default
    ]
    return TextTable("What was asked for", ("option", "value"), rows)


def _noise_asked_for(plan: Design) -> str:
    if plan.inputs.rows:
        return f"{plan.mechanism.title} on whole rows of answers"
    return plan.mechanism.title + (", chosen as the best" if plan.choice is not None else "")


def _answers_asked_for(plan: Design) -> str:
    return f"{plan.inputs.question.answers}{', others are clipped to it' if plan.inputs.clip else ''}"


def allocation_table(plan: Design) -> TextTable:
    """Show the strata and how many people are invited in each, beside Neyman's allocation."""
    columns = plan.columns()
    rates = plan.strata.response_rates
    optional = [name for name in _OPTIONAL if name in columns]
    neyman = next(row.sample_sizes for row in plan.compare() if row.design == "neyman")
    of_strata = not plan.inputs.rows  # that of several questions is told with them
    rows: list[tuple[str, ...]] = [
        (
            plan.strata.name(i),
            *((plan.strata.sd_source(i).replace("_", " "),) if of_strata else ()),
            f"{plan.strata.sizes[i]:,}",
            *((figure(plan.sds[i]),) if of_strata else ()),
            *(f"{columns[name][i]:,.10g}" for name in optional),
            *(() if rates is None else (f"{rates[i]:.4g}",)),
            f"{plan.sample_sizes[i]:,}",
            f"{plan.sample_sizes[i] / plan.strata.sizes[i]:.3%}",
            f"{neyman[i]:,}",
        )
        for i in range(min(len(plan.strata), SHOWN))
    ]
    blank = [""] * (len(optional) + (rates is not None))
    shares = f"{plan.total:,}", f"{plan.total / plan.strata.population:.3%}", f"{int(neyman.sum()):,}"
    spread = ("",) * of_strata
    rows.append(("all", *spread, f"{plan.strata.population:,}", *spread, *blank, *shares))
    known = ("stratum", "sd from", "people", "sd") if of_strata else ("stratum", "people")
    header = (*known, *optional, *(() if rates is None else ("response rate",)))
    return TextTable(
        "The strata, and the people invited in each",
        (*header, "invited", "sampling rate", "Neyman"),
        rows,
        _left_out(plan),
        columns_of_text=1 + of_strata,
    )


def noise_table(plan: Design) -> TextTable:
    """Show budget and noise of each stratum."""
    inputs = plan.inputs
    capped = inputs.local_epsilon_cap is not None
    local, noise, central = plan.local_epsilons, plan.noise_sds, plan.central_epsilons
    is_capped = plan.capped
    rows = [
        (
            plan.strata.name(i),
            f"{plan.sample_sizes[i] / plan.strata.sizes[i]:.3%}",
            *((round_up(float(local[i]), 3),) if inputs.promise.amplified else ()),
            noise_in_table(plan, float(noise[i])),
            *(("yes" if is_capped[i] else "no", round_up(float(central[i]), 3)) if capped else ()),
        )
        for i in range(min(len(plan.strata), SHOWN))
    ]
    header = (
        *("stratum", "sampling rate"),
        *((inputs.release_form.budget_of,) if inputs.promise.amplified else ()),
        f"noise sd of {inputs.release_form.noise_sd_of}",
        *(("capped", "central epsilon") if capped else ()),
    )
    return TextTable("Budgets, rounded upwards, and noise", header, rows, _left_out(plan))


def _allowed(inputs: Inputs) -> str:
    """Say which answers there can be."""
    if inputs.clip:
        return f"are {inputs.clipping}"
    return f"lie in {inputs.space}" if inputs.space.numbers else f"are one of {inputs.question.answers}"


def noise_in_words(plan: Design) -> str:
    """Say what the budgets of the strata are."""
    inputs, release = plan.inputs, plan.inputs.release_form
    start = plan.mechanism.in_words(release.noise_goes_to)
    start += f"; answers {_allowed(inputs)}. "
    if not inputs.promise.amplified:
        return f"{start}A secret sample does not strengthen this promise, so it does not change the noise."
    return (
        f"{start}The smaller the share of a stratum that is invited, the better the sample hides a person, "
        f"and the more {release.published} may spend (the local epsilon) for the same promise to everyone."
    )


def certificate_table(plan: Design) -> TextTable:
    """Show the numbers of the proof, with enough digits to check them."""
    proof = plan.certificate
    if isinstance(proof, Bound):
        prices, measure = proof.prices, proof.measure.replace("_", " ")
        titles = _titles_of_prices(plan, proof)
        rows = [
            (f"{measure} of this design", f"{proof.value:.12g}"),
            (f"{measure} that no design can beat", f"{proof.lower_bound:.12g}"),
            ("relative gap", f"{proof.relative_gap:.3g}"),
            ("all candidates within the gap tried", "yes" if proof.searched else "no"),
            *((title, f"{price:.12g}") for title, price in list(zip(titles, prices, strict=True))[:10]),
        ]
        left = f"{len(prices) - 10:,} more prices are in the design document." if len(prices) > 10 else ""
        return TextTable("Figures of the certificate", ("figure", "value"), rows, left)
    shown = {
        "largest gain from adding one person": proof.largest_gain,
        "smallest loss from removing one person": proof.smallest_loss,
        "margin (0 or more proves optimality)": proof.margin,
    }
    rows = [(what, "no choice" if value is None else f"{value:.12g}") for what, value in shown.items()]
    ties = {"none": "no", "equal": "yes, exactly", "open": "agrees to 100 digits"}
    return TextTable(
        "Figures of the certificate",
        ("figure", "value"),
        [*rows, ("another allocation is as good", ties[proof.tie])],
    )


def _titles_of_prices(plan: Design, proof: Bound) -> list[str]:
    prices = len(proof.prices)
    if plan.figures:
        people = 1 if len(plan.problem.families) > 1 else prices
        titles = [
            "price of a person" if people == 1 else f"price {i} of a person" for i in range(1, people + 1)
        ]
        return titles + [f"price of the room of stratum {i}" for i in range(1, prices - people + 1)]
    titles = ["price of budget 1"] if proof.measure in ("variance", "planned_variance") else []
    return titles + [f"price of target {i}" for i in range(1, prices - len(titles) + 1)]


def beliefs_table(plan: Design) -> TextTable | None:
    """Show what beliefs can become, for the public and for whoever sees one answer.

    Only for a promise that bounds them for certain: pure epsilon.
    """
    if not plan.inputs.promise.limits_odds:
        return None
    largest = plan.inputs.release_form.worst_epsilon(float(np.max(plan.local_epsilons)))
    after, seen = beliefs(plan.privacy["central_in_all"]["epsilon"]), beliefs(largest)
    rows = [
        (before, f"{low} to {high}", f"{local_low} to {local_high}")
        for (before, low, high), (_, local_low, local_high) in zip(after, seen, strict=True)
    ]
    what = plan.inputs.release_form.seen_in_words()
    return TextTable(
        "What a belief about a person's answer can become",
        (
            "before",
            "after seeing both waves" if plan.waves else "after seeing the release",
            f"after seeing {what}, at worst",
        ),
        rows,
        f"The last column is for the stratum with the largest local epsilon, {round_up(largest, 3)}."
        if len(plan.strata) > 1
        else "",
    )


def sources_table(plan: Design) -> TextTable:
    """Show where the standard deviations come from, and what they cost."""
    spent = plan.strata.sd_epsilons
    found = [plan.strata.sd_source(i) for i in range(len(plan.strata))]
    counts = Counter(found)
    rows = []
    for source, meaning in SOURCES.items():
        if source not in counts:
            continue
        most = (
            0.0 if spent is None else max(float(e) for e, s in zip(spent, found, strict=True) if s == source)
        )
        rows.append(
            (source.replace("_", " "), meaning, f"{counts[source]:,}", round_up(most, 3) if most else "none")
        )
    return TextTable(
        "Standard deviations by their source", ("source", "meaning", "strata", "epsilon spent"), rows
    )


def versions_table(plan: Design) -> TextTable:
    """Show what computed the design, and what identifies it."""
    rows = [
        ("dpstrata", __version__),
        ("Python", platform.python_version()),
        ("NumPy", np.__version__),
        ("design document", f"dpstrata.design, version {VERSION}"),
        ("SHA-256 of the design", plan.digest),
    ]
    return TextTable("Versions and digest", ("what", "value"), rows)


def _left_out(plan: Design) -> str:
    left = len(plan.strata) - SHOWN
    if left <= 0:
        return ""
    return (
        f"{left:,} more strata are not shown. The design document holds them all; "
        'dps.load_design("design.json").save("design.csv") writes them as a table.'
    )


def curve_table(rows: Sequence[Mapping[str, Any]], column: str, heading: str) -> TextTable:
    """Show some points of a curve, for those who do not see the chart.

    Parameters
    ----------
    rows : sequence of mappings
        Rows of :func:`dpstrata.present.charts.plan.precision_chart`.
    column, heading : str
        What is on the axis, and what it is called.
    """
    designs = list(dict.fromkeys(row["design"] for row in rows))
    measure = "variance" if rows[0].get("standard_error") is None else "standard_error"
    found = {(row[column], row["design"]): row[measure] for row in rows}
    points = sorted({row[column] for row in rows})
    shown = [points[i] for i in sorted({round(j * (len(points) - 1) / 7) for j in range(8)})]
    cells = [
        (
            f"{point:,.6g}",
            *(three_digits(found[point, name]) if (point, name) in found else "" for name in designs),
        )
        for point in shown
    ]
    return TextTable(f"Some points of the curve by {heading}", (heading, *designs), cells)
