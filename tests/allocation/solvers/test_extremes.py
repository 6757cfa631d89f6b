"""Extremes work: every one of these returns a certified optimum."""

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.allocation.proof.certificate import certify
from dpstrata.allocation.solvers.solve import solve
from dpstrata.allocation.solvers.targets import TargetProblem
from extent import few
from problems import MECHANISMS, PAPER_SDS, PAPER_SIZES, make_problem

pytestmark = pytest.mark.slow


def solve_and_certify(*arguments, **options):
    problem = make_problem(*arguments, **options)
    sizes = solve(problem).sizes
    assert sizes.sum() == problem.total
    certificate = certify(problem, sizes)
    assert certificate.optimal
    return problem, sizes, certificate


@pytest.mark.parametrize(("mechanism", "steps"), MECHANISMS)
@pytest.mark.parametrize("objective", ["mean", "trace", "unit_free", "custom"])
@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 1.0, 50.0, 100.0])
def test_huge_sizes_and_any_epsilon(mechanism, steps, objective, epsilon):
    rng = np.random.default_rng(5)
    options = {"mechanism": mechanism, "steps": steps, "objective": objective, "epsilon": epsilon}
    for _ in range(few(1, of=3)):
        sizes = np.floor(10 ** rng.uniform(11, 12, 10))
        coefficients = rng.uniform(0.1, 3, 10)
        solve_and_certify(
            sizes, rng.uniform(0.01, 0.5, 10), total=2 * 10**12, coefficients=coefficients, **options
        )
        ten_orders = 10 ** np.arange(1, 11)
        solve_and_certify(
            ten_orders,
            np.full(10, 0.3),
            total=int(ten_orders.sum() // 3),
            coefficients=coefficients,
            **options,
        )


@pytest.mark.parametrize("seed", range(30))
def test_two_groups_whose_tilts_dwarf_everything_else(seed):
    """The optimum sits where one group is nearly full and single people decide."""
    rng = np.random.default_rng(seed)
    sizes = np.where(np.arange(100) % 2, 10**12, 2 * 10**12)
    solve_and_certify(sizes, rng.uniform(0, 0.5, 100), epsilon=1e-6, total=10**14 + 2, objective="trace")


def test_total_of_ten_to_the_thirteen():
    solve_and_certify([10**12] * 20, np.linspace(0, 0.5, 20), total=10**13)


def test_more_interviews_hurt_and_the_price_is_negative():
    problem, _, _ = solve_and_certify(PAPER_SIZES, PAPER_SDS, epsilon=0.1, total=33_995)
    few = make_problem(PAPER_SIZES, PAPER_SDS, epsilon=0.1, total=972)
    assert solve(problem).price < 0
    # figures with the finite population correction: 0.0297 at 972 interviews, 0.0767 at 34,000
    for instance, published in ((few, 0.0297), (problem, 0.0767)):
        terms = instance.terms
        value = instance.objective(solve(instance).sizes)
        correction = float((terms.coefficients**2 * terms.variances / terms.sizes).sum())
        assert np.sqrt(value - correction) == pytest.approx(published, abs=5e-5)


def test_strata_of_one_person_no_spread_and_no_weight():
    _, sizes, _ = solve_and_certify([1, 1, 500, 600], [0, 0, 0.3, 0], total=60)
    assert sizes[:2].tolist() == [1, 1]
    _, sizes, certificate = solve_and_certify(
        [100] * 5, [0.3] * 5, total=200, objective="custom", coefficients=[0, 0, 1, 0, 0]
    )
    # beyond 58 the third stratum only loses secrecy; the rest goes to strata without weight, earlier first
    assert sizes.tolist() == [100, 40, 58, 1, 1]
    assert certificate.tie == "equal"


@pytest.mark.parametrize(("mechanism", "steps"), [("laplace", None), ("discrete_laplace", 1)])
@pytest.mark.parametrize("sd", [0.3, 0.0])
def test_a_million_identical_strata(mechanism, steps, sd):
    """Ties go to the earlier stratum, and are settled without so many exact evaluations."""
    k = few(10**5, of=10**6)
    _, sizes, certificate = solve_and_certify(
        np.full(k, 1000), np.full(k, sd), total=101 * k // 2 - 17, mechanism=mechanism, steps=steps
    )
    assert certificate.tie == "equal"
    if mechanism == "laplace" or sd > 0:
        more = k // 2 - 17
        assert sizes.tolist() == [51] * more + [50] * (k - more)
    else:  # without spread every person is worth the same: the first strata take them all
        whole = (99 * k // 2 - 17) // 999
        assert np.all(sizes[:whole] == 1000)
        assert np.all(sizes[whole + 1 :] == 1)


def test_exact_ties_of_different_strata_are_reported_open():
    """S·N equal: Discrete Laplace on two answers makes their gains equal, which digits cannot prove."""
    problem = make_problem([100, 200, 400], [0.4, 0.2, 0.1], total=31, mechanism="discrete_laplace", steps=1)
    sizes = solve(problem).sizes
    assert sizes.tolist() == [11, 10, 10]
    certificate = certify(problem, sizes)
    assert (certificate.optimal, certificate.tie) == (True, "open")


def test_near_ties_are_settled_exactly():
    """Two strata whose gains differ by less than double precision resolves."""
    sds = np.array([0.3, np.nextafter(0.3, 1)])
    for order in ([0, 1], [1, 0]):
        problem = make_problem([10**9, 10**9], sds[order], total=10**6 + 1)
        sizes = solve(problem).sizes
        larger = int(np.argmax(sds[order]))
        assert sizes[larger] == 500_001
        assert certify(problem, sizes).optimal
        assert not certify(problem, sizes[::-1].copy()).optimal


@pytest.mark.parametrize(
    "options",
    [
        {"sizes": [10**6], "sds": [0.0], "total": 500_000},
        {"sizes": [10**9, 3 * 10**9 + 7], "sds": [0.0, 0.0], "total": 2 * 10**9},
        {
            "sizes": [7_241_486],
            "sds": [0.0],
            "total": 5_000_000,
            "mechanism": "discrete_laplace",
            "steps": 8,
            "epsilon": 50.0,
        },
        {
            "sizes": [10**6, 2 * 10**6, 3 * 10**6],
            "sds": [0.1, 0.2, 0.3],
            "total": 6 * 10**6,
            "epsilon": 1e-6,
            "objective": "trace",
        },
        {
            "sizes": [10**6, 2 * 10**6, 3 * 10**6],
            "sds": [0.1, 0.2, 0.3],
            "total": 6 * 10**6 - 3,
            "epsilon": 1e-6,
            "objective": "trace",
        },
        {
            "sizes": [620_172, 1_860_516],
            "sds": [0.04, 2.5e-8],
            "total": 2_480_687,
            "objective": "unit_free",
            "mechanism": "discrete_laplace",
            "steps": 1,
        },
        {
            "sizes": [111_290_610, 333_871_830] * 2,
            "sds": [0.1] * 4,
            "total": 890_324_875,
            "epsilon": 1e-6,
            "objective": "unit_free",
        },
        {
            "sizes": [1, 5_066_873, 38_684_078_019],
            "sds": [0, 0.4066, 0],
            "coefficients": [1.157e8, 1.31e-4, 1],
            "lower": [1, 1, 2],
            "upper": [1, 1_994_092, 38_684_078_019],
            "total": 38_686_071_964,
            "objective": "custom",
            "mechanism": "discrete_laplace",
            "steps": 1,
            "answer_range": 2.0,
        },
    ],
)
def test_people_whom_doubles_cannot_tell_apart_are_counted_not_listed(options):
    """Each of these once took minutes: a price far off, or millions of exact comparisons."""
    solve_and_certify(options.pop("sizes"), options.pop("sds"), **options)


def test_millions_of_nearly_equal_gains_against_the_plain_order():
    """Exact selection by bisection equals listing and ranking everyone."""
    from dpstrata.allocation.solvers.exact import MarginalCandidates

    rng = np.random.default_rng(8)
    for _ in range(20):
        k = int(rng.integers(1, 5))
        problem = make_problem(
            rng.integers(50, 90, k),
            rng.choice([0.0, 0.1, 0.3], k),
            total=20 * k,
            epsilon=float(10 ** rng.uniform(-3, 1)),
        )
        crowd = MarginalCandidates(problem, problem.terms, np.arange(k), problem.lower)
        needed = int(rng.integers(k, problem.upper.sum()))
        chosen = crowd._choose_exactly(problem.lower, problem.upper, needed - k)
        same = make_problem(
            problem.terms.sizes, problem.forms.sds, total=needed, epsilon=problem.terms.promise.epsilon
        )
        assert chosen.tolist() == solve(same).sizes.tolist()


def test_targets_for_huge_strata_are_met_in_few_steps(monkeypatch):
    """Millions of people can be left out after the prices are found; one at a time took minutes."""
    looked = []
    missed = TargetProblem.missed
    monkeypatch.setattr(TargetProblem, "missed", lambda self, sizes: looked.append(1) or missed(self, sizes))
    strata = dps.Strata(names=["A", "B"], sizes=[2 * 10**11, 100], sds=[0.5, 0.5], costs=[2, 5.5])
    plan = dps.design(
        strata, epsilon=5, target_cv=1.6565729134318526e-06, expected_mean=0.5, local_epsilon_cap=20
    )
    assert plan.standard_error <= 0.5 * 1.6565729134318526e-06
    assert plan.certificate.gap < 1e-7 * plan.certificate.value
    assert len(looked) < 2000
