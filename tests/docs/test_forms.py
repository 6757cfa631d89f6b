"""What the page about forms claims: privacy by enumeration, convexity, the bound, and its tables."""

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from form_tables import best_levels, best_questions, designed, result_table, size_table, typical
from generated import fill

from dpstrata.designs.questions import forms_to_prove
from dpstrata.privacy.mechanisms.kernels import point, s
from dpstrata.privacy.rows import replaced
from questionnaires import small_plan

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "forms.md"


def test_the_page_holds_its_tables():
    text = fill(PAGE.read_text(encoding="utf-8"))
    assert size_table() in text
    assert result_table() in text


# --- privacy ----------------------------------------------------------------------------------------


def row_probability(form, odds, true, sent):
    """Probability that a device with this form sends a row: a question is (its place in a person, levels)."""
    cells = math.prod(levels for _, levels in form)
    same = all(true[place] == value for (place, _), value in zip(form, sent, strict=True))
    return (odds if same else Fraction(1)) / (odds + cells - 1)


def published(forms, odds, people):
    """Probabilities of the rows of every seat; a seat is a form, and seats are filled in every way."""
    spaces = [list(itertools.product(*(range(levels) for _, levels in form))) for form in forms]
    ways = list(itertools.permutations(range(len(people)), len(forms)))
    return {
        rows: sum(
            math.prod(
                row_probability(form, own, people[who], row)
                for form, own, who, row in zip(forms, odds, way, rows, strict=True)
            )
            for way in ways
        )
        / len(ways)
        for rows in itertools.product(*spaces)
    }


def largest_change(forms, odds, N):
    """The largest factor between the probabilities of anything published if one person answers differently."""
    kinds = dict(question for form in forms for question in form)
    answers = list(itertools.product(*(range(kinds[place]) for place in sorted(kinds))))
    most = Fraction(1)
    for others in itertools.product(answers, repeat=N - 1):
        seen = [published(forms, odds, [one, *others]) for one in answers]
        for before, after in itertools.permutations(seen, 2):
            most = max(most, *(before[rows] / after[rows] for rows in before))
    return most


@pytest.mark.parametrize(
    ("forms", "N"),
    [
        ([((0, 2),), ((1, 2),)], 2),  # two forms, everyone asked
        ([((0, 2),), ((1, 2),)], 3),
        ([((0, 3),), ((1, 2),)], 3),  # of different sizes
        ([((0, 2), (1, 2)), ((1, 2),)], 3),  # with a question on both
        ([((0, 2),)], 3),
    ],
)
@pytest.mark.parametrize("odds", [Fraction(3), Fraction(10)])
def test_published_rows_lose_exactly_what_the_sample_makes_of_one_budget(forms, N, odds):
    q = Fraction(len(forms), N)
    assert largest_change(forms, [odds] * len(forms), N) == 1 + q * (odds - 1)


def test_unequal_budgets_lose_more_than_their_mean():
    odds = [Fraction(10), Fraction(2)]
    assert largest_change([((0, 2),), ((1, 2),)], odds, 2) == Fraction(22, 3)
    assert largest_change([((0, 2),), ((0, 2),)], odds, 2) == 6
    both = published([((0, 2),), ((1, 2),)], odds, [(1, 1), (0, 1)])[((1,), (1,))]
    neither = published([((0, 2),), ((1, 2),)], odds, [(0, 0), (0, 1)])[((1,), (1,))]
    assert (both, neither) == (Fraction(11, 33), Fraction(3, 66))


def test_a_row_loses_the_budget_of_its_device():
    for cells, E in ((2, 1.0), (24, 5.0), (256, 3.0)):
        rho = replaced(cells, E)
        assert (1 - rho + rho / cells) / (rho / cells) == pytest.approx(math.exp(E), rel=1e-12)


# --- convexity --------------------------------------------------------------------------------------


def office(n, factor, sensitivity, epsilon=1.0, N=1000.0):
    e = np.log1p(math.expm1(epsilon) * N / n)
    return factor * s(point(e / sensitivity)) / n**2


@pytest.mark.parametrize("sensitivity", [1.0, 2.0, 3.5, 12.0, 100.0])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
def test_the_noise_of_a_table_is_log_convex_in_the_sample_size(sensitivity, epsilon):
    n = np.geomspace(1.0, 1000.0, 4001)
    log = np.log(office(n, 1.0, sensitivity, epsilon))
    slopes = np.diff(log) / np.diff(n)
    assert (np.diff(slopes) >= -1e-9 * np.abs(slopes[1:])).all()


def test_the_smaller_of_two_tables_at_each_size_is_not_convex():
    """Five yes/no questions: a table each, with a fifth of the budget, or all 32 cells in one."""
    n = np.linspace(1.0, 1000.0, 4001)
    apart, cells = office(n, 1.0, 5.0), office(n, 32 / 4, 2.0)
    assert (apart < cells).any()
    assert (apart > cells).any()
    slopes = np.diff(np.minimum(apart, cells))
    assert (np.diff(slopes) < -1e-6 * np.abs(slopes[1:])).any()
    for each in (apart, cells):
        assert (np.diff(np.diff(each)) >= -1e-9 * np.abs(np.diff(each)[1:])).all()


# --- the bound --------------------------------------------------------------------------------------


@pytest.mark.parametrize("device_epsilon", [2.0, 4.0, 6.0])
def test_no_overlapping_forms_beat_the_bound(device_epsilon):
    plan = small_plan(device_epsilon=device_epsilon)
    problem, forms = forms_to_prove(plan)
    bound = plan.forms_bound
    assert forms.value == pytest.approx(bound.value)
    assert bound.value <= bound.lower_bound * (1 + bound.relative_gap) * (1 + 1e-9)
    everything = [
        [(j, choice) for j, choice in enumerate(picked) if choice is not None]
        for picked in itertools.product(*([None, *item.choices[:4]] for item in problem.items))
        if any(choice is not None for choice in picked)
    ]
    generator = np.random.default_rng(5)
    for _ in range(300):
        some = [everything[i] for i in generator.integers(len(everything), size=generator.integers(2, 9))]
        shares = generator.dirichlet(np.full(len(some), 0.5))
        information = np.zeros(len(problem.items))
        for form, share in zip(some, shares, strict=True):
            r = math.prod(choice.cells for _, choice in form) / problem.y
            for j, choice in form:
                information[j] += share / (choice.constant + r * (choice.linear + r * choice.square))
        if (information > 0).all():
            assert (1 / information).sum() >= bound.lower_bound * (1 - 1e-9)


# --- what it gives ----------------------------------------------------------------------------------


def test_how_large_forms_should_be():
    cells = {E: 2 ** best_questions(E, 2) for E in (2.0, 3.0, 4.0, 5.0, 6.0, 8.0)}
    assert cells == {2.0: 4, 3.0: 8, 4.0: 16, 5.0: 32, 6.0: 64, 8.0: 256}
    for E, K in cells.items():  # the variance of yes/no at worst, straight from (1 + K/y)²/4
        costs = {2**q: (1 + 2**q / math.expm1(E)) ** 2 / q for q in range(1, 15)}
        assert costs[K] == min(costs.values())
    assert best_levels(3.0) == 4


@pytest.mark.parametrize(
    ("name", "E", "most"), [("health10", 3.0, 0.067), ("health10", 5.0, 0.047), ("opinion20", 5.0, 0.069)]
)
def test_forms_are_several_times_as_precise_as_a_split_budget(name, E, most):
    plan = designed(name, E)
    assert plan.standard_error == pytest.approx(typical(plan, "standard_error"))
    assert plan.standard_error <= 1.05 * most
    assert typical(plan, "if_split") > 5 * plan.standard_error
    assert typical(plan, "standard_error_without_privacy") < plan.standard_error
