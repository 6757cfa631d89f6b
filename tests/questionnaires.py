"""Questionnaires carried out on made-up people, written straight from the textbook.

Nothing here uses a formula of the library: people are drawn and dealt forms, answers become levels, devices replace
rows, the office adds noise to its tables, and estimates undo what is known to have happened.
"""

import math

import numpy as np

import dpstrata as dps


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
    estimates = {each.name: 0.0 for each in plan.inputs.questionnaire}
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
    for each in plan.forms:
        m = int(each.sample_sizes[i])
        chosen, start = sampled[:, start : start + m], start + m
        answered = np.take_along_axis(willing, chosen, axis=1)
        assert answered.any(axis=1).all(), "a form without an answer"
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


def _rows(plan, each, answers, chosen, rng):
    """Levels of the answers, numbers rounded up or down at random so that their expectation stays."""
    kinds = {question.name: question for question in plan.inputs.questionnaire}
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
    kinds = {question.name: question for question in plan.inputs.questionnaire}
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


def _noise(office, share, sensitivity, shape, rng):
    """Discrete Laplace: the difference of two geometric numbers."""
    if office is None:
        return 0.0
    stop = -math.expm1(-office * share / sensitivity)
    return rng.geometric(stop, shape).astype(float) - rng.geometric(stop, shape)
