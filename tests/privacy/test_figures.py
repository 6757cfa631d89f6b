"""The loss of figures with one draw of noise, by enumeration of every sample of tiny populations.

The noise of a figure is discrete Laplace: given the sample and the reports, an output y has a chance in proportion to
exp(−|y − μ|/β). Between two values that the figure can have, a mixture of these is A·exp(y/β) + B·exp(−y/β), so a
ratio of two mixtures rises or falls there, and is largest at such a value: these are all that need be looked at, in
every figure by itself. Weights, scales and reports are those that ``publish`` uses; all else is enumerated here.
"""

import itertools
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from mpmath import mp

import dpstrata as dps
from dpstrata.fielding.figure_grid import figure_grids
from dpstrata.fielding.randomizers import randomizer_of
from dpstrata.fielding.randomizers.noise import noise_at
from laws import probabilities

pytestmark = pytest.mark.filterwarnings(
    "ignore::dpstrata.DpstrataWarning"
)  # strata may stay without an answer
ROUNDING = 1 + 1e-12
OVERLAPPING = {"a": ["x", "x", "y"], "b": ["u", "v", "v"]}


class Survey:
    """Chances of what is published, of people in strata of whom so many are drawn in each."""

    def __init__(self, plan, answers, drawn=None):
        self.plan, self.m = plan, np.array(answers)
        self.grids = figure_grids(plan, self.m)
        self.K = (
            randomizer_of(plan, 1).figures[0].moved
            if plan.inputs.release_form.device or plan.inputs.space.steps
            else 1
        )
        self.reports = {k: {k: mp.mpf(1)} for k in range(self.K + 1)}
        if plan.inputs.release_form.device is not None:
            device = noise_at(plan, 0)
            self.reports = {
                k: {first + j: mp.mpf(float(p)) for j, p in enumerate(mass)}
                for k in range(self.K + 1)
                for first, mass in [probabilities(device, k)]
            }

    def sums(self, people, m):
        """Chances of the sum of the reports of m people of a stratum, every sample equally likely."""
        chances, samples = defaultdict(mp.mpf), list(itertools.combinations(people, m))
        for sample in samples:
            known = {0: mp.mpf(1) / len(samples)}
            for answer in sample:
                more = defaultdict(mp.mpf)
                for total, chance in known.items():
                    for report, other in self.reports[answer].items():
                        more[total + report] += chance * other
                known = more
            for total, chance in known.items():
                chances[total] += chance
        return chances

    def figures(self, strata):
        """Chances of all figures together, before their noise."""
        found = defaultdict(mp.mpf)
        rows = [self.sums(people, int(m)).items() for people, m in zip(strata, self.m, strict=True)]
        for parts in itertools.product(*rows):
            figures = tuple(
                sum(w * parts[i][0] for w, i in zip(grid.weights, grid.strata.tolist(), strict=True))
                for grid in self.grids
            )
            found[figures] += mp.fprod(chance for _, chance in parts)
        return found

    def loss(self, strata, row):
        """The largest log ratio if the first person of a stratum answers otherwise."""
        ends = [
            self.figures([(k, *each[1:]) if i == row else each for i, each in enumerate(strata)])
            for k in (0, self.K)
        ]
        outputs = [sorted({figures[g] for end in ends for figures in end}) for g in range(len(self.grids))]
        worst = mp.mpf(0)
        for y in itertools.product(*outputs):
            zero, one = (
                mp.fsum(
                    chance
                    * mp.exp(
                        -mp.fsum(
                            abs(a - b) / mp.mpf(grid.scale)
                            for a, b, grid in zip(y, at, self.grids, strict=True)
                        )
                    )
                    for at, chance in end.items()
                )
                for end in ends
            )
            worst = max(worst, abs(mp.log(one / zero)))
        return worst

    def largest_loss(self, sizes):
        """Over all populations whose answers are ends of the range, and over the stratum of the one who differs."""
        worst = mp.mpf(0)
        everyone = [list(itertools.combinations_with_replacement((0, self.K), size - 1)) for size in sizes]
        for others in itertools.product(*everyone):
            for row in range(len(sizes)):
                worst = max(worst, self.loss([(0, *each) for each in others], row))
        return worst


def design(sizes, sampled, epsilon, *, columns=(), rates=None, **options):
    strata = dps.Strata(
        sizes,
        [0.3] * len(sizes),
        mins=sampled,
        maxs=sampled,
        extra={name: OVERLAPPING[name][: len(sizes)] for name in columns},
        response_rates=rates,
    )
    return dps.design(
        strata,
        epsilon=epsilon,
        total=sum(sampled),
        release="mean",
        domains=list(columns) or None,
        **{"questions": "yes_no", **options},
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize(
    ("sizes", "sampled", "columns"),
    [
        ((4,), (2,), ()),
        ((3, 2), (2, 1), ()),
        ((3, 2), (1, 1), ("b",)),
        ((2, 2, 3), (1, 1, 2), ("a",)),
        ((2, 2, 2), (1, 1, 1), ("a", "b")),
        ((3, 2, 2), (1, 2, 1), ("a", "b")),
    ],
)
def test_raw_answers_lose_all_of_epsilon_and_no_more(sizes, sampled, columns, epsilon):
    """One family attains it; of several, what one person can lose in both at once depends on who shares figures."""
    plan = design(sizes, sampled, epsilon, columns=columns)
    loss = Survey(plan, sampled).largest_loss(sizes)
    assert loss <= epsilon * ROUNDING
    assert loss >= 0.999 * epsilon


@pytest.mark.parametrize(("epsilon", "E"), [(0.5, 1.0), (1.0, 3.0), (2.0, 0.5)])
@pytest.mark.parametrize(
    ("sizes", "sampled", "columns"),
    [((3, 2), (2, 1), ()), ((2, 2), (1, 1), ("b",)), ((2, 2, 2), (1, 1, 1), ("a", "b"))],
)
def test_devices_never_add_to_the_loss(sizes, sampled, columns, epsilon, E):
    plan = design(sizes, sampled, epsilon, columns=columns, device_epsilon=E, mechanism="randomized_response")
    assert Survey(plan, sampled).largest_loss(sizes) <= epsilon * ROUNDING


@pytest.mark.parametrize("E", [1.0, 2.0])
def test_additive_noise_on_devices(E):
    """Where the figure's noise is the larger, all of epsilon is lost; of devices' noise the middle is enumerated."""
    plan = design((3,), (1,), 0.2, device_epsilon=E, mechanism="discrete_laplace", questions=(0, 1, 1))
    survey = Survey(plan, (1,))
    for k, each in survey.reports.items():
        survey.reports[k] = {j: p for j, p in each.items() if abs(j - k) <= 40 / E}
    loss = survey.largest_loss((3,))
    assert loss <= 0.2 * (1 + 1e-6)  # the tails that were cut off
    if float(plan.local_epsilons[0]) <= E:
        assert loss >= 0.999 * 0.2


@pytest.mark.parametrize("columns", [(), ("b",), ("a", "b")])
def test_the_numbers_of_answers_set_the_noise(columns):
    """Of 6, 4 and 4 people half would answer; the loss is that of those who might have been among the m."""
    sizes, answers = (6, 4, 4), (2, 1, 1)
    plan = design(sizes, (3, 2, 2), 1.0, columns=columns, rates=[0.5] * 3)
    willing = [size // 2 for size in sizes]
    loss = Survey(plan, answers).largest_loss(willing)
    assert loss <= ROUNDING
    assert loss >= 0.999


def test_two_families_at_half_of_epsilon_would_lose_more():
    """Why they share the budget inside the sample: amplified one by one, two halves lose more than the whole."""
    sizes, sampled, epsilon = (2, 2, 2), (1, 1, 1), 0.8
    survey = Survey(design(sizes, sampled, epsilon, columns=("a", "b")), sampled)
    halves = [
        grid
        for name in ("a", "b")
        for grid in figure_grids(design(sizes, sampled, epsilon / 2, columns=(name,)), np.array(sampled))
    ]
    survey.grids = halves
    assert survey.largest_loss(sizes) > 1.05 * epsilon


# --- several questions -----------------------------------------------------------------------------


class Questions:
    """The same for a survey of several questions: everyone answers all of them, and each has figures of its own."""

    def __init__(self, plan, sampled, device=None):
        self.plan, self.m = plan, np.array(sampled)
        self.grids = figure_grids(plan, self.m)
        self.figures = randomizer_of(plan, 1).figures
        self.levels = plan.forms[0].levels
        self.device = device

    def sent(self, person):
        """Chances of every row that a device sends for one person's row."""
        rows = list(itertools.product(*map(range, self.levels)))
        if self.device is None:
            return {person: mp.mpf(1)}
        x = mp.exp(mp.mpf(self.device))
        return {row: (x if row == person else 1) / (x + len(rows) - 1) for row in rows}

    def counted(self, row):
        """What a row adds to every figure: a count of yes, or one of each answer."""
        return tuple(
            int(level) if len(figures.entries) == 1 else int(level == entry)
            for level, figures in zip(row, self.figures, strict=True)
            for entry in range(len(figures.entries))
        )

    def totals(self, people, m):
        chances, samples = defaultdict(mp.mpf), list(itertools.combinations(people, m))
        for sample in samples:
            known = {(0,) * sum(len(each.entries) for each in self.figures): mp.mpf(1) / len(samples)}
            for person in sample:
                more = defaultdict(mp.mpf)
                for total, chance in known.items():
                    for row, other in self.sent(person).items():
                        moved = tuple(a + b for a, b in zip(total, self.counted(row), strict=True))
                        more[moved] += chance * other
                known = more
            for total, chance in known.items():
                chances[total] += chance
        return chances

    def published(self, strata):
        """Chances of all figures together before their noise, and the scale of each."""
        starts = np.cumsum([0, *(len(each.entries) for each in self.figures)])
        found, scales = defaultdict(mp.mpf), []
        for grid in self.grids:
            scales += [mp.mpf(grid.scale)] * len(self.figures[grid.question].entries)
        rows = [self.totals(people, int(m)).items() for people, m in zip(strata, self.m, strict=True)]
        for parts in itertools.product(*rows):
            figures = tuple(
                sum(w * parts[i][0][at] for w, i in zip(grid.weights, grid.strata.tolist(), strict=True))
                for grid in self.grids
                for at in range(starts[grid.question], starts[grid.question + 1])
            )
            found[figures] += mp.fprod(chance for _, chance in parts)
        return found, scales

    def largest_loss(self, sizes):
        """Over all populations, and all pairs of rows of the one who differs, in the first stratum."""
        rows = list(itertools.product(*map(range, self.levels)))
        worst = mp.mpf(0)
        everyone = [list(itertools.combinations_with_replacement(rows, sizes[0] - 1))]
        everyone += [
            list(itertools.combinations_with_replacement(rows[:1] + rows[-1:], n)) for n in sizes[1:]
        ]
        for first, *others in itertools.product(*everyone):
            ends = []
            for mine in rows:
                found, scales = self.published([(mine, *first), *others])
                ends.append(found)
            seen = [sorted({figures[g] for end in ends for figures in end}) for g in range(len(scales))]
            for y in itertools.product(*seen):
                chances = [
                    mp.fsum(
                        c * mp.exp(-mp.fsum(abs(a - b) / s for a, b, s in zip(y, at, scales, strict=True)))
                        for at, c in end.items()
                    )
                    for end in ends
                ]
                worst = max(worst, mp.log(max(chances) / min(chances)))
        return worst


YES_NO = dps.Question("smokes", "yes_no", blank=False)
HOMES = dps.Question("home", "category", categories=["rent", "own", "other"], blank=False)


@pytest.mark.parametrize(
    ("questions", "sizes", "sampled", "columns", "device"),
    [
        ([YES_NO, HOMES], (3,), (2,), (), None),
        ([YES_NO, HOMES], (3,), (2,), (), 1.5),
        ([YES_NO, dps.Question("drinks", "yes_no", blank=False, importance=3)], (3, 2), (2, 2), (), None),
        ([HOMES], (3,), (2,), (), None),
        ([HOMES], (3,), (2,), (), 1.5),
        ([HOMES], (3, 2), (2, 2), ("b",), None),
    ],
)
def test_figures_of_several_questions_share_the_budget(questions, sizes, sampled, columns, device):
    epsilon = 0.8
    plan = design(sizes, sampled, epsilon, columns=columns, questions=questions, device_epsilon=device)
    survey = Questions(plan, sampled, device)
    loss = survey.largest_loss(sizes)
    assert loss <= epsilon * ROUNDING
    assert loss >= (0.999 if device is None else 0.3) * epsilon


def test_every_question_with_the_whole_budget_would_lose_more():
    plan = design((3,), (2,), 0.8, questions=[YES_NO, HOMES])
    survey = Questions(plan, (2,))
    shares = {table.questions[0]: table.budget for table in plan.forms[0].tables}
    survey.grids = [
        replace(grid, scale=grid.scale * shares[survey.figures[grid.question].label]) for grid in survey.grids
    ]
    assert survey.largest_loss((3,)) > 1.05 * 0.8
