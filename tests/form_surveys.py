"""Random questionnaires on forms of their own, with strata."""

import numpy as np

import dpstrata as dps
from questionnaires import form, question

KINDS = ("yes_no", "category", "scale", "number")


def random_survey(seed, *, sizes=(4, 16), strata=(2, 3), rates=False):
    """A questionnaire on forms of its own with random tables, shares and spreads, and its strata."""
    rng = np.random.default_rng(seed)
    number = int(rng.integers(1, 6))
    names = [f"q{j}" for j in range(number)]
    asked = [
        question(
            name,
            str(rng.choice(KINDS)),
            importance=float(10 ** rng.uniform(-1, 1)),
            everyone=bool(rng.random() < 0.15 and name != "q0"),
        )
        for name in names
    ]
    questionnaire = dps.Questionnaire(asked)
    everyone = [each.name for each in questionnaire if each.everyone]
    own = [name for name in names if name not in everyone]
    parts = int(rng.integers(1, min(len(own), 2) + 1))
    groups = [own[i::parts] for i in range(parts)]
    shares = rng.dirichlet(np.full(parts, 5.0))
    levels = {each.name: each.levels or int(rng.integers(2, 6)) for each in questionnaire}
    people = rng.integers(*sizes, int(rng.integers(strata[0], strata[1] + 1))) + 2 * parts
    answering = rng.uniform(0.6, 1.0, len(people)) if rates else None
    if rates:
        people = people * 3
    return (
        questionnaire,
        _forms(groups, everyone, levels, shares, rng),
        dps.Strata(people, response_rates=answering),
        rng,
    )


def _forms(groups, everyone, levels, shares, rng):
    forms = []
    for group, share in zip(groups, shares, strict=True):
        asked = sorted(group + everyone)
        if rng.random() < 0.4:
            tables = [(asked, 1.0)]
        else:
            budgets = rng.dirichlet(np.full(len(asked), 3.0))
            tables = [([name], float(budget)) for name, budget in zip(asked, budgets, strict=True)]
        forms.append(form(asked, [levels[name] for name in asked], float(share), tables))
    return forms
