"""A questionnaire with a question of every kind, designed in a moment, for tests of what is shown of it."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import dpstrata as dps
from dpstrata.fielding.questionnaires.counts import table_entries, table_label

QUESTIONS = dps.Questionnaire(
    [
        dps.Question("smokes", "yes_no", blank=False, importance=2, text="Do you smoke?"),
        dps.Question("drinks", "yes_no", blank=False, text="Do you drink alcohol every week?"),
        dps.Question(
            "home", "category", blank=False, categories=["rent", "own", "other"], text="Where do you live?"
        ),
        dps.Question("trust", "scale", lower=1, upper=5, text="How much do you trust your doctor?"),
        dps.Question("income", "number", lower=0, upper=8000, text="What do you earn in a month?"),
    ]
)


def strata(**more: Any) -> dps.Strata:
    """Three strata of 3,000 people."""
    return dps.Strata([400, 900, 1700], names=["north", "middle", "south"], **more)


def spreads(population: dps.Strata, questions: dps.Questionnaire = QUESTIONS) -> dps.Spreads:
    """What is known of two of the questions."""
    return dps.Spreads(
        population,
        questions,
        proportions={"smokes": [0.2, 0.25, 0.3]},
        sds={"trust": 1.1},
        means={"trust": [2.5, 3.0, 3.5]},
    )


def small_plan(**options: Any) -> dps.Design:
    """Design it, once for options that are plain: tables are published, unless something else is asked for."""
    plain = all(isinstance(value, int | float | str | None) for value in options.values())
    return (_designed if plain else _designed.__wrapped__)(**options)


@lru_cache(maxsize=None, typed=True)
def _designed(**options: Any) -> dps.Design:
    population = options.pop("strata", None) or strata()
    questions = options.pop("questionnaire", QUESTIONS)
    if questions is QUESTIONS:
        options.setdefault("spreads", spreads(population))
    given = {"epsilon": 1.0, "device_epsilon": 4.0, "release": "sums", "at_most": 600} | options
    given = {name: value for name, value in given.items() if value is not None}
    return dps.design(population, questionnaire=questions, **given)


def published_tables(plan: dps.Design) -> Iterator[tuple[Any, ...]]:
    """Tables as the office would publish them if everyone gave the first answer to everything."""
    for i, name in enumerate(plan.strata.names):
        for t, form in enumerate(plan.forms):
            answers = int(form.sample_sizes[i])
            for table in form.tables:
                for place, entry in enumerate(table_entries(plan, t, table.questions)):
                    yield name, t + 1, table_label(table.questions), entry, answers * (place == 0), answers
