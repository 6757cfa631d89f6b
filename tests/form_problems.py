"""Random questionnaires for forms, and what forms are worth, written out once more from the textbook."""

import itertools
import math

import numpy as np

from dpstrata.allocation.forms import FormItem, FormsProblem, LevelChoice, TargetsProblem


def mean_square(levels):
    """Mean square of equidistant levels around the middle of a range of 1."""
    return sum((i / (levels - 1) - 0.5) ** 2 for i in range(levels)) / levels


def yes_no(weight, spread=0.25):
    return (LevelChoice(2, (2,), weight * spread, weight / 2, weight / 4),)


def category(k, weight, spread=None):
    """Half the sum over its shares; ``spread`` at worst is that of equal shares."""
    half = (k - 1) / k / 2
    return (
        LevelChoice(k, (k,), weight * (half if spread is None else spread), 2 * weight * half, weight * half),
    )


def scale(k, weight, spread=0.25):
    m = mean_square(k)
    return (LevelChoice(k, (k,), weight * spread, weight * (0.25 + m), weight * m),)


def number(levels, weight, spread=0.25):
    """At worst: rounding + r/4 + μ₂r(1+r)."""
    return tuple(
        LevelChoice(
            L,
            (L,),
            weight * (spread + 1 / (4 * (L - 1) ** 2)),
            weight * (0.25 + mean_square(L)),
            weight * mean_square(L),
        )
        for L in levels
    )


def random_item(rng, question, levels=range(2, 17)):
    weight, spread = float(rng.integers(1, 11)), float(rng.uniform(0.1, 0.25))
    kind = rng.integers(4)
    if kind == 0:
        choices = yes_no(weight, spread)
    elif kind == 1:
        choices = category(int(rng.integers(3, 13)), weight)
    elif kind == 2:
        choices = scale(int(rng.integers(5, 12)), weight, spread)
    else:
        choices = number(levels, weight, spread)
    return FormItem((question,), choices)


def random_problem(rng, count, *, everyone=0, targets=False, budget=None, levels=range(2, 17)):
    items = [random_item(rng, q, levels) for q in range(count + everyone)]
    budget = float(rng.uniform(2, 8)) if budget is None else budget
    kind = TargetsProblem if targets else FormsProblem
    return kind(tuple(items[:count]), tuple(items[count:]), math.expm1(budget))


def variance(choice, r):
    return choice.constant + choice.linear * r + choice.square * r * r


def ways_for_everyone(problem):
    return list(itertools.product(*(item.choices for item in problem.everyone)))


def cells(choices):
    return math.prod(choice.cells for choice in choices)


def best_shares(forms):
    """The least Σ(a/x + bx) over Σx = 1, for pairs (a, b), by bisecting the price of a person."""
    a, b = np.array(forms, dtype=float).T
    low, high = -b.min() + 1e-12, float(np.sqrt(a).sum() ** 2)
    for _ in range(200):
        price = (low + high) / 2
        low, high = (price, high) if np.sqrt(a / (b + price)).sum() > 1 else (low, price)
    x = np.sqrt(a / (b + high))
    x /= x.sum()
    return float((a / x + b * x).sum())


def set_partitions(items):
    if not items:
        yield []
        return
    first, *rest = items
    for partition in set_partitions(rest):
        yield [[first], *partition]
        for g, group in enumerate(partition):
            yield [*partition[:g], [first, *group], *partition[g + 1 :]]


def cheapest_group(problem, group, *, largest=False):
    """The least a of a form with these items over all levels, and the levels; a sum, or with targets the largest."""
    combine = max if largest else sum
    best = (math.inf, ())
    for choices in itertools.product(*(problem.items[j].choices for j in group)):
        r = cells(choices) / problem.y
        best = min(
            best, (combine(variance(choice, r) for choice in choices), choices), key=lambda each: each[0]
        )
    return best


def cheapest_partition(problem, *, largest=False):
    """The least value over all partitions and levels, with nothing for everyone."""
    costs = {}
    for size in range(1, len(problem.items) + 1):
        for group in itertools.combinations(range(len(problem.items)), size):
            cost, _ = cheapest_group(problem, group, largest=largest)
            costs[group] = cost if largest else math.sqrt(cost)
    totals = (
        sum(costs[tuple(group)] for group in partition)
        for partition in set_partitions(list(range(len(problem.items))))
    )
    least = min(totals)
    return least if largest else least**2


def reached(problem, forms):
    """What forms are worth by the definition: Σ 1/I + Σ x b, for any forms, overlapping or not."""
    information, everyone = np.zeros(len(problem.items)), 0.0
    for form in forms:
        r = form.cells / problem.y
        for j, c in zip(form.items, form.choices, strict=True):
            information[j] += form.share / variance(problem.items[j].choices[c], r)
        for item, c in zip(problem.everyone, form.everyone, strict=True):
            everyone += form.share * variance(item.choices[c], r)
    return float((1 / information).sum()) + everyone


def precision(problem, forms, people):
    """Information on every question in units of its target, and the variances of those for everyone in theirs."""
    information = [[0.0] * max(1, len(item.choices[0].parts)) for item in problem.items]
    everyone = np.zeros(len(problem.everyone))
    for form in forms:
        r = form.cells / problem.y
        for j, c in zip(form.items, form.choices, strict=True):
            choice = problem.items[j].choices[c]
            for part, (A, B, C) in enumerate(
                choice.parts or [(choice.constant, choice.linear, choice.square)]
            ):
                information[j][part] += people * form.share / (A + B * r + C * r * r)
        everyone += [
            form.share * variance(item.choices[c], r) / people
            for item, c in zip(problem.everyone, form.everyone, strict=True)
        ]
    return np.array([each for item in information for each in item]), everyone
