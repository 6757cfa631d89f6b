"""What the same reports lose if they are published several times, by enumeration of tiny populations.

Devices randomise once; the office adds new discrete Laplace noise each time. Nothing here uses a formula of the
library for what is lost: reports, counts and all published numbers are enumerated.
"""

import itertools
import math

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.fielding.figure_grid import figure_grids
from dpstrata.fielding.losses import _losses_inside, loss_of_repeats

ROUNDING = 1 + 1e-10


def weights_of(counts, outcomes, rate):
    """exp(−rate·|published − counted|) over cells and publications, up to what does not depend on the counts."""
    return np.exp(-rate * np.abs(outcomes[:, None] - counts[None]).sum(axis=(2, 3)))


def enumerated_loss(moves, chances, *, N, n, rate, times):
    """The largest log ratio of anything published when one of N people answers differently.

    Parameters
    ----------
    moves : array
        What each report (rows) adds to each published number (columns).
    chances : array
        Probability of each report (columns) given each answer (rows).
    N, n : int
        People, and how many of them are drawn.
    rate : float
        The office's noise on a number k has probability proportional to exp(−rate·|k|).
    times : int
        How often the same reports are published.
    """
    reports = np.array(list(itertools.product(range(len(moves)), repeat=n)))
    counts = moves[reports].sum(axis=1)
    # beyond the smallest and the largest count all probabilities change by the same factor
    each = [itertools.combinations_with_replacement(range(int(c.max()) + 1), times) for c in counts.T]
    outcomes = np.array(list(itertools.product(*each))).transpose(0, 2, 1)
    known = {}

    def given(answers):
        if answers not in known:
            joint = math.prod(chances[answer][reports[:, i]] for i, answer in enumerate(answers))
            known[answers] = joint
        return known[answers]

    def mixture(people):
        ways = list(itertools.combinations(people, n))
        return sum(given(tuple(sorted(way))) for way in ways) / len(ways)

    answers, worst = range(len(chances)), 0.0
    populations = [
        [mixture((mine, *others)) for mine in answers]
        for others in itertools.combinations_with_replacement(answers, N - 1)
    ]
    for part in np.array_split(outcomes, max(1, len(outcomes) * len(reports) // 2_000_000)):
        law = weights_of(counts[:, None, :], part, rate)
        for worlds in populations:
            found = np.array([law @ world for world in worlds])
            worst = max(worst, float(np.log(found.max(axis=0) / found.min(axis=0)).max()))
    return worst


def rows_kept(cells, E):
    """Probabilities of the rows that a device sends: the true one is exp(E) times as likely as any other."""
    return (np.ones((cells, cells)) + np.expm1(E) * np.eye(cells)) / (math.exp(E) + cells - 1)


def kept_together(questions, *, N, n, epsilon, E):
    together = "all" if questions > 1 else None
    asked = [dps.Question(f"q{j}", "yes_no", blank=False, together=together) for j in range(questions)]
    return dps.design(
        dps.Strata([N], [0.4]),
        questions=dps.Questionnaire(asked),
        forms=[[question.name for question in asked]],
        epsilon=epsilon,
        device_epsilon=E,
        release="sums",
        total=n,
        min_per_stratum=1,
    )


@pytest.mark.parametrize(
    ("questions", "N", "n", "times"),
    [(1, 2, 2, 2), (1, 4, 3, 3), (1, 5, 2, 4), (2, 2, 2, 1), (2, 2, 2, 2), (2, 2, 2, 3), (2, 4, 2, 2)],
)
@pytest.mark.parametrize(("epsilon", "E"), [(0.3, 2.0), (0.5, 3.0), (1.0, 1.2)])
def test_tables_published_again_lose_what_the_ledger_counts(questions, N, n, times, epsilon, E):
    plan = kept_together(questions, N=N, n=n, epsilon=epsilon, E=E)
    (form,) = plan.forms
    office = plan.problem.forms.office_budgets(plan.local_epsilons)[0, 0]
    cells, moved = (form.cells, 2) if questions > 1 else (2, 1)
    moves = np.eye(cells, dtype=int) if questions > 1 else np.array([[0], [1]])
    rate = 50.0 if math.isinf(office) else office / moved  # 50: as good as none
    loss = enumerated_loss(moves, rows_kept(cells, E), N=N, n=n, rate=rate, times=times)
    counted = loss_of_repeats(plan, times)
    assert loss <= counted * ROUNDING
    assert counted == pytest.approx(formula(plan, times, cells), rel=1e-9)


def formula(plan, times, cells):
    """The theorem in its textbook form, with the credit by bisection."""
    e, E, q = plan.local_epsilons[0], plan.inputs.device_epsilon, plan.total / plan.strata.sizes[0]
    keep = math.expm1(E) / (math.expm1(E) + cells)

    if e >= E:
        return math.log1p(q * math.expm1(E))

    def inside(office):
        return math.log1p(1 / (1 / (keep * math.expm1(office)) + 1 / math.expm1(E)))

    low, high = 0.0, 60.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) < e else (low, middle)
    return math.log1p(q * math.expm1(inside(times * low)))


def test_eight_cells_twice():
    """N = n = 2, K = 8, ε = 0.3, E = 2: 0.6423 is lost, and twice ε would be counted too little."""
    plan = kept_together(3, N=2, n=2, epsilon=0.3, E=2.0)
    office = plan.problem.forms.office_budgets(plan.local_epsilons)[0, 0]
    moves = np.eye(8, dtype=int)
    # both publications alike, which is the worst: a factor of two in the rate of one
    loss = enumerated_loss(moves, rows_kept(8, 2.0), N=2, n=2, rate=2 * office / 2, times=1)
    assert loss == pytest.approx(0.6423, abs=5e-5)
    assert loss <= loss_of_repeats(plan, 2) * ROUNDING
    assert loss_of_repeats(plan, 2) <= 1.05 * loss


@pytest.mark.parametrize(("questions", "losses"), [(6, (0.5, 1.511, 2.165)), (1, None)])
def test_large_tables(questions, losses):
    """Six kept-together yes/no questions: the ledger used to count 1.144 and 1.881."""
    plan = kept_together(questions, N=1000, n=500, epsilon=0.5, E=3.0)
    cells = 2**questions
    found = [loss_of_repeats(plan, times) for times in (1, 2, 3)]
    assert found == pytest.approx([formula(plan, times, cells) for times in (1, 2, 3)], rel=1e-9)
    if losses is not None:
        assert found == pytest.approx(losses, abs=5e-4)
    assert loss_of_repeats(plan, 10**6) == pytest.approx(math.log1p(0.5 * math.expm1(3.0)), rel=1e-9)
    # other reports may be the same for some people, and new ones for others
    once, twice, thrice = (math.log1p(2 * math.expm1(loss)) for loss in found)
    others = [loss_of_repeats(plan, times, report_sets=times) for times in (1, 2, 3)]
    inside = [once, max(2 * once, twice), max(3 * once, once + twice, thrice)]
    assert others == pytest.approx([math.log1p(0.5 * math.expm1(loss)) for loss in inside], rel=1e-9)


def test_one_category_of_twenty():
    asked = dps.Question("job", "category", blank=False, categories=[f"c{i}" for i in range(20)])
    plan = dps.design(
        dps.Strata([1000], [0.4]),
        questions=dps.Questionnaire([asked]),
        epsilon=0.5,
        device_epsilon=3,
        release="sums",
        total=500,
    )
    assert loss_of_repeats(plan, 2) == pytest.approx(1.251, abs=5e-4)


@pytest.mark.parametrize("mechanism", ["randomized_response", "laplace"])
def test_reports_lose_no_more_than_devices_do(mechanism):
    """E = 1: five publications used to be counted as 12.2 where all reports together lose at most 0.159."""
    answers = "yes_no" if mechanism == "randomized_response" else (0, 1)
    plan = dps.design(
        dps.Strata([1000], [0.4]),
        questions=answers,
        mechanism=mechanism,
        epsilon=1,
        device_epsilon=1,
        release="sums",
        total=100,
    )
    most = math.log1p(0.1 * math.expm1(1))
    assert most == pytest.approx(0.159, abs=5e-4)
    assert [loss_of_repeats(plan, times) for times in (1, 5)] == pytest.approx([most, most], rel=1e-12)


@pytest.mark.parametrize("release", ["sums", "mean"])
@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize(("N", "n"), [(2, 2), (5, 3)])
@pytest.mark.parametrize(("epsilon", "E"), [(0.4, 3.0), (1.0, 2.0)])
def test_one_yes_no_question(N, n, times, epsilon, E, release):
    """A mean takes no credit for devices, and still lost 40% less than the ledger used to count."""
    plan = dps.design(
        dps.Strata([N], [0.4]),
        questions="yes_no",
        mechanism="randomized_response",
        epsilon=epsilon,
        device_epsilon=E,
        release=release,
        total=n,
    )
    if release == "mean":
        (figure,) = figure_grids(plan, plan.sample_sizes)
        rate = figure.weights[0] / figure.scale  # of one report
    else:
        office = float(plan.inputs.release_form.credited(plan.local_epsilons)[0])
        rate = 50.0 if math.isinf(office) else office
    loss = enumerated_loss(np.array([[0], [1]]), rows_kept(2, E), N=N, n=n, rate=rate, times=times)
    assert loss <= loss_of_repeats(plan, times) * ROUNDING
    assert loss_of_repeats(plan, times) <= 1.05 * loss


def test_published_rows_lose_nothing_new():
    """Rows that devices sent are the same rows each time; raw ones are randomised anew."""
    asked = dps.Question("ill", "yes_no", blank=False)
    plan = dps.design(dps.Strata([50], [0.4]), questions=asked, forms="one", epsilon=1, total=10)
    twice = math.log1p(0.2 * math.expm1(2 * plan.local_epsilons[0]))
    assert [loss_of_repeats(plan, times) for times in (1, 2, 9)] == pytest.approx([1, 1, 1], rel=1e-12)
    assert loss_of_repeats(plan, 2, report_sets=2) == pytest.approx(twice, rel=1e-12)


def test_sets_that_may_hold_the_same_reports_are_united_as_they_lose_most():
    """Someone may send one report in several sets: with sine that can lose more than the sets added up."""
    plan = dps.design(
        dps.Strata([900], [0.3]), epsilon=1, total=40, release="mean", device_epsilon=3, mechanism="sine"
    )

    def inside(*budgets):
        return float(plan.losses_inside(budgets=np.array([sum(budgets)]))[0])

    for a, b, c in ((0.01, 0.02, 0.03), (0.5, 0.01, 0.01), (2.0, 1.5, 0.1)):
        ways = [
            inside(a) + inside(b) + inside(c),
            inside(a, b) + inside(c),
            inside(a, c) + inside(b),
            inside(b, c) + inside(a),
            inside(a, b, c),
        ]
        counted = _losses_inside(plan, 3, [np.array([each]) for each in (a, b, c)], 3)
        assert counted == pytest.approx([max(ways)], rel=1e-14)
    assert inside(0.01, 0.01) > 2 * inside(0.01)
    many = [np.array([0.1])] * 7
    assert _losses_inside(plan, 7, many, 7) == pytest.approx([0.7])
