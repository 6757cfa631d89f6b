"""What the server does with a request, apart from HTTP: bytes in, a reply out. Runs in a worker."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from dpstrata.collect.kit import respondent_kit
from dpstrata.designs.document import design_content
from dpstrata.designs.record import Design
from dpstrata.errors import DpstrataWarning, Sentence
from dpstrata.files.writing import plain_cell, table_content
from dpstrata.planning.compare_releases import ReleaseOption
from dpstrata.planning.curves import epsilon_rows, precision_rows
from dpstrata.planning.design import design
from dpstrata.present.charts.allocations import allocations
from dpstrata.present.charts.plan import budgets_chart, epsilon_chart, parts_chart, precision_chart
from dpstrata.present.charts.plot import plot
from dpstrata.present.report.code import command_line, python_code_with_strata, strata_columns
from dpstrata.present.report.page import report_html
from dpstrata.present.report.words import headline
from dpstrata.privacy.promises import never_amplified
from dpstrata.version import __version__
from dpstrata.web.examples import list_examples, open_example
from dpstrata.web.offers import describe_protection, find_misfits, find_offers
from dpstrata.web.replies import RefusedError, Reply, parts_of, reply_json
from dpstrata.web.requests import CompareRequest, DesignRequest, OptionsRequest
from dpstrata.web.uploads import read_questions, read_upload
from dpstrata.words.design_tables import TITLES
from dpstrata.words.designs import choice_in_words, sentences
from dpstrata.words.proofs import proof_in_words

Parameters = Mapping[str, str]
CSV = "text/csv; charset=utf-8"
GROUP_FIGURES = ("column", "group", "population", "sample_size", "standard_error", "cv", "target", "asked")
Job = Callable[[bytes, Parameters], Reply]


def plan_of(request: DesignRequest) -> tuple[Design, list[str]]:
    """Design what is asked for; return what was warned about too."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", DpstrataWarning)
        plan = design(request.read_strata(), **request.read_arguments())
    warned: list[str] = [
        message.sentence
        for message in (each.message for each in caught)
        if isinstance(message, DpstrataWarning)
    ]
    return plan, warned


def reply_design(body: bytes, parameters: Parameters) -> Reply:
    """Design, and describe the result in figures, words and charts."""
    plan, warned = plan_of(DesignRequest.read(body))
    charts = {"allocation": plot(plan).spec, "parts": parts_chart(plan).spec}
    if plan.inputs.promise.amplified:
        charts["budgets"] = budgets_chart(plan).spec
    return reply_json(
        {
            **describe(plan),
            "headline": headline(plan),
            "notes": _notes(plan),
            **_said(sentences(plan)),
            "warnings": warned,
            "warning_parts": list(map(parts_of, warned)),
            "certificate": {
                **asdict(plan.certificate),
                "in_words": proof_in_words(plan, plan.certificate),
            },
            "comparison": [
                {
                    "design": row.design,
                    "title": TITLES[row.design],
                    "variance": row.variance,
                    "standard_error": row.standard_error,
                    "standard_error_without_privacy": row.standard_error_without_privacy,
                    "ratio": row.ratio,
                }
                for row in plan.compare()
            ],
            "privacy": {**plan.privacy},
            "domains": [{name: getattr(domain, name) for name in GROUP_FIGURES} for domain in plan.domains],
            "strata": {name: list(map(plain_cell, cells)) for name, cells in plan.columns().items()},
            **describe_forms(plan),
            "charts": charts,
            "code": {
                "python": python_code_with_strata(plan),
                "command": command_line(plan),
            },
        }
    )


def _said(marked: list[str]) -> dict[str, Any]:
    """Give sentences as Python says them, and in pieces for a page that names options in its own way."""
    return {
        "sentences": [str(Sentence(each)) for each in marked],
        "sentence_parts": list(map(parts_of, marked)),
    }


def _notes(plan: Design) -> list[str]:
    """Say how the number of interviews and the mechanism came about, where that was left to the planner.

    What would do better is an offer, with a figure of its own.
    """
    goal = plan.inputs.goal
    outcome = plan.outcome_in_words if goal.explains_total and not goal.fixes_total else None
    choice = None if plan.choice is None else choice_in_words(plan)
    return [note for note in (outcome, choice) if note is not None]


def describe(plan: Design) -> dict[str, Any]:
    """Return the figures of a design."""
    parts = plan.variance_parts
    seen = ReleaseOption(plan.inputs.release, plan.inputs.device_epsilon, plan)
    return {
        "total": plan.total,
        "population": plan.strata.population,
        "strata_count": len(plan.strata),
        "objective": plan.inputs.objective,
        "variance": plan.variance,
        "standard_error": plan.standard_error,
        "standard_error_without_privacy": plan.standard_error_without_privacy,
        "margin": None if plan.standard_error is None else plan.inputs.z * plan.standard_error,
        "variance_parts": asdict(parts),
        "mechanism": {"name": plan.inputs.mechanism, "title": plan.mechanism.title},
        "budget_of": plan.inputs.release_form.budget_of,
        "office_epsilon": seen.office_epsilon,
        "office_sees_raw_answers": seen.raw_answers,
        "best_total": None if plan.outcome is None else plan.outcome.best_total,
        "cost": plan.cost,
    }


def describe_forms(plan: Design) -> dict[str, Any]:
    """Return the forms of a design and how precise its questions become."""
    forms = [
        {
            "questions": list(form.questions),
            "rows": form.cells,
            "replaced": form.replaced,
            "share": form.share,
            "total": int(form.sample_sizes.sum()),
        }
        for form in plan.forms
    ]
    questions = [
        {
            "question": each.name,
            "kind": each.kind,
            "standard_error": each.standard_error,
            "margin": each.margin,
            "standard_error_without_privacy": each.standard_error_without_privacy,
            "target": each.target,
        }
        for each in plan.questions
    ]
    return {"forms": forms, "questions": questions}


def reply_precision(plan: Design, parameters: Parameters) -> Reply:
    """Draw the precision against the number of interviews."""
    rows, best = precision_rows(plan)
    return reply_json(
        {
            "best": best,
            "chart": precision_chart(
                rows, best=best, total=plan.total, value=plan.precision, unit=plan.strata.unit
            ).spec,
        }
    )


def reply_epsilon(plan: Design, parameters: Parameters) -> Reply:
    """Draw the precision against epsilon."""
    promise = plan.inputs.promise
    if not promise.amplified:
        raise RefusedError(422, f"varying the promise requires epsilon, got {never_amplified()}.")
    chart = epsilon_chart(epsilon_rows(plan), epsilon=promise.central_epsilon, value=plan.precision)
    return reply_json({"chart": chart.spec})


def reply_misfits(body: bytes, parameters: Parameters) -> Reply:
    """Say which mechanisms do not go with the other options."""
    request = OptionsRequest.read(body)
    return reply_json({"misfits": find_misfits(request.options.arguments())})


FIGURES = {
    "total": "People invited",
    "standard_error": "Standard error",
    "margin": "Margin of error",
    "variance": "Variance",
    "office_epsilon": "Epsilon against the office",
    "cost": "Cost",
}


def reply_compare(body: bytes, parameters: Parameters) -> Reply:
    """Set two plans side by side."""
    request = CompareRequest.read(body)
    held, current = (plan_of(each)[0] for each in (request.held, request.current))
    first, second = describe(held), describe(current)
    figures = [
        {
            "name": name,
            "title": title,
            "held": first[name],
            "current": second[name],
            "difference": None if None in (first[name], second[name]) else second[name] - first[name],
        }
        for name, title in FIGURES.items()
        if not (first[name] is None and second[name] is None)
    ]
    same = held.strata.names == current.strata.names
    series = {"held plan": held.sample_sizes, "this plan": current.sample_sizes}
    ratio = ("this plan", "held plan")
    chart = allocations(current, series, "Two plans side by side", ratio=ratio).spec if same else None
    sizes: dict[str, list[int | None]] = {}
    for position, plan in enumerate((held, current)):
        for name, n in zip(plan.strata.names, plan.sample_sizes.tolist(), strict=True):
            sizes.setdefault(name, [None, None])[position] = n
    rows = [{"stratum": name, "held": pair[0], "current": pair[1]} for name, pair in sizes.items()]
    return reply_json(
        {
            "figures": figures,
            "mechanisms": [first["mechanism"]["title"], second["mechanism"]["title"]],
            "strata": rows,
            "chart": chart,
        }
    )


def reply_download(plan: Design, parameters: Parameters, *, ending: str, kind: str) -> Reply:
    """Write a file of the design, as the library would."""
    path = Path(f"design.{ending}")
    return Reply(design_content(plan, path), kind=kind, name=path.name)


def reply_strata(plan: Design, parameters: Parameters) -> Reply:
    """Write the strata file that the code reads."""
    path = Path("strata.csv")
    return Reply(table_content(strata_columns(plan), path), kind=CSV, name=path.name)


def reply_question_file(body: bytes, parameters: Parameters) -> Reply:
    """Write the file of questions that the code reads."""
    questionnaire = DesignRequest.read(body).read_questions()
    if questionnaire is None:
        raise RefusedError(422, "a file of questions requires a questionnaire, got a single question.")
    path = Path("questions.csv")
    return Reply(table_content(questionnaire.table(), path), kind=CSV, name=path.name)


def reply_preview(plan: Design, parameters: Parameters) -> Reply:
    """Make the kit of the respondents' page; the server keeps it for as long as it shows the page."""
    return Reply(respondent_kit(plan).content)


def reply_report(plan: Design, parameters: Parameters) -> Reply:
    """Write the report."""
    return Reply(report_html(plan).encode(), kind="text/html; charset=utf-8", name="report.html")


def _of_plan(make: Callable[[Design, Parameters], Reply]) -> Job:
    """Make a job of what is done with the plan that a request asks for."""
    return lambda body, parameters: make(plan_of(DesignRequest.read(body))[0], parameters)


JOBS: dict[str, Job] = {
    "health": lambda *_: reply_json({"status": "ok", "version": __version__}),
    "design": reply_design,
    "precision": _of_plan(reply_precision),
    "epsilon": _of_plan(reply_epsilon),
    "offers": _of_plan(lambda plan, _: reply_json({"offers": find_offers(plan)})),
    "misfits": reply_misfits,
    "compare": reply_compare,
    "protection": _of_plan(lambda plan, asked: reply_json(describe_protection(plan, asked["language"]))),
    "table": lambda body, asked: reply_json(read_upload(asked.get("name", ""), body)),
    "questions": lambda body, asked: reply_json(
        read_questions(asked.get("name", ""), body, leave_out=asked.get("leave_out") == "yes")
    ),
    "examples": lambda *_: reply_json(list_examples()),
    "example": lambda _, asked: reply_json(open_example(asked["name"])),
    "document": _of_plan(partial(reply_download, ending="json", kind="application/json")),
    "csv": _of_plan(partial(reply_download, ending="csv", kind=CSV)),
    "strata": _of_plan(reply_strata),
    "question_file": reply_question_file,
    "preview": _of_plan(reply_preview),
    "report": _of_plan(reply_report),
}
