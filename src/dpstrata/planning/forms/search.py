r"""The search for forms: a partition of the questions, with the levels of every number.

A partition is a set of forms whose costs add up, so what a change gains depends on one or two forms. From one
question a form, the best of all changes is made until none helps:

- a question goes to another form, or to one of its own, or stays, with any of its levels;
- two questions of different forms change places, with any of their levels;
- two forms become one.

Then a few questions are put on other forms at random, and the search goes on from there, again and again; the
best partition counts.
The random numbers are seeded: the same questionnaire always has the same forms.

If the best partition has more forms than the strata and the number of people carry, or more rows of answers
on a form than are of use, its smallest forms are joined until their number fits, and the same search goes on
from there among the partitions that fit. Whether any does is a question of packing, which is tried out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpstrata.allocation.forms import Forms, FormsProblem
from dpstrata.errors import InfeasibleError, InputError
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.survey.forms import MOST_ROWS
from dpstrata.words.numbers import counted

_KICKS = 30
_SCATTERED = (3, 9)  # from 3 to 8 items at a time
_SEED = 17
_GAIN = 1e-10  # relative: less is rounding
_PACKINGS = 200_000  # partial ones that are tried before items count as too many for their forms
_TRIES = 8  # changes tried in a row where prices change with the forms


def best_partition(problem: FormsProblem, *, most: int | None = None, kicks: int = _KICKS) -> Forms:
    """Search the partition of the items, with their levels, that costs least.

    Parameters
    ----------
    problem : FormsProblem
        The items. With a :class:`~dpstrata.allocation.forms.TargetsProblem` the cost is the people needed.
    most : int, optional
        How many forms there may be, >= 1.
    kicks : int
        How often items are scattered at random, >= 0.

    Raises
    ------
    InfeasibleError
        If so few forms would have more rows of answers than are of use.
    """
    if not problem.items:
        return problem.forms(np.empty((0, 1), dtype=np.int64))
    search = _Search(problem, [[i] for i in range(len(problem.items))])
    search.descend()
    search.kick(kicks)
    forms = problem.forms(search.rows())
    limits = Limits.of(problem, most)
    return forms if limits.allow(forms) else _best_within(limits, search.saved(), kicks)


def _best_within(limits: Limits, start: _Saved, kicks: int) -> Forms:
    """Search the best partition within limits, from one outside them."""
    problem, most = limits.problem, limits.most
    ways = [limits]
    if (
        problem.everyone
    ):  # people without a form of their own get one more: either there is none, or it counts
        ways = [replace(limits, problem=replace(problem, allows_spare=False))]
        ways += [replace(limits, most=most - 1)] if most > 1 else []
    found = []
    for each in ways:
        groups = each.packed()
        if groups is None:
            continue
        for begin in (each.joined(start), groups):
            if begin is None:
                continue
            search = _Search(each.problem, begin, each)
            search.descend()
            search.kick(kicks)
            found.append(each.problem.forms(search.rows()))
    if not found:
        raise InfeasibleError(
            f"the questions do not fit on {counted(most, 'form')}, which is all that the strata and the "
            f"number of people carry, because a form has at most {MOST_ROWS:,} different rows of answers. "
            "Merge small strata, invite more people, or ask fewer questions."
        )
    return min(found, key=lambda forms: forms.value)


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """How many forms there may be, each with how many rows of answers in the fewest levels.

    Attributes
    ----------
    problem : FormsProblem
        The items.
    most : int
        How many forms.
    least : array of int
        Fewest cells of each item.
    room : int
        What the product of those on one form may be.
    """

    problem: FormsProblem
    most: int
    least: IntArray
    room: int

    @classmethod
    def of(cls, problem: FormsProblem, most: int | None) -> Limits:
        """State the limits of a problem; without ``most`` there may be a form for each item, and one more."""
        own, everyone = (
            [min(choice.cells for choice in item.choices) for item in items]
            for items in (problem.items, problem.everyone)
        )
        room = MOST_ROWS // math.prod(everyone)
        return cls(problem, len(own) + 1 if most is None else most, np.array(own, dtype=np.int64), room)

    def product(self, items: Sequence[int]) -> int:
        """Return the fewest cells of items on one form."""
        return math.prod(int(self.least[item]) for item in items)

    def fit(self, groups: Sequence[Sequence[int]]) -> bool:
        """Whether no form has too many rows."""
        return all(self.product(group) <= self.room for group in groups)

    def allow(self, forms: Forms) -> bool:
        """Whether there are few enough forms, each with few enough rows."""
        return len(forms.forms) <= self.most and self.fit([form.items for form in forms.forms])

    def joined(self, saved: _Saved) -> list[list[int]] | None:
        """Join the smallest forms of a partition until the number fits; ``None`` if that ends before."""
        groups = sorted((list(group) for group in saved.groups if group), key=self.product)
        while len(groups) > self.most:
            groups = [groups[0] + groups[1], *groups[2:]]
            groups.sort(key=self.product)
        return groups if self.fit(groups) else None

    def packed(self) -> list[list[int]] | None:
        """Put the items on so few forms by trying, largest first; ``None`` if there is no way."""
        order = np.argsort(-self.least, kind="stable").tolist()
        groups: list[list[int]] = []
        rooms: list[int] = []
        left = _PACKINGS

        def placed(at: int) -> bool:
            nonlocal left
            left -= 1
            if at == len(order) or left < 0:
                return at == len(order)
            cells = int(self.least[order[at]])
            tried = set()
            for g in range(len(groups)):
                if rooms[g] < cells or rooms[g] in tried:
                    continue  # a form with as much room was no help
                tried.add(rooms[g])
                before = rooms[g]
                groups[g].append(order[at])
                rooms[g] //= cells
                if placed(at + 1):
                    return True
                groups[g].pop()
                rooms[g] = before
            if len(groups) == self.most or self.room < cells:
                return False
            groups.append([order[at]])
            rooms.append(self.room // cells)
            if placed(at + 1):
                return True
            groups.pop()
            rooms.pop()
            return False

        return groups if placed(0) else None


def best_levels(problem: FormsProblem, groups: Sequence[Sequence[int]]) -> Forms:
    """Search the levels that cost least for given forms.

    Parameters
    ----------
    problem : FormsProblem
        The items.
    groups : sequence of sequences of int
        The items of each form, every item on exactly one.

    Raises
    ------
    InputError
        If an item is missing, or on two forms.
    """
    if sorted(item for group in groups for item in group) != list(range(len(problem.items))):
        given = [list(group) for group in groups]
        raise InputError.must("forms", f"have each of the items 0 to {len(problem.items) - 1} once", given)
    search = _Search(problem, [list(group) for group in groups])
    search.descend(levels_only=True)
    best, value = search.saved(), search.value
    for end in (0, -1):  # from the fewest levels, then from the most
        search.restart_levels(end)
        search.descend(levels_only=True)
        if search.value < value:
            best, value = search.saved(), search.value
    search.restore(best)
    return problem.forms(search.rows())


@dataclass(frozen=True, slots=True)
class _Saved:
    """A partition: the items of each form, and the option of each item."""

    groups: tuple[tuple[int, ...], ...]
    options: IntArray


class _Search:
    """A partition, and what every change of it would cost.

    ``cost`` has what each form costs, ``swapped`` what the form of an item costs with any option in the
    item's place (the last one is none), ``added`` what each form costs with any option besides, ``merged``
    what two forms cost as one. They change only where forms change, or the prices. There is one form more
    than items, so that some are always empty. With limits no change leaves them.
    """

    def __init__(
        self, problem: FormsProblem, groups: Sequence[Sequence[int]], limits: Limits | None = None
    ) -> None:
        self.problem, self.own, self.limits = problem, problem.own, limits
        self.count, self.none = len(problem.items), len(problem.own.item)
        self.every = np.arange(self.none)
        self.options = self.own.starts.copy()
        self._first_levels()
        self._begin(groups)

    def _first_levels(self) -> None:
        """Ask every item as if it were alone."""
        costs = self.problem.costs(self.every[:, None])
        alone = self.problem.settled(self.options[:, None])[0].prices
        cost = self.problem.priced(costs, alone).min(axis=1)
        for item, start in enumerate(self.own.starts.tolist()):
            end = start + len(self.problem.items[item].choices)
            self.options[item] = start + int(cost[start:end].argmin())

    def _begin(self, groups: Sequence[Sequence[int]]) -> None:
        kept = [list(group) for group in groups if group]
        self.groups = kept + [[] for _ in range(self.count + 1 - len(kept))]
        self.place = np.zeros(self.count, dtype=np.int64)
        for g, group in enumerate(self.groups):
            self.place[group] = g
        division, _ = self.problem.settled(self.rows())
        self.value, self.prices = division.value, division.prices
        self._refresh()

    def rows(self) -> IntArray:
        """Return the forms as rows of options."""
        return self.problem.padded([self._row(g) for g, group in enumerate(self.groups) if group])

    def _row(self, g: int) -> list[int]:
        return [int(self.options[item]) for item in self.groups[g]]

    def saved(self) -> _Saved:
        """Keep this partition."""
        return _Saved(tuple(tuple(group) for group in self.groups), self.options.copy())

    def restore(self, saved: _Saved) -> None:
        """Go back to a partition that was kept."""
        self.options = saved.options.copy()
        self._begin(saved.groups)

    def restart_levels(self, end: int) -> None:
        """Ask every item in its first way (0) or in its last (-1)."""
        counts = np.array([len(item.choices) for item in self.problem.items])
        self.options = self.own.starts + (counts - 1 if end else 0)
        self._begin(self.groups)

    # --- what changes would cost ---------------------------------------------------------------

    def _refresh(self) -> None:
        """Compute all costs."""
        size = len(self.groups)
        self.cost = np.zeros(size)
        self.swapped = np.empty((self.count, self.none + 1))
        self.added = np.empty((self.none, size))
        self.merged = np.full((size, size), np.inf)
        self._update(list(range(size)))

    def _update(self, changed: list[int]) -> None:
        """Compute again what depends on some forms."""
        forms = [self._row(g) for g in changed]
        items = [item for g in changed for item in self.groups[g]]
        others = [[*form[:place], *form[place + 1 :]] for form in forms for place in range(len(form))]
        costs = self.problem.costs_with(self.problem.padded(forms + others), np.arange(self.none + 1))
        priced = self.problem.priced(costs, self.prices).min(axis=2)
        self.added[:, changed], self.cost[changed] = priced[: len(forms), :-1].T, priced[: len(forms), -1]
        self.swapped[items] = priced[len(forms) :]
        self._update_merged(changed)

    def _update_merged(self, changed: list[int]) -> None:
        used = [g for g, group in enumerate(self.groups) if group]
        pairs = [(g, h) for g in changed if self.groups[g] for h in used if h != g]
        self.merged[changed, :] = self.merged[:, changed] = np.inf
        if pairs:
            costs = self.problem.costs(self.problem.padded([self._row(g) + self._row(h) for g, h in pairs]))
            first, second = np.transpose(pairs)
            priced = self.problem.priced(costs, self.prices).min(axis=1)
            self.merged[first, second] = self.merged[second, first] = priced

    # --- changes -------------------------------------------------------------------------------

    def descend(self, *, levels_only: bool = False) -> None:
        """Make the best change until none helps."""
        while self._step(levels_only=levels_only):
            pass

    def _step(self, *, levels_only: bool) -> bool:
        """Make the change that is best at these prices, or the next one that helps at its own."""
        tables = (
            [self._stays()] if levels_only else [self._stays(), self._moves(), self._swaps(), self._merges()]
        )
        changes = (self._to_level, self._to_form, self._exchange, self._join)
        if self.limits is not None and not levels_only:
            self._keep_within(self.limits, *tables[1:])
        flat = np.concatenate([table.ravel() for table in tables])
        ends = np.cumsum([table.size for table in tables])
        before, value, place = self.saved(), self.value, self.place.copy()
        enough = -_GAIN * float(self.cost.sum())
        for at in self._promising(flat):
            if not flat[at] < enough:
                break
            which = int(np.searchsorted(ends, at, side="right"))
            where = np.unravel_index(at - int(ends[which]) + tables[which].size, tables[which].shape)
            changed = changes[which](*map(int, where))
            division, _ = self.problem.settled(self.rows(), self.prices)
            if division.value < value:
                self.value = division.value
                self._accept(changed, division.prices)
                return True
            self.groups, self.options = [list(group) for group in before.groups], before.options.copy()
            self.place = place.copy()
        return False

    def _keep_within(self, limits: Limits, moves: FloatArray, swaps: FloatArray, merges: FloatArray) -> None:
        """Rule out the changes after which there would be too many forms, or too many rows on one."""
        cells = limits.least.astype(float)
        rows = np.array([limits.product(group) for group in self.groups], dtype=float)
        used = np.array([bool(group) for group in self.groups])
        moves[rows[None, :] * cells[self.own.item][:, None] > limits.room] = np.inf
        if used.sum() >= limits.most:
            moves[:, ~used] = np.inf
        instead = rows[self.place][:, None] / cells[:, None] * cells[None, :] > limits.room
        swaps[instead | instead.T] = np.inf
        merges[np.multiply.outer(rows, rows) > limits.room] = np.inf

    def _promising(self, flat: FloatArray) -> list[int]:
        if not self.problem.everyone:  # what forms cost by themselves is what they cost
            return [int(flat.argmin())]
        few = np.argpartition(flat, min(_TRIES, len(flat) - 1))[:_TRIES]
        return [int(at) for at in few[np.argsort(flat[few], kind="stable")]]

    def _accept(self, changed: list[int], prices: FloatArray) -> None:
        if self.problem.everyone:
            self.prices = prices
            self._refresh()
        else:
            self._update(changed)

    def _stays(self) -> FloatArray:
        """Return the change of the cost if an item stays and is asked otherwise, by options."""
        item = self.own.item
        return np.asarray(self.swapped[item, self.every] - self.cost[self.place[item]])

    def _moves(self) -> FloatArray:
        """Return the change if an item goes to another form, by options and forms."""
        item = self.own.item
        left = self.swapped[item, -1] - self.cost[self.place[item]]
        change = left[:, None] + self.added - self.cost[None, :]
        change[self.every, self.place[item]] = np.inf
        return np.asarray(change)

    def _swaps(self) -> FloatArray:
        """Return the change if two items of different forms change places, by items."""
        taken = np.minimum.reduceat(self.swapped[:, :-1], self.own.starts, axis=1)
        taken = taken - self.cost[self.place][:, None]
        change = taken + taken.T
        change[self.place[:, None] == self.place[None, :]] = np.inf
        return np.asarray(change)

    def _merges(self) -> FloatArray:
        """Return the change if two forms become one, by forms."""
        return np.asarray(self.merged - self.cost[:, None] - self.cost[None, :])

    def _to_level(self, option: int) -> list[int]:
        item = int(self.own.item[option])
        self.options[item] = option
        return [int(self.place[item])]

    def _to_form(self, option: int, form: int) -> list[int]:
        item = int(self.own.item[option])
        left = int(self.place[item])
        self._put(item, option, form)
        return [left, form]

    def _put(self, item: int, option: int, form: int) -> None:
        self.groups[int(self.place[item])].remove(item)
        self.groups[form].append(item)
        self.place[item], self.options[item] = form, option

    def _exchange(self, first: int, second: int) -> list[int]:
        forms = [int(self.place[first]), int(self.place[second])]
        options = self._best_in_place_of(first, second), self._best_in_place_of(second, first)
        self._put(second, options[0], forms[0])
        self._put(first, options[1], forms[1])
        return forms

    def _best_in_place_of(self, item: int, other: int) -> int:
        """Return the option of another item that costs least in place of an item."""
        start = int(self.own.starts[other])
        end = start + len(self.problem.items[other].choices)
        return start + int(self.swapped[item, start:end].argmin())

    def _join(self, first: int, second: int) -> list[int]:
        for item in list(self.groups[second]):
            self._put(item, int(self.options[item]), first)
        return [first, second]

    # --- chance --------------------------------------------------------------------------------

    def kick(self, kicks: int) -> None:
        """Scatter items at random and search again; keep the best partition."""
        random = np.random.default_rng(_SEED)
        best, value = self.saved(), self.value
        for _ in range(kicks if self.count > 2 else 0):
            self._scatter(random)
            if self.limits is not None and not self.limits.fit(self.groups):
                self.restore(best)
                continue
            self.descend()
            if self.value < value * (1.0 - _GAIN):
                best, value = self.saved(), self.value
            else:
                self.restore(best)
        self.restore(best)

    def _scatter(self, random: np.random.Generator) -> None:
        """Put a few items on other forms, with any levels."""
        groups = [list(group) for group in self.groups if group]
        place = {item: g for g, group in enumerate(groups) for item in group}
        few = min(int(random.integers(*_SCATTERED)), self.count)
        for item in random.choice(self.count, few, replace=False).tolist():
            groups[place[item]].remove(item)
            groups[int(random.integers(len(groups)))].append(item)
            choices = len(self.problem.items[item].choices)
            self.options[item] = self.own.starts[item] + int(random.integers(choices))
        self._begin(groups)
