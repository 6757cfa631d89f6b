"""The privacy of forms, by enumeration of everything that can happen in tiny populations.

Nothing here uses a formula of the library for what is lost: a population answers, people are drawn and dealt forms
in fixed numbers, every device keeps its row or replaces it, the office counts and adds discrete Laplace noise, and
the probabilities of all that can be published are compared between populations that differ in one person.
"""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.fielding.randomizers import randomizer_of
from dpstrata.fielding.randomizers.tables import tables_of
from dpstrata.privacy.mechanisms.staircase import best_width
from laws import probabilities

ROUNDING = 1 + 1e-10

# --- a form as the textbook has it -----------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """Questions (positions in the population) that are published together, and their share of the budget."""

    questions: tuple
    share: float
    sums: bool = False  # of one question: the sum of its levels, and not counts
    stairs: bool = False  # with staircase noise


@dataclass(frozen=True)
class Form:
    """Which questions are asked, with how many levels, of how many people, and what is published."""

    questions: tuple
    levels: tuple
    people: int
    tables: tuple = ()
    law: tuple = ()  # of the only question, where devices do not send rows: by level, the chance of every report
    readings: tuple = ()  # what each of these reports counts
    raw: bool = False  # what is answered is sent

    @property
    def rows(self):
        if self.law:
            return [(cell,) for cell in range(len(self.law[0]))]
        return list(itertools.product(*(range(k) for k in self.levels)))

    def row(self, person):
        return tuple(person[q] for q in self.questions)

    def reports(self, person, odds):
        """Probability of each row that is sent: the true one is ``odds`` times as likely as any other."""
        if self.law:
            return np.array(self.law[self.row(person)[0]])
        true, rows = self.row(person), self.rows
        if self.raw:
            return np.array([float(row == true) for row in rows])
        return np.array([odds if row == true else 1.0 for row in rows]) / (odds + len(rows) - 1)

    def counts(self, table):
        """What a report adds to each published number, and by how much a person moves all of them."""
        if self.law:
            return np.array(self.readings)[:, None], max(self.readings) - min(self.readings)
        places = [self.questions.index(q) for q in table.questions]
        levels = [self.levels[place] for place in places]
        if table.sums:
            return np.array([[row[places[0]]] for row in self.rows]), levels[0] - 1
        if levels == [2]:
            return np.array([[row[places[0]]] for row in self.rows]), 1
        cells = list(itertools.product(*(range(k) for k in levels)))
        part = [tuple(row[place] for place in places) for row in self.rows]
        return np.array([[int(each == cell) for cell in cells] for each in part]), 2


def laplace_at(values, sums, rate):
    """Probabilities of discrete Laplace noise that takes each sum to each value; none at an infinite rate."""
    distance = np.abs(values[:, None, :] - sums[None, :, :]).sum(axis=2)
    if math.isinf(rate):
        return (distance == 0).astype(float)
    one = (1 - math.exp(-rate)) / (1 + math.exp(-rate))
    return one ** values.shape[1] * np.exp(-rate * distance)


def stairs_at(values, sums, rate, steps):
    """The same of staircase noise on whole steps: b^g for the first r of every stair and b^(g + 1) for the rest."""
    distance, b = np.abs(values - sums.T), math.exp(-rate)
    wide = max(1, round(best_width(b) * steps))
    stair, place = np.divmod(distance, steps)
    mass = b ** (stair + (place >= wide))
    whole = sum(2 * b**g * (wide + b * (steps - wide)) for g in range(2000)) - 1
    return mass / whole


class Published:
    """Probabilities of all that is published of a form, given who was dealt it.

    Noise beyond the smallest and the largest count changes all probabilities by the same factor, so that every ratio
    there is occurs between them. Between two neighbouring sums a ratio rises or falls, so that those are enough.
    """

    def __init__(self, form, odds, office):
        self.form, self.odds, self.known = form, odds, {}
        every = np.array(list(itertools.product(range(len(form.rows)), repeat=form.people)))
        self.every = every.reshape(-1, form.people)
        parts = []
        if not form.tables:  # rows are published, shuffled: how often each occurs
            counts = np.eye(len(form.rows), dtype=int)[self.every].sum(axis=1)
            values, place = np.unique(counts, axis=0, return_inverse=True)
            parts.append(np.eye(len(values))[:, place.ravel()])
        for table in form.tables:
            moves, sensitivity = form.counts(table)
            sums = moves[self.every].sum(axis=1)
            if form.law:
                values = np.unique(sums, axis=0)
            else:
                reach = [range(int(column.max()) + 1) for column in sums.T]
                values = np.array(list(itertools.product(*reach)))
            if table.stairs:  # beyond a whole stair all probabilities fall by the same factor
                values = np.arange(sums.min() - sensitivity, sums.max() + sensitivity + 1)[:, None]
                parts.append(stairs_at(values, sums, office * table.share, sensitivity))
                continue
            parts.append(laplace_at(values, sums, office * table.share / sensitivity))
        joint = parts[0]
        for part in parts[1:]:
            joint = (joint[:, None, :] * part[None, :, :]).reshape(-1, joint.shape[1])
        self.given_reports = joint

    def given(self, people):
        key = tuple(sorted(map(self.form.row, people)))
        if key not in self.known:
            chances = np.ones(len(self.every))
            for place, person in enumerate(people):
                chances = chances * self.form.reports(person, self.odds)[self.every[:, place]]
            self.known[key] = self.given_reports @ chances
        return self.known[key]


def dealings(population, numbers):
    """Every way to draw people and deal them forms, all equally likely."""
    if not numbers:
        yield ()
        return
    for chosen in itertools.combinations(population, numbers[0]):
        left = [person for person in population if person not in chosen]
        for rest in dealings(left, numbers[1:]):
            yield (chosen, *rest)


def central_loss(forms, N, odds, offices):
    """The largest log ratio of the probabilities of anything published when one person answers differently."""
    each = [Published(form, y, e) for form, y, e in zip(forms, odds, offices, strict=True)]
    levels = {q: k for form in forms for q, k in zip(form.questions, form.levels, strict=True)}
    answers = list(itertools.product(*(range(levels[q]) for q in sorted(levels))))
    ways = list(dealings(range(N), [form.people for form in forms]))

    def chances(people):
        total = 0.0
        for way in ways:
            joint = np.ones(1)
            for one, chosen in zip(each, way, strict=True):
                joint = np.multiply.outer(joint, one.given([people[i] for i in chosen])).ravel()
            total = total + joint
        return total

    worst = 0.0
    for others in itertools.combinations_with_replacement(answers, N - 1):
        found = np.array([chances((mine, *others)) for mine in answers])
        high, low = found.max(axis=0), found.min(axis=0)
        possible = high > 0
        worst = max(worst, float(np.log(high[possible] / low[possible]).max()))
    return worst


def budget_of_sample(forms, N, epsilon):
    """e with which a sample of n out of N loses epsilon: ln(1 + (exp(ε) − 1)·N/n)."""
    return math.log1p(math.expm1(epsilon) * N / sum(form.people for form in forms))


def common(form, odds):
    """The probability with which a report does not depend on the answer: what all answers have in common."""
    answers = range(len(form.law)) if form.law else form.rows
    people = [(answer,) if form.law else answer for answer in answers]
    place = {question: i for i, question in enumerate(form.questions)}
    alone = replace(form, questions=tuple(place.values()))
    return float(np.min([alone.reports(person, odds) for person in people], axis=0).sum())


def credited_with(e, E, common_mass):
    """The same by the formula for any device: 1/expm1(e) = 1/((1 − ρ)·expm1(e_c)) + 1/expm1(E)."""
    if e >= E:
        return math.inf
    rest = 1 / math.expm1(e) - 1 / math.expm1(E)
    return math.log1p(1 / ((1 - common_mass) * rest))


def credited(e, E, cells):
    """What the office may spend where devices replace rows already, found by bisection.

    Seen against a count that no other row touches, a row is its own with probability ``high`` and any other one with
    probability ``low``. What the office's noise loses on a row as it was sent, e_c, is less on the true row.
    """
    odds = math.exp(E)
    high, low = odds / (odds + cells - 1), 1 / (odds + cells - 1)  # of one's own row, and of another one

    def lost(e_c):
        x = math.exp(e_c)
        return math.log((high * x + 1 - high) / (low * x + 1 - low))

    if e >= E:
        return math.inf
    below, above = 0.0, 1.0
    while lost(above) < e:
        above *= 2
    for _ in range(200):
        middle = (below + above) / 2
        below, above = (middle, above) if lost(middle) < e else (below, middle)
    return below


# --- published rows --------------------------------------------------------------------------------

ROWS = {
    "one yes/no": (2, [Form((0,), (2,), 1)]),
    "two forms": (2, [Form((0,), (2,), 1), Form((1,), (3,), 1)]),
    "two forms, half": (4, [Form((0,), (2,), 1), Form((1,), (3,), 1)]),
    "three people on two forms": (4, [Form((0,), (2,), 2), Form((1,), (2,), 1)]),
    "everyone in the sample": (3, [Form((0,), (2,), 2), Form((1,), (3,), 1)]),
    "a question for everyone": (3, [Form((0, 1), (2, 2), 1), Form((0, 2), (2, 2), 1)]),
    "rows of two": (3, [Form((0, 1), (2, 3), 2)]),
    "five people": (5, [Form((0,), (2,), 2), Form((1,), (2,), 2)]),
    "a window beside a row": (3, [Form((0,), (2,), 1), Form((1,), (3,), 1)]),
    "a window beside two rows": (4, [Form((0, 2), (2, 2), 1), Form((1,), (3,), 2)]),
    "two windows": (4, [Form((0,), (3,), 1), Form((1,), (4,), 1)]),
}


def windows(form, odds, width=2):
    """Devices of a form that draw a number, ``odds`` times as likely near the answer: no row, but as private."""
    (levels,) = form.levels
    laws = []
    for level in range(levels):
        mass = np.ones(levels + width - 1)
        mass[level : level + width] = odds
        laws.append(tuple(mass / mass.sum()))
    return replace(form, law=tuple(laws), readings=tuple(range(levels + width - 1)))


def with_windows(case, forms, odds):
    """Let forms of one question draw numbers, where that is the case."""
    return [
        windows(f, odds) if "window" in case and len(f.questions) == 1 and f.levels[0] > 2 else f
        for f in forms
    ]


@pytest.mark.parametrize("case", ROWS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.5])
def test_published_rows_lose_exactly_epsilon(case, epsilon):
    """Whoever gets which form: ln(1 + (n/N)·(exp(E) − 1)), which is epsilon at E = e(n)."""
    N, forms = ROWS[case]
    E = budget_of_sample(forms, N, epsilon)
    forms = with_windows(case, forms, math.exp(E))
    odds, offices = [math.exp(E)] * len(forms), [0.0] * len(forms)
    assert central_loss(forms, N, odds, offices) == pytest.approx(epsilon, rel=1e-10)


@pytest.mark.parametrize("cells", [2, 6, 30])
@pytest.mark.parametrize("E", [0.1, 1.0, 5.0])
def test_a_row_loses_exactly_the_budget_of_devices(E, cells):
    """Against the office, whatever is on the form; as often replaced as the library says."""
    form = Form((0,), (cells,), 1)
    chances = np.array([form.reports((level,), math.exp(E)) for level in range(cells)])
    assert float(np.log(chances.max(axis=0) / chances.min(axis=0)).max()) == pytest.approx(E, rel=1e-12)
    plan = _small_plan(levels=cells, device_epsilon=E)
    replaced = plan.forms[0].replaced
    library = np.full((cells, cells), replaced / cells) + (1 - replaced) * np.eye(cells)
    assert library == pytest.approx(chances, rel=1e-12)


def _small_plan(levels, device_epsilon):
    names = [f"c{i}" for i in range(levels)]
    return dps.design(
        dps.Strata([50]),
        questions=dps.Questionnaire([dps.Question("q", "category", blank=False, categories=names)]),
        epsilon=device_epsilon / 50,
        device_epsilon=device_epsilon,
        release="sums",
        total=10,
    )


# --- published tables ------------------------------------------------------------------------------

APART = (Table((0,), 0.4), Table((1,), 0.6))
TABLES = {
    "count of yes": (2, [Form((0,), (2,), 1, (Table((0,), 1.0),))]),
    "counts of categories": (3, [Form((0,), (3,), 2, (Table((0,), 1.0),))]),
    "sum of levels": (3, [Form((0,), (4,), 2, (Table((0,), 1.0, sums=True),))]),
    "two questions apart": (3, [Form((0, 1), (2, 2), 2, APART)]),
    "cells": (3, [Form((0, 1), (2, 2), 2, (Table((0, 1), 1.0),))]),
    "yes/no and levels apart": (
        3,
        [Form((0, 1), (2, 3), 1, (Table((0,), 0.5), Table((1,), 0.5, sums=True)))],
    ),
    "two kinds in cells": (3, [Form((0, 1), (2, 3), 1, (Table((0, 1), 1.0),))]),
    "two forms": (4, [Form((0,), (2,), 2, (Table((0,), 1.0),)), Form((1,), (3,), 1, (Table((1,), 1.0),))]),
    "forms of different cells": (
        4,
        [Form((0, 1), (2, 2), 1, (Table((0, 1), 1.0),)), Form((2,), (2,), 2, (Table((2,), 1.0),))],
    ),
    "apart and everyone": (
        3,
        [Form((0, 1), (2, 2), 1, APART), Form((0, 2), (2, 2), 1, (Table((0, 2), 1.0),))],
    ),
    "sum of levels beside a count": (
        3,
        [Form((0,), (3,), 1, (Table((0,), 1.0, sums=True),)), Form((1,), (2,), 1, (Table((1,), 1.0),))],
    ),
    "everyone in the sample": (
        3,
        [Form((0,), (2,), 2, (Table((0,), 1.0),)), Form((1,), (2,), 1, (Table((1,), 1.0),))],
    ),
    "five people": (5, [Form((0,), (2,), 2, (Table((0,), 1.0),)), Form((1,), (2,), 2, (Table((1,), 1.0),))]),
    "a window beside a row": (
        4,
        [Form((0,), (2,), 1, (Table((0,), 1.0),)), Form((1,), (3,), 2, (Table((1,), 1.0),))],
    ),
    "two windows": (
        3,
        [Form((0,), (3,), 1, (Table((0,), 1.0),)), Form((1,), (4,), 1, (Table((1,), 1.0),))],
    ),
}
BUDGETS = [
    (0.1, 1.0),
    (1.0, 3.0),
    (0.5, 8.0),
    (1.0, 1.2),
]  # epsilon and E; the last one is near or below e(n)


@pytest.mark.parametrize("case", TABLES)
@pytest.mark.parametrize(("epsilon", "E"), BUDGETS)
def test_tables_lose_at_most_epsilon(case, epsilon, E):
    """At the office's budget of the sample, before and after credit for the rows that devices replace."""
    N, forms = TABLES[case]
    forms = with_windows(case, forms, math.exp(E))
    e, odds = budget_of_sample(forms, N, epsilon), [math.exp(E)] * len(forms)
    assert central_loss(forms, N, odds, [e] * len(forms)) <= epsilon * ROUNDING
    raised = [credited_with(e, E, common(form, odds[0])) for form in forms]
    assert central_loss(forms, N, odds, raised) <= epsilon * ROUNDING


@pytest.mark.parametrize("case", ["cells", "two kinds in cells", "count of yes", "counts of categories"])
def test_cells_lose_all_of_epsilon_after_credit(case):
    """So that no more can be credited there."""
    N, forms = TABLES[case]
    epsilon, E = 0.8, 3.0
    raised = [credited(budget_of_sample(forms, N, epsilon), E, len(form.rows)) for form in forms]
    assert central_loss(forms, N, [math.exp(E)], raised) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("case", ["cells", "two forms"])
def test_too_large_a_credit_is_noticed(case):
    N, forms = TABLES[case]
    epsilon, E = 0.8, 3.0
    raised = [1.1 * credited(budget_of_sample(forms, N, epsilon), E, len(form.rows)) for form in forms]
    assert central_loss(forms, N, [math.exp(E)] * len(forms), raised) > epsilon * 1.001


# --- raw answers at the office ---------------------------------------------------------------------

RAW = {
    "everything": (3, [Form((0, 1), (2, 3), 2, (Table((0,), 0.4), Table((1,), 0.6)))]),
    "cells": (3, [Form((0, 1), (2, 2), 2, (Table((0, 1), 1.0),))]),
    "a sum beside a count": (
        3,
        [Form((0, 1), (4, 2), 2, (Table((0,), 0.5, sums=True, stairs=True), Table((1,), 0.5)))],
    ),
    "a sum alone": (4, [Form((0,), (3,), 2, (Table((0,), 1.0, sums=True, stairs=True),))]),
    "two forms": (
        4,
        [
            Form((0,), (2,), 1, (Table((0,), 1.0),)),
            Form((1,), (4,), 2, (Table((1,), 1.0, sums=True, stairs=True),)),
        ],
    ),
    "everyone in the sample": (2, [Form((0, 1), (2, 3), 2, (Table((0,), 0.3), Table((1,), 0.7)))]),
}


@pytest.mark.parametrize("case", RAW)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
def test_tables_of_raw_answers_lose_epsilon(case, epsilon):
    """At the whole budget of the sample, shared by the tables of a form; exactly that where someone is alone."""
    N, forms = RAW[case]
    forms = [replace(form, raw=True) for form in forms]
    e = budget_of_sample(forms, N, epsilon)
    loss = central_loss(forms, N, [1.0] * len(forms), [e] * len(forms))
    assert loss <= epsilon * ROUNDING
    assert loss >= 0.6 * epsilon
    more = central_loss(forms, N, [1.0] * len(forms), [1.5 * e] * len(forms))
    assert more > epsilon


def loss_to_those_who_know(form, E, office):
    """What is lost to someone who knows who got a form: a population of those people alone."""
    place = {question: i for i, question in enumerate(form.questions)}
    tables = [replace(table, questions=tuple(place[q] for q in table.questions)) for table in form.tables]
    alone = replace(form, questions=tuple(place.values()), tables=tuple(tables))
    return central_loss([alone], form.people, [math.exp(E)], [office])


@pytest.mark.parametrize(("epsilon", "E"), BUDGETS)
def test_where_everyone_is_asked_forms_need_not_be_secret(epsilon, E):
    """Each form alone has the whole of epsilon, of tables after credit and of rows."""
    N, forms = TABLES["everyone in the sample"]
    e = budget_of_sample(forms, N, epsilon)
    for form in forms:
        assert loss_to_those_who_know(form, E, credited(e, E, len(form.rows))) <= epsilon * ROUNDING
    for form in ROWS["everyone in the sample"][1]:
        assert loss_to_those_who_know(form, e, 0.0) <= epsilon * ROUNDING


@pytest.mark.parametrize("case", ["two forms", "five people"])
def test_where_only_a_sample_is_asked_they_must_be(case):
    N, forms = TABLES[case]
    e = budget_of_sample(forms, N, 1.0)
    assert max(loss_to_those_who_know(form, 8.0, e) for form in forms) > 1.05


# --- what the library plans ------------------------------------------------------------------------


def _questionnaire(kinds, **more):
    fields = {
        "yes_no": {"blank": False},
        "category": {"categories": ["x", "y", "z"], "blank": False},
        "scale": {"lower": 0, "upper": 2},
    }
    return dps.Questionnaire(
        [dps.Question(f"q{i}", kind, **fields[kind], **more.get(f"q{i}", {})) for i, kind in enumerate(kinds)]
    )


def _as_textbook(plan):
    """Take a design apart: its forms, and nothing that follows from budgets but how cells are drawn."""
    place = {question.name: i for i, question in enumerate(plan.inputs.questions)}
    kinds = [question.kind for question in plan.inputs.questions]
    return [
        Form(
            tuple(place[name] for name in form.questions),
            form.levels if all(form.levels) else (3,),
            int(form.sample_sizes[0]),
            tuple(
                Table(
                    tuple(place[name] for name in table.questions),
                    table.budget,
                    sums=len(table.questions) == 1 and kinds[place[table.questions[0]]] == "scale",
                )
                for table in form.tables
            ),
            **_law(plan, t),
        )
        for t, form in enumerate(plan.forms)
    ]


def _law(plan, t):
    """How a form is drawn whose only question has a mechanism of its own: a law for each point of the scale."""
    if plan.forms[t].levels != (0,):
        return {}
    noise = randomizer_of(plan, t + 1).noise_in(0)
    laws = [probabilities(noise, level)[1] for level in range(len(noise.level_places))]
    readings = noise.in_units(np.arange(noise.cells))
    return {"law": tuple(map(tuple, laws)), "readings": tuple((readings / 2**30).round(6).tolist())}


PLANS = [
    (["yes_no", "yes_no"], [["q0"], ["q1"]], 5, 4),
    (["yes_no", "category"], [["q0", "q1"]], 4, 2),
    (["scale", "yes_no"], [["q0", "q1"]], 3, 2),
    (["scale"], [["q0"]], 4, 2),
    (["yes_no", "scale"], [["q0"], ["q1"]], 4, 4),
]


@pytest.mark.parametrize(("kinds", "forms", "N", "n"), PLANS)
@pytest.mark.parametrize(("epsilon", "E"), [(0.3, 1.5), (1.0, 4.0)])
def test_planned_tables_lose_at_most_epsilon(kinds, forms, N, n, epsilon, E):
    """With tables, budgets and credit as the library has them."""
    plan = dps.design(
        dps.Strata([N]),
        questions=_questionnaire(kinds),
        forms=forms,
        epsilon=epsilon,
        device_epsilon=E,
        release="sums",
        total=n,
    )
    textbook = _as_textbook(plan)
    assert sum(form.people for form in textbook) == n
    e = budget_of_sample(textbook, N, epsilon)
    assert plan.local_epsilons == pytest.approx([e], rel=1e-12)
    offices = plan.problem.forms.office_budgets(plan.local_epsilons)[0]
    masses = [common(form, math.exp(E)) for form in textbook]
    assert offices == pytest.approx([credited_with(e, E, mass) for mass in masses], rel=1e-9)
    for form, mass, office in zip(textbook, masses, offices, strict=True):
        if not form.law:
            assert credited(e, E, len(form.rows)) == pytest.approx(office, rel=1e-9), mass
    assert central_loss(textbook, N, [math.exp(E)] * len(textbook), offices.tolist()) <= epsilon * ROUNDING


@pytest.mark.parametrize(
    ("kinds", "forms", "N", "n"),
    [
        (["yes_no", "scale"], "one", 4, 2),
        (["category", "yes_no"], "one", 3, 2),
        (["scale"], "one", 4, 2),
        (["yes_no", "scale", "yes_no"], [["q0"], ["q1", "q2"]], 4, 4),
    ],
)
@pytest.mark.parametrize("epsilon", [0.3, 1.5])
def test_planned_tables_of_raw_answers_lose_at_most_epsilon(kinds, forms, N, n, epsilon):
    """With the noise that the library draws, on a grid of whole points."""
    plan = dps.design(
        dps.Strata([N]),
        questions=_questionnaire(kinds),
        forms=forms,
        epsilon=epsilon,
        release="sums",
        total=n,
    )
    e = budget_of_sample(_as_textbook(plan), N, epsilon)
    textbook = []
    for t, form in enumerate(_as_textbook(plan)):
        tables = []
        for table, made in zip(form.tables, tables_of(plan, t), strict=True):
            noise = made.noise(e * made.table.budget)
            stairs = type(noise).__name__ == "_Stairs"
            assert noise.e == pytest.approx(e * table.share, rel=1e-12)
            assert stairs == table.sums
            assert stairs or noise.steps == (1 if made.entries == ("yes",) else 2)
            tables.append(replace(table, stairs=stairs))
        textbook.append(replace(form, raw=True, law=(), tables=tuple(tables)))
    assert [form.people for form in textbook] == [int(form.sample_sizes[0]) for form in plan.forms]
    assert central_loss(textbook, N, [1.0] * len(textbook), [e] * len(textbook)) <= epsilon * ROUNDING


@pytest.mark.parametrize(("kinds", "forms", "N", "n"), PLANS)
def test_planned_rows_lose_exactly_epsilon(kinds, forms, N, n):
    plan = dps.design(
        dps.Strata([N]),
        questions=_questionnaire(kinds),
        forms=forms,
        epsilon=0.7,
        total=n,
        min_per_stratum=1,
    )
    textbook = _as_textbook(plan)
    rows = [form for form in plan.forms if form.cells]
    odds = [1 + form.cells * (1 - form.replaced) / form.replaced for form in rows]
    odds = [math.exp(plan.local_epsilons[0])] * len(plan.forms) if not odds else odds[:1] * len(plan.forms)
    assert odds[0] == pytest.approx(math.exp(plan.local_epsilons[0]), rel=1e-9)
    assert central_loss(textbook, N, odds, [0.0] * len(odds)) == pytest.approx(0.7, rel=1e-9)


# --- budgets must not differ -----------------------------------------------------------------------


def test_unequal_budgets_lose_more_than_their_mean():
    """Two people, two forms with exp(e) of 10 and 2: anyone's odds change by 22/3, and not by (10 + 2)/2."""
    forms = [Form((0,), (2,), 1), Form((1,), (2,), 1)]
    assert math.exp(central_loss(forms, 2, [10.0, 2.0], [0.0, 0.0])) == pytest.approx(22 / 3, rel=1e-12)
    assert math.exp(central_loss(forms, 2, [6.0, 6.0], [0.0, 0.0])) == pytest.approx(6, rel=1e-12)


def test_the_same_question_on_both_forms_hides_it():
    """It takes two answers that can differ: with one and the same bit on both forms the odds change by 6."""
    forms = [Form((0,), (2,), 1), Form((0,), (2,), 1)]
    assert math.exp(central_loss(forms, 2, [10.0, 2.0], [0.0, 0.0])) == pytest.approx(6, rel=1e-12)


@pytest.mark.parametrize(
    "given", [[3.0, 5.0], (3.0, 5.0), {"form 1": 3.0, "form 2": 5.0}, np.array([3.0, 5.0])]
)
def test_one_budget_for_all_devices(given):
    with pytest.raises(dps.InputError, match="device_epsilon must be a number"):
        dps.design(
            dps.Strata([100]),
            questions=_questionnaire(["yes_no", "yes_no"]),
            epsilon=1,
            device_epsilon=given,
            release="sums",
            total=20,
        )


def _form(name, budget=1.0, share=0.5, **more):
    table = {"questions": [name], "budget": budget}
    return {"questions": [name], "levels": [2], "share": share, "tables": [table], **more}


@pytest.mark.parametrize(
    ("forms", "message"),
    [
        (
            [_form("q0"), _form("q1", budget=2.0)],
            r"form 2 of forms must have budgets .* add up to 1, got 2\.",
        ),
        ([_form("q0", budget=-1.0), _form("q1")], r"form 1 .* budgets above 0 for its tables, got -1\."),
        ([_form("q0", tables=[]), _form("q1")], r"form 1 .* each of its questions in one of its tables\."),
        ([_form("q0", tables=2 * _form("q0", 0.5)["tables"]), _form("q1")], "in one of its tables"),
        ([_form("q0", levels=[1]), _form("q1")], r"form 1 of forms must give 'q0' 2 levels, got 1\."),
        ([_form("q0", levels=[2, 2]), _form("q1")], r"form 1 .* levels for its 1 question, got 2\."),
        ([_form("q0", share=0.9), _form("q1")], r"shares of people of all forms must add up to 1, got 1\.4"),
        ([_form("q0", share=0.0), _form("q1", share=1.0)], r"form 1 .* share of people above 0, got 0\."),
        ([_form("q0", budget=float("nan")), _form("q1")], "budgets above 0 for its tables, got nan"),
    ],
)
def test_forms_of_a_document_cannot_spend_more(forms, message):
    """Where forms come with levels, shares and tables, as in a document, nothing in them raises a budget."""
    asked = {"epsilon": 1, "device_epsilon": 3.0, "release": "sums", "total": 20}
    with pytest.raises(dps.InputError, match=message):
        dps.design(dps.Strata([100]), questions=_questionnaire(["yes_no", "yes_no"]), forms=forms, **asked)


def test_all_forms_of_a_stratum_share_the_budgets():
    """Forms have no budgets: those of devices and of the office belong to the stratum, whatever is on a form."""
    plan = dps.design(
        dps.Strata([200, 300]),
        questions=_questionnaire(["yes_no", "category", "scale"]),
        forms=[["q0"], ["q1"], ["q2"]],
        epsilon=1,
        device_epsilon=4.0,
        release="sums",
        total=60,
    )
    rows = [form for form in plan.forms if form.cells]
    odds = [form.cells * (1 - form.replaced) / form.replaced for form in rows]
    assert odds == pytest.approx([math.expm1(4.0)] * 2, rel=1e-12)
    alone = randomizer_of(plan, 3)
    assert [alone.noise_in(stratum).e for stratum in range(2)] == pytest.approx([4.0] * 2, rel=1e-12)
    assert plan.local_epsilons.shape == (2,)
    assert not any("epsilon" in name or "budget" in name for name in plan.forms[0].__slots__)
