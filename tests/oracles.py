"""Frozen designs and results, to which every change of the code's structure is held.

Cases are plain data made from seeds. Only the functions under "Adapters" call dpstrata. When its interface changes,
they change with it, and the frozen numbers stay. If a change of the numbers themselves is intended, freeze them again:

    python tests/oracles.py write
"""

import csv
import itertools
import math
import sys
import warnings
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import dpstrata as dps
from dpstrata.fielding.randomizers.tables import tables_of

REFERENCE = Path(__file__).parent / "reference"
DESIGNS, FORMS, INFEASIBLE = 400, 200, 20  # how many are frozen
LABELS = ("question", "answer", "column", "group")
FIGURES = (
    "estimate",
    "standard_error",
    "lower",
    "upper",
    "largest_bias",
    "safe_lower",
    "safe_upper",
    "covariance",
)


@dataclass(frozen=True)
class Case:
    """A survey as plain data: the columns of its strata, and its options by name.

    A questionnaire is a list of questions, each a mapping of its fields; ``spreads`` a mapping of keywords.
    """

    strata: dict[str, Any]
    options: dict[str, Any]
    reports: dict[str, Any] = field(default_factory=dict)

    @property
    def checksum(self) -> str:
        """Tells a changed case, as from another random generator, from a changed result."""
        return f"{zlib.crc32(repr((self.strata, self.options, self.reports)).encode()):08x}"


class Designed(NamedTuple):
    """What is frozen of a design; ``error`` is the class of the error if there is none."""

    sample_sizes: str = ""
    variance: float | None = None
    standard_error: float | None = None
    local_epsilon: float | None = None
    certificate: str = ""
    optimal: bool | None = None
    people: int | None = None
    cost: float | None = None
    forms: str = ""
    error: str = ""


# Adapters: the only code here that calls dpstrata


def _plan(case: Case) -> dps.Design:
    strata = dps.Strata(**case.strata)
    options = dict(case.options)
    answers, questions = options.pop("answers", None), options.pop("questionnaire", None)
    if answers is not None:
        options["questions"] = "yes_no" if answers == "binary" else answers
    if questions is not None:
        options["questions"] = dps.Questionnaire([dps.Question(**each) for each in questions])
    if "spreads" in options:
        options["spreads"] = dps.Spreads(strata, options["questions"], **options["spreads"])
        if len(options["questions"]) == 1:
            options.setdefault("forms", "one")  # what is known of a question asks for no form any more
    with warnings.catch_warnings():
        warnings.simplefilter("error", dps.DpstrataWarning)
        return dps.design(strata, **options)


def design_of(case: Case) -> Designed:
    """Design a survey, or return the class of the error if no design can meet its goal."""
    try:
        plan = _plan(case)
    except dps.InfeasibleError as error:
        return Designed(error=type(error).__name__)
    forms = " | ".join(
        " ".join(f"{name}:{levels}" for name, levels in zip(form.questions, form.levels, strict=True))
        for form in plan.forms
    )
    # that of several questions is in units of their ranges
    alone = "questionnaire" in case.options and len(plan.inputs.questions) == 1
    unit = plan.inputs.space.range if alone else 1.0
    return Designed(
        sample_sizes=" ".join(map(str, plan.sample_sizes.tolist())),
        variance=plan.variance / unit**2,
        standard_error=None if plan.standard_error is None else plan.standard_error / unit,
        local_epsilon=float(np.max(plan.local_epsilons)),
        certificate="exchanges" if isinstance(plan.certificate, dps.Certificate) else "bound",
        optimal=plan.certificate.optimal,
        people=plan.total,
        cost=plan.cost,
        forms=forms,
    )


def results_of(case: Case) -> list[dict[str, Any]]:
    """Estimate from its reports: a row for each estimate, with ``LABELS``, ``FIGURES``, ``answers``, ``taken_from``.

    The covariance of an estimate is that with the first one of its question and answer.
    """
    plan, reports = _plan(case), case.reports
    if "cells" in reports:
        given = [
            (stratum, form, cell) for (stratum, form), cells in reports["cells"].items() for cell in cells
        ]
        columns = ("stratum", "form", "cell")
    elif "tables" in reports:
        given = [
            (stratum, form, table.label, entry, value, reports["answers"][stratum, form])
            for (stratum, form, questions), values in reports["tables"].items()
            for table in tables_of(plan, form - 1)
            if table.table.questions == tuple(questions)
            for entry, value in zip(table.entries, values, strict=True)
        ]
        columns = ("stratum", "form", "table", "entry", "count", "answers")
    elif "sums" in reports:
        given = [(stratum, *found) for stratum, found in reports["sums"].items()]
        columns = ("stratum", "sum", "answers")
    elif "means" in reports:
        named = [(each.column, each.group) for each in plan.figures]
        strata = [("stratum", name) for name in plan.strata.names if ("stratum", name) not in named]
        given = [(*key, *reports["means"][key]) for key in named]
        given += [(*key, None, reports["means"][key][1]) for key in strata]
        columns = ("column", "group", "mean", "answers")
    else:
        given = [(stratum, answer) for stratum, answers in reports["noised"].items() for answer in answers]
        columns = ("stratum", "answer")
    found = dps.estimate(plan, pa.table(dict(zip(columns, map(list, zip(*given, strict=True)), strict=True))))
    forms = "questionnaire" in case.options
    rows = [each for each in _listed(found) if not (forms and each["column"] == "total")]
    if found.design.inputs.questions[0].kind == "yes_no" and not forms:  # frozen as a mean
        rows = [each | {"answer": "mean"} for each in rows]
    for number, ratio in enumerate(reports.get("ratios", ()), 1):
        divided = found.ratio(*ratio)
        rows += [each | {"question": f"ratio {number}", "answer": ""} for each in _listed(divided)]
    return rows


def _listed(found: dps.Results) -> list[dict[str, Any]]:
    covariances, firsts, listed = found.covariance.matrix, {}, []
    for place, row in enumerate(found):
        question, answer = row.question, row.level or "mean"
        first = firsts.setdefault((question, answer), place)
        figures = {name: getattr(row, name, None) for name in FIGURES}
        figures["covariance"] = float(covariances[place, first])
        labels = dict(zip(LABELS, (question, answer, row.column, row.group), strict=True))
        listed.append({**labels, **figures, "answers": row.answered, "taken_from": row.taken_from})
    return listed


# Designs of a single question


PURE = ("laplace", "discrete_laplace", "tulap", "staircase", "piecewise", "sine", "randomized_response")
RANGES = ((0, 1), (0, 1, 0.25), (0, 10, 1), (-3.0, 4.5), (0, 8000), "binary")
CATEGORIES = (["rent", "own"], ["rent", "own", "other"], list("abcdefgh"))


def short(value: Any) -> Any:
    """Round to four digits, so that cases are the same on every machine."""
    return [short(each) for each in value] if isinstance(value, list | np.ndarray) else float(f"{value:.4g}")


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return short(10 ** rng.uniform(low, high))


def single_case(seed: int) -> Case:
    """Make a survey of one question; not all of these can be designed."""
    rng = np.random.default_rng([42, 1, seed])
    k = int(rng.choice([1, 2, 3, 4, 5, 6, 8, 12]))
    mechanism = (*PURE, "category_response", "gaussian", "gaussian")[seed % (len(PURE) + 3)]
    options: dict[str, Any] = {"mechanism": mechanism, **_promise(mechanism, rng), **_answers(mechanism, rng)}
    width = _width(options["answers"])
    strata = _strata(k, rng, width)
    if options["answers"] == "binary" and rng.random() < 0.3:
        strata.pop("sds", None)
        options["proportion"] = short(rng.uniform(0.05, 0.95))
    options |= _release(mechanism, rng)
    options |= _goal(strata, options, rng, width)
    if rng.random() < 0.3:
        options |= [
            {"min_per_stratum": int(rng.integers(1, 5))},
            {"max_fraction": short(rng.uniform(0.2, 0.9))},
            {"min_fraction": short(rng.uniform(0.001, 0.02))},
            {"finite_population": False},
        ][rng.integers(4)]
    if options["answers"] == (0, 8000) and rng.random() < 0.5:
        options |= {"clip": True, "prior": "lognormal:7:1"}
    if "domains" not in options and rng.random() < 0.15:
        options["domains"] = ["half", "third"][: int(rng.integers(1, 3))]
    return Case(strata, options)


def _promise(mechanism: str, rng: np.random.Generator) -> dict[str, float]:
    if mechanism != "gaussian":
        return {"epsilon": log_uniform(rng, -1.5, 1)}
    return [
        {"epsilon": log_uniform(rng, -1, 1), "delta": 1e-6},
        {"zcdp": log_uniform(rng, -2, 1)},
        {"gdp": log_uniform(rng, -1, 1)},
    ][rng.integers(3)]


def _answers(mechanism: str, rng: np.random.Generator) -> dict[str, Any]:
    choices: Any = RANGES
    if mechanism == "category_response":
        choices = CATEGORIES
    elif mechanism == "randomized_response":
        choices = ("binary",)
    elif mechanism == "discrete_laplace":
        choices = ((0, 1, 0.25), (0, 10, 1), "binary")
    return {"answers": choices[rng.integers(len(choices))]}


def _width(answers: Any) -> float:
    return 1.0 if answers == "binary" or isinstance(answers, list) else float(answers[1] - answers[0])


def _strata(k: int, rng: np.random.Generator, width: float) -> dict[str, Any]:
    sizes = [
        int(10 ** rng.uniform(1, high)) + 2 for high in rng.choice([2.0, 4.0, 6.0, 9.0], 1) for _ in range(k)
    ]
    strata: dict[str, Any] = {"sizes": sizes, "names": [f"s{i}" for i in range(k)]}
    if rng.random() < 0.9:
        strata["sds"] = short(width * 10 ** rng.uniform(-2.5, -0.5, k))
    if rng.random() < 0.3:
        strata["costs"] = rng.choice([1.0, 2.5, 7.0], k).tolist()
    if rng.random() < 0.3:
        strata["response_rates"] = short(rng.uniform(0.5, 1, k))
    if rng.random() < 0.2:
        strata["mins"] = rng.integers(1, 5, k).tolist()
    if rng.random() < 0.2:
        strata["maxs"] = [max(5, int(size * rng.uniform(0.3, 1))) for size in sizes]
    strata["extra"] = {
        "half": [f"half {i % 2}" for i in range(k)],
        "third": [f"third {i % 3}" for i in range(k)],
    }
    return strata


def _release(mechanism: str, rng: np.random.Generator) -> dict[str, Any]:
    which = rng.choice(["microdata", "sums", "mean"], p=[0.35, 0.35, 0.3])
    if mechanism == "category_response" or which == "microdata":
        cap = {"local_epsilon_cap": log_uniform(rng, -0.5, 1)} if rng.random() < 0.25 else {}
        return {"release": "microdata", **cap}
    if mechanism == "gaussian":
        return {"release": "sums"}
    at_office = {"sums": PURE[:4], "mean": PURE[:2]}[which]  # what raw answers can be protected by
    devices = mechanism not in at_office or rng.random() < 0.5
    return {"release": str(which), **({"device_epsilon": log_uniform(rng, -0.3, 1)} if devices else {})}


def _goal(
    strata: dict[str, Any], options: dict[str, Any], rng: np.random.Generator, width: float
) -> dict[str, Any]:
    k, people = len(strata["sizes"]), sum(strata["sizes"])
    total = max(2 * k, int(min(people * 10 ** rng.uniform(-2.5, -0.4), 10 ** rng.uniform(1.5, 5))))
    error = short(width * 10 ** rng.uniform(-2, -0.3))
    domain = {"half": f"{error}se"} if rng.random() < 0.5 else {"third": f"{short(2 * error)}margin"}
    goals = [
        {"total": total},
        {"total": total},
        {"at_most": total},
        {"budget": short(3.0 * total)},
        {"target_se": error},
        {"target_margin": short(2 * error)},
        {"target_cv": short(error / width), "expected_mean": short(0.7 * width)},
        {"domains": domain},
        {"domains": {"half": {"half 0": f"{error}se"}, "third": f"{short(1.5 * error)}se"}},
        {"domains": domain, "budget": short(5.0 * total)},
        {"total": total, "objective": str(rng.choice(["trace", "unit_free", "custom"]))},
    ]
    goal = goals[rng.integers(len(goals))]
    if "budget" in goal:
        strata.setdefault("costs", rng.choice([1.0, 2.5, 7.0], k).tolist())
    if goal.get("objective") == "custom":
        strata["coefficients"] = short(rng.uniform(0.1, 1, k))
    return goal


# Designs of questionnaires


def questionnaire_case(seed: int) -> Case:
    """Make a questionnaire of one to six questions; not all of these can be designed."""
    rng = np.random.default_rng([42, 2, seed])
    strata = _few_strata(rng)
    k, people = len(strata["sizes"]), sum(strata["sizes"])
    questions = [_question(f"q{j}", rng) for j in range(int(rng.integers(1, 7)))]
    together = rng.random() < 0.25 and len(questions) > 2
    everyone = rng.random() < 0.2 and len(questions) > 1
    if together:
        for each in questions[:2]:
            each["together"] = "pair"
    if everyone:
        questions[-1]["everyone"] = True
    options: dict[str, Any] = {"epsilon": log_uniform(rng, -0.5, 0.7), "questionnaire": questions}
    if rng.random() < 0.55:
        options |= {"release": "sums", "device_epsilon": log_uniform(rng, 0.2, 0.9)}
    if rng.random() < 0.4:
        options["spreads"] = _spreads(questions, k, rng)
    total = int(max(40 * k, min(people * rng.uniform(0.02, 0.3), 10 ** rng.uniform(2, 4.5))))
    goal = ["total", "total", "at_most", "budget", "targets"][rng.integers(5)]
    if goal == "targets":
        for each in questions[: int(rng.integers(1, 3))]:
            span = each["upper"] - each["lower"] if "upper" in each else 1.0
            each["target_se"] = short(span * rng.uniform(0.03, 0.2))
            each["importance"] = 1.0
    elif goal == "budget":
        strata.setdefault("costs", rng.choice([1.0, 2.5, 7.0], k).tolist())
        options["budget"] = short(3.0 * total)
    else:
        options[goal] = total
    which = rng.random()
    if which < 0.1:
        options["forms"] = "one"
    elif which < 0.4 and not together and not everyone:
        options["forms"] = _own_forms(questions, options, rng, complete=which < 0.25)
    if rng.random() < 0.25:
        options["domains"] = ["half"]
    return Case(strata, options)


def _few_strata(rng: np.random.Generator) -> dict[str, Any]:
    k = int(rng.integers(1, 6))
    strata: dict[str, Any] = {
        "sizes": [int(10 ** rng.uniform(2.5, 5)) for _ in range(k)],
        "names": [f"s{i}" for i in range(k)],
        "extra": {"half": [f"half {i % 2}" for i in range(k)]},
    }
    if rng.random() < 0.3:
        strata["costs"] = rng.choice([1.0, 2.5, 7.0], k).tolist()
    if rng.random() < 0.35:
        strata["response_rates"] = short(rng.uniform(0.5, 1, k))
    return strata


def _question(name: str, rng: np.random.Generator) -> dict[str, Any]:
    kind = str(rng.choice(["yes_no", "category", "scale", "number"]))
    asked: dict[str, Any] = {"name": name, "kind": kind, "importance": short(10 ** rng.uniform(-0.7, 0.7))}
    if kind in ("yes_no", "category"):
        asked["blank"] = bool(rng.random() < 0.3)
    if kind == "category":
        asked["categories"] = [f"c{i}" for i in range(int(rng.integers(2, 8)))]
    if kind == "scale":
        asked |= {"lower": 1, "upper": int(rng.integers(3, 12))}
    if kind == "number":
        asked |= {"lower": 0, "upper": float(rng.choice([1, 100, 8000]))}
    return asked


def _spreads(questions: list[dict[str, Any]], k: int, rng: np.random.Generator) -> dict[str, Any]:
    proportions, sds, means = {}, {}, {}
    for each in questions:
        if rng.random() < 0.3:
            continue
        if each["kind"] == "yes_no" and not each["blank"]:
            proportions[each["name"]] = short(rng.uniform(0.05, 0.6, k))
        elif "upper" in each:
            span = each["upper"] - each["lower"]
            sds[each["name"]] = short(span * rng.uniform(0.1, 0.3, k))
            if rng.random() < 0.5:
                means[each["name"]] = short(each["lower"] + span * rng.uniform(0.4, 0.6, k))
    return {"proportions": proportions, "sds": sds, "means": means}


def levels_of(question: dict[str, Any]) -> int | None:
    """How many answers it has; ``None`` for a number."""
    match question["kind"]:
        case "yes_no":
            return 2 + question["blank"]
        case "category":
            return len(question["categories"]) + question["blank"]
        case "scale":
            return question["upper"] - question["lower"] + 1
    return None


def _own_forms(
    questions: list[dict[str, Any]], options: dict[str, Any], rng: np.random.Generator, *, complete: bool
) -> list[Any]:
    parts = int(rng.integers(1, min(3, len(questions)) + 1))
    groups = [questions[i::parts] for i in range(parts)]
    if not complete:
        return [[each["name"] for each in group] for group in groups]
    weights = rng.integers(1, 5, parts)
    forms = []
    for group, weight in zip(groups, weights, strict=True):
        names = [each["name"] for each in group]
        tables = [names] if rng.random() < 0.4 else [[name] for name in names]
        forms.append(
            {
                "questions": names,
                "levels": [levels_of(each) or int(rng.integers(2, 6)) for each in group],
                "share": int(weight) / int(weights.sum()),
                "tables": [{"questions": each, "budget": 1 / len(tables)} for each in tables]
                if options.get("release") == "sums"
                else [],
            }
        )
    return forms


# Fixed reports: minimums and maximums fix the sample sizes, so that no solver affects the results


SIZES, INVITED = [900, 4000, 12_000, 30_000, 2500], [30, 60, 90, 120, 40]
MISSING = {
    "all": [0, 0, 0, 0, 0],
    "some": [3, 0, 11, 20, 4],
    "none in s1": [1, 60, 0, 5, 2],
    "one in s4": [0, 0, 9, 0, 39],
}
"""How many people of each stratum do not answer."""


def result_cases() -> dict[str, Case]:
    """All of them, by name."""
    cases = {}
    promises = {
        "epsilon": {"epsilon": 1.2},
        "delta": {"epsilon": 1.2, "delta": 1e-6},
        "zcdp": {"zcdp": 0.3},
        "gdp": {"gdp": 0.9},
    }
    missing = itertools.cycle(MISSING)
    microdata = [
        *(("epsilon", name, (0, 1)) for name in ("laplace", "tulap", "staircase", "piecewise", "sine")),
        ("epsilon", "piecewise", (-3.0, 4.5)),
        ("epsilon", "sine", (0, 8000)),
        ("epsilon", "discrete_laplace", (0, 10, 1)),
        *(("epsilon", name, "binary") for name in ("laplace", "sine", "discrete_laplace")),
        *(("epsilon", "randomized_response", "binary") for _ in range(4)),
        *(
            (promise, "gaussian", answers)
            for promise in ("delta", "zcdp", "gdp")
            for answers in ((0, 1), "binary")
        ),
        *(("epsilon", "category_response", answers) for answers in CATEGORIES[:2] for _ in range(2)),
    ]
    for promise, mechanism, answers in microdata:
        options = {**promises[promise], "mechanism": mechanism, "answers": answers}
        name = f"microdata {promise} {mechanism} {_text(answers)}"
        _add(cases, name, next(missing), options)
    added_up = [
        *(
            (name, answers, None)
            for name in ("laplace", "tulap", "staircase")
            for answers in ((0, 1), "binary")
        ),
        ("discrete_laplace", (0, 10, 1), None),
        *((name, (0, 8000), 2.5) for name in ("laplace", "sine", "piecewise", "staircase", "tulap")),
        *(("randomized_response", "binary", 2.5) for _ in range(2)),
        *(("discrete_laplace", answers, 2.5) for answers in ("binary", (0, 1, 0.25))),
    ]
    for mechanism, answers, device in added_up:
        options = {"epsilon": 1.2, "mechanism": mechanism, "answers": answers, "release": "sums"}
        name = f"sums {mechanism} {_text(answers)}" + (" on devices" if device else "")
        _add(cases, name, next(missing), options | ({"device_epsilon": device} if device else {}))
    once = [
        *(("laplace", answers, None) for answers in ((0, 1), "binary")),
        ("discrete_laplace", (0, 10, 1), None),
        *((name, (0, 8000), 2.5) for name in ("sine", "laplace")),
        *(("randomized_response", "binary", 2.5) for _ in range(2)),
    ]
    for (mechanism, answers, device), domains in itertools.product(once, (None, ["half"])):
        options = {"epsilon": 1.2, "mechanism": mechanism, "answers": answers, "release": "mean"}
        options |= {"device_epsilon": device} if device else {}
        name = f"mean {mechanism} {_text(answers)}" + (" on devices" if device else "")
        which = next(missing)
        if mechanism == "randomized_response" and which == "none in s1":
            which = (
                "one in s4"  # a stratum without answers makes dpstrata divide by zero here, with a warning
            )
        _add(cases, name + (" by half" if domains else ""), which, options | {"domains": domains})
    for kind, kept in (("microdata", "joint"), ("sums", "single"), ("sums", "joint")):
        for which in list(MISSING)[: 2 if (kind, kept) == ("sums", "joint") else None]:
            name = "rows" if kind == "microdata" else f"{kept} tables of rows"
            _add_questionnaire(cases, name, which, kind, kept)
    return cases


def _text(answers: Any) -> str:
    return "|".join(answers) if isinstance(answers, list) else str(answers)


def _pinned(which: str, *, rates: bool) -> tuple[dict[str, Any], dict[str, int]]:
    names = [f"s{i}" for i in range(len(SIZES))]
    strata: dict[str, Any] = {"sizes": SIZES, "names": names, "mins": INVITED, "maxs": INVITED}
    strata["extra"] = {"half": ["a", "a", "b", "b", "b"]}
    if rates:
        strata["response_rates"] = [0.9, 0.7, 0.8, 0.75, 0.6]
    return strata, {name: n - out for name, n, out in zip(names, INVITED, MISSING[which], strict=True)}


def _add(cases: dict[str, Case], name: str, which: str, options: dict[str, Any]) -> None:
    """Add a case of one question, with reports that look like those of its release."""
    name = f"{name}, answered by {which}"
    assert name not in cases
    rng = np.random.default_rng([42, 3, len(cases)])
    strata, answered = _pinned(which, rates=len(cases) % 3 == 1)
    answers = options["answers"]
    if not isinstance(answers, list):
        strata["sds"] = short(_width(answers) * rng.uniform(0.1, 0.3, len(SIZES)))
    options = {
        "domains": ["half"],
        "total": sum(INVITED),
        "confidence": (0.95, 0.9)[len(cases) % 5 == 2],
    } | options
    cases[name] = Case(strata, options, _reports(strata, options, answered, rng))


def _reports(
    strata: dict[str, Any], options: dict[str, Any], answered: dict[str, int], rng: np.random.Generator
) -> Any:
    answers, release = options["answers"], options.get("release", "microdata")
    if isinstance(answers, list):
        return {"noised": {name: rng.choice(answers, m).tolist() for name, m in answered.items()}}
    lower, width = (0.0, 1.0) if answers == "binary" else (float(answers[0]), _width(answers))
    if release == "microdata":
        given = {}
        for place, (name, m) in enumerate(answered.items()):
            if options["mechanism"] == "randomized_response":
                rate = strata.get("response_rates", [1.0] * len(SIZES))[place]
                odds = 1 + math.expm1(options["epsilon"]) * rate * SIZES[place] / INVITED[place]
                half = 0.5 * (odds + 1) / (odds - 1)
                values = 0.5 + half * rng.choice([-1.0, 1.0], m, p=[0.6, 0.4])
            else:
                values = lower + width * (rng.beta(2, 3, m) + rng.laplace(0, 0.4, m))
            given[name] = [round(float(value), 9) for value in values]
        return {"noised": given}
    shares = {name: 0.42 + 0.1 * place / len(SIZES) for place, name in enumerate(answered)}
    if release == "sums":
        return {
            "sums": {
                name: (
                    float(round(lower * m + width * (shares[name] * m + rng.normal(0, 2))))
                    if m
                    else float(rng.integers(-3, 4)),
                    m,
                )
                for name, m in answered.items()
            }
        }
    groups = {("all", "all"): list(answered), **{("stratum", name): [name] for name in answered}}
    for half in ("a", "b"):
        groups["half", half] = [
            n for n, g in zip(answered, strata["extra"]["half"], strict=True) if g == half
        ]
    return {
        "means": {
            key: (
                round(float(lower + width * (0.45 + rng.normal(0, 0.05))), 9),
                sum(answered[name] for name in names),
            )
            for key, names in groups.items()
        }
    }


QUESTIONS = [
    {"name": "smokes", "kind": "yes_no", "blank": False, "together": "living"},
    {"name": "home", "kind": "category", "categories": ["rent", "own"], "blank": True, "together": "living"},
    {"name": "trust", "kind": "scale", "lower": 1, "upper": 5, "importance": 2.0},
    {"name": "income", "kind": "number", "lower": 0, "upper": 8000},
]
ON_FORMS = ([("smokes", 2), ("home", 3)], [("trust", 5), ("income", 4)])
RATIOS = [(("smokes", "yes"), ("home", ("rent", "own"))), (("income", "mean"), ("trust", "mean"))]


def _add_questionnaire(cases: dict[str, Case], name: str, which: str, release: str, kept: str) -> None:
    """Add a case of four questions on two forms."""
    rng = np.random.default_rng([42, 3, len(cases)])
    strata, answered = _pinned(which, rates=len(cases) % 3 == 1)
    options: dict[str, Any] = {
        "epsilon": 2.0,
        "total": sum(INVITED),
        "questionnaire": QUESTIONS,
        "release": release,
    }
    if which == "all":
        options["domains"] = ["half"]
    if release == "sums":
        options["device_epsilon"] = 4.0
    forms, tables, cells, answers = [], {}, {}, {}
    for number, asked in enumerate(ON_FORMS, 1):
        names = tuple(each for each, _ in asked)
        # questions that are kept together share a table
        published = [names] if kept == "joint" or number == 1 else [(each,) for each in names]
        budgets = [{"questions": list(each), "budget": 1 / len(published)} for each in published]
        levels = [number_of for _, number_of in asked]
        forms.append(
            {
                "questions": list(names),
                "levels": levels,
                "share": 0.5,
                "tables": budgets if release == "sums" else [],
            }
        )
        for stratum, m in answered.items():
            # fewer than either form is dealt to; with "some", nobody in s2 answers the second form
            people = 0 if (which, number, stratum) == ("some", 2, "s2") else int(0.4 * m)
            answers[stratum, number] = people
            drawn = rng.integers(0, math.prod(levels), people)
            cells[stratum, number] = drawn.tolist()
            places = np.unravel_index(drawn, levels)
            for each in published:
                whole = np.bincount(drawn, minlength=math.prod(levels))
                found = whole if len(each) > 1 else np.array([places[names.index(each[0])].sum()])
                tables[stratum, number, each] = (found + rng.integers(-2, 3, len(found))).tolist()
    options["forms"] = forms
    reports = {"cells": cells} if release == "microdata" else {"tables": tables, "answers": answers}
    if which == "all":
        reports["ratios"] = RATIOS
    cases[f"{name}, answered by {which}"] = Case(strata, options, reports)


def asks_for_least(case: Case) -> bool:
    """Whether the goal is to meet targets with the fewest people, or at the lowest cost."""
    return any("target_se" in each for each in case.options["questionnaire"])


# Files


def read(name: str) -> list[dict[str, str]]:
    """Read what is frozen."""
    with open(REFERENCE / name, newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def _write(name: str, about: str, rows: list[dict[str, Any]]) -> None:
    with open(REFERENCE / name, "w", newline="") as file:
        for line in f"{about} Frozen at version {dps.__version__}; made by tests/oracles.py.".splitlines():
            file.write(f"# {line}\n")
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: written(value) for key, value in row.items()} for row in rows)


def written(value: Any) -> Any:
    """Write a number with all digits that its comparison needs."""
    return f"{value:.15g}" if isinstance(value, float) else value


def described(case: Case) -> str:
    """Say in a few words what a case asks for."""
    options, strata = case.options, case.strata
    asked = [f"k={len(strata['sizes'])}"]
    if "questionnaire" in options:
        asked.append(" ".join(map(_kind, options["questionnaire"])))
    for name, value in options.items():
        match name, value:
            case "questionnaire", _:
                continue
            case "forms", list():
                asked.append("own forms, complete" if isinstance(value[0], dict) else "own forms")
            case "answers" | "mechanism" | "release", _:
                asked.append(_text(value))
            case "spreads", _:
                asked.append(name)
            case _:
                asked.append(f"{name}={value}")
    also = ("costs", "response_rates", "mins", "maxs", "coefficients")
    return "; ".join([*asked, *(name for name in also if name in strata)])


def _kind(question: dict[str, Any]) -> str:
    marks = (
        "? " * question.get("blank", False),
        "+" * ("everyone" in question),
        "&" * ("together" in question),
    )
    return (
        question["kind"]
        + "".join(marks).strip()
        + (f"={question['target_se']}se" if "target_se" in question else "")
    )


def _frozen_designs(make: Any, number: int, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    """Try seeds until there are enough designs, leaving out what is refused, fails, or comes with a warning."""
    rows, designs, infeasible = [], 0, 0
    for seed in itertools.count():
        if designs == number:
            return rows
        case = make(seed)
        try:
            found = design_of(case)
        except (dps.DpstrataWarning, dps.DpstrataError, np.linalg.LinAlgError):
            continue
        if found.error and infeasible == INFEASIBLE:
            continue
        infeasible, designs = infeasible + bool(found.error), designs + (not found.error)
        about = {"seed": seed, "checksum": case.checksum, "case": described(case)}
        rows.append(about | {name: getattr(found, name) for name in columns})
    return rows


SINGLE = ("sample_sizes", "variance", "standard_error", "local_epsilon", "certificate", "optimal", "error")
SEVERAL = ("sample_sizes", "variance", "standard_error", "people", "cost", "forms", "error")


def write() -> None:
    """Freeze what this version does."""
    _write(
        "oracle-designs.csv",
        "Designs of a single question with a named mechanism: sample sizes, planned variance (or objective) and\n"
        "standard error, the largest local epsilon, and the proof; or the error where no design can meet the goal.",
        _frozen_designs(single_case, DESIGNS, SINGLE),
    )
    _write(
        "oracle-forms.csv",
        "Designs of questionnaires: sample sizes, the weighted mean variance of all questions and its root, people,\n"
        "cost, and the forms with the levels of every question; or the error where no design can meet the goal.",
        _frozen_designs(questionnaire_case, FORMS, SEVERAL),
    )
    results = []
    for number, (name, case) in enumerate(result_cases().items()):
        for place, row in enumerate(results_of(case)):
            about = ("", "") if place else (case.checksum, name)
            results.append({"number": number, "checksum": about[0], "case": about[1], **row})
    _write(
        "oracle-results.csv",
        "Estimates and limits from fixed reports of every release; covariance is that with the first estimate of the\n"
        "same question and answer. The first row of a case describes it.",
        results,
    )


if __name__ == "__main__":
    if sys.argv[1:] != ["write"]:
        sys.exit("usage: python tests/oracles.py write")
    write()
