"""A design chooses only forms that its strata and its number of people carry."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.allocation.proof.forms import certify_forms
from dpstrata.planning.forms import search
from dpstrata.planning.forms.choose import choose_forms
from dpstrata.planning.forms.search import best_levels, best_partition
from form_problems import random_problem

SIZES = [12, 16, 20, 30, 40, 60, 80, 100, 150, 200, 300, 400]
SUMS = {"epsilon": 1, "release": "sums", "device_epsilon": 2}


def yes_no(count, **more):
    return [dps.Question(f"q{j}", "yes_no", **more) for j in range(count)]


def partitions(count):
    """List all divisions of so many items over forms."""
    if not count:
        yield []
        return
    for smaller in partitions(count - 1):
        for g in range(len(smaller)):
            yield [*smaller[:g], [*smaller[g], count - 1], *smaller[g + 1 :]]
        yield [*smaller, [count - 1]]


def refused(strata, **asked):
    with pytest.raises(dps.InfeasibleError) as error:
        dps.design(strata, **asked)
    return str(error.value)


# --- twelve departments, eight questions -----------------------------------------------------------


@pytest.mark.parametrize(
    ("strata", "asked", "most"),
    [
        ({}, {"total": 300}, 6),
        ({}, {"total": 143}, 5),
        ({}, {"total": 30}, 1),
        ({}, {"total": 24}, 1),
        ({}, {"at_most": 60}, 2),
        ({"costs": [2.0] * 12}, {"budget": 100}, 2),
        ({"costs": [1.0] * 6 + [3.0] * 6}, {"budget": 144}, 3),
        ({"costs": [1.0] * 6 + [3.0] * 6}, {"budget": 143}, 2),
        ({}, {"total": 100, "max_fraction": 0.35}, 2),
        ({}, {"total": 100, "min_per_stratum": 7}, 4),
        ({"maxs": [9] * 12}, {"total": 100}, 4),
        ({"mins": [2] * 11 + [80]}, {"total": 130}, 2),
        ({"response_rates": [0.8] * 12}, {"total": 130}, 1),
        ({}, {"total": 100, "release": "microdata", "device_epsilon": None}, 4),
    ],
)
def test_eight_questions_in_twelve_departments(strata, asked, most):
    strata = dps.Strata(SIZES, **strata)
    plan = dps.design(strata, questions=yes_no(8), **SUMS | asked)
    assert len(plan.forms) <= most
    assert sorted({name for form in plan.forms for name in form.questions}) == [f"q{j}" for j in range(8)]
    assert np.all(plan.sample_sizes >= 2 * len(plan.forms))
    assert plan.forms_bound.lower_bound <= plan.forms_bound.value
    too_many = [[f"q{j}"] for j in range(most)] + [[f"q{j}" for j in range(most, 8)]]
    said = refused(strata, questions=yes_no(8), forms=too_many, **SUMS | asked)
    assert f"give at most {most} form{'s' if most > 1 else ''} with forms." in said


@pytest.mark.parametrize(
    ("strata", "asked", "message"),
    [
        ({}, {"total": 23}, "total must be at least 24, two people in every stratum, got total=23."),
        ({}, {"at_most": 20}, "at_most must be at least 24, two people in every stratum, got at_most=20."),
        (
            {"costs": [2.0] * 12},
            {"budget": 47},
            "budget must cover the minimums, which cost 48, got budget=47.",
        ),
        (
            {},
            {"total": 59, "min_per_stratum": 5},
            "total must be at least the sum of the minimums (60), got total=59.",
        ),
        (
            {"maxs": [1] + [12] * 11},
            {"total": 60},
            "every form needs at least 2 people in every stratum, so 1 form must have 2, got 1 in stratum '1'. "
            "Merge small strata ('1').",
        ),
    ],
)
@pytest.mark.parametrize("forms", ["auto", "one"])
def test_not_even_one_form(strata, asked, message, forms):
    assert refused(dps.Strata(SIZES, **strata), questions=yes_no(8), forms=forms, **SUMS | asked) == message


def test_too_many_questions_for_the_forms_that_fit():
    said = refused(dps.Strata(SIZES), questions=yes_no(25), total=24, **SUMS)
    assert said.startswith(
        "the questions do not fit on 1 form, which is all that the strata and the number of "
    )
    assert said.endswith("Merge small strata, invite more people, or ask fewer questions.")


def test_no_more_rows_than_are_of_use():
    """At a large budget of devices one form would be best, but for its number of rows."""
    plan = dps.design(dps.Strata(SIZES), questions=yes_no(25), total=300, **SUMS | {"device_epsilon": 60})
    assert [form.cells <= 1_000_000 for form in plan.forms] == [True] * 3


def test_sizes_that_carry_few_forms_are_evaluated():
    sizes = [4] * 11 + [60]
    scored = dps.evaluate(dps.Strata(SIZES), questions=yes_no(8), sample_sizes=sizes, **SUMS)
    assert len(scored.best.forms) == 2


# --- against all divisions -------------------------------------------------------------------------


def random_survey(rng):
    """Draw a small survey whose strata, people or rows may not carry its forms."""
    k = int(rng.integers(1, 4))
    sizes = np.where(rng.random(k) < 0.5, rng.integers(2, 14, k), rng.integers(14, 120, k))
    questions = []
    for j in range(int(rng.integers(2, 6))):
        many = [str(c) for c in range(int(rng.choice([3, 30, 90, 400])))]
        kind = "yes_no" if rng.random() < 0.5 else "category"
        rest = {"categories": many} if kind == "category" else {}
        questions.append(dps.Question(f"q{j}", kind, blank=False, **rest))
    if rng.random() < 0.25:
        questions[-1] = replace(questions[-1], everyone=True)
    elif rng.random() < 0.25:
        questions[:2] = [replace(each, together="pair") for each in questions[:2]]
    columns, asked = {}, {"min_per_stratum": int(rng.integers(1, 6))} if rng.random() < 0.3 else {}
    if rng.random() < 0.3:
        columns["response_rates"] = rng.choice([0.6, 0.9], k).tolist()
    if rng.random() < 0.3:
        columns["maxs"] = np.minimum(sizes, rng.integers(1, 20, k)).tolist()
    people = int(rng.integers(k, max(10 * k, k + 1)))
    goal = str(rng.choice(["total", "at_most", "budget"]))
    if goal == "budget":
        columns["costs"] = rng.choice([1.0, 2.5, 7.0], k).tolist()
        asked["budget"] = 2.0 * people
    else:
        asked[goal] = min(people, int(sizes.sum()))
    budgets = (
        {"epsilon": 1.0} if rng.random() < 0.3 else {**SUMS, "device_epsilon": float(rng.uniform(1, 15))}
    )
    return dps.Strata(sizes.tolist(), **columns), {"questions": questions, **budgets, **asked}


def designed(strata, asked, forms):
    try:
        return dps.design(strata, forms=forms, **asked)
    except dps.InputError:
        return None


@pytest.mark.filterwarnings("ignore::dpstrata.DpstrataWarning")
@pytest.mark.parametrize("batch", range(10))
def test_refused_only_if_no_division_fits(batch):
    came_out = 0
    for seed in range(20):
        strata, asked = random_survey(np.random.default_rng([61, batch, seed]))
        plan = designed(strata, asked, "auto")
        if plan is not None:
            came_out += 1
            continue
        names = [question.name for question in asked["questions"] if not question.everyone]
        for groups in partitions(len(names)):
            forms = [[names[j] for j in group] for group in groups]
            assert designed(strata, asked, forms) is None, (seed, forms)
    assert 3 <= came_out <= 19


@pytest.mark.parametrize("targets", [False, True])
@pytest.mark.parametrize("everyone", [0, 1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_few_forms_are_the_best_of_so_few(seed, everyone, targets):
    problem = random_problem(
        np.random.default_rng([62, seed]), 5, everyone=everyone, targets=targets, levels=(2, 4)
    )
    alone = replace(problem, allows_spare=False)
    every = [(len(groups), groups) for groups in partitions(5)]
    for most in range(1, 5):
        known = [
            forms.value
            for count, groups in every
            if count <= most
            for posed in (problem, alone)
            if len((forms := best_levels(posed, groups)).forms) <= most
        ]
        found = best_partition(problem, most=most)
        assert len(found.forms) <= most
        assert found.value <= min(known) * (1 + 1e-9)
        chosen, bound = choose_forms(problem, most=most)
        assert len(chosen.forms) <= most
        assert bound.lower_bound <= chosen.value <= found.value
        proven = certify_forms(problem, chosen, bound.prices)  # values are those of the definition
        assert proven.value == pytest.approx(chosen.value, rel=1e-9)
        assert proven.lower_bound == pytest.approx(bound.lower_bound, rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_packing_finds_a_way_if_there_is_one(seed, monkeypatch):
    rng = np.random.default_rng([63, seed])
    problem = random_problem(rng, 6, levels=(2,))
    room = int(rng.integers(12, 400))
    monkeypatch.setattr(search, "MOST_ROWS", room)
    for most in range(1, 6):
        limits = search.Limits.of(problem, most)
        packed = limits.packed()
        fits = any(len(groups) <= most and limits.fit(groups) for groups in partitions(6))
        assert (packed is not None) == fits
        if packed is not None:
            assert sorted(itertools.chain(*packed)) == list(range(6))
            assert len(packed) <= most
            assert limits.fit(packed)
            assert limits.allow(best_partition(problem, most=most))
