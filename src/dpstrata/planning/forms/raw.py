r"""Forms where the office gets raw answers: asking more costs nothing but the budget of the tables.

Everyone is asked everything unless that budget, shared by all tables, leaves too much noise. With a share x
of n people on each form the variance is

.. math:: \frac{1}{n} \sum_T \left( \frac{a_T}{x_T} + \frac{o_T}{n x_T^2} \right) ,

where a is what the answers to its questions vary and o is the noise of its tables. For every number of forms
the questions are divided so that the noise is alike, then moved from form to form while that helps. The
least value over all numbers of forms counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpstrata.allocation.rows_on_forms import importances
from dpstrata.numerics.arrays import FloatArray
from dpstrata.planning.forms.tables import FormTables, best_tables, figure_tables
from dpstrata.survey.forms import AUTO, ONE, RAW, FormPlan, names_on
from dpstrata.survey.inputs import Inputs

_HALVINGS = 60
_PATIENCE = 3  # numbers of forms tried after the best one
_HELPS = 1e-9


def raw_forms(
    inputs: Inputs, spreads: FloatArray, budget: float, people: float, most: int
) -> tuple[FormPlan, ...]:
    """Choose the forms of a survey whose office gets raw answers.

    Parameters
    ----------
    inputs : Inputs
        What was asked for; its forms may be given.
    spreads : array
        S² of each question in a typical stratum, in squared ranges.
    budget, people : float
        The office's budget in a typical stratum, and how many people answer there.
    most : int
        How many forms there may be.
    """
    search = _Search(inputs, spreads, budget, people)
    if inputs.forms == ONE:
        return search.divided([range(len(search.items))]).plans(search)
    if inputs.forms != AUTO:
        item_of = {search.questionnaire[j].name: i for i, item in enumerate(search.items) for j in item}
        given = [
            sorted({item_of[name] for name in form if name in item_of}) for form in names_on(inputs.forms)
        ]
        return search.divided([group for group in given if group]).plans(search)
    return search.best(most).plans(search)


class _Divided(NamedTuple):
    """Items on forms: the items, tables and share of people of each, and the value."""

    groups: tuple[tuple[int, ...], ...]
    tables: tuple[FormTables, ...]
    shares: FloatArray
    value: float

    def plans(self, search: _Search) -> tuple[FormPlan, ...]:
        """Write the forms down."""
        return tuple(
            search.plan(group, tables, share)
            for group, tables, share in zip(self.groups, self.tables, self.shares.tolist(), strict=True)
        )


class _Search:
    """The questions as items, and what they cost on forms."""

    def __init__(self, inputs: Inputs, spreads: FloatArray, budget: float, people: float) -> None:
        self.questionnaire = inputs.questions
        self.of_figures = inputs.release_form.noised_once
        self.budget, self.people = budget, people
        self.spreads = importances(self.questionnaire) * spreads
        self.levels = {j: question.answer_count or 0 for j, question in enumerate(self.questionnaire)}
        self.everyone = [(j,) for j, question in enumerate(self.questionnaire) if question.everyone]
        together: dict[str, list[int]] = {}
        for j, question in enumerate(self.questionnaire):
            if not question.everyone:
                together.setdefault(question.together or f"\0{j}", []).append(j)
        self.items = [tuple(item) for item in together.values()]
        self.known: dict[tuple[int, ...], FormTables] = {}

    def tables(self, group: tuple[int, ...]) -> FormTables:
        """Return the tables of a form with some items."""
        if group not in self.known:
            items = [*(self.items[i] for i in group), *self.everyone]
            levels = {j: self.levels[j] for item in items for j in item}
            self.known[group] = (
                FormTables(figure_tables(self.questionnaire, levels, RAW), 0.0)
                if self.of_figures
                else best_tables(self.questionnaire, items, levels, self.budget, RAW)
            )
        return self.known[group]

    def plan(self, group: Sequence[int], tables: FormTables, share: float) -> FormPlan:
        """Write a form down."""
        places = sorted(itertools.chain(*(self.items[i] for i in group), *self.everyone))
        names = tuple(self.questionnaire[j].name for j in places)
        return FormPlan(names, tuple(self.levels[j] for j in places), share, tables.tables, RAW)

    def divided(self, groups: Sequence[Sequence[int]]) -> _Divided:
        """Divide people over forms with these items, for the least variance."""
        forms = [tuple(sorted(group)) for group in groups] or [()]
        tables = [self.tables(form) for form in forms]
        a = np.array([sum(self.spreads[j] for i in form for j in self.items[i]) for form in forms])
        o = np.array([each.noise for each in tables]) / self.people
        shares = _best_shares(a, o) if len(forms) > 1 else np.ones(1)
        value = float((a / shares + o / shares**2).sum())
        value += sum(self.spreads[j] for (j,) in self.everyone)
        return _Divided(tuple(forms), tuple(tables), shares, value)

    def best(self, most: int) -> _Divided:
        """Try every number of forms until more no longer help."""
        best, since = self.divided([range(len(self.items))]), 0
        for number in range(2, min(most, len(self.items)) + 1):
            found = self._improved(self.divided(self._balanced(number)))
            best, since = (found, 0) if found.value < best.value * (1.0 - _HELPS) else (best, since + 1)
            if since == _PATIENCE:
                break
        return best

    def _balanced(self, number: int) -> list[list[int]]:
        """Put items on so many forms, the noisiest first, each where there is least noise so far."""
        weights = [self.tables((i,)).noise ** (1 / 3) for i in range(len(self.items))]
        groups: list[list[int]] = [[] for _ in range(number)]
        loads = np.zeros(number)
        for i in np.argsort(weights)[::-1].tolist():
            at = int(loads.argmin())
            groups[at].append(i)
            loads[at] += weights[i]
        return groups

    def _improved(self, found: _Divided) -> _Divided:
        """Move single items to other forms while that helps."""
        while True:
            moves = (
                [
                    *(group for k, group in enumerate(found.groups) if k not in (off, to)),
                    tuple(i for i in found.groups[off] if i != item),
                    (*found.groups[to], item),
                ]
                for off, to in itertools.permutations(range(len(found.groups)), 2)
                for item in found.groups[off]
                if len(found.groups[off]) > 1
            )
            better = next(
                (each for each in map(self.divided, moves) if each.value < found.value * (1.0 - _HELPS)),
                None,
            )
            if better is None:
                return found
            found = better


def _best_shares(a: FloatArray, o: FloatArray) -> FloatArray:
    """Minimise Σ a/x + o/x² over shares that add up to 1, by halving the logarithm of their price."""
    low, high = np.log((a + 2.0 * o).min()) - 1.0, np.log(((a + 2.0 * o) * len(a) ** 3).max()) + 1.0
    x = np.full(len(a), 1.0 / len(a))
    for _ in range(_HALVINGS):
        price = np.exp((low + high) / 2)
        # a/x² + 2o/x³ = λ: Newton's method for t = 1/x on a t² + 2 o t³, which is convex, from the right
        t = np.minimum(np.sqrt(price / np.maximum(a, 1e-300)), np.cbrt(price / np.maximum(2.0 * o, 1e-300)))
        for _ in range(8):
            t = t - (a * t**2 + 2.0 * o * t**3 - price) / (2.0 * a * t + 6.0 * o * t**2)
        x = 1.0 / t
        low, high = (low, np.log(price)) if x.sum() < 1.0 else (np.log(price), high)
    return np.asarray(x / x.sum())
