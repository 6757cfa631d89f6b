"""What is asked beside a design, for the eye: other allocations, budgets, ranges, releases; simulations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpstrata.errors import Sentence
from dpstrata.words.design_tables import RANDOM_ANSWERS
from dpstrata.words.numbers import (
    counted,
    figure,
    money,
    percent_up,
    plain_number,
    round_up,
    share_in_percent,
)
from dpstrata.words.precision import precision_of
from dpstrata.words.proofs import proof_in_words
from dpstrata.words.tables import SHOWN_STRATA, TextTable, as_plain_text, not_shown

if TYPE_CHECKING:
    from dpstrata.designs.record import Design
    from dpstrata.planning.choose_range import AmountRange, RangeChoice
    from dpstrata.planning.compare_releases import ReleaseComparison, ReleaseOption
    from dpstrata.planning.evaluate import Evaluation
    from dpstrata.planning.sensitivity import Sensitivity
    from dpstrata.planning.solve_epsilon import SolvedEpsilon
    from dpstrata.simulation.pilot import PilotSimulation
    from dpstrata.simulation.survey import Simulation
    from dpstrata.survey.inputs import Inputs

_NAMES = {"epsilon": "epsilon", "device_epsilon": "device epsilon"}
_AIMS = {"trusted": "intervals to be trusted", "least_error": "least mean square error", "given": "as given"}
_PUBLISHED = {"microdata": "every noised answer", "sums": "sums", "mean": "one number"}


# --- an allocation beside the best one -------------------------------------------------------------


def evaluation_tables(scored: Evaluation) -> list[TextTable]:
    """Show the allocation beside the best one, and of a questionnaire how precise each question becomes."""
    return [_allocations(scored), *([_questions(scored)] if len(scored.questions) > 1 else [])]


def _questions(scored: Evaluation) -> TextTable:
    rows = [
        (given.name, given.kind.replace("_", "/"), figure(given.standard_error), figure(best.standard_error))
        for given, best in zip(scored.questions, scored.best.questions, strict=True)
    ]
    return TextTable(
        "Standard errors of the questions, each in its own units",
        ("question", "kind", "given", "best"),
        rows[:SHOWN_STRATA],
        not_shown(len(rows) - SHOWN_STRATA, "questions"),
    )


def _allocations(scored: Evaluation) -> TextTable:
    columns = scored.table()
    rows = [
        (name, f"{size:,}", f"{given:,}", f"{best:,}", round_up(e, 3) if e == e else "none", figure(sd))
        for name, size, given, best, e, sd in zip(*columns.values(), strict=True)
    ]
    left, people = len(rows) - SHOWN_STRATA, scored.best.strata.counted(scored.total)
    return TextTable(
        f"{people} as given, beside the best allocation {_as_large(scored)}",
        ("stratum", "size", "given", "best", scored.best.inputs.release_form.budget_of, "noise sd"),
        rows[:SHOWN_STRATA],
        not_shown(left, "strata"),
    )


def evaluation_sentences(scored: Evaluation) -> list[str]:
    """Say how good the allocation is."""
    precision = precision_of(scored.best)
    given = scored.variance if scored.standard_error is None else scored.standard_error
    ratio = "the best possible" if scored.ratio == 1 else f"{scored.ratio:.4g} times that of the best"
    measure = "planned variance" if scored.best.problem.planned else "variance"
    return [
        f"Your allocation has {precision.of(given)}; the best one {_as_large(scored)} has "
        f"{precision.written(scored.best.precision)}. Its {measure} is {ratio}.",
        *([] if scored.best.expected_answers is None else [_response_in_words(scored)]),
        *([] if scored.cost is None else [_cost_in_words(scored, scored.cost)]),
        proof_in_words(scored.best, scored.certificate),
    ]


def _as_large(scored: Evaluation) -> str:
    return "for the same cost" if scored.best.strata.costs_differ else "with the same total"


def _response_in_words(scored: Evaluation) -> str:
    given, best = scored.chance_of_empty_stratum, scored.best.chance_of_empty_stratum
    return (
        f"The chance that nobody answers in some stratum, which then takes its neighbour's result, is "
        f"{percent_up(given)}; for the best allocation it is {percent_up(best)}. {RANDOM_ANSWERS}"
    )


def _cost_in_words(scored: Evaluation, cost: float) -> str:
    if scored.budget is None:
        return f"The invitations cost {money(cost)}."
    if scored.within_budget:
        return f"The invitations cost {money(cost)}, within the budget of {money(scored.budget)}."
    over = money(cost - scored.budget)
    return f"The invitations cost {money(cost)}, {over} more than the budget of {money(scored.budget)}."


# --- the smallest budget for a precision -----------------------------------------------------------


def goal_in_words(inputs: Inputs, at_most: int | None, unit: str) -> str:
    """Say what is to be reached, and with how many people."""
    reached = "the targets of all questions" if inputs.asks_by_question else inputs.targets.in_words
    within = "" if at_most is None else f" with at most {counted(at_most, unit)}"
    return f"{reached}{within}"


def missed_in_words(plan: Design, at_most: int) -> str:
    """Say that too many people would be needed."""
    return f"{counted(plan.total, plan.strata.unit)} are needed, more than {at_most:,}."


def budget_sentences(found: SolvedEpsilon) -> list[str]:
    """State the budget, the design, and why a smaller one does not do."""
    name, unit = _NAMES[found.solve_for], found.design.strata.unit
    value = plain_number(found.value)
    first = (
        f"{name.capitalize()} = {value} is the smallest that reaches {found.goal}; it takes "
        f"{counted(found.design.total, unit)}."
    )
    if found.missed is None:
        return [f"{first} No smaller {name} is supported."]
    reason = Sentence(found.missed.reason).marked
    said = [first, Sentence(f"The next smaller, {plain_number(found.missed.value)}, misses it: {reason}")]
    if not found.proven:
        said.append(f"That is what the search found, not a proof: a slightly smaller {name} might do.")
    return said


def budget_table(found: SolvedEpsilon) -> TextTable:
    """Show every budget that was tried."""
    unit = found.design.strata.unit
    rows = [
        (
            plain_number(each.value),
            "yes" if each.reaches else "no",
            "out of reach" if each.total is None else f"{each.total:,}",
        )
        for each in found.tried
    ]
    return TextTable("What was tried", (_NAMES[found.solve_for], "reaches it", f"{unit}s needed"), rows)


# --- the range of an amount ------------------------------------------------------------------------


def range_table(found: RangeChoice) -> TextTable:
    """Show the chosen range above the other one."""
    return TextTable(
        f"Ranges for {found.sample_size:,} answers under {found.prior.in_words}",
        ("chosen for", "range", "clipped", "bias", "of the mean", "standard error", "bias in errors"),
        [_range_row(each) for each in (found.chosen, found.other)],
    )


def _range_row(each: AmountRange) -> tuple[str, ...]:
    return (
        _AIMS[each.aim],
        f"{figure(each.lower)} to {figure(each.upper)}",
        share_in_percent(each.share_above),
        figure(each.bias, 3),
        f"{each.relative_bias:.1%}",
        figure(each.standard_error, 3),
        figure(each.bias_in_errors, 2),
    )


def range_sentences(found: RangeChoice) -> list[str]:
    """Say what is estimated with the chosen range, and how far that is from the mean of all amounts."""
    chosen = found.chosen
    ends = f"{figure(chosen.lower)}–{figure(chosen.upper)}"
    return [
        f"The survey then estimates the mean of answers clipped to {ends}, expected at "
        f"{figure(chosen.clipped_mean)}; the mean of unlimited answers is expected to be "
        f"{figure(chosen.bias, 3)} higher."
    ]


# --- releases side by side -------------------------------------------------------------------------


def release_table(compared: ReleaseComparison) -> TextTable:
    """Show what each release gives, and who learns what."""
    made = (each.design for each in compared.options if each.design is not None)
    measure = next((precision_of(plan).name for plan in made), "standard error")
    return TextTable(
        "The same goal with every form of release",
        (
            *("what is published", "people", measure, "noise"),
            *("epsilon against the public", "epsilon against the office"),
        ),
        [_release_row(each) for each in compared.options],
    )


def _release_row(each: ReleaseOption) -> tuple[str, ...]:
    published = _PUBLISHED[each.release]
    if each.release != "microdata":
        published += (
            ", of raw answers"
            if each.device_epsilon is None
            else f", of answers noised on devices at {plain_number(each.device_epsilon)}"
        )
    if each.design is None:
        return published, "cannot meet the goal", "", "", "", ""
    plan = each.design
    central = plan.inputs.promise.central_epsilon
    return (
        published,
        f"{plan.total:,}",
        figure(plan.precision),
        plan.mechanism.title,
        plain_number(central) if central == central else plan.inputs.promise.in_words,
        _against_the_office(each),
    )


def _against_the_office(each: ReleaseOption) -> str:
    if each.raw_answers:
        return "sees everything"
    if each.office_epsilon is None and each.design is not None:
        return each.design.inputs.promise.in_words
    if each.device_epsilon is not None:
        return plain_number(each.device_epsilon)
    return round_up(each.office_epsilon or 0.0, 2)


# --- doubts about standard deviations --------------------------------------------------------------


def sensitivity_tables(doubt: Sensitivity) -> list[TextTable]:
    """Show the scenarios, and the strata that matter most."""
    scenarios = [
        (row.scenario, figure(row.variance), figure(row.best_variance), f"{row.ratio:.4f} times")
        for row in doubt.scenarios
    ]
    strata = [
        (name, f"{share:.1%}", figure(larger), figure(smaller))
        for name, share, larger, smaller in zip(*doubt.table().values(), strict=True)
    ]
    return [
        TextTable(
            f"Standard deviations wrong by a factor of {doubt.factor:g}",
            ("true standard deviations", "variance", "best possible", "variance ratio"),
            scenarios,
        ),
        TextTable(
            "Strata, most influential first",
            ("stratum", "share of variance", "variance if larger", "variance if smaller"),
            strata[:SHOWN_STRATA],
            not_shown(len(strata) - SHOWN_STRATA, "strata"),
        ),
    ]


# --- simulations -----------------------------------------------------------------------------------


def simulation_lines(result: Simulation) -> str:
    """Set what simulated surveys gave beside what was predicted."""
    bias = f"{' ' * (result.bias >= 0)}{figure(result.bias, 3)}"  # with room for its sign
    most = " at most" if result.worst_case else ""
    lines = [
        f"{result.replications:,} simulated surveys (seed {result.seed}; simulated noise protects nobody)",
        f"  bias      {bias} ± {figure(result.bias_error, 2)}, predicted 0",
        f"  variance   {figure(result.variance, 6)} ± {figure(result.variance_error, 2)}, "
        f"predicted{most} {figure(result.predicted_variance, 6)}",
    ]
    if result.coverage is not None:
        lines.append(
            f"  coverage  {result.coverage: .4f} ± {result.coverage_error:.2g}, "
            f"intended {result.predicted_coverage:.4f}"
        )
    return "\n".join(lines + _error_of_questions(result))


def _error_of_questions(result: Simulation) -> list[str]:
    """Set the standard error of every question beside the predicted one."""
    if not result.questions:
        return []
    rows = [
        (
            name,
            figure(math.sqrt(each.variance)),
            f"{'at most ' if each.worst_case else ''}{figure(math.sqrt(each.predicted_variance))}",
            "" if each.coverage is None else f"{each.coverage:.4f}",
        )
        for name, each in result.questions.items()
    ]
    header = ("question", "standard error", "predicted", "coverage")
    return [as_plain_text(TextTable("Every question in its own units", header, rows))]


def pilot_simulation_lines(result: PilotSimulation) -> str:
    """Set what simulated pilots led to beside one wave without a pilot."""

    def line(name: str, value: float, more: str = "") -> str:
        return f"  {name:24}{value / result.without_pilot:.3f}{more}"

    error = result.with_pilot_error / result.without_pilot
    return "\n".join(
        [
            f"{result.replications:,} simulated pilots (seed {result.seed}; simulated noise protects nobody)",
            "mean squared error relative to one wave without a pilot",
            line("both waves combined", result.with_pilot, f" ± {error:.2g}"),
            line("after the worst pilot", result.worst),
            line("main wave alone", result.main_alone),
            line("knowing the spreads", result.knowing),
        ]
    )
