"""The report: one HTML file that a methodologist and a privacy officer can both sign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpstrata.designs.consent import why_no_consent
from dpstrata.designs.record import Design
from dpstrata.present.charts.allocations import MOST_BESIDE, allocation_chart
from dpstrata.present.charts.plan import budgets_chart, epsilon_chart, parts_chart, precision_chart
from dpstrata.present.report import questionnaire, tables
from dpstrata.present.report.cautions import cautions
from dpstrata.present.report.code import (
    MOST_INLINE,
    command_line,
    python_code_with_strata,
)
from dpstrata.present.report.markup import (
    bullets,
    code,
    figure,
    long_text,
    paragraphs,
    section,
    signatures,
    table,
    text,
    whole_page,
)
from dpstrata.present.report.words import (
    goal_in_words,
    headline,
    influence_in_words,
    neighbours_in_words,
    neyman_in_words,
    odds_in_words,
    why_a_proof,
)
from dpstrata.words.consent import ENGLISH, has_texts
from dpstrata.words.designs import (
    NO_OTHERS,
    asks_everyone,
    comparison_table,
    domain_table,
    figures_table,
    outcome_sentences,
)
from dpstrata.words.forms import sizes_by_form
from dpstrata.words.numbers import counted
from dpstrata.words.proofs import proof_in_words

TITLE = "Survey design under differential privacy"


@dataclass(frozen=True, slots=True)
class Curves:
    """What other numbers of interviews and other promises would give, as rows of two charts.

    Attributes
    ----------
    precision : sequence of dict
        Rows for :func:`dpstrata.present.charts.plan.precision_chart`.
    best : int or None
        The number of interviews beyond which more hurt; ``None`` if more never do.
    epsilons : sequence of dict or None
        Rows for :func:`dpstrata.present.charts.plan.epsilon_chart`; ``None`` for other promises.
    """

    precision: Sequence[dict[str, Any]]
    best: int | None
    epsilons: Sequence[dict[str, Any]] | None


def make_page(plan: Design, curves: Curves, *, title: str = TITLE) -> str:
    """Write the report of a design as one HTML page, with no script and nothing from outside."""
    people = counted(plan.strata.population, "person")
    under = f"{counted(len(plan.strata), 'stratum')}, {people}, {plan.inputs.promise.in_words}"
    body = [
        f"<header><h1>{text(title)}</h1>",
        f'<p class="under">{long_text(under)}</p>',
        f'<p class="headline">{long_text(headline(plan))}</p>',
        f"{paragraphs(cautions(plan), kind='caution')}</header><main>",
        section("goal", "The goal", _goal(plan)),
        *_questionnaire(plan),
        section("allocation", "The allocation", _allocation(plan)),
        section("proof", "The certificate", _proof(plan)),
        section("neyman", "What Neyman's allocation would have given", _neyman(plan)),
        section("precision", "What precision depends on", _curves(plan, curves)),
        section("promise", "The privacy promise", _promise(plan)),
        section("respondents", "What respondents are told", _respondents(plan)),
        section("noise", f"The {'forms' if plan.inputs.rows else 'noise'} in each stratum", _noise(plan)),
        _knowledge(plan),
        section("again", "How to reproduce it", _again(plan)),
        section("signatures", "Signatures", _signatures(plan)),
        "</main>",
    ]
    return whole_page(title, body)


def _questionnaire(plan: Design) -> list[str]:
    """Write the sections about the questions and forms of a questionnaire."""
    if not plan.inputs.rows:
        return []
    return [
        section("questions", "The questions", questionnaire.questions(plan)),
        section("forms", "The forms", questionnaire.forms(plan)),
    ]


def _knowledge(plan: Design) -> str:
    """Write the section about what the design knows of the answers."""
    if plan.inputs.rows:
        return section("deviations", "What is known of the answers", questionnaire.known(plan))
    return section("deviations", "Where the standard deviations come from", _deviations(plan))


def _goal(plan: Design) -> str:
    return paragraphs([goal_in_words(plan.inputs, plan.strata.unit)]) + table(
        tables.options_table(plan), columns_of_text=2
    )


def _allocation(plan: Design) -> str:
    share = plan.variance_parts.privacy_share
    return "".join(
        [
            paragraphs([*outcome_sentences(plan), f"Privacy accounts for {share:.1%} of the variance."]),
            table(tables.allocation_table(plan)),
            paragraphs([neighbours_in_words(plan)] if len(plan.strata) > 1 else [], kind="note"),
            table(domain_table(plan)) if plan.domains else "",
            _allocation_figure(plan),
        ]
    )


def _allocation_figure(plan: Design) -> str:
    """Draw the allocation beside others, unless everyone is asked."""
    if asks_everyone(plan):
        return ""
    beside = (
        "as a multiple of Neyman's allocation."
        if len(plan.strata) > MOST_BESIDE
        else "beside Neyman's allocation and allocation in proportion to size."
    )
    people = plan.strata.counted(plan.total).capitalize()
    return figure(allocation_chart(plan), f"{people} by stratum, {beside}")


def _proof(plan: Design) -> str:
    return (
        paragraphs([proof_in_words(plan, plan.certificate), why_a_proof(plan)])
        + table(tables.certificate_table(plan))
        + questionnaire.forms_proof(plan)
    )


def _neyman(plan: Design) -> str:
    if asks_everyone(plan):
        return paragraphs([NO_OTHERS])
    explained = (
        "Neyman's allocation is the best one without privacy. Without privacy means that everyone in the "
        "sample is asked every question and no noise is added."
    )
    chart = figure(
        parts_chart(plan),
        "The error from sampling and from privacy, for this design and for the usual allocations "
        + ("of the same cost." if plan.strata.costs_differ else f"of as many {plan.strata.unit}s."),
    )
    return (
        paragraphs([neyman_in_words(plan)])
        + table(comparison_table(plan), columns_of_text=2)
        + paragraphs([explained], kind="note")
        + chart
    )


_TYPICAL = " and with the same forms; standard errors are typical ones, as shares of a question's range. "


def _curves(plan: Design, curves: Curves) -> str:
    limited = bool((plan.problem.upper < plan.strata.sizes).any())
    unit = plan.strata.unit
    drawn = [
        figure(
            precision_chart(
                curves.precision, best=curves.best, total=plan.total, value=plan.precision, unit=unit
            ),
            f"Precision by the number of {unit}s, each optimally allocated under the same privacy"
            f"{_TYPICAL if plan.inputs.rows else '. '}"
            + (
                f"More {unit}s never hurt here{', up to the maximums of the strata' if limited else ''}."
                if curves.best is None
                else f"Beyond {counted(curves.best, unit)}, the sample is less secret, and each answer needs "
                "so much noise that additional answers do not make up for it."
            ),
        )
    ]
    if curves.epsilons is not None:
        epsilon = plan.inputs.promise.central_epsilon
        drawn.append(
            figure(
                epsilon_chart(curves.epsilons, epsilon=epsilon, value=plan.precision),
                f"Precision by epsilon, with {plan.strata.counted(plan.total)}.",
            )
        )
    return "".join(drawn) + table(tables.curve_table(curves.precision, "total", f"{unit}s"))


def _promise(plan: Design) -> str:
    privacy = plan.privacy
    beliefs = tables.beliefs_table(plan)
    return "".join(
        [
            paragraphs([odds_in_words(plan), privacy["in_words"]]),
            "" if beliefs is None else table(beliefs),
            paragraphs(
                [
                    f"What is protected: {privacy['unit']}. The results must look alike for two populations "
                    f"if one becomes the other when you {privacy['neighbours']}."
                ]
            ),
            "<h3>What it assumes</h3>",
            bullets(privacy["assumptions"]),
            "<h3>What is public</h3>",
            bullets(privacy["public"]),
            "<h3>What must stay secret</h3>",
            bullets(privacy["secret"]),
            "<h3>What is not protected</h3>",
            bullets(privacy["not_protected"]),
        ]
    )


def _respondents(plan: Design) -> str:
    """Write the text for respondents, in every language of the questionnaire that has one."""
    reason = why_no_consent(plan)
    if reason is not None:
        return paragraphs([reason])
    languages = [each for each in plan.inputs.questions.languages if each]
    written = [each for each in languages if has_texts(each)] or [ENGLISH]
    missing = ", ".join(each for each in languages if not has_texts(each))
    where = (
        "These words hold if answers are noised on respondents' devices. Where the office noises them in a "
        "batch, respondents must be told something else: dpstrata consent --noised-at office."
    )
    said = [where] if len(plan.inputs.release_form.noised_at) > 1 else []
    said += [f"There are no such words yet in: {missing}."] if missing else []
    return paragraphs(said) + "".join(plan.consent(each).html(level=3) for each in written)


def _noise(plan: Design) -> str:
    parts = [paragraphs([tables.noise_in_words(plan)]), table(tables.noise_table(plan))]
    if plan.inputs.rows:
        people = table(sizes_by_form(plan, shown=tables.SHOWN))
        parts = [paragraphs([questionnaire.budgets_in_words(plan)]), people]
    parts.append(paragraphs([influence_in_words(plan)]))
    if plan.figures:
        parts.append(table(figures_table(plan)))
    if plan.inputs.promise.amplified:
        cap = plan.inputs.local_epsilon_cap
        what = plan.inputs.release_form.budget_of.capitalize() if plan.inputs.rows else "Local epsilon"
        parts.append(
            figure(
                budgets_chart(plan),
                f"{what} in each stratum" + ("." if cap is None else f", with the cap of {cap:g}."),
            )
        )
    return "".join(parts)


def _deviations(plan: Design) -> str:
    explained = (
        "A design may use only standard deviations that are public, known beforehand, or upper bounds. One "
        "computed from the confidential answers reveals something about them, so it needs a privacy budget "
        "of its own. If the standard deviations are wrong, the promise still holds, but the design is less "
        "precise than stated."
    )
    return paragraphs([explained]) + table(tables.sources_table(plan), columns_of_text=2)


def _again(plan: Design) -> str:
    return "".join(
        [
            table(tables.versions_table(plan), columns_of_text=2),
            _made_again(plan),
            paragraphs(
                [
                    "To check a design document (its proof, and that it meets its goal) and write this "
                    "report from it; plan.digest is the digest above:"
                ]
            ),
            code("dpstrata report design.json --out report.html", "Command line that writes the report"),
            code(
                'import dpstrata as dps\n\nplan = dps.load_design("design.json")\nprint(plan.digest)',
                "Python that checks a document",
            ),
        ]
    )


def _made_again(plan: Design) -> str:
    where = (
        "In Python, from the design document of the pilot and its noised answers:"
        if plan.waves is not None and not plan.waves.first
        else "In Python, with the strata in the code:"
        if len(plan.strata) <= MOST_INLINE
        else "In Python, from the strata file strata.csv (the design document holds the same strata):"
    )
    files = (
        "The questions are read from questions.csv, and what is known of the answers from spreads.csv. The "
        "design document holds both: plan.inputs.questions.to_file and "
        "plan.spreads.to_file write them again."
    )
    return "".join(
        [
            paragraphs([where, *([files] if plan.inputs.rows else [])]),
            code(python_code_with_strata(plan), "Python"),
            paragraphs(["On the command line, from files:"]),
            code(command_line(plan), "Command line"),
        ]
    )


def _signatures(plan: Design) -> str:
    said = (
        "We have read this report. The assumptions above hold, and what must stay secret will be kept "
        f"secret. This applies to the design whose SHA-256 begins with {plan.digest[:16]}."
    )
    return signatures(said, who=("For the survey methodology", "For privacy protection"))
