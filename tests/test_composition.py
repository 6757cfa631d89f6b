"""Two waves of randomized response on a tiny population, every outcome enumerated: what does someone lose?

Nothing of the library computes the probabilities here; it only says which local budgets keep a promise.
"""

import itertools
import math

import pytest

import dpstrata as dps

N = 4
PEOPLE = range(N)


def reported(answers, e):
    """Distribution of the number of ones among answers that are flipped with probability 1/(1 + exp(e))."""
    flip = 1 / (1 + math.exp(e))
    ones = [1.0]
    for answer in answers:
        p = 1 - flip if answer else flip
        ones = [
            (ones[k] if k < len(ones) else 0.0) * (1 - p) + (ones[k - 1] * p if k else 0.0)
            for k in range(len(ones) + 1)
        ]
    return ones


def one_wave(answers, n, e):
    """Distribution of what is released: every sample of n is equally likely, reports are shuffled."""
    samples = list(itertools.combinations(PEOPLE, n))
    total = [0.0] * (n + 1)
    for sample in samples:
        for k, p in enumerate(reported([answers[i] for i in sample], e)):
            total[k] += p / len(samples)
    return total


def budget(epsilon, n):
    return dps.local_epsilon(epsilon, sample_size=n, stratum_size=N)


def two_waves(answers, epsilons, first_n, second_n):
    """Distribution of both releases; the second sample size depends on the first release."""
    joint = {}
    for k, p in enumerate(one_wave(answers, first_n, budget(epsilons[0], first_n))):
        n = second_n(k)
        for j, q in enumerate(one_wave(answers, n, budget(epsilons[1], n))):
            joint[k, j] = p * q
    return joint


def same_sample_twice(answers, epsilons, n):
    """Wrong: the people of the first wave are asked again."""
    samples = list(itertools.combinations(PEOPLE, n))
    joint = {}
    for sample in samples:
        given = [answers[i] for i in sample]
        for (k, p), (j, q) in itertools.product(
            *(enumerate(reported(given, budget(epsilon, n))) for epsilon in epsilons)
        ):
            joint[k, j] = joint.get((k, j), 0.0) + p * q / len(samples)
    return joint


def from_raw_answers(answers, epsilons, n):
    """Wrong: the second wave is larger if the first one's answers, before noise, hold a one."""
    samples = list(itertools.combinations(PEOPLE, n))
    joint = {}
    for sample in samples:
        given = [answers[i] for i in sample]
        again = 1 + any(given)
        second = one_wave(answers, again, budget(epsilons[1], again))
        for (k, p), (j, q) in itertools.product(
            enumerate(reported(given, budget(epsilons[0], n))), enumerate(second)
        ):
            place = (k, again, j)  # sample sizes are public
            joint[place] = joint.get(place, 0.0) + p * q / len(samples)
    return joint


def largest_loss(release):
    """Largest log ratio over all populations that differ in one person's answer, and all releases."""
    worst = 0.0
    for answers in itertools.product((0, 1), repeat=N):
        mine = release(answers)
        for i in PEOPLE:
            other = release((*answers[:i], 1 - answers[i], *answers[i + 1 :]))
            for place in mine.keys() | other.keys():
                p, q = mine.get(place, 0.0), other.get(place, 0.0)
                if p > 0:
                    worst = max(worst, math.log(p / q) if q > 0 else math.inf)
    return worst


RULES = {
    "more after many": lambda k: 1 + k,
    "fewer after many": lambda k: 3 - k,
    "all or one": lambda k: N if k else 1,
    "always one": lambda k: 1,
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("epsilons", [(0.3, 0.7), (1.0, 1.0), (0.1, 2.0)])
@pytest.mark.parametrize("first_n", [1, 2])
def test_two_waves_lose_at_most_the_sum(rule, epsilons, first_n):
    loss = largest_loss(lambda answers: two_waves(answers, epsilons, first_n, RULES[rule]))
    assert loss <= sum(epsilons) + 1e-12
    assert loss > max(epsilons) + 0.5 * min(epsilons)  # so that no smaller claim would do


def test_the_sum_is_reached():
    """One person asked in each wave: nothing below the sum may be promised."""
    loss = largest_loss(lambda answers: two_waves(answers, (0.3, 0.7), 1, RULES["always one"]))
    assert loss == pytest.approx(1.0, abs=1e-12)


def test_what_the_proof_needs():
    """The same people asked twice, or a design from answers before noise, break the sum."""
    asked_twice = math.log1p(math.expm1(budget(0.3, 1) + budget(0.7, 1)) / N)
    assert asked_twice > 1.3
    assert largest_loss(lambda answers: same_sample_twice(answers, (0.3, 0.7), 1)) == pytest.approx(
        asked_twice
    )
    assert largest_loss(lambda answers: from_raw_answers(answers, (0.3, 0.7), 1)) == math.inf


# A questionnaire of two questions: the first release decides how many are asked in the second wave, and on which forms


ROWS = list(itertools.product((0, 1), repeat=2))
TOGETHER, APART = ((0, 1),), ((0,), (1,))  # which questions are on each form
FEW = 3


def published(row, form, e):
    """Distribution of what is published of one person on a form: their row, or any of its rows at random."""
    rows = list(itertools.product((0, 1), repeat=len(form)))
    kept = math.expm1(e) / (math.expm1(e) + len(rows))
    own = tuple(row[question] for question in form)
    return {each: (1 - kept) / len(rows) + kept * (each == own) for each in rows}


def rows_on_forms(answers, epsilon, n, forms):
    """Distribution of the rows that are published: everyone of a secret sample gets one form, as many each."""
    e = dps.local_epsilon(epsilon, sample_size=n, stratum_size=FEW)
    dealt = [forms[i % len(forms)] for i in range(n)]
    samples = list(itertools.permutations(range(FEW), n))
    total = {}
    for sample in samples:
        each = [published(answers[i], form, e).items() for i, form in zip(sample, dealt, strict=True)]
        for reports in itertools.product(*each):
            place = tuple(sorted(zip(dealt, (row for row, _ in reports), strict=True)))
            total[place] = total.get(place, 0.0) + math.prod(p for _, p in reports) / len(samples)
    return total


def two_waves_of_rows(answers, epsilons):
    joint = {}
    for first, p in rows_on_forms(answers, epsilons[0], 1, TOGETHER).items():
        ((_, row),) = first
        n, forms = (2, APART) if sum(row) == 1 else (1 + sum(row) // 2, TOGETHER)
        for second, q in rows_on_forms(answers, epsilons[1], n, forms).items():
            joint[first, second] = p * q
    return joint


@pytest.mark.parametrize("epsilons", [(0.3, 0.7), (0.1, 2.0)])
def test_two_waves_of_a_questionnaire_lose_at_most_the_sum(epsilons):
    """All answers of a person may differ, whoever they are."""
    worst = 0.0
    for answers in itertools.product(ROWS, repeat=FEW):
        mine = two_waves_of_rows(answers, epsilons)
        for row in ROWS:
            other = two_waves_of_rows((row, *answers[1:]), epsilons)
            worst = max(worst, *(abs(math.log(p / other[place])) for place, p in mine.items()))
    assert worst <= sum(epsilons) + 1e-12
    assert worst > sum(epsilons) - 1e-9  # so that no smaller claim would do
