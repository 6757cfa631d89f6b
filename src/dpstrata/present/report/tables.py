"""The tables of the report, cut where a reader would stop reading."""

from __future__ import annotations

import math
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpstrata.allocation.proof.bound import Bound
from dpstrata.designs.document import VERSION
from dpstrata.designs.record import Design
from dpstrata.privacy.promises import PROMISES
from dpstrata.privacy.promises.epsilon import beliefs
from dpstrata.survey.forms import Table
from dpstrata.survey.options import RECORDED
from dpstrata.survey.questionnaires.kinds.category import listed
from dpstrata.survey.questionnaires.question import Question
from dpstrata.survey.releases import OPTION
from dpstrata.version import __version__
from dpstrata.words.asking import asking_of
from dpstrata.words.numbers import counted, figure, plain_number, round_up, three_digits
from dpstrata.words.precision import precision_of
from dpstrata.words.tables import TextTable

SHOWN = 200
SOURCES = {
    "public": "published, so known to anyone",
    "prior": "known or assumed before the survey",
    "bound": "the largest possible for these answers, or another upper bound",
    "private_pilot": "from a pilot with a privacy budget of its own",
    "confidential": "computed from confidential answers, at a stated budget",
}


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
        ("noise", asking_of(plan).asked_for),
        ("who noises", inputs.release_form.who_noises),
        *([] if inputs.device_epsilon is None else [("device epsilon", plain_number(inputs.device_epsilon))]),
        _questions_asked_for(plan),
        ("minimised", precision_of(plan).minimised),
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


def _questions_asked_for(plan: Design) -> tuple[str, str]:
    """Count the questions and the forms; of a single question, say what can be answered."""
    if len(plan.questions) > 1:
        return "questions", f"{len(plan.questions):,} on {counted(len(plan.forms), 'form')}"
    (question,), (form,) = plan.inputs.questions, plan.forms
    said = ", others are clipped to it" if plan.inputs.clip else ""
    if form.cells and question.of_kind.rounded:
        said = f", put on {form.levels[0]} levels at random"
    return "answers", f"{question.answers}{said}"


def spread_of_strata(plan: Design) -> bool:
    """Whether what is known of the answers is a spread of each stratum, and not told by question."""
    return len(plan.questions) == 1 and plan.inputs.spreads is None


def allocation_table(plan: Design) -> TextTable:
    """Show the strata and how many people are invited in each, beside Neyman's allocation."""
    known, few = plan.columns(), range(min(len(plan.strata), SHOWN))
    neyman = next(row.sample_sizes for row in plan.compare() if row.design == "neyman")
    rates, strata = plan.strata.response_rates, plan.strata
    of_strata = spread_of_strata(plan)
    columns = {"stratum": [*(strata.name(i) for i in few), "all"]}
    if of_strata:
        columns["sd from"] = [*(strata.sd_source(i).replace("_", " ") for i in few), ""]
    columns["people"] = [*(f"{strata.sizes[i]:,}" for i in few), f"{strata.population:,}"]
    if of_strata:
        columns["sd"] = [*(figure(plan.sds[i]) for i in few), ""]
    for name in ("coefficient", "cost", "min", "max"):
        if name in known:
            columns[name] = [*(f"{known[name][i]:,.10g}" for i in few), ""]
    if rates is not None:
        columns["response rate"] = [*(f"{rates[i]:.4g}" for i in few), ""]
    columns["invited"] = [*(f"{plan.sample_sizes[i]:,}" for i in few), f"{plan.total:,}"]
    columns["sampling rate"] = [
        *(f"{plan.sample_sizes[i] / strata.sizes[i]:.3%}" for i in few),
        f"{plan.total / strata.population:.3%}",
    ]
    columns["Neyman"] = [*(f"{neyman[i]:,}" for i in few), f"{int(neyman.sum()):,}"]
    left = ""
    if len(strata) > SHOWN:
        left = (
            f"{len(strata) - SHOWN:,} more strata are not shown. The design document holds them all; "
            'dps.load_design("design.json").save("design.csv") writes them as a table.'
        )
    return TextTable.of_columns(
        "The strata, and the people invited in each", columns, left, columns_of_text=1 + of_strata
    )


def asked_table(plan: Design, language: str | None = None) -> TextTable:
    """List the questions: with their importance, or as respondents read them in a language."""
    importance = language is None and len(plan.questions) > 1
    asked = plan.inputs.questions
    texts = any(question.text for question in asked)
    rows = [
        (
            question.name,
            *((question.wording(language or "")[0],) if texts else ()),
            question.of_kind.title,
            question.answers if language is None else answers_in_words(question, language),
            *((f"{question.importance:g}",) if importance else ()),
        )
        for question in asked
    ]
    header = ("question", *(("text",) if texts else ()), "kind", "answers")
    weighed = ("importance",) if importance else ()
    title = "What is asked" if language is None else "What was asked"
    return TextTable(title, (*header, *weighed), rows, columns_of_text=len(header))


def answers_in_words(question: Question, language: str) -> str:
    """Say what can be answered, as respondents read it where that differs from the codes."""
    _, labels = question.wording(language)
    if not labels:
        return question.answers
    shown = labels[::-1] if question.kind == "yes_no" and not question.no_first else labels
    return f"{listed(shown)}{', or blank' if question.blank else ''}"


def causes_table(plan: Design) -> TextTable:
    """Split the variance of every question into shares."""
    causes = {"sampling": "who is asked", "device": "noise on answers", "office": "the office's noise"}
    if not any(each.office for each in plan.questions):
        del causes["office"]
    parts = [(each.name, [float(getattr(each, cause)) for cause in causes]) for each in plan.questions]
    rows = [(name, *(f"{part / (sum(own) or 1.0):.0%}" for part in own)) for name, own in parts]
    what = "every question" if len(rows) > 1 else "the question"
    return TextTable(f"Where the variance of {what} comes from", ("question", *causes.values()), rows)


def published_table(plan: Design) -> TextTable | None:
    """List the published tables of every form with their share of the budget; ``None`` if there are none."""
    rows = [
        (str(number), _table_in_words(plan, levels, each), f"{each.budget:.0%}")
        for number, form in enumerate(plan.forms, start=1)
        for levels in [dict(zip(form.questions, form.levels, strict=True))]
        for each in form.tables
    ]
    if not rows:
        return None
    return TextTable(
        "What the office publishes of each form, in every stratum",
        ("form", "table", "share of the office's budget"),
        rows,
        "The number of rows of each form in each stratum is published too.",
        columns_of_text=2,
    )


def _table_in_words(plan: Design, levels: dict[str, int], each: Table) -> str:
    if len(each.questions) > 1:
        cells = math.prod(levels[name] for name in each.questions)
        return f"{' × '.join(each.questions)}: the counts of all {cells:,} combinations"
    (name,) = each.questions
    question = next(one for one in plan.inputs.questions if one.name == name)
    return f"{name}: {question.of_kind.table_in_words(levels[name])}"


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


def forms_bound_table(plan: Design) -> TextTable:
    """Show the numbers of the proof about forms."""
    bound = plan.forms_bound
    assert bound is not None
    what = (
        "people before the office's noise" if plan.inputs.asks_by_question else "variance for one interview"
    )
    rows = [
        (f"{what}, with these forms", f"{bound.value:.12g}"),
        (f"{what}, that no forms can beat", f"{bound.lower_bound:.12g}"),
        ("relative gap, at most", f"{round_up(100.0 * bound.relative_gap, 2)}%"),
    ]
    return TextTable("Figures of the proof about forms", ("figure", "value"), rows)


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


def known_table(plan: Design) -> TextTable:
    """Show what is known of the answers beforehand, question by question."""
    spreads = plan.spreads
    rows = [(name, _told_in_words(values, len(plan.strata))) for name, values in spreads.values.items()]
    note, spent = "", plan.privacy["spent_on_deviations"]
    if plan.waves is not None and not plan.waves.first:
        note = f"All of it was learned from the pilot, which cost epsilon = {round_up(spent, 3)}."
    return TextTable("What is known of the answers", ("question", "known"), rows, note, columns_of_text=2)


_TOLD = {"proportion": "shares", "sd": "standard deviations", "mean": "means"}


def _told_in_words(values: dict[str, np.ndarray], strata: int) -> str:
    """Say which columns tell something, and in how many strata."""
    found = {
        _TOLD[column]: int((~np.isnan(told.reshape(strata, -1))).any(axis=1).sum())
        for column, told in values.items()
    }
    said = [f"{what} in {_of(number, strata)}" for what, number in found.items() if number]
    return " and ".join(said) or "nothing; the worst case is used"


def _of(number: int, strata: int) -> str:
    return "all strata" if number == strata else f"{number:,} of {counted(strata, 'stratum')}"


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
