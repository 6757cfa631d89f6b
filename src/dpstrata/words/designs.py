"""A design in sentences: the result and its use, how it came about, the proof, and what is promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpstrata.errors import Sentence, option
from dpstrata.words.design_tables import asks_everyone, tables, typical_error_if_split
from dpstrata.words.numbers import counted, money, percent_up, plain_number
from dpstrata.words.precision import alarm, precision_of, single_strata_in_words
from dpstrata.words.proofs import forms_bound_in_words, proof_in_words
from dpstrata.words.tables import shown_as_html, shown_as_text

if TYPE_CHECKING:
    from dpstrata.designs.choice import Choice
    from dpstrata.designs.record import Design

SOME = 0.6  # of those invited: what the precision is shown for beside that for all
NO_OTHERS = "Everyone is asked, so every other allocation is the same as this one."


def as_text(plan: Design) -> str:
    """Everything as plain text, the result first."""
    first, *others = sentences(plan)
    return shown_as_text(tables(plan), others, lead=[first])


def as_html(plan: Design) -> str:
    """Everything as HTML for a notebook, the result first; all text is escaped."""
    first, *others = sentences(plan)
    return shown_as_html(tables(plan), others, lead=[first])


def sentences(plan: Design) -> list[str]:
    """State the result, its certificate and its promise, a sentence or two each."""
    return [result_in_words(plan), *reasons(plan), *promise_in_full(plan)]


def result_in_words(plan: Design) -> str:
    """State what comes out, how much of its error is due to privacy, and whether that is of any use."""
    precision, share = precision_of(plan), plan.variance_parts.privacy_share
    plain = precision.written(precision.value(plan.variance_parts.sampling))
    split = ""
    if len(plan.questions) > 1:
        if_split = precision.written(typical_error_if_split(plan))
        split = f", and {if_split} if the budget were split over the questions"
    useless = alarm(plan)
    return " ".join(
        [
            f"{_people_in_words(plan)} {precision.stated(plan.precision)}.",
            f"Without privacy it would be {plain}{split}; privacy accounts for {share:.1%} of "
            f"{precision.whole}.",
            *([] if useless is None else [useless]),
        ]
    )


def result_in_short(plan: Design) -> str:
    """State how precise a design is, or that all targets are met, and no more."""
    return f"{_people_in_words(plan)} {precision_of(plan).of(plan.precision)}."


def _people_in_words(plan: Design) -> str:
    """Say how many people are asked, on how many forms, and that they meet the targets of questions."""
    on_forms = f" on {counted(len(plan.forms), 'form')}" if len(plan.forms) > 1 else ""
    one = plan.total == 1
    met = ""
    if plan.inputs.asks_by_question:
        reached = sum(question.target is not None for question in plan.questions)
        all_of_them = {1: "the target", 2: "both targets"}.get(reached, f"all {reached:,} targets")
        met = f" {'meets' if one else 'meet'} {all_of_them} and"
    return f"{plan.strata.counted(plan.total)}{on_forms}{met} {'gives' if one else 'give'}"


def reasons(plan: Design, *, full: bool = True) -> list[str]:
    """State how the total and the mechanism came about, and the proof, in full or not."""
    of_forms = forms_bound_in_words(plan)
    return [
        *outcome_sentences(plan),
        *([NO_OTHERS] if asks_everyone(plan) else []),
        proof_in_words(plan, plan.certificate, full=full),
        *([] if of_forms is None else [of_forms]),
    ]


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
    if (single := single_strata_in_words(plan)) is not None:
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
    words = precision_of(plan)
    advice = (
        "" if everyone else f" Plan for that with {option('response_rate')}{_why_larger(plan, words.name)}."
    )
    return Sentence(
        f"The precision assumes that everyone{'' if everyone else ' invited'} answers; if {SOME:.0%} did, "
        f"the {words.name} would be about {words.with_unit(precision)}.{advice}"
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


# --- other noise and other releases -----------------------------------------------------------------


def other_releases_in_words(plan: Design, *, released: bool = False) -> list[str]:
    """Say in a line each what other releases would give, where they are better and worth suggesting.

    Parameters
    ----------
    plan : Design
        The design.
    released : bool
        Whether it is too late for this one: its answers were noised at the office.
    """
    precision = precision_of(plan)
    return [
        release.suggestion(
            gives=f"{precision.of(precision.value(variance))} instead of {precision.written(plan.precision)}",
            noise="" if title == plan.mechanism.title else f" with {title} noise",
            too_late=released,
        )
        for release, title, variance in plan.better_releases()
        if not (released and release.device is not None)
    ]


def choice_in_words(plan: Design) -> str | None:
    """Say in one line which mechanism was chosen and why, or that another would do better."""
    if plan.figures and plan.inputs.device_epsilon is None:  # there is no choice
        return None
    if plan.choice is not None:
        return Sentence(
            f"{plan.mechanism.title} noise was chosen: {_reason(plan, plan.choice)}.{_without_delta(plan)}"
        )
    if plan.waves is not None and not plan.waves.first:  # it keeps to what was said of the first wave
        return None
    better = plan.better_mechanism()
    if better is None:
        return None
    precision = precision_of(plan)
    return (
        f"{better[0]} noise would keep the same promise and, with the same sample sizes, give "
        f"{precision.of(precision.value(better[1]))}."
    )


def _without_delta(plan: Design) -> str:
    """Say what noise that needs no delta would give, where one was given."""
    better = None if plan.inputs.promise.any_mechanism else plan.better_mechanism()
    if better is None:
        return ""
    precision = precision_of(plan)
    return (
        f" Without {option('delta')}, {better[0].lower()} noise keeps the same {option('epsilon')}, and the "
        f"same sample sizes would give {precision.of(precision.value(better[1]))}."
    )


def _reason(plan: Design, considered: tuple[Choice, ...]) -> str:
    """Say why a mechanism was chosen, with what the others that were considered give."""
    if not plan.inputs.promise.any_mechanism:
        return f"a promise of {plan.inputs.promise.title} requires it"
    others = [
        f"{row.title.lower()} {_figures(plan, row)}"
        for row in considered
        if row.mechanism != plan.inputs.mechanism
    ]
    listed = f" ({', '.join(others)})" if others else ""
    return f"no other mechanism does better for these answers{listed}"


def _figures(plan: Design, row: Choice) -> str:
    """Say what another mechanism would give, in what decides between them."""
    if row.variance is None or row.total is None:
        return "cannot meet the goal"
    people = plan.strata.counted(row.total)
    if plan.inputs.asks_for_least:
        return f"needs {people}{'' if row.cost is None else f' at a cost of {money(row.cost)}'}"
    precision = precision_of(plan)
    among = "" if row.total == plan.total else f" with {people}"
    return f"gives {precision.of(precision.value(row.variance))}{among}"
