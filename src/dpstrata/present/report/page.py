"""The report: one HTML file that a methodologist and a privacy officer can both sign."""

from __future__ import annotations

from pathlib import Path

from dpstrata.designs.consent import why_no_consent
from dpstrata.designs.record import Design
from dpstrata.planning.curves import epsilon_rows, precision_rows
from dpstrata.present.charts.allocations import MOST_BESIDE, allocation_chart
from dpstrata.present.charts.chart import require_charts
from dpstrata.present.charts.plan import (
    budgets_chart,
    epsilon_chart,
    parts_chart,
    precision_chart,
    questions_chart,
)
from dpstrata.present.report import tables
from dpstrata.present.report.code import MOST_INLINE, command_line, in_file, python_code_with_strata
from dpstrata.present.report.markup import (
    bullets,
    check_report_path,
    code,
    figure,
    long_text,
    paragraphs,
    section,
    signatures,
    table,
    text,
    whole_page,
    write_page,
)
from dpstrata.present.report.words import (
    cautions,
    goal_in_words,
    headline,
    influence_in_words,
    neighbours_in_words,
    neyman_in_words,
    noise_in_words,
    odds_in_words,
    row_in_words,
    why_a_proof,
)
from dpstrata.words.consent import ENGLISH, has_texts
from dpstrata.words.design_tables import (
    asks_everyone,
    comparison_table,
    domain_table,
    figures_table,
    forms_table,
    precision_table,
    strata_table,
)
from dpstrata.words.designs import NO_OTHERS, outcome_sentences
from dpstrata.words.numbers import counted
from dpstrata.words.proofs import forms_bound_in_words, proof_in_words

TITLE = "Survey design under differential privacy"
_STRATA_TIMES_POINTS = 80_000


def report_html(plan: Design, *, title: str = TITLE) -> str:
    """Return the report of a design as one self-contained HTML page.

    Parameters
    ----------
    plan : Design
        The design.
    title : str
        Heading of the report.

    Returns
    -------
    str
        The page, with its charts, without scripts or requests to anywhere. It needs the extra ``charts``.

    Examples
    --------
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    >>> "Proven optimal." in dps.report_html(plan, title="Pilot")
    True
    """
    require_charts()
    people = counted(plan.strata.population, "person")
    under = f"{counted(len(plan.strata), 'stratum')}, {people}, {plan.inputs.promise.in_words}"
    several = len(plan.questions) > 1
    body = [
        f"<header><h1>{text(title)}</h1>",
        f'<p class="under">{long_text(under)}</p>',
        f'<p class="headline">{long_text(headline(plan))}</p>',
        f"{paragraphs(cautions(plan), kind='caution')}</header><main>",
        section("goal", "The goal", _goal(plan)),
        section("questions", f"The question{'s' if several else ''}", _questions(plan)),
        section("forms", "The forms", _forms(plan)) if several else "",
        section("allocation", "The allocation", _allocation(plan)),
        section("proof", "The certificate", _proof(plan)),
        section("neyman", "What Neyman's allocation would have given", _neyman(plan)),
        section("precision", "What precision depends on", _curves(plan)),
        section("promise", "The privacy promise", _promise(plan)),
        section("respondents", "What respondents are told", _respondents(plan)),
        section("noise", "Budgets and noise in each stratum", _noise(plan)),
        section("deviations", "What is known of the answers", _known(plan)),
        section("again", "How to reproduce it", _again(plan)),
        section("signatures", "Signatures", _signatures(plan)),
        "</main>",
    ]
    return whole_page(title, body)


def write_report(plan: Design, path: str | Path, *, title: str = TITLE) -> None:
    """Write the report of a design to a file, in full or not at all.

    Parameters
    ----------
    plan : Design
        The design.
    path : path
        Where to: ``.html``, or ``.pdf`` with the extra ``pdf``.
    title : str
        Heading of the report.

    Raises
    ------
    InputError
        If the file has another ending or cannot be written.
    MissingExtraError
        If an extra is missing.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dps.write_report(plan, Path(folder, "design.html"), title="Pilot")
    ...     "Pilot" in Path(folder, "design.html").read_text(encoding="utf-8")
    True
    """
    path = Path(path)
    check_report_path(path)
    write_page(report_html(plan, title=title), path)


def _goal(plan: Design) -> str:
    return paragraphs([goal_in_words(plan.inputs, plan.strata.unit)]) + table(
        tables.options_table(plan), columns_of_text=2
    )


def _questions(plan: Design) -> str:
    """Show every question, its precision, and where its error comes from."""
    parts = [table(tables.asked_table(plan)), table(precision_table(plan))]
    if len(plan.questions) > 1:
        words = (
            "Standard error of every question in percent of its range, beside those without privacy and "
            "with a split budget."
        )
        parts.append(figure(questions_chart(plan), words))
    return "".join([*parts, table(tables.causes_table(plan))])


def _forms(plan: Design) -> str:
    """Show the forms, what becomes of a row, and what is published of each."""
    published = tables.published_table(plan)
    return "".join(
        [
            paragraphs([row_in_words(plan)]),
            table(forms_table(plan)),
            "" if published is None else table(published),
        ]
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
        + _proof_of_forms(plan)
    )


def _proof_of_forms(plan: Design) -> str:
    """Show how close the forms come to the best there could be, and why that is a proof."""
    said = forms_bound_in_words(plan)
    if said is None:
        return ""
    why = (
        "That is proven by a price for every question. At these prices the most that any form could "
        "contribute, with any questions and levels, limits what all forms together can reach. Anyone can "
        "recompute the limit without knowing how the forms were found. The sample sizes above are proven for "
        "these forms."
    )
    return "<h3>The forms</h3>" + paragraphs([said, why]) + table(tables.forms_bound_table(plan))


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


def _curves(plan: Design) -> str:
    """Draw what other numbers of people and other promises would give; each point of a line is a design."""
    points = max(min(40, _STRATA_TIMES_POINTS // len(plan.strata)), 12)
    rows, best = precision_rows(plan, points=points)
    limited = bool((plan.problem.upper < plan.strata.sizes).any())
    unit = plan.strata.unit
    same_forms = " and with the same forms" if len(plan.forms) > 1 else ""
    course = f"More {unit}s never hurt here{', up to the maximums of the strata' if limited else ''}."
    if best is not None:
        course = (
            f"Beyond {counted(best, unit)}, the sample is less secret, and each answer needs so much noise "
            "that additional answers do not make up for it."
        )
    said = [
        f"Precision by the number of {unit}s, each optimally allocated under the same privacy{same_forms}.",
        course,
    ]
    chart = precision_chart(rows, best=best, total=plan.total, value=plan.precision, unit=unit)
    drawn = [figure(chart, " ".join(filter(None, said)))]
    if plan.inputs.promise.amplified:
        epsilon, epsilons = plan.inputs.promise.central_epsilon, epsilon_rows(plan, points=points)
        drawn.append(
            figure(
                epsilon_chart(epsilons, epsilon=epsilon, value=plan.precision),
                f"Precision by epsilon, with {plan.strata.counted(plan.total)}.",
            )
        )
    return "".join(drawn) + table(tables.curve_table(rows, "total", f"{unit}s"))


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
    parts = [paragraphs([noise_in_words(plan)]), table(strata_table(plan, shown=tables.SHOWN))]
    parts.append(paragraphs([influence_in_words(plan)]))
    if plan.figures:
        parts.append(table(figures_table(plan)))
    if plan.inputs.promise.amplified:
        cap, what = plan.inputs.local_epsilon_cap, plan.inputs.release_form.budget_of.capitalize()
        parts.append(
            figure(
                budgets_chart(plan),
                f"{what} in each stratum" + ("." if cap is None else f", with the cap of {cap:g}."),
            )
        )
    return "".join(parts)


def _known(plan: Design) -> str:
    """Say what is known of the answers beforehand, question by question, and where that comes from."""
    explained = (
        "A design may use only what is public, known beforehand, or an upper bound. What was computed from "
        "the confidential answers reveals something about them, so it needs a privacy budget of its own. "
        "Where nothing is known, the worst case is used. If what is stated here is wrong, the promise still "
        "holds, but the design is less precise than stated."
    )
    shown = tables.sources_table(plan) if tables.spread_of_strata(plan) else tables.known_table(plan)
    return paragraphs([explained]) + table(shown, columns_of_text=2)


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
        "In Python, from the design document of the pilot and what it published:"
        if plan.waves is not None and not plan.waves.first
        else "In Python, with the strata in the code:"
        if len(plan.strata) <= MOST_INLINE
        else "In Python, from the strata file strata.csv (the design document holds the same strata):"
    )
    files = (
        "The questions are read from questions.csv, and what is known of the answers, if anything, from "
        "spreads.csv. The design document holds both: plan.inputs.questions.to_file and plan.spreads.to_file "
        "write them again."
    )
    return "".join(
        [
            paragraphs([where, *([files] if in_file(plan.inputs) else [])]),
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
