"""Budgets and several targets against trying every allocation."""

import itertools

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.allocation.domains import find_partitions
from dpstrata.allocation.proof.bound import certify_budget, certify_targets
from dpstrata.allocation.solvers.budget import solve_budget
from dpstrata.allocation.solvers.sizes_at_price import best_sizes
from dpstrata.allocation.solvers.targets import TargetProblem
from dpstrata.allocation.variances import mean_variances
from extent import FULL, few
from problems import make_problem, random_problem

pytestmark = pytest.mark.slow

MANY = few(12, of=150)


def every_allocation(lower, upper):
    return np.array(
        list(itertools.product(*[range(low, high + 1) for low, high in zip(lower, upper, strict=True)]))
    )


def variances_of(problem, rows, *, finite_population):
    """Variance of every stratum's mean in each of many allocations."""
    columns = []
    for i in range(rows.shape[1]):
        sizes = np.arange(problem.lower[i], problem.upper[i] + 1)
        table = [
            mean_variances(
                problem,
                np.where(np.arange(rows.shape[1]) == i, n, problem.lower),
                finite_population=finite_population,
            )[i]
            for n in sizes
        ]
        columns.append(np.array(table)[rows[:, i] - problem.lower[i]])
    return np.column_stack(columns)


@pytest.mark.parametrize("seed", range(MANY))
@pytest.mark.parametrize("search", [True, False])
def test_budget_equals_exhaustive_or_is_within_its_gap(seed, search, monkeypatch):
    rng = np.random.default_rng([21, seed])
    problem = random_problem(rng, most_strata=4, room=8, beyond=True)
    costs = rng.choice([1.0, 2.0, 3.5, 0.7, 10.0], len(problem.lower))
    least, most = (costs * problem.lower).sum(), (costs * problem.upper).sum()
    budget = float(least + (most - least) * rng.random())
    if not search:
        monkeypatch.setattr("dpstrata.allocation.solvers.budget.candidates_within", lambda *_: None)
    found = solve_budget(problem, costs, budget, finite_population=False)
    assert (costs * found.sizes).sum() <= budget * (1 + 1e-15)
    assert np.all((found.sizes >= problem.lower) & (found.sizes <= problem.upper))
    rows = every_allocation(problem.lower, problem.upper)
    rows = rows[(rows * costs).sum(axis=1) <= budget]
    weights = problem.terms.coefficients**2
    best = (weights * variances_of(problem, rows, finite_population=False)).sum(axis=1).min()
    assert found.bound.lower_bound <= best * (1 + 1e-10)
    assert found.bound.value == pytest.approx(problem.objective(found.sizes), rel=1e-9)
    assert found.bound.value <= best + found.bound.gap * (1 + 1e-6) + 1e-10 * best
    if search:
        assert found.bound.optimal


@pytest.mark.parametrize("k", [3, 8, 30, 200])
@pytest.mark.parametrize("people", [1000, 20_000])
def test_the_gap_of_a_budget_is_small(k, people):
    rng = np.random.default_rng([k, people])
    problem = make_problem(10 ** rng.uniform(3, 6, k), rng.uniform(0.01, 0.45, k), total=k)
    costs = np.round(rng.uniform(5, 60, k), 2)
    found = solve_budget(problem, costs, people * float(costs.mean()), finite_population=True)
    assert found.bound.relative_gap < 1e-3
    # the proof does not depend on how the sizes were found: any price bounds them
    for price in (0.5, 2.0):
        other = certify_budget(
            problem,
            costs,
            people * float(costs.mean()),
            found.sizes,
            found.bound.prices[0] * price,
            finite_population=True,
        )
        assert other.lower_bound <= found.bound.lower_bound * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(12) if FULL else range(2, 6))
@pytest.mark.parametrize("targets", [False, True])
def test_a_budget_just_below_the_cost_of_the_best_design_buys_nearly_that(seed, targets):
    """Real sizes without any price may then cost less than the budget, and no price is the right one."""
    rng = np.random.default_rng([8, seed])
    k = int(rng.choice([4, 8]))
    strata = dps.Strata(
        np.exp(rng.uniform(np.log(500), np.log(50_000), k)).astype(int),
        rng.uniform(0.02, 0.45, k),
        costs=np.round(rng.uniform(1, 20, k), 2),
        extra={"half": ["a", "b"] * (k // 2)},
    )
    options = {
        "epsilon": float(np.exp(rng.uniform(np.log(0.05), np.log(2)))),
        "mechanism": str(rng.choice(["laplace", "staircase", "piecewise"])),
    }
    best = dps.design(strata, budget=1e12, domains=["half"], **options)
    reached = {
        domain.group: dps.SE(1.02 * domain.standard_error)
        for domain in best.domains
        if domain.column == "half"
    }
    for less in few((0.01, 3.0), of=(0.01, 0.1, 0.5, 3.0)):
        plan = dps.design(
            strata, budget=best.cost - less, domains={"half": reached if targets else None}, **options
        )
        assert plan.cost >= best.cost - less - 25  # a person or two
        assert best.variance <= plan.variance <= best.variance * (1 + 1e-3)
        assert plan.certificate.relative_gap <= 1e-3


def random_targets(rng, *, k, sizes, groups, costs, tight=0.1):
    """A survey with overlapping domains, and targets between the best and the worst possible."""
    people = rng.integers(*sizes, k)
    sds = np.where(people > 1, rng.choice([0.0, 0.1, 0.3, 0.45], k), 0.0)
    extra = {f"g{j}": [str(v) for v in rng.integers(0, size, k)] for j, size in enumerate(groups)}
    strata = dps.Strata(
        people, sds, costs=rng.choice([1.0, 2.0, 3.5, 5.0], k) if costs else None, extra=extra
    )
    options = {
        "epsilon": float(10 ** rng.uniform(-1, 1)),
        "mechanism": str(rng.choice(["laplace", "tulap"])),
        "local_epsilon_cap": float(rng.uniform(1, 8)) if rng.random() < 0.3 else None,
    }
    plan = dps.design(strata, total=k, domains=list(extra), **options)
    best = dps.design(strata, at_most=int(people.sum()), domains=list(extra), **options)
    share = rng.uniform(0.02, 0.6)
    targets, whole = {}, None
    for start, end in zip(plan.domains, best.domains, strict=True):
        if rng.random() < 0.2:
            continue
        low, high = end.standard_error, start.standard_error
        place = 0.0 if rng.random() < tight else share * rng.uniform(0.3, 1.5)
        target = max(low, low + (high - low) * place)
        if start.column == "all":
            whole = target
        else:
            targets.setdefault(start.column, {})[start.group] = dps.SE(target)
    if not targets and whole is None:
        whole = best.standard_error * 1.05
    question = {**options, **({"target_se": whole} if whole else {}), "domains": targets or list(extra)}
    return strata, question


@pytest.mark.parametrize("seed", range(MANY))
def test_targets_equal_exhaustive_for_few_strata(seed):
    rng = np.random.default_rng([22, seed])
    k = int(rng.integers(1, 6))
    strata, question = random_targets(
        rng, k=k, sizes=(2, 14 if k < 5 else 9), groups=(2, 2), costs=rng.random() < 0.5
    )
    plan = dps.design(strata, **question)
    for domain in plan.domains:
        assert domain.target is None or domain.standard_error <= domain.target
    problem = plan.problem
    rows = every_allocation(problem.lower, np.minimum(problem.upper, best_sizes(problem)))
    variances = variances_of(problem, rows, finite_population=True)
    meets = np.ones(len(rows), dtype=bool)
    for domain in plan.domains:
        if domain.target is None:
            continue
        inside = (
            np.ones(k, dtype=bool)
            if domain.column == "all"
            else np.array(strata.extra[domain.column]) == domain.group
        )
        weights = np.where(inside, strata.sizes / strata.sizes[inside].sum(), 0.0) ** 2
        meets &= (weights * variances).sum(axis=1) <= domain.target**2 * (1 + 1e-13)
    costs = np.ones(k) if strata.costs is None else strata.costs
    best = (rows * costs).sum(axis=1)[meets].min()
    assert (costs * plan.sample_sizes).sum() == pytest.approx(best, rel=1e-12)
    if isinstance(plan.certificate, dps.Bound):
        assert plan.certificate.optimal


def test_the_gap_of_targets_is_at_most_their_number():
    """A vertex splits at most one person for each target that binds."""
    gaps = []
    for seed in range(few(10, of=25)):
        rng = np.random.default_rng([23, seed])
        strata, question = random_targets(
            rng, k=int(rng.integers(6, 120)), sizes=(200, 20_000), groups=(5, 3), costs=False, tight=0.0
        )
        plan = dps.design(strata, **question)
        for domain in plan.domains:
            assert domain.target is None or domain.standard_error <= domain.target
        if isinstance(plan.certificate, dps.Bound):
            gaps.append(plan.certificate.gap <= sum(domain.binds for domain in plan.domains))
    assert len(gaps) > few(6, of=15)
    assert np.mean(gaps) > 0.9


def test_a_bound_holds_at_any_prices():
    rng = np.random.default_rng(5)
    strata, question = random_targets(rng, k=4, sizes=(5, 12), groups=(2,), costs=True, tight=0.0)
    plan = dps.design(strata, **question)
    found = find_partitions(strata, plan.inputs)
    parts = TargetProblem(
        plan.problem, strata.costs, found, best_sizes(plan.problem), finite_population=True
    ).partitions
    for factor in (0.1, 0.7, 1.5, 20.0):
        prices = [price * factor for price in plan.certificate.prices]
        other = certify_targets(
            plan.problem, strata.costs, parts, plan.sample_sizes, prices, finite_population=True
        )
        assert other.lower_bound <= plan.cost


def test_targets_that_the_minimums_meet_cost_nothing_more():
    strata = dps.Strata([50, 60], [0.1, 0.2], extra={"side": ["a", "b"]})
    plan = dps.design(strata, epsilon=1, domains={"side": "5se"})
    assert plan.sample_sizes.tolist() == [1, 1]
    assert plan.certificate.optimal
    assert not any(domain.binds for domain in plan.domains)


def test_relaxed_prices_are_the_derivative_of_the_cost():
    """The shadow price says what a target looser by 1% saves."""
    rng = np.random.default_rng(3)
    strata = dps.Strata(
        rng.integers(10**6, 10**7, 6),
        rng.uniform(0.1, 0.4, 6),
        extra={"region": ["n", "n", "s", "s", "w", "w"]},
    )
    targets = {"n": 0.004, "s": 0.003, "w": 0.005}
    plan = dps.design(strata, epsilon=1, target_se=0.0025, domains={"region": targets})
    for domain in plan.domains[1:]:
        tight, loose = (
            dps.design(
                strata,
                epsilon=1,
                target_se=0.0025,
                domains={"region": {**targets, domain.group: factor * targets[domain.group]}},
            ).total
            for factor in (0.99, 1.01)
        )
        assert (tight - loose) / 2 == pytest.approx(domain.shadow_price, rel=0.02, abs=2)


def test_money_is_decimal():
    """0.1 + 0.2 is 0.3, and ten times 0.1 is 1."""
    three = dps.Strata([100] * 3, [0.3] * 3, costs=[0.1] * 3)
    assert dps.design(three, epsilon=1, budget=0.3).sample_sizes.tolist() == [1, 1, 1]
    assert dps.design(three, epsilon=1, budget=0.3, target_se=5).cost == 0.3
    two = dps.Strata([100] * 2, [0.3] * 2, costs=[0.1, 0.2])
    assert dps.design(two, epsilon=1, budget=0.3).sample_sizes.tolist() == [1, 1]
    plan = dps.design(two, epsilon=1, budget=0.6)
    assert plan.sample_sizes.tolist() == [2, 2]
    assert plan.certificate.optimal
    odd = dps.Strata([100] * 3, [0.3] * 3, costs=[0.1, 0.7, 1.1])
    assert dps.design(odd, epsilon=1, budget=float(np.sum([0.1, 0.7, 1.1]))).sample_sizes.tolist() == [
        1,
        1,
        1,
    ]


def test_costs_of_very_different_size_are_filled_at_once():
    strata = dps.Strata([10**9, 10**5], [0.5, 0.5], costs=[0.01, 1e5])
    plan = dps.design(strata, epsilon=1, budget=2.95e5, objective="trace")
    assert plan.cost <= 2.95e5
    assert plan.cost > 2.95e5 - 0.02


def test_straight_terms_under_a_cap_with_targets():
    strata = dps.Strata(
        [19, 20, 3],
        [0, 0.012220019536794136, 0],
        costs=[245.06757224898237, 29515.198828267872, 383899.0848320003],
        extra={"a": ["1", "0", "1"], "b": ["0", "1", "1"]},
    )
    plan = dps.design(
        strata,
        epsilon=1.136592415963732,
        mechanism="discrete_laplace",
        questions="yes_no",
        local_epsilon_cap=1.3305332677621557,
        finite_population=False,
        target_se=0.18408690109799034,
        domains={
            "a": {"1": 0.27850469238585446, "0": 0.32299301194195496},
            "b": {"0": 0.3089022536531454, "1": 0.303513073547153},
        },
    )
    assert all(domain.target is None or domain.standard_error <= domain.target for domain in plan.domains)


def test_least_cost_is_not_called_the_fewest():
    strata = dps.Strata([12000, 20000], [0.4, 0.45], costs=[12, 11])
    words = repr(dps.design(strata, epsilon=1, target_se=0.02))
    assert "the fewest" not in words
    assert "the lowest found" in words


@pytest.mark.parametrize("seed", range(MANY // 2))
@pytest.mark.parametrize("search", [True, False])
def test_a_budget_with_targets_equals_exhaustive_or_is_within_its_gap(seed, search, monkeypatch):
    rng = np.random.default_rng([24, seed])
    k = int(rng.integers(2, 5))
    sizes = rng.integers(30, 3000, k)
    strata = dps.Strata(
        sizes,
        rng.uniform(0.02, 0.45, k),
        costs=rng.choice([1.0, 2.0, 3.5, 0.7, 10.0], k),
        maxs=np.minimum(sizes, rng.integers(4, 12, k)),
        extra={"half": rng.choice(["x", "y"], k).tolist(), "other": rng.choice(["u", "v"], k).tolist()},
    )
    if not search:
        for module in ("budget", "targets"):
            monkeypatch.setattr(f"dpstrata.allocation.solvers.{module}.candidates_within", lambda *_: None)
    fpc = bool(rng.random() < 0.5)
    options = {"epsilon": float(rng.choice([0.3, 1.0, 3.0])), "finite_population": fpc}
    widest = dps.design(strata, at_most=10**6, domains=["half", "other"], **options)
    groups = {}
    for domain in widest.domains[1:]:
        if rng.random() < 0.7:
            target = domain.standard_error * float(rng.uniform(1.0, 1.8))
            groups.setdefault(domain.column, {})[domain.group] = dps.SE(target)
    groups = groups or {"half": {strata.extra["half"][0]: dps.SE(9.0)}}
    cheapest = dps.design(strata, domains=groups, **options)
    budget = float(cheapest.cost + (strata.costs * strata.maxs - strata.costs).sum() * rng.random() * 0.7)
    plan = dps.design(strata, domains=groups, budget=budget, **options)
    rows = every_allocation(plan.problem.lower, plan.problem.upper)
    variances = variances_of(plan.problem, rows, finite_population=fpc)
    allowed = (rows * strata.costs).sum(axis=1) <= budget * (1 + 1e-12)
    for part in find_partitions(strata, plan.inputs):
        for group, limit in enumerate(part.limits):
            inside = part.codes == group
            allowed &= (variances[:, inside] * part.weights[inside]).sum(axis=1) <= limit * (1 + 1e-12)
    whole = (variances * (sizes / sizes.sum()) ** 2).sum(axis=1)
    least = float(whole[allowed].min())
    proof = plan.certificate
    assert plan.cost <= budget
    assert all(domain.standard_error <= (domain.target or 9) * (1 + 1e-12) for domain in plan.domains)
    assert proof.lower_bound <= least * (1 + 1e-9)
    assert plan.variance <= (cheapest.variance * (1 + 1e-12))
    if proof.optimal:
        assert plan.variance == pytest.approx(least, rel=1e-9)
    assert proof.optimal or not search


def test_a_budget_is_spent_once_the_targets_are_met(tmp_path):
    strata = dps.Strata(
        [120_000, 90_000, 200_000, 150_000],
        [0.4, 0.3, 0.45, 0.25],
        costs=[12, 10, 11, 9],
        extra={"region": ["north", "north", "south", "south"]},
    )
    domains = {"region": {"north": dps.SE(0.012)}}
    cheapest = dps.design(strata, epsilon=1, domains=domains)
    plan = dps.design(strata, epsilon=1, domains=domains, budget=100_000)
    assert cheapest.cost < 60_000 < 99_990 < plan.cost <= 100_000
    assert plan.standard_error < cheapest.standard_error
    free = dps.design(strata, epsilon=1, budget=100_000)
    assert free.variance <= plan.variance
    assert next(each for each in plan.domains if each.group == "north").standard_error <= 0.012
    assert plan.certificate.measure == "variance"
    assert plan.certificate.relative_gap < 1e-4
    assert len(plan.certificate.prices) == 2
    plan.save(tmp_path / "design.json")
    assert dps.load_design(tmp_path / "design.json") == plan
    with pytest.raises(dps.InfeasibleError, match=r"the precision asked for costs .* more than budget=1,000"):
        dps.design(strata, epsilon=1, domains=domains, budget=1000)
