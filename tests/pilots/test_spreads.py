"""Standard deviations from noised answers: never zero, never too large, right in the end."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpstrata as dps
from dpstrata.fielding.results.figures import Figure, NumberReports, QuestionFigures
from dpstrata.pilots.spreads import learn
from extent import few
from surveys import microdata

SIZES = [2000, 3000, 500]


def first_wave(
    *, questions=(0, 1), mechanism="laplace", epsilon=1.0, pilot_epsilon=0.3, pilot_total=60, **more
):
    strata = dps.Strata(sizes=SIZES, names=["a", "b", "c"], **more)
    return dps.pilot(
        strata,
        epsilon=epsilon,
        pilot_epsilon=pilot_epsilon,
        total=1000,
        pilot_total=pilot_total,
        questions=questions,
        mechanism=mechanism,
    )


def seen(means, variances, counts=(20, 30, 10), noise=0.05, kurtosis=3.0):
    """What a pilot shows of three strata: the mean of the reports, and how far apart they are."""
    counts, means, variances = (np.array(each, dtype=float) for each in (counts, means, variances))
    nothing, central = np.zeros(len(counts)), variances * (counts - 1) / counts
    reports = NumberReports(
        freedom=counts - 1,
        variances=variances,
        fourths=kurtosis * counts * central**2,
        squares=counts * central**2,
        stretch=nothing,
        constant=np.full(len(counts), noise),
        rounding=nothing,
        office=nothing,
    )
    figure = Figure("", means, nothing, noise / counts, nothing, counts, counts, None)
    return QuestionFigures("answer", [figure], {}, reports=reports)


def learned_sds(plan, known):
    """The standard deviations to plan with; of two answers the mean shows all."""
    question = plan.inputs.question
    known = known._replace(reports=None) if question.space.values == 2 else known
    return question.range * np.sqrt(learn(plan, [known]).variances[:, 0])


@settings(max_examples=few(60, of=200), deadline=None)
@given(
    means=st.lists(st.floats(-3, 4), min_size=3, max_size=3),
    variances=st.lists(st.floats(0, 20), min_size=3, max_size=3),
    counts=st.lists(st.integers(1, 300), min_size=3, max_size=3),
    noise=st.floats(1e-30, 10),
    kurtosis=st.floats(0, 300),
    told=st.none() | st.lists(st.floats(0, 0.5), min_size=3, max_size=3),
    source=st.sampled_from(["prior", "public", "bound"]),
    binary=st.booleans(),
)
def test_never_zero_and_never_above_the_worst_case(
    means, variances, counts, noise, kurtosis, told, source, binary
):
    more = {} if told is None else {"sds": told, "sd_sources": source}
    plan = first_wave(questions="yes_no" if binary else (0, 1), **more)
    spreads = learned_sds(plan, seen(means, variances, counts, noise, kurtosis))
    most = plan.inputs.question.of_kind.largest_sd(plan.inputs.question, plan.strata.sizes)
    assert np.all(spreads > 1e-5)
    assert np.all(spreads <= most * (1 + 1e-12))
    if source == "bound" and told is not None:
        assert np.all(spreads <= np.maximum(told, 1e-3) * (1 + 1e-12))


def test_one_person_has_no_spread():
    strata = dps.Strata(sizes=[1, 3000, 500], names=["a", "b", "c"])
    for answers in ("yes_no", (0, 1)):
        plan = dps.pilot(strata, epsilon=1, pilot_epsilon=0.3, total=300, pilot_total=60, questions=answers)
        assert learned_sds(plan, seen([0.3] * 3, [0.1] * 3, (1, 30, 10)))[0] == 0
        names = [name for name, n in zip("abc", plan.sample_sizes, strict=True) for _ in range(n)]
        assert dps.main_design(plan, microdata(names, np.full(60, 0.4))).sds[0] == 0


@pytest.mark.parametrize("told", [None, [0.001, 0.5, 0.3]])
@pytest.mark.parametrize(
    ("mechanism", "answers"),
    [
        ("randomized_response", "yes_no"),
        ("laplace", (0, 1)),
        ("staircase", (0, 1)),
        ("piecewise", (0, 1)),
        ("discrete_laplace", (0, 1, 0.125)),
        ("laplace", (-50, 150)),
    ],
)
def test_a_huge_pilot_with_a_huge_budget_finds_the_truth(mechanism, answers, told):
    """Whatever was told before."""
    sizes = [40_000, 30_000, 50_000]
    lower, upper = (0, 1) if answers == "yes_no" else answers[:2]
    given_sds = None if told is None else np.array(told) * (upper - lower)
    strata = dps.Strata(sizes=sizes, sds=given_sds, names=["a", "b", "c"])
    plan = dps.pilot(
        strata,
        epsilon=60,
        pilot_epsilon=30,
        total=110_000,
        pilot_total=100_000,
        questions=answers,
        mechanism=mechanism,
    )
    generator = np.random.default_rng(7)
    spread, values, codes = [], [], []
    for i, (size, n) in enumerate(zip(sizes, plan.sample_sizes.tolist(), strict=True)):
        if answers == "yes_no":
            shares = (generator.random(size) < (0.02, 0.5, 0.93)[i]).astype(float)
        else:
            shares = generator.beta(*((2, 30), (0.3, 0.3), (5, 5))[i], size)
            shares = np.rint(shares * 8) / 8 if len(answers) == 3 else shares
        everyone = lower + (upper - lower) * shares
        spread.append(everyone.std(ddof=1))
        drawn = generator.choice(shares, n, replace=False)
        noised = plan.mechanism.simulated_release(drawn, float(plan.local_epsilons[i]), generator)
        values.append(lower + (upper - lower) * noised)
        codes.append(np.full(n, i))
    names = np.array(["a", "b", "c"])[np.concatenate(codes)].tolist()
    known = dps.estimate_means(plan, names, np.concatenate(values)).questions["answer"].known
    assert learned_sds(plan, known) == pytest.approx(spread, rel=0.03)


def test_the_rule_is_the_mean_given_the_pilot():
    """Against plain quadrature on an even grid, written anew from the formulas."""
    binary = first_wave(questions="yes_no")
    p = (np.arange(400_000) + 0.5) / 400_000
    for mean in (-0.2, 0.0, 0.04, 0.5, 0.98):
        variance = (p * (1 - p) + 0.05) / 20
        density = np.exp(-0.5 * (mean - p) ** 2 / variance) / np.sqrt(variance)
        right = (density * p * (1 - p)).sum() / density.sum() * 2000 / 1999
        found = learned_sds(binary, seen([mean] * 3, [0.1] * 3))[0] ** 2
        assert found == pytest.approx(right, rel=2e-3)
    real = first_wave(sds=[0.1, 0.2, 0.05])
    for variance, fourth in ((0.0, 3.0), (0.06, 3.0), (0.2, 9.0)):
        variance_of_mean = (p * (1 - p) + 0.05) / 20
        density = np.exp(-0.5 * (0.5 - p) ** 2 / variance_of_mean) / np.sqrt(variance_of_mean)
        bound = min((density * p * (1 - p)).sum() / density.sum() * 2000 / 1999, 0.25 * 2000 / 1999)
        freedom = 2 * 19 / (fourth - 1)
        total = (freedom * variance + 0.05 + 0.01) / (freedom + 1)
        x = bound * p
        log_density = (
            -(freedom + 1) / 2 * (np.log(x + 0.05) + total / (x + 0.05))
            - np.log(x)
            - 0.5 * (np.log(np.sqrt(x) / 0.1) / np.log(2)) ** 2
        )
        density = np.exp(log_density - log_density.max())
        right = (density * x).sum() / density.sum()
        found = learned_sds(real, seen([0.5] * 3, [variance] * 3, kurtosis=fourth))[0] ** 2
        assert found == pytest.approx(right, rel=5e-3)


def test_knowing_nothing_more_leaves_all_strata_alike():
    """Noise that drowns everything: the spreads stay in the proportion they were told in."""
    drowned = seen([0.5, 0.2, 0.9], [1e8, 1e8, 1e8], noise=1e8)
    flat = learned_sds(first_wave(), drowned)
    assert flat == pytest.approx(np.full(3, np.sqrt(1 / 12)), rel=0.01)
    told = learned_sds(first_wave(sds=[0.04, 0.02, 0.01]), drowned)
    assert told / told[2] == pytest.approx([4, 2, 1], rel=0.25)


def test_strata_may_come_in_any_order():
    means, variances, counts = [0.1, 0.5, 0.3], [0.06, 0.2, 0.1], (20, 30, 10)
    order = [2, 0, 1]
    for answers in ("yes_no", (0, 1)):
        plan = first_wave(questions=answers)
        turned = dps.pilot(
            dps.Strata([SIZES[i] for i in order]),
            epsilon=1,
            pilot_epsilon=0.3,
            total=1000,
            pilot_total=60,
            questions=answers,
        )
        one = learned_sds(plan, seen(means, variances, counts))
        two = learned_sds(turned, seen(*([each[i] for i in order] for each in (means, variances, counts))))
        assert two == pytest.approx(one[order], rel=1e-12)
