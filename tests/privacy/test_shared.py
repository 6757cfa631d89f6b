"""Several questions to the same people: one budget, shared, amplified once."""

import itertools
import math

import mpmath
import numpy as np
import pytest

import dpstrata as dps
from dpstrata.privacy.mechanisms.kernels import Step, point
from dpstrata.privacy.mechanisms.registry import get_mechanism
from dpstrata.privacy.mechanisms.shared import SharedBudget
from earlier import design_of_document
from problems import MECHANISMS, answers_of, is_additive, plain_variance

EPS = np.finfo(float).eps
BUDGETS = 10 ** np.linspace(-6, 2.1, 150)


@pytest.mark.parametrize(
    ("name", "steps"),
    [pair for pair in MECHANISMS if pair[0] != "category_response"],  # one question only
)
@pytest.mark.parametrize("questions", [2, 5, 20])
def test_digits_and_convexity(name, steps, questions):
    shared = SharedBudget(get_mechanism(name, answers_of(steps)), questions)
    at = point(BUDGETS)
    rho, first, second = shared.remainder_slopes(at)
    alone = shared.remainder(at)
    after = point(BUDGETS * (1 - 1e-9))
    step = shared.remainder_step(Step(at, after, at.e - after.e))
    with mpmath.workdps(60):

        def exact(e):
            b = mpmath.exp(-e)
            return (
                plain_variance(name, e / questions, mpmath.mpf(1), steps)
                - mpmath.mpf(round(6 * shared.inner.weight)) / 6 * 2 * questions**2 * b / (1 - b) ** 2
            )

        for i, e in enumerate(map(mpmath.mpf, BUDGETS.tolist())):
            assert abs(alone[i] - exact(e)) <= 48 * EPS * abs(exact(e))
            assert abs(rho[i] - exact(e)) <= 48 * EPS * abs(exact(e))
            increase = exact(mpmath.mpf(float(after.e[i]))) - exact(e)
            assert abs(step[i] - increase) <= 200 * EPS * abs(exact(e)) * (at.e[i] - after.e[i]) / min(
                1, BUDGETS[i]
            )
    curvature = 2 * rho + (4 - at.z) * at.z * first + at.z**2 * second
    fall = rho + at.z * first
    assert np.all(fall > 0)
    assert np.all((curvature / fall >= 1) & (curvature / fall <= 2 + 1e-9))


def test_the_promise_holds_for_all_answers_together():
    """Two of five people each answer three questions by randomized response at e/3: enumerate everything."""
    epsilon, N, n, m = 1.0, 5, 2, 3
    e = dps.local_epsilon(epsilon, sample_size=n, stratum_size=N)
    keep = math.exp(e / m) / (1 + math.exp(e / m))

    def release(answers):
        samples = list(itertools.combinations(range(N), n))
        distribution = {}
        for sample in samples:
            for noised in itertools.product(itertools.product((0, 1), repeat=m), repeat=n):
                probability = math.prod(
                    keep if answers[i][q] == bits[q] else 1 - keep
                    for i, bits in zip(sample, noised, strict=True)
                    for q in range(m)
                )
                key = tuple(sorted(noised))
                distribution[key] = distribution.get(key, 0.0) + probability / len(samples)
        return distribution

    others = [(0,) * m] * (N - 1)
    one, zero = release([(1,) * m, *others]), release([(0,) * m, *others])
    loss = max(abs(math.log(one[key] / zero[key])) for key in one)
    assert loss == pytest.approx(epsilon, rel=1e-9)


def test_designs_for_several_questions():
    strata = dps.Strata([7000, 8000, 9000, 10000], [0.283, 0.08, 0.0226, 0.0064])
    asked = {"epsilon": 1, "total": 200, "mechanism": "laplace"}
    one, three = dps.design(strata, **asked), design_of_document(strata, questions=3, **asked)
    assert three.noise_sds == pytest.approx(math.sqrt(2) / (three.local_epsilons / 3))
    assert three.standard_error > one.standard_error
    assert three.certificate.optimal
    result = dps.simulate(three, dps.synthetic_population(three), replications=5000, seed=2)
    assert result.agrees()


def test_a_design_for_several_questions_round_trips(tmp_path):
    plan = design_of_document(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40, questions=4)
    plan.save(tmp_path / "d.json")
    assert dps.load_design(tmp_path / "d.json") == plan


@pytest.mark.parametrize(
    "name", [name for name, steps in MECHANISMS if steps is None and is_additive(name, steps)]
)
@pytest.mark.parametrize("questions", [2, 20, 1000])
def test_convexity_for_sums(name, questions):
    shared = SharedBudget(get_mechanism(name, answers_of()), questions)
    at = point(np.concatenate([10 ** np.linspace(-6, 1, 800), np.linspace(10, 128, 400)]))
    rho, first, second = shared.remainder_slopes(at)
    assert np.all(2 * rho + at.z * first > 0)
    assert np.all(6 * rho + (6 - at.z) * at.z * first + at.z**2 * second > 0)
