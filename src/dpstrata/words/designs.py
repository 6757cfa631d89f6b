"""A design for the eye: a table of strata, a table of rivals, and sentences. Plain text and HTML."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpstrata.errors import Sentence, option
from dpstrata.words.choice import in_words as choice_in_words
from dpstrata.words.choice import other_releases_in_words
from dpstrata.words.estimates import REPORTED
from dpstrata.words.forms import (
    PLANNED,
    as_percent,
    forms_bound_in_words,
    forms_table,
    precision_table,
    result_of_questionnaire,
    sizes_by_form,
)
from dpstrata.words.numbers import counted, figure, money, percent_up, plain_number, round_up
from dpstrata.words.proofs import proof_in_words
from dpstrata.words.tables import SHOWN_STRATA, TextTable, not_shown, shown_as_html, shown_as_text
from dpstrata.words.usefulness import alarm, confidence_in_words, single_strata_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpstrata.allocation.comparison import Comparison
    from dpstrata.designs.record import Design

RANDOM_ANSWERS = (
    "Standard errors are those expected if every stratum has an answer. Allocations are optimised and "
    "compared by their planned variance, an upper bound that penalises strata with few expected answers."
)
BY_A_BOUND = "Allocations are optimised and compared by their planned variance, an upper bound."
SOME = 0.6  # of those invited: what the precision is shown for beside that for all
NO_OTHERS = "Everyone is asked, so every other allocation is the same as this one."
TITLES = {
    "this_design": "this design",
    "neyman": "Neyman",
    "proportional": "proportional",
    "equal": "equal",
}


def tables(plan: Design) -> list[TextTable]:
    """Return every table of a design."""
    domains = [domain_table(plan)] if plan.domains else []
    figures = [figures_table(plan)] if plan.figures else []
    questions = [precision_table(plan), forms_table(plan)] if plan.inputs.rows else []
    sizes = sizes_by_form(plan) if plan.inputs.rows else strata_table(plan)
    others = [] if asks_everyone(plan) else [comparison_table(plan)]
    return [*questions, sizes, *domains, *figures, *others]


def asks_everyone(plan: Design) -> bool:
    """Whether everyone in the population is asked, so that there is nothing to allocate."""
    return plan.total == plan.strata.population


def strata_table(plan: Design) -> TextTable:
    """Sample sizes, local budgets and noise of each stratum."""
    shown = min(len(plan.strata), SHOWN_STRATA)
    local, noise, central = plan.local_epsilons, plan.noise_sds, plan.central_epsilons
    capped = plan.inputs.local_epsilon_cap is not None
    rows: list[tuple[str, ...]] = [
        (
            plan.strata.name(i),
            f"{plan.strata.sizes[i]:,}",
            figure(plan.sds[i]),
            f"{plan.sample_sizes[i]:,}",
            f"{plan.sample_sizes[i] / plan.strata.sizes[i]:.3%}",
            round_up(float(local[i]), 3) if plan.inputs.promise.amplified else "none",
            noise_in_table(plan, float(noise[i])),
            *((("yes" if plan.capped[i] else "no"), round_up(float(central[i]), 3)) if capped else ()),
        )
        for i in range(shown)
    ]
    left = len(plan.strata) - shown
    rows.append(("all", f"{plan.strata.population:,}", "", f"{plan.total:,}", *[""] * (5 if capped else 3)))
    return TextTable(
        f"{plan.strata.counted(plan.total)} in {counted(len(plan.strata), 'stratum')}, "
        f"{plan.inputs.promise.in_words}, {plan.mechanism.title} noise{plan.inputs.release_form.in_title}",
        (
            *("stratum", "size", "sd", "sample size", "rate", plan.inputs.release_form.budget_of, "noise sd"),
            *(("capped", "central epsilon") if capped else ()),
        ),
        rows,
        not_shown(left, "strata"),
    )


def noise_in_table(plan: Design, sd: float) -> str:
    """Write the noise of a stratum; where only the published figures have any, that there is one number."""
    return "one number" if plan.figures and plan.inputs.device_epsilon is None else figure(sd)


def figures_table(plan: Design) -> TextTable:
    """Show the noise of every published figure."""
    found = plan.figures
    rows = [
        (
            each.group if each.column == each.group else f"{each.column}: {each.group}",
            figure(each.scale),
            figure(math.sqrt(2.0) * each.scale),
        )
        for each in found[:SHOWN_STRATA]
    ]
    return TextTable(
        "Published figures, each with one draw of discrete Laplace noise",
        ("figure", "noise scale", "noise sd"),
        rows,
        " ".join(filter(None, (not_shown(len(found) - SHOWN_STRATA, "figures"), _when_scales_are_set(plan)))),
    )


def _when_scales_are_set(plan: Design) -> str:
    if plan.problem.terms.response_rates is None:
        return ""
    return "The scales are set after the field, from the numbers of answers; these are for those expected."


def domain_table(plan: Design) -> TextTable:
    """Precision of every domain beside its target."""
    found = plan.domains
    priced = any(domain.shadow_price is not None for domain in found)
    asked = any(not (domain.asked or "se").endswith("se") for domain in found)
    relative = any((domain.asked or "").endswith("cv") for domain in found)
    of_what = "" if plan.cost is None else "cost "
    if plan.inputs.goal.spends_budget:
        of_what = "variance "
    saved = f"{of_what}saved if the target is 1% looser"
    rows = [
        (
            domain.group if domain.column in (domain.group, REPORTED) else f"{domain.column}: {domain.group}",
            f"{domain.population:,}",
            f"{domain.sample_size:,}",
            figure(domain.standard_error),
            *(("" if domain.cv is None else figure(domain.cv, 3),) if relative else ()),
            "" if domain.target is None else figure(domain.target),
            *((domain.asked or "",) if asked else ()),
            *((("" if domain.shadow_price is None else figure(domain.shadow_price, 3)),) if priced else ()),
        )
        for domain in found[:SHOWN_STRATA]
    ]
    left = len(found) - SHOWN_STRATA
    return TextTable(
        "Domains",
        (
            *("domain", "size", "sample size", "standard error", *(("cv",) if relative else ())),
            *("target", *(("asked for",) if asked else ()), *((saved,) if priced else ())),
        ),
        rows,
        not_shown(left, "domains"),
    )


def comparison_table(plan: Design) -> TextTable:
    """Set the design beside Neyman, proportional and equal allocation."""
    compared = plan.compare()
    planned = _differs_from_planned(compared)
    rows = [
        (
            TITLES[row.design],
            _short_sizes(row),
            *((f"{row.total:,}",) if plan.strata.costs_differ else ()),
            *map(figure, _measured(row)),
            figure(row.planned_variance),
            "1" if row.design == "this_design" else f"{row.ratio:.3f} times",
            *((money(row.cost),) if row.cost is not None else ()),
        )
        for row in compared
    ]
    return TextTable(
        "Other allocations under the same privacy",
        (
            *("allocation", "sample sizes", *(("people",) if plan.strata.costs_differ else ())),
            *(
                plan.inputs.measure,
                "without privacy",
                "planned variance" if planned else "variance",
                "variance ratio",
            ),
            *(("cost",) if plan.cost is not None else ()),
        ),
        rows,
        _what_is_equal(plan, planned=planned),
    )


def _measured(row: Comparison) -> tuple[float, float]:
    """Return the standard error, or else the objective, of an allocation as planned and without privacy."""
    if row.standard_error is None or row.standard_error_without_privacy is None:
        return row.variance, row.variance_without_privacy
    return row.standard_error, row.standard_error_without_privacy


def _differs_from_planned(compared: Sequence[Comparison]) -> bool:
    """Whether allocations are compared by something else than the variance that is expected."""
    return any(not math.isclose(row.variance, row.planned_variance, rel_tol=1e-9) for row in compared)


def _what_is_equal(plan: Design, *, planned: bool) -> str:
    """Say what the other allocations have in common with a design, where that needs saying."""
    targets = "; they ignore the targets" if plan.inputs.targets.of_domains else ""
    said = f"The other allocations invite as many people{targets}." if targets else ""
    if plan.strata.costs_differ:
        said = f"The other allocations cost at most as much as this design{targets}."
    by = RANDOM_ANSWERS if plan.problem.terms.random_answers else BY_A_BOUND if planned else ""
    return f"{said} {PLANNED if plan.inputs.rows else by}".strip()


def _short_sizes(row: Comparison) -> str:
    sizes = row.sample_sizes
    return " + ".join(str(n) for n in sizes.tolist()) if len(sizes) <= 6 else f"{int(sizes.sum()):,} in all"


def sentences(plan: Design) -> list[str]:
    """State the result, its certificate and its promise, a sentence or two each."""
    return [result_in_words(plan), *reasons(plan), *promise_in_full(plan)]


def result_in_words(plan: Design) -> str:
    """State what comes out, how much of its error is due to privacy, and whether that is of any use."""
    if plan.inputs.rows:
        return result_of_questionnaire(plan)
    give = "gives" if plan.total == 1 else "give"
    error, of = plan.inputs.precision_in_words
    if plan.standard_error is not None:
        result = (
            f"{plan.strata.counted(plan.total)} {give} {error} {figure(plan.standard_error)} for {of}, "
            f"a margin of error of {figure(plan.inputs.z * plan.standard_error)} at "
            f"{confidence_in_words(plan)}."
        )
    else:
        result = (
            f"{plan.strata.counted(plan.total)} {give} an objective ({plan.inputs.objective}) of "
            f"{figure(plan.variance)}."
        )
    return " ".join(
        [result, _without_privacy(plan), *([] if (useless := alarm(plan)) is None else [useless])]
    )


def _without_privacy(plan: Design) -> str:
    """Say what the same sample would give without privacy, and how much of the variance is due to it."""
    share = f"{plan.variance_parts.privacy_share:.1%}"
    error = plan.standard_error_without_privacy
    if error is None:
        objective = figure(plan.variance_parts.sampling)
        return f"Without privacy it would be {objective}; privacy accounts for {share} of it."
    return f"Without privacy it would be {figure(error)}; privacy accounts for {share} of the variance."


def reasons(plan: Design, *, full: bool = True) -> list[str]:
    """State how the total and the mechanism came about, and the proof, in full or not."""
    proofs = [proof_in_words(plan, plan.certificate, full=full)]
    if plan.forms_bound is not None:
        proofs.append(forms_bound_in_words(plan))
    return [*outcome_sentences(plan), *([NO_OTHERS] if asks_everyone(plan) else []), *proofs]


def promise_in_full(plan: Design) -> list[str]:
    """State what everyone is promised, and what that assumes."""
    privacy = plan.privacy
    return [privacy["in_words"], f"This assumes: {'; '.join(privacy['assumptions'])}."]


def promise_in_short(plan: Design) -> str:
    """State what everyone is promised by the survey, with all that was or will be spent besides."""
    promise, spent = plan.inputs.promise.in_words, plan.privacy["spent_on_deviations"]
    if plan.waves is not None:
        return (
            f"{promise} for everyone in this wave, {plain_number(plan.waves.epsilon)} in both waves together"
        )
    on_top = (
        f", on top of epsilon = {plain_number(spent)} spent on the standard deviations" if spent > 0 else ""
    )
    return f"{promise} for everyone{on_top}"


def outcome_sentences(plan: Design) -> list[str]:
    """State how the total and the mechanism came about, as far as there is something to say."""
    outcome = []
    response = plan.response_in_words or if_some_answer_in_words(plan)
    if response is not None:
        outcome.append(response)
    if plan.inputs.rows and (single := single_strata_in_words(plan)) is not None:
        outcome.append(single)
    if plan.inputs.targets.of_domains:
        outcome.append(_targets_in_words(plan))
    if plan.outcome_in_words is not None and plan.inputs.goal.explains_total:
        outcome.append(plan.outcome_in_words)
    if plan.inputs.unlimited_in_words is not None:
        outcome.append(plan.inputs.unlimited_in_words)
    advice = choice_in_words(plan), *other_releases_in_words(plan)
    outcome += [sentence for sentence in advice if sentence is not None]
    if plan.mechanism.worst_case:
        outcome.append(
            f"{plan.mechanism.title} noise depends on the answer. Figures are for the answers that get the "
            "most noise."
        )
    return outcome


def response_in_words(plan: Design) -> str | None:
    """Say how many people would answer, and how likely a stratum is left without any; ``None`` if all do."""
    answers = plan.expected_answers
    if answers is None:
        return None
    words = (
        f"Counts are invitations, including substitutes and reserves; about {answers:,.0f} of "
        f"{plan.total:,} people would answer. The chance that nobody answers in some stratum, which then "
        f"takes its neighbour's result, is {percent_up(plan.chance_of_empty_stratum)}."
    )
    return Sentence(f"{words}{_against_empty_strata(plan)}{_default_minimum_in_words(plan)}")


def if_some_answer_in_words(plan: Design) -> str | None:
    """Say that the precision is for answers from all, if it is, and what it would be with fewer."""
    precision = plan.precision_if(SOME)
    if precision is None:
        return None
    everyone = plan.total == plan.strata.population
    what, value = plan.inputs.measure, figure(precision)
    if plan.inputs.rows:
        value = f"{as_percent(precision)} of a question's range"
    advice = "" if everyone else f" Plan for that with {option('response_rate')}{_why_larger(plan, what)}."
    return Sentence(
        f"The precision assumes that everyone{'' if everyone else ' invited'} answers; if {SOME:.0%} did, "
        f"the {what} would be about {value}.{advice}"
    )


def _why_larger(plan: Design, what: str) -> str:
    """Say why a design for fewer answers is less precise than one that happens to get as few."""
    if not plan.inputs.promise.amplified:
        return ""
    return (
        f"; the {what} is then larger, because the promise must also hold if only {SOME:.0%} would ever "
        "answer, which takes more noise"
    )


def _against_empty_strata(plan: Design) -> str:
    """Say what lowers the chance of an empty stratum to 1%, if it is above that."""
    if not plan.risks_empty_stratum:
        return ""
    found = plan.minimum_against_empty()
    if found is None:
        return (
            " No minimum within the limits lowers it to 1%; merge small strata, such as "
            f"{plan.emptiest_stratum!r}, with others."
        )
    least, needed = found
    more = f" (which takes {plan.strata.counted(needed)})" if needed > plan.total else ""
    return f" With {option('min_per_stratum', least)}{more} it would be at most 1%."


def _default_minimum_in_words(plan: Design) -> str:
    """Say that the default minimum per stratum fits only in part, or costs precision, if so."""
    found, said = plan.default_minimum, ""
    if found is not None and not found.fits:
        said += (
            " The default minimum per stratum, which gives two answers in every stratum with a chance of "
            f"99%, takes {plan.strata.counted(found.needed)}; every stratum gets the same share of it."
        )
    if found is not None and found.binds:
        said += (
            " The default minimum per stratum decides how many are invited; fewer may be more precise, with "
            f"{option('min_per_stratum', 1)}."
        )
    return said


def _targets_in_words(plan: Design) -> str:
    targets = [domain for domain in plan.domains if domain.target is not None]
    binding = [domain for domain in targets if domain.binds]
    named = ", ".join(
        domain.group if domain.column == domain.group else f"{domain.column} {domain.group}"
        for domain in sorted(binding, key=lambda domain: -(domain.shadow_price or 0.0))[:5]
    )
    cost = "" if plan.cost is None else f", at a cost of {money(plan.cost)}"
    few = "" if not binding else f": {named}{', ...' if len(binding) > 5 else ''}"
    all_of_them = "the target" if len(targets) == 1 else f"all {len(targets):,} targets"
    bind = "1 of them is binding" if len(binding) == 1 else f"{len(binding) or 'none'} of them are binding"
    if len(targets) == 1:
        bind, few = ("it is binding" if binding else "it is not binding"), ""
    meet = "meets" if plan.total == 1 else "meet"
    return f"{plan.strata.counted(plan.total)} {meet} {all_of_them}{cost}; {bind}{few}."


def as_text(plan: Design) -> str:
    """Everything as plain text."""
    lead, rest = _lead(plan)
    return shown_as_text(tables(plan), rest, lead=lead)


def as_html(plan: Design) -> str:
    """Everything as HTML for a notebook; all text is escaped."""
    lead, rest = _lead(plan)
    return shown_as_html(tables(plan), rest, lead=lead)


def _lead(plan: Design) -> tuple[list[str], list[str]]:
    """Put the result before the tables where these are long: those of a questionnaire."""
    said = sentences(plan)
    return (said[:1], said[1:]) if plan.inputs.rows else ([], said)
