"""Questionnaires for tests: small ones, random ones, and XLSForms."""

import math
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa

import dpstrata as dps
from dpstrata.fielding.randomizers import randomizer_of
from dpstrata.fielding.randomizers.tables import tables_of
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms import get_mechanism
from laws import probabilities

# Questionnaires carried out on made-up people, written straight from the textbook


def question(name, kind, **fields):
    """A question of any kind, with something in every field that its kind needs; it must be answered."""
    needed = {
        "yes_no": {"blank": False},
        "category": {"categories": ["red", "green", "blue"], "blank": False},
        "scale": {"lower": 1, "upper": 5},
        "number": {"lower": 0, "upper": 100},
    }
    return dps.Question(name, kind, **{**needed[kind], **fields})


def form(questions, levels, share=1.0, tables=()):
    """A complete form, as documents have it."""
    named = [{"questions": list(names), "budget": budget} for names, budget in tables]
    return {"questions": list(questions), "levels": list(levels), "share": share, "tables": named}


def people(questionnaire, sizes, levels, rng):
    """Made-up answers of everyone by stratum and question; numbers lie half-way between their levels."""
    strata = []
    for size in sizes:
        answers = {}
        for each in questionnaire:
            k = levels[each.name]
            tilt = rng.dirichlet(np.ones(k if each.kind != "number" else k - 1) * 2)
            drawn = rng.choice(len(tilt), size, p=tilt).astype(float)
            if each.kind == "number":
                drawn += 0.5
            if each.kind in ("scale", "number"):
                drawn = each.lower + drawn / (k - 1) * (each.upper - each.lower)
            answers[each.name] = drawn
        strata.append(answers)
    return strata


def spreads_of(strata, questionnaire, population):
    """What the design is told: exactly what these people are like."""
    proportions, sds, means = {}, {}, {}
    for each in questionnaire:
        values = [answers[each.name] for answers in population]
        if each.kind == "yes_no":
            proportions[each.name] = [v.mean() for v in values]
        elif each.kind == "category":
            k = len(each.categories)
            proportions[each.name] = [[(v == c).mean() for c in range(k)] for v in values]
        else:
            sds[each.name] = [v.std(ddof=1) for v in values]
            means[each.name] = [v.mean() for v in values]
    return dps.Spreads(strata, questionnaire, proportions=proportions, sds=sds, means=means)


def truth(questionnaire, population):
    """Population means, or shares of all categories, by question."""
    found = {}
    for each in questionnaire:
        values = np.concatenate([answers[each.name] for answers in population])
        shares = [(values == c).mean() for c in range(len(each.categories))]
        found[each.name] = np.array(shares if each.kind == "category" else [values.mean()])
    return found


def carry_out(plan, population, replications, seed, *, devices=True, office=True):
    """Estimates by question: a row for each survey, a column for each share or for the mean."""
    rng = np.random.default_rng(seed)
    sizes = plan.strata.sizes
    estimates = {each.name: 0.0 for each in plan.inputs.questions}
    for i, answers in enumerate(population):
        for name, (total, count) in _stratum(
            plan, i, answers, replications, rng, devices=devices, office=office
        ).items():
            estimates[name] = estimates[name] + sizes[i] / sizes.sum() * total / count
    return estimates


def _stratum(plan, i, answers, replications, rng, *, devices, office):
    """Unbiased totals of all reports on a question in one stratum, and their number, over all forms."""
    N, n = int(plan.strata.sizes[i]), int(plan.sample_sizes[i])
    rate = 1.0 if plan.strata.response_rates is None else plan.strata.response_rates[i]
    everyone = np.argsort(rng.random((replications, N)), axis=1)
    sampled, start = everyone[:, :n], 0
    willing = np.argsort(rng.random((replications, N)), axis=1) < round(rate * N)  # by person
    e = math.log1p(math.expm1(plan.inputs.epsilon) * rate * N / n)
    E = plan.inputs.device_epsilon
    found = {}
    for t, each in enumerate(plan.forms):
        m = int(each.sample_sizes[i])
        chosen, start = sampled[:, start : start + m], start + m
        answered = np.take_along_axis(willing, chosen, axis=1)
        assert answered.any(axis=1).all(), "a form without an answer"
        if each.levels == (0,):
            (name,) = each.questions
            part = _alone(plan, t, i, answers[name][chosen], answered, rng, devices=devices, office=office)
            total, count = found.get(name, (0.0, 0.0))
            found[name] = (total + part, count + answered.sum(axis=1)[:, None])
            continue
        cells = math.prod(each.levels)
        y = math.expm1(e if E is None else E)
        rho = cells / (y + cells) if devices else 0.0
        row = _rows(plan, each, answers, chosen, rng)
        replaced = rng.random(chosen.shape) < rho
        row = [
            np.where(replaced, rng.integers(0, k, chosen.shape), own)
            for k, own in zip(each.levels, row, strict=True)
        ]
        # the questions of a row are replaced together, each level as likely: independent, which is a uniform cell
        u = math.expm1(e)
        office_budget = None
        if each.tables and office and (E is None or u < y):
            office_budget = (
                math.log1p(u * (1 + cells / y) / (1 - u / y)) if not plan.inputs.asks_for_least else e
            )
        for name, part in _tables(plan, each, row, answered, rho, office_budget, rng).items():
            total, count = found.get(name, (0.0, 0.0))
            found[name] = (total + part, count + answered.sum(axis=1)[:, None])
    return found


def _alone(plan, t, i, answers, answered, rng, *, devices, office):
    """The total of a number that has a mechanism of its own, drawn from the law of its cells."""
    (question,) = [each for each in plan.inputs.questions if each.name == plan.forms[t].questions[0]]
    noise, unit = randomizer_of(plan, t + 1).noise_in(i), question.upper - question.lower
    shares = (answers - question.lower) / unit
    if devices:
        at = noise.levels(np.arange(len(noise.level_places)))
        low = np.clip(np.searchsorted(at, shares + 1e-12) - 1, 0, len(at) - 2)
        up = (shares - at[low]) / (at[low + 1] - at[low])
        level = low + (rng.random(shares.shape) < up)
        cells = drawn_cells(noise, level, rng)
        shares = noise.shares(cells)
    totals = (shares * answered).sum(axis=1)
    if plan.forms[t].tables and office:
        budgets = plan.problem.forms.office_budgets(plan.local_epsilons)
        e = plan.local_epsilons[i] if plan.inputs.asks_for_least else budgets[i, t]
        if np.isfinite(e):
            staircase = get_mechanism("staircase", AnswerSpace())
            reach = np.ptp(noise.shares(np.arange(noise.cells)))
            totals = totals + reach * staircase.simulated_noise(float(e), totals.shape, rng)
    return (question.lower * answered.sum(axis=1) + unit * totals)[:, None]


def drawn_cells(noise, levels, rng):
    """Draw a cell for each level, from the law of the device."""
    cells = np.empty(levels.shape, dtype=np.int64)
    for level in np.unique(levels):
        at = levels == level
        cells[at] = rng.choice(noise.cells, int(at.sum()), p=probabilities(noise, level)[1])
    return cells


def _rows(plan, each, answers, chosen, rng):
    """Levels of the answers, numbers rounded up or down at random so that their expectation stays."""
    kinds = {question.name: question for question in plan.inputs.questions}
    row = []
    for name, k in zip(each.questions, each.levels, strict=True):
        values, question = answers[name][chosen], kinds[name]
        if question.kind in ("scale", "number"):
            place = (values - question.lower) / (question.upper - question.lower) * (k - 1)
            below = np.floor(place + 1e-12)
            values = below + (rng.random(place.shape) < place - below - 1e-12)
        row.append(values.astype(int))
    return row


def _tables(plan, each, row, answered, rho, office, rng):
    """Unbiased totals of the reports to each question, from what is published."""
    kinds = {question.name: question for question in plan.inputs.questions}
    m = answered.sum(axis=1)
    place = {name: j for j, name in enumerate(each.questions)}
    published = each.tables or [_Whole(each.questions)]
    totals = {}
    for table in published:
        members = [place[name] for name in table.questions]
        levels = [each.levels[j] for j in members]
        only = kinds[table.questions[0]].kind if len(members) == 1 else None
        if only in ("scale", "number", "yes_no"):
            sums = (row[members[0]] * answered).sum(axis=1).astype(float)
            sensitivity = levels[0] - 1
            sums += _noise(office, table.budget, sensitivity, sums.shape, rng)
            by_level = {table.questions[0]: sums}
        else:
            cells = np.ravel_multi_index([row[j] for j in members], levels)
            size = math.prod(levels)
            counts = np.stack([((cells == c) & answered).sum(axis=1) for c in range(size)], axis=1).astype(
                float
            )
            counts += _noise(office, table.budget, 2, counts.shape, rng)
            counts += (m - counts.sum(axis=1))[:, None] / size  # their total is known
            grid = counts.reshape(len(counts), *levels)
            by_level = {}
            for axis, name in enumerate(table.questions):
                others = tuple(a + 1 for a in range(len(levels)) if a != axis)
                marginal = grid.sum(axis=others)
                numbers = kinds[name].kind != "category"
                by_level[name] = marginal @ np.arange(levels[axis]) if numbers else marginal
        for name, sums in by_level.items():
            k = each.levels[place[name]]
            if kinds[name].kind == "category":
                totals[name] = (sums - m[:, None] * rho / k) / (1 - rho)
            else:
                middle = (k - 1) / 2
                at = middle * m + (sums - middle * m) / (1 - rho)
                totals[name] = _in_units(kinds[name], at, m, k)[:, None]
    return totals


class _Whole:
    """Published rows: everything is counted, and nothing noised."""

    budget = 1.0

    def __init__(self, questions):
        self.questions = questions


def _in_units(question, total, m, k):
    if question.kind == "yes_no":
        return total
    return question.lower * m + total / (k - 1) * (question.upper - question.lower)


def fielded(plan, population, rng):
    """What one survey publishes in which everyone answers: rows, or tables with the office's noise."""
    columns = {name: [] for name in ("stratum", "form", "cell", "table", "entry", "count", "answers")}
    for i, answers in enumerate(population):
        N, n = int(plan.strata.sizes[i]), int(plan.sample_sizes[i])
        drawn, start = rng.permutation(N), 0
        u = math.expm1(plan.inputs.epsilon) * N / n
        y = u if plan.inputs.device_epsilon is None else math.expm1(plan.inputs.device_epsilon)
        for t, each in enumerate(plan.forms):
            m, K = int(each.sample_sizes[i]), math.prod(each.levels)
            chosen = drawn[start : start + m]
            start += m
            if each.levels == (0,):
                (name,) = each.questions
                (own,) = [question for question in plan.inputs.questions if question.name == name]
                noise, shares = (
                    randomizer_of(plan, t + 1).noise_in(i),
                    own.space.shares(answers[name][chosen]),
                )
                cell = drawn_cells(noise, noise.place(shares), rng)
                assert not each.tables  # a sum shows no spread
                _put(columns, m, stratum=plan.strata.name(i), form=t + 1, cell=cell.tolist())
                continue
            own = _rows(plan, each, answers, chosen[None], rng)
            cell = np.ravel_multi_index([levels[0] for levels in own], each.levels)
            cell = np.where(rng.random(m) < K / (y + K), rng.integers(0, K, m), cell)
            if not each.tables:
                _put(columns, m, stratum=plan.strata.name(i), form=t + 1, cell=cell.tolist())
                continue
            office = math.log1p(u * (1 + K / y) / (1 - u / y)) if u < y else None
            for table, made in zip(each.tables, tables_of(plan, t), strict=True):
                entries = made.entries
                values = _counts(each, table, cell, len(entries) == 1)
                moved = 2 if len(entries) > 1 else each.levels[each.questions.index(table.questions[0])] - 1
                values = values + _noise(office, table.budget, moved, values.shape, rng)
                place = {"stratum": plan.strata.name(i), "form": t + 1, "table": made.label, "answers": m}
                _put(columns, len(entries), **place, entry=list(entries), count=values.tolist())
    return pa.table({name: values for name, values in columns.items() if values})


def _counts(each, table, cells, summed):
    """Count the combinations of a table, or add up the levels of its only question."""
    members = [each.questions.index(name) for name in table.questions]
    places = [np.unravel_index(cells, each.levels)[j] for j in members]
    if summed:
        return np.array([float(places[0].sum())])
    levels = [each.levels[j] for j in members]
    joint = np.ravel_multi_index(places, levels)
    return np.bincount(joint, minlength=math.prod(levels)).astype(float)


def _put(columns, number, **values):
    for name, value in values.items():
        columns[name] += value if isinstance(value, list) else [value] * number


def _noise(office, share, sensitivity, shape, rng):
    """Discrete Laplace: the difference of two geometric numbers."""
    if office is None:
        return 0.0
    stop = -math.expm1(-office * share / sensitivity)
    return rng.geometric(stop, shape).astype(float) - rng.geometric(stop, shape)


# A questionnaire with a question of every kind, designed in a moment, for tests of what is shown of it


QUESTIONS = dps.Questionnaire(
    [
        dps.Question("smokes", "yes_no", blank=False, importance=2, text="Do you smoke?"),
        dps.Question("drinks", "yes_no", blank=False, text="Do you drink alcohol every week?"),
        dps.Question(
            "home", "category", blank=False, categories=["rent", "own", "other"], text="Where do you live?"
        ),
        dps.Question("trust", "scale", lower=1, upper=5, text="How much do you trust your doctor?"),
        dps.Question("income", "number", lower=0, upper=8000, text="What do you earn in a month?"),
    ]
)


def strata(**more: Any) -> dps.Strata:
    """Three strata of 3,000 people."""
    return dps.Strata([400, 900, 1700], names=["north", "middle", "south"], **more)


def spreads(population: dps.Strata, questions: dps.Questionnaire = QUESTIONS) -> dps.Spreads:
    """What is known of two of the questions."""
    return dps.Spreads(
        population,
        questions,
        proportions={"smokes": [0.2, 0.25, 0.3]},
        sds={"trust": 1.1},
        means={"trust": [2.5, 3.0, 3.5]},
    )


def small_plan(**options: Any) -> dps.Design:
    """Design it, once for options that are plain: tables are published, unless something else is asked for."""
    plain = all(isinstance(value, int | float | str | None) for value in options.values())
    return (_designed if plain else _designed.__wrapped__)(**options)


@lru_cache(maxsize=None, typed=True)
def _designed(**options: Any) -> dps.Design:
    population = options.pop("strata", None) or strata()
    questions = options.pop("questions", QUESTIONS)
    if questions is QUESTIONS:
        options.setdefault("spreads", spreads(population))
    given = {"epsilon": 1.0, "device_epsilon": 4.0, "release": "sums", "at_most": 600} | options
    given = {name: value for name, value in given.items() if value is not None}
    return dps.design(population, questions=questions, **given)


def published_tables(plan: dps.Design) -> Iterator[tuple[Any, ...]]:
    """Tables as the office would publish them if everyone gave the first answer to everything."""
    for i, name in enumerate(plan.strata.names):
        for t, form in enumerate(plan.forms):
            answers = int(form.sample_sizes[i])
            for table in tables_of(plan, t):
                for place, entry in enumerate(table.entries):
                    yield name, t + 1, table.label, entry, answers * (place == 0), answers


def estimated_tables(plan: dps.Design | None = None, few: dict[int, int] | None = None) -> dps.Results:
    """Estimate from them; some forms may have so few answers in the first stratum."""
    plan, few = plan or small_plan(), few or {}
    first = plan.strata.names[0]
    rows = [
        (stratum, form, table, entry, count, few.get(form, answers) if stratum == first else answers)
        for stratum, form, table, entry, count, answers in published_tables(plan)
    ]
    names = ("stratum", "form", "table", "entry", "count", "answers")
    return dps.estimate(plan, pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))))


# XLSForms made for tests


def write_form(path: Path, survey, choices=(), **sheets) -> Path:
    """Write rows of cells, the header first, as the sheets of a workbook."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in {"survey": survey, "choices": choices, **sheets}.items():
        if rows:
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(row)
    book.save(path)
    return path


YES_NO = [["list_name", "name", "label"], ["yn", "yes", "Yes"], ["yn", "no", "No"]]
COLOURS = [["c", "red", "Red"], ["c", "green", "Green"], ["c", "blue", "Blue"]]

FORMS = {
    "every kind": {
        "survey": [
            ["type", "name", "label", "constraint", "parameters", "required", "hint", "calculation"],
            ["note", "hello", "Welcome"],
            ["select_one yn", "smokes", "Do you smoke?", None, None, "yes", "Any tobacco"],
            ["select_one c", "colour", "Which colour?"],
            ["select_multiple c", "colours", "Which colours?"],
            ["range", "trust", "How much trust?", None, "start=1 end=5 step=1"],
            ["integer", "age", "How old are you?", ". >= 0 and . <= 120"],
            ["decimal", "height", "How tall are you?", ". > 0.5 and . < 2.5"],
            ["calculate", "sum", None, None, None, None, None, "1 + 1"],
            ["hidden", "version", None],
        ],
        "choices": [*YES_NO, *COLOURS],
    },
    "languages": {
        "survey": [
            [
                "type",
                "name",
                "label::English (en)",
                "label::Deutsch (de)",
                "label::العربية (ar)",
                "hint::English (en)",
            ],
            ["select_one yn", "smokes", "Do you smoke?", "Rauchen Sie?", "هل تدخن؟", "Any"],
            ["select_one c", "colour", "Which colour?", None, "أي لون؟"],
            ["select_multiple c", "colours", "Which colours?", "Welche Farben?"],
            ["range", "trust", "Trust?", "Vertrauen?"],
        ],
        "choices": [
            ["list_name", "name", "label::English (en)", "label::Deutsch (de)", "label::العربية (ar)"],
            ["yn", "yes", "Yes", "Ja", "نعم"],
            ["yn", "no", "No", "Nein", "لا"],
            ["c", "red", "Red", "Rot", None],
            ["c", "blue", "Blue", None, "أزرق"],
        ],
        "settings": [["form_id", "default_language"], ["f", "Deutsch (de)"]],
    },
    "a plain label and a translation": {
        "survey": [
            ["type", "name", "label", "label::French (fr)"],
            ["select_one yn", "q", "Well?", "Ça va ?"],
        ],
        "choices": [
            ["list_name", "name", "label", "label::French (fr)"],
            ["yn", 1, "Yes", "Oui"],
            ["yn", 0, "No"],
        ],
    },
    "a plain label in the default language": {
        "survey": [["type", "name", "label", "label::fr"], ["select_one c", "q", "Well?", "Ça va ?"]],
        "choices": [
            ["list_name", "name", "label", "label::fr"],
            ["c", "a", "A", "Ah"],
            ["c", "b", "B", "Bé"],
        ],
        "settings": [["default_language"], ["en"]],
    },
    "old spellings": {
        "survey": [
            ["Type", "Name", "Label:English", "bind:constraint"],
            ["begin group", "g", "Group"],
            ["select one from yn", "q", "Well?"],
            ["select all that apply from c", "r", "Which?"],
            ["int", "n", "How many?", ".>=0 and .<10"],
            ["end group"],
        ],
        "choices": [["list name", "value", "Label:English"], *YES_NO[1:], *COLOURS],
    },
    "groups": {
        "survey": [
            ["type", "name", "label", "relevant", "appearance"],
            ["begin_group", "outer", "Outer", "true()", "field-list"],
            ["begin group", "inner", "Inner"],
            ["select_one yn", "a", "A?"],
            ["end group", "inner"],
            ["select_one yn", "b", "B?"],
            ["end_group"],
            ["select_one yn", "c", "C?"],
        ],
        "choices": YES_NO,
    },
    "ranges": {
        "survey": [
            ["type", "name", "label", "parameters"],
            ["range", "a", "A?"],
            ["range", "b", "B?", "start=0; end=1; step=0.25"],
            ["range", "c", "C?", "end=0,start=-2"],
            ["range", "d", "D?", "start=0 end=100 step=1"],
        ],
    },
    "numbers": {
        "survey": [
            ["type", "name", "label", "constraint", "dp_lower", "dp_upper"],
            ["integer", "a", "A?", "(. > 0) and (. < 10)"],
            ["integer", "b", "B?", "0 <= . and 99.5 >= ."],
            ["decimal", "c", "C?", ". >= -1.5 and . < 2"],
            ["decimal", "d", "D?", None, 0, 2.5],
            ["integer", "e", "E?", ". >= 5", None, 30],
            ["integer", "f", "F?", "regex(., '^[0-9]+$')", 0, 9],
        ],
    },
    "rows and columns that say nothing": {
        "survey": [
            ["remarks", "type", "name", "label", "disabled", None, "media::image"],
            ["ask this first", "select_one yn", "a", "A?", None, "a remark"],
            [],
            ["only a remark"],
            [None, "text", "old", "Old?", "yes"],
            [None, "select_one yn", "b", "B?", "no", None, "b.jpg"],
        ],
        "choices": [*YES_NO, [], ["unused", "same", "S"]],
        "notes": [["anything"], ["at all"]],
    },
    "what only dpstrata knows": {
        "survey": [
            ["type", "name", "label", "dp_importance", "dp_target", "dp_everyone", "dp_together"],
            ["select_one yn", "a", "A?", 2, 0.05, None, "pair"],
            ["select_one c", "b", "B?", 0.5, None, None, "pair"],
            ["select_multiple c", "m", "M?", None, None, "yes"],
            ["select_one yn", "e", "E?", None, None, "yes"],
        ],
        "choices": [*YES_NO, *COLOURS],
    },
    "numbers as names": {
        "survey": [["type", "name", "label"], ["select_one n", "q", 12], ["select_one sex", "sex", "Sex?"]],
        "choices": [
            ["list_name", "name", "label"],
            *(["n", 1, 10], ["n", 2, 20.5], ["n", 3, None]),
            *(["sex", 1, "Man"], ["sex", 0, "Woman"]),
        ],
    },
    "without choices": {
        "survey": [["type", "name", "label"], ["range", "a", "A?"], ["select_multiple one", "b", "B?"]],
        "choices": [["list_name", "name", "label"], ["one", "only", "Only"]],
    },
}
