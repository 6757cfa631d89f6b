"""The smallest budget for a precision: it reaches it, the next smaller one does not, by designs made anew."""

import itertools
import json
import math
import warnings

import numpy as np
import pytest

import commands
import dpstrata as dps
from dpstrata.allocation.variances import planned_variance
from dpstrata.planning.solve_epsilon import _first_place, _number, _steps

STRATA = dps.Strata(
    sizes=[700, 800, 900, 1000], sds=[0.283, 0.08, 0.0226, 0.0064], extra={"region": ["n", "n", "s", "s"]}
)
FIND = {"epsilon": {}, "device_epsilon": {"epsilon": 1.0, "release": "sums"}}


def next_smaller(value, digits):
    """The largest number of so many digits below another one, by its decimals."""
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    whole = int(mantissa.replace(".", ""))
    if whole == 10 ** (digits - 1):
        whole, exponent = 10**digits - 1, int(exponent) - 1
    else:
        whole -= 1
    return float(f"{whole}e{int(exponent) - digits + 1}")


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_the_grid_has_every_number_of_so_many_digits(digits):
    steps = _steps(digits)
    last = 8 * steps
    values = [_number(place, steps) for place in range(last + 1)]
    assert values[0] == 1e-6
    assert values[-1] == 100.0
    for before, after in itertools.pairwise(values):
        assert next_smaller(after, digits) == before


@pytest.mark.parametrize("reached", [0.0, 1e-6, 0.0123, 0.5, 1.0, 99.9, 100.0])
def test_bisection_finds_the_first(reached):
    class Search:
        def at(self, value):
            return value if value >= reached else None

    steps = _steps(3)
    value = _number(_first_place(steps, Search()), steps)
    assert value >= reached
    assert value == 1e-6 or next_smaller(value, 3) < reached


@pytest.mark.parametrize("solve_for", FIND)
@pytest.mark.parametrize(
    ("goal", "at_most"),
    [({"target_se": 0.03}, 150), ({"target_margin": 0.05}, None), ({"target_se": 0.03}, 3000)],
)
def test_a_smaller_one_does_not_reach_the_whole(solve_for, goal, at_most):
    """Checked by designs that know no target: the best with at most so many people."""
    options = FIND[solve_for]
    found = dps.solve_epsilon(STRATA, solve_for=solve_for, at_most=at_most, **goal, **options)
    target = goal.get("target_se", 0.05 / 1.959963984540054)
    limit = 3400 if at_most is None else at_most

    def best(value):
        plan = dps.design(STRATA, **options, **{solve_for: value}, at_most=limit)
        return math.sqrt(
            planned_variance(plan.problem, plan.sample_sizes, finite_population=plan.inputs.finite_population)
        )

    assert best(found.value) <= target * (1 + 1e-12)
    assert found.missed.value == next_smaller(found.value, 3)
    assert best(found.missed.value) > target
    assert found.design.total <= limit
    assert found.design.standard_error <= target * (1 + 1e-12)
    assert getattr(found.design.inputs, solve_for) == found.value
    assert found.proven
    assert found.design.certificate.optimal


def test_a_smaller_one_does_not_reach_domains():
    goal = {"domains": {"region": dps.SE(0.05)}}
    found = dps.solve_epsilon(STRATA, **goal, at_most=60, digits=2)
    assert all(each.standard_error <= 0.05 * (1 + 1e-9) for each in found.design.domains if each.column)
    smaller = dps.design(STRATA, epsilon=next_smaller(found.value, 2), **goal)
    assert smaller.total > 60 >= found.design.total
    assert found.missed.total == smaller.total
    assert found.proven is (smaller.certificate.optimal or smaller.certificate.lower_bound > 60)


def test_a_smaller_one_does_not_reach_questions():
    asked = dps.Questionnaire([dps.Question("smokes", "yes_no", blank=False, target_se=0.06)])
    options = {"questions": asked, "forms": "one", "epsilon": 1.0, "release": "sums"}
    found = dps.solve_epsilon(
        dps.Strata([7000, 8000]), solve_for="device_epsilon", at_most=600, digits=2, **options
    )
    assert found.design.questions[0].standard_error <= 0.06 * (1 + 1e-9)
    assert found.design.total <= 600
    smaller = dps.design(dps.Strata([7000, 8000]), device_epsilon=next_smaller(found.value, 2), **options)
    assert smaller.total > 600
    assert not found.proven
    assert "not a proof" in repr(found)
    # One question, one form of two cells: S² + r(2 + r)/4 over n, with r = 2/expm1(E), is at least the target².
    r = 2 / math.expm1(found.value)
    assert (0.25 + r * (2 + r) / 4) / 600 < 0.06**2
    r = 2 / math.expm1(found.missed.value * 0.9)
    assert (0.25 + r * (2 + r) / 4) / 600 > 0.06**2


@pytest.mark.slow
@pytest.mark.parametrize("release", [{}, {"release": "sums"}, {"release": "mean"}])
@pytest.mark.parametrize("rate", [None, 0.7])
def test_every_release_and_response_rates(release, rate):
    options = {"target_se": 0.03, **release, "response_rate": rate}
    found = dps.solve_epsilon(STRATA, at_most=200, digits=1, **options)
    assert found.design.standard_error <= 0.03 * (1 + 1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            smaller = dps.design(STRATA, epsilon=next_smaller(found.value, 1), **options).total
        except dps.InfeasibleError:
            smaller = math.inf
    assert smaller > 200
    if rate is not None:
        assert found.proven is (found.missed.total is None)


def test_the_budget_falls_with_people_and_rises_with_precision():
    def found(**options):
        return dps.solve_epsilon(STRATA, digits=2, **options).value

    by_people = [found(target_se=0.03, at_most=n) for n in (80, 150, 400)]
    by_target = [found(target_se=se, at_most=200) for se in (0.02, 0.03, 0.06)]
    assert by_people == sorted(by_people, reverse=True)
    assert by_target == sorted(by_target, reverse=True)


def test_costs_are_limited_by_a_budget():
    costly = dps.Strata([700, 800], sds=[0.3, 0.1], costs=[2.0, 5.0])
    found = dps.solve_epsilon(costly, target_se=0.03, budget=500, digits=2)
    assert found.design.cost <= 500
    with pytest.raises(dps.InfeasibleError):
        dps.design(costly, epsilon=next_smaller(found.value, 2), target_se=0.03, budget=500)
    with pytest.raises(dps.InputError, match=r"^at_most cannot be used where people cost differently"):
        dps.solve_epsilon(costly, target_se=0.03, at_most=100)


def test_the_smallest_may_be_enough():
    found = dps.solve_epsilon(dps.Strata([700, 800], sds=[0.3, 0.1]), target_se=1e6, questions=(0, 1))
    assert found.value == 1e-6
    assert found.missed is None
    assert found.proven
    assert "No smaller epsilon is supported." in repr(found)


def test_where_no_budget_is_enough_the_limit_is_named():
    with pytest.raises(dps.InfeasibleError) as refused:
        dps.solve_epsilon(STRATA, target_se=0.001, at_most=200)
    # Neyman's variance without noise: (Σ W S)²/n less the correction Σ W S²/N
    W, S = STRATA.sizes / STRATA.population, np.array([0.283, 0.08, 0.0226, 0.0064])
    neyman = math.sqrt((W @ S) ** 2 / 200 - (W @ S**2) / STRATA.population)
    said = str(refused.value)
    assert said.startswith(
        "no epsilon up to 100 reaches a standard error of 0.001 for the population mean with at most 200 "
        "interviews: sampling alone gives a standard error of 0.00"
    )
    assert said.endswith("interviews would be needed.")
    assert float(said.split("gives a standard error of ")[1].split(",")[0]) == pytest.approx(neyman, rel=0.01)
    with pytest.raises(dps.InfeasibleError, match=r"sampling alone takes [\d,]+ interviews\.$"):
        dps.solve_epsilon(STRATA, domains={"region": dps.SE(0.001)}, at_most=200)
    with pytest.raises(
        dps.InfeasibleError, match=r"no device_epsilon up to 100 reaches .*: target_se=0.0001 is out of reach"
    ):
        dps.solve_epsilon(STRATA, target_se=1e-4, epsilon=0.01, release="sums", solve_for="device_epsilon")
    with pytest.raises(dps.InfeasibleError, match=r"even device_epsilon=100 gives a standard error of "):
        dps.solve_epsilon(
            STRATA, target_se=0.005, at_most=100, epsilon=1.0, release="sums", solve_for="device_epsilon"
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"^solve_epsilon needs a precision to reach: target_se, "),
        ({"at_most": 100}, r"^solve_epsilon needs a precision to reach: target_se, "),
        ({"domains": {"region": None}}, r"^solve_epsilon needs a precision to reach: target_se, "),
        ({"budget": 100.0}, r"^solve_epsilon needs a precision to reach: target_se, "),
        (
            {"target_se": 0.1, "epsilon": 1.0},
            r"^epsilon is the budget to be found, so it cannot be given; to find the other budget, pass "
            r"solve_for='device_epsilon'\.$",
        ),
        (
            {"target_se": 0.1, "total": 9},
            r"^total cannot be used where a budget is to be found; give at_most\.$",
        ),
        ({"target_se": 0.1, "digits": 0}, r"^digits must be a whole number from 1 to 6, got digits=0\.$"),
        (
            {"target_se": 0.1, "digits": 2.5},
            r"^digits must be a whole number, got digits=2\.5\.$",
        ),
        ({"target_se": 0.1, "solve_for": "delta"}, r"^solve_for must be one of epsilon, device_epsilon, got"),
        ({"target_se": 0.1, "at_most": 0}, r"^at_most must be at least 1, got at_most=0\.$"),
        (
            {"target_se": 0.1, "solve_for": "device_epsilon", "epsilon": 1.0},
            r"^device_epsilon needs release=",
        ),
        ({"target_se": 0.1, "epsilom": 1.0}, r"^a design has no option 'epsilom'"),
    ],
)
def test_what_cannot_be_used_is_refused(options, message):
    with pytest.raises(dps.InputError, match=message):
        dps.solve_epsilon(STRATA, **options)


@pytest.mark.slow
def test_the_command(tmp_path):
    _write(tmp_path / "strata.csv")
    flags = ("solve-epsilon", "strata.csv", "--target-se", 0.03, "--at-most", 150, "--digits", 2)
    found = dps.solve_epsilon(
        dps.Strata.from_file(tmp_path / "strata.csv"), target_se=0.03, at_most=150, digits=2
    )
    result = commands.run(tmp_path, *flags, "--json", "--out", "design.json")
    told = json.loads(result.stdout)
    assert told == json.loads(json.dumps(found.to_dict()))
    assert dps.load_design(tmp_path / "design.json") == found.design
    shown = " ".join(commands.run(tmp_path, *flags).stdout.split())
    assert f"Epsilon = {found.value:g} is the smallest that reaches a standard error of 0.03" in shown
    assert f"The next smaller, {found.missed.value:g}, misses it: " in shown
    refused = commands.run(tmp_path, *flags, "--epsilon", 1)
    assert refused.returncode == 2
    assert refused.stderr == (
        "Error: --epsilon is the budget to be found, so it cannot be given; to find the other budget, pass "
        "--solve-for device_epsilon.\n"
    )


def _write(path):
    rows = zip(STRATA.names, STRATA.sizes, [0.283, 0.08, 0.0226, 0.0064], strict=True)
    path.write_text("stratum,size,sd\n" + "".join(f"{name},{size},{sd}\n" for name, size, sd in rows))
