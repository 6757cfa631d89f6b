"""The tables of a design: its strata, questions and forms, its domains and figures, and other allocations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpstrata.words.asking import asking_of
from dpstrata.words.numbers import counted, figure, money, per_hundred, round_up
from dpstrata.words.precision import as_percent, precision_of
from dpstrata.words.results import REPORTED
from dpstrata.words.tables import SHOWN_STRATA, TextTable, not_shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpstrata.allocation.comparison import Comparison
    from dpstrata.designs.questions import DesignedForm, DesignedQuestion
    from dpstrata.designs.record import Design
    from dpstrata.survey.questionnaires.question import Question

SHOWN_QUESTIONS = 100
_FORMS_IN_COLUMNS = 6
TITLES = {
    "this_design": "this design",
    "neyman": "Neyman",
    "proportional": "proportional",
    "equal": "equal",
}
RANDOM_ANSWERS = (
    "Standard errors are those expected if every stratum has an answer. Allocations are optimised and "
    "compared by their planned variance, an upper bound that penalises strata with few expected answers."
)
_BY_A_BOUND = "Allocations are optimised and compared by their planned variance, an upper bound."
_OF_FORMS = (
    "Allocations are optimised and compared by their planned variance: forms dealt in exact shares, and none "
    "of the office's noise left out because devices randomise already."
)


def tables(plan: Design) -> list[TextTable]:
    """Return every table of a design."""
    return [
        *([precision_table(plan), forms_table(plan)] if len(plan.questions) > 1 else []),
        strata_table(plan),
        *([domain_table(plan)] if plan.domains else []),
        *([figures_table(plan)] if plan.figures else []),
        *([] if asks_everyone(plan) else [comparison_table(plan)]),
    ]


def asks_everyone(plan: Design) -> bool:
    """Whether everyone in the population is asked, so that there is nothing to allocate."""
    return plan.total == plan.strata.population


def precision_table(plan: Design) -> TextTable:
    """Precision of every question beside what no privacy and what a split budget would give."""
    pairs = list(zip(plan.inputs.questions, plan.questions, strict=True))[:SHOWN_QUESTIONS]
    asked, designed = [question for question, _ in pairs], [each for _, each in pairs]
    several = len(plan.questions) > 1
    columns = {
        "question": [each.name for each in designed],
        "kind": [question.of_kind.title for question in asked],
    }
    if several:
        columns["form"] = _on_form(plan, asked)
    columns["standard error"] = [figure(each.standard_error) for each in designed]
    columns["margin"] = [figure(each.margin) for each in designed]
    columns["margin, % of range"] = [as_percent(each.margin / question.range) for question, each in pairs]
    if any(each.target is not None for each in plan.questions):
        columns["target"] = ["" if each.target is None else figure(each.target) for each in designed]
        columns["met"] = [{None: "", True: "yes", False: "no"}[each.target_met] for each in designed]
    columns["without privacy"] = [figure(each.standard_error_without_privacy) for each in designed]
    if several:
        columns["split budget"] = [figure(each.if_split) for each in designed]
    left = not_shown(len(plan.questions) - SHOWN_QUESTIONS, "questions")
    return TextTable.of_columns(
        f"Precision of the question{'s, each in its own units' if several else ''}",
        columns,
        " ".join(filter(None, (left, _explained(plan)))),
        columns_of_text=2,
    )


def _on_form(plan: Design, asked: Sequence[Question]) -> list[str]:
    """Name the forms that each question is on."""
    on_form: dict[str, list[str]] = {}
    for number, form in enumerate(plan.forms, start=1):
        for name in form.questions:
            on_form.setdefault(name, []).append(str(number))
    return ["all" if each.everyone else ", ".join(on_form[each.name]) for each in asked]


def _explained(plan: Design) -> str:
    """Say what the last columns are, and what one figure means for a category."""
    said = []
    if len(plan.questions) > 1:
        said.append(
            "The last two columns are standard errors if everyone in the sample were asked every question: "
            "without noise, and with the budgets split over the questions."
        )
    if any(question.of_kind.cases(question) for question in plan.inputs.questions):
        said.append(
            "The standard error of a category is the root of half the sum of the variances of its shares."
        )
    return " ".join(said)


def forms_table(plan: Design) -> TextTable:
    """Show who is asked what, and how often a row of answers is replaced."""
    by_stratum = any(_replaced(form) != per_hundred(form.replaced) for form in plan.forms)
    return TextTable.of_columns(
        f"Forms: everyone in the sample gets {'one of them' if len(plan.forms) > 1 else 'the same'}",
        {
            "form": [str(number) for number in range(1, len(plan.forms) + 1)],
            "questions": [", ".join(_asked(plan, form)) for form in plan.forms],
            "people": [f"{int(form.sample_sizes.sum()):,}" for form in plan.forms],
            "possible rows": [f"{form.cells:,}" for form in plan.forms],
            "replaced, of 100 rows": [_replaced(form) for form in plan.forms],
        },
        "How many rows are replaced depends on the stratum." if by_stratum else "",
        columns_of_text=2,
    )


def _asked(plan: Design, form: DesignedForm) -> list[str]:
    """Name the questions of a form, with the levels that the design chose for numbers."""
    chosen = {question.name for question in plan.inputs.questions if len(question.candidates) > 1}
    return [
        f"{name} ({levels} levels)" if name in chosen else name
        for name, levels in zip(form.questions, form.levels, strict=True)
    ]


def _replaced(form: DesignedForm) -> str:
    """Write how many of 100 rows are replaced; it differs by stratum where rows are published."""
    least, most = per_hundred(form.least_replaced), per_hundred(form.replaced)
    return most if least == most else f"{least} to {most}"


def strata_table(plan: Design, *, shown: int = SHOWN_STRATA) -> TextTable:
    """Sample sizes, local budgets and noise of each stratum, and how many people of it get each form.

    Only a single question has a spread and noise of its own in each stratum; those of several questions are
    told question by question.
    """
    few = range(min(len(plan.strata), shown))
    one, inputs = len(plan.questions) == 1, plan.inputs
    columns = {
        "stratum": [*(plan.strata.name(i) for i in few), "all"],
        "size": [*(f"{plan.strata.sizes[i]:,}" for i in few), f"{plan.strata.population:,}"],
    }
    if one:
        columns["sd"] = [*(figure(plan.sds[i]) for i in few), ""]
    columns["sample size"] = [*(f"{plan.sample_sizes[i]:,}" for i in few), f"{plan.total:,}"]
    columns["rate"] = [*(f"{plan.sample_sizes[i] / plan.strata.sizes[i]:.3%}" for i in few), ""]
    columns |= _people_on_forms(plan, few)
    if inputs.promise.amplified:
        columns[inputs.release_form.budget_of] = [
            *(round_up(float(plan.local_epsilons[i]), 3) for i in few),
            "",
        ]
    if one:
        # where only the published figures have noise, that there is one number
        figures_alone = plan.figures and inputs.device_epsilon is None
        sds = ["one number" if figures_alone else figure(float(plan.noise_sds[i])) for i in few]
        columns["noise sd"] = [*sds, ""]
    if inputs.local_epsilon_cap is not None:
        columns["capped"] = [*("yes" if plan.capped[i] else "no" for i in few), ""]
        columns["central epsilon"] = [*(round_up(float(plan.central_epsilons[i]), 3) for i in few), ""]
    return TextTable.of_columns(
        f"{plan.strata.counted(plan.total)} in {counted(len(plan.strata), 'stratum')}, "
        f"{inputs.promise.in_words}, {asking_of(plan).in_title}",
        columns,
        " ".join(filter(None, (not_shown(len(plan.strata) - shown, "strata"), _budget_explained(plan)))),
    )


def _people_on_forms(plan: Design, few: range) -> dict[str, list[str]]:
    """Make the columns of people by form; of many forms the fewest and the most."""
    dealt = [form.sample_sizes for form in plan.forms]
    if len(dealt) == 1:
        return {}
    if len(dealt) <= _FORMS_IN_COLUMNS:
        return {
            f"form {number}": [*(f"{sizes[i]:,}" for i in few), f"{int(sizes.sum()):,}"]
            for number, sizes in enumerate(dealt, start=1)
        }
    ranges = [(min(people), max(people)) for people in ([int(sizes[i]) for sizes in dealt] for i in few)]
    written = [f"{least:,}" if least == most else f"{least:,} to {most:,}" for least, most in ranges]
    return {"people per form": [*written, ""]}


def _budget_explained(plan: Design) -> str:
    """Say what the last column of strata is where people get forms."""
    if len(plan.questions) == 1:
        return ""
    return (
        f"The last column is the budget of {plan.inputs.release_form.published}; it may exceed the promise "
        f"({plan.inputs.promise.in_words}) because nobody knows who is in the sample."
    )


def figures_table(plan: Design) -> TextTable:
    """Show the noise of every published figure."""
    shown = plan.figures[:SHOWN_STRATA]
    left = not_shown(len(plan.figures) - SHOWN_STRATA, "figures")
    when = "The scales are set after the field, from the numbers of answers; these are for those expected."
    set_later = plan.problem.terms.response_rates is not None
    return TextTable.of_columns(
        "Published figures, each with one draw of discrete Laplace noise",
        {
            "figure": [
                each.group if each.column == each.group else f"{each.column}: {each.group}" for each in shown
            ],
            "noise scale": [figure(each.scale) for each in shown],
            "noise sd": [figure(math.sqrt(2.0) * each.scale) for each in shown],
        },
        " ".join(filter(None, (left, when if set_later else ""))),
    )


def domain_table(plan: Design) -> TextTable:
    """Precision of every domain beside its target."""
    shown = plan.domains[:SHOWN_STRATA]
    of_what = "" if plan.cost is None else "cost "
    if plan.inputs.goal.spends_budget:
        of_what = "variance "
    columns = {
        "domain": [
            each.group if each.column in (each.group, REPORTED) else f"{each.column}: {each.group}"
            for each in shown
        ],
        "size": [f"{each.population:,}" for each in shown],
        "sample size": [f"{each.sample_size:,}" for each in shown],
        "standard error": [figure(each.standard_error) for each in shown],
    }
    if any((each.asked or "").endswith("cv") for each in plan.domains):
        columns["cv"] = ["" if each.cv is None else figure(each.cv, 3) for each in shown]
    columns["target"] = ["" if each.target is None else figure(each.target) for each in shown]
    if any(not (each.asked or "se").endswith("se") for each in plan.domains):
        columns["asked for"] = [each.asked or "" for each in shown]
    if any(each.shadow_price is not None for each in plan.domains):
        columns[f"{of_what}saved if the target is 1% looser"] = [
            "" if each.shadow_price is None else figure(each.shadow_price, 3) for each in shown
        ]
    return TextTable.of_columns("Domains", columns, not_shown(len(plan.domains) - SHOWN_STRATA, "domains"))


def comparison_table(plan: Design) -> TextTable:
    """Set the design beside Neyman, proportional and equal allocation."""
    compared, precision = plan.compare(), precision_of(plan)
    # whether allocations are compared by something else than the variance that is expected
    planned = any(not math.isclose(row.variance, row.planned_variance, rel_tol=1e-9) for row in compared)
    columns = {
        "allocation": [TITLES[row.design] for row in compared],
        "sample sizes": [_short_sizes(row) for row in compared],
    }
    if plan.strata.costs_differ:
        columns["people"] = [f"{row.total:,}" for row in compared]
    for name, variances in {
        precision.name: [row.variance for row in compared],
        "without privacy": [row.variance_without_privacy for row in compared],
    }.items():
        columns[name] = [figure(precision.value(variance)) for variance in variances]
    columns["planned variance" if planned else "variance"] = [
        figure(row.planned_variance) for row in compared
    ]
    columns["variance ratio"] = [
        "1" if row.design == "this_design" else f"{row.ratio:.3f} times" for row in compared
    ]
    if plan.cost is not None:
        columns["cost"] = ["" if row.cost is None else money(row.cost) for row in compared]
    return TextTable.of_columns(
        "Other allocations under the same privacy", columns, _what_is_equal(plan, planned=planned)
    )


def _what_is_equal(plan: Design, *, planned: bool) -> str:
    """Say what the other allocations have in common with a design, where that needs saying."""
    targets = "; they ignore the targets" if plan.inputs.targets.of_domains else ""
    said = f"The other allocations invite as many people{targets}." if targets else ""
    if plan.strata.costs_differ:
        said = f"The other allocations cost at most as much as this design{targets}."
    by = RANDOM_ANSWERS if plan.problem.terms.random_answers else _BY_A_BOUND if planned else ""
    return f"{said} {_OF_FORMS if len(plan.questions) > 1 else by}".strip()


def _short_sizes(row: Comparison) -> str:
    sizes = row.sample_sizes
    return " + ".join(str(n) for n in sizes.tolist()) if len(sizes) <= 6 else f"{int(sizes.sum()):,} in all"


def typical_error_if_split(plan: Design) -> float:
    """Return the typical standard error if the budgets were split over the questions.

    That is the root of the mean of squared standard errors in units of the range, by importance.
    """
    pairs: list[tuple[Question, DesignedQuestion]] = list(
        zip(plan.inputs.questions, plan.questions, strict=True)
    )
    total = sum(question.importance * (each.if_split / question.range) ** 2 for question, each in pairs)
    return math.sqrt(total / sum(question.importance for question, _ in pairs))
