"""Results for the eye: estimates as a table and in sentences, and what a report says about them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from dpstrata.words.asking import asking_of
from dpstrata.words.numbers import at_error, counted, figure, plain_number
from dpstrata.words.released import RAW_ANSWERS
from dpstrata.words.tables import TextTable, not_shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dpstrata.designs.record import Design
    from dpstrata.fielding.neighbours import StandIn
    from dpstrata.fielding.results.results import Results
    from dpstrata.fielding.results.table import Estimate
    from dpstrata.present.report.results import Published
    from dpstrata.privacy.promises import Spent

REPORTED = "reported_stratum"
"""The column of strata crossed with classes whose groups are shown in place of the strata."""
FLOORED = "the reports vary less than the noise alone would, so the answers are taken to have no spread"
ONLY_ONE = "there is only one answer, so the spread stated in the design is used"
FEW = "there are fewer than 10 answers, too few for a reliable standard error"
_SAFE_IN_WORDS = (
    "The interval assumes that the strata vary as the design states; the safe interval allows for the "
    "largest spread that the published mean could have."
)
_SHARES_IN_WORDS = (
    "Shares are not clipped to 0 and 1, so that they add up. The intervals of a question hold for all its "
    "answers together."
)
_MOST_ROWS = 160
_NAMED = 5


def estimates_table(result: Results, most: int = _MOST_ROWS) -> TextTable:
    """Show estimates, each rounded to its error.

    Parameters
    ----------
    result : Results
        The results; of several questions those of the whole population are shown.
    most : int
        How many rows a table may have.
    """
    shown = result.shown
    rows, tell_questions, tell_levels = list(shown[:most]), *_told_apart(shown)
    columns: dict[str, list[str]] = {}
    if tell_questions:
        columns["question"] = [row.question for row in rows]
    if not tell_levels or any(row.column != "all" for row in rows):
        columns["for"] = [place_of(row) for row in rows]
    if tell_levels:
        columns["answer"] = [row.level or "mean" for row in rows]
    columns_of_text = len(columns)
    figures = [
        at_error((row.estimate, row.standard_error, row.lower, row.upper), row.standard_error) for row in rows
    ]
    columns["estimate"] = [estimate for estimate, *_ in figures]
    columns[interval_in_words(result)] = [f"{lower} to {upper}" for *_, lower, upper in figures]
    if rows[0].safe_lower is not None:
        columns["safe interval"] = [_safe_interval(row) for row in rows]
    columns["standard error"] = [error for _, error, *_ in figures]
    columns["answers"] = [f"{row.answered:,}" for row in rows]
    columns["invited"] = [f"{row.invited:,}" for row in rows]
    if any(row.largest_bias != 0.0 for row in rows):
        columns["bias at most"] = [_bias(row.largest_bias) for row in rows]
    of = "mean" if tell_levels else rows[0].level or result.design.inputs.mean_in_words
    return TextTable.of_columns(
        f"Estimates from noised answers{'' if of == 'mean' else f': {of}'}",
        columns,
        not_shown(len(shown) - most, "estimates"),
        columns_of_text=columns_of_text,
    )


def summary_table(result: Results, most: int) -> TextTable | None:
    """Show every answer for the whole population, shares in percent; nothing if the headline has them all."""
    averaged = {
        each.name: f"mean, {plain_number(each.lower)} to {plain_number(each.lower + each.range)}"
        for each in result.design.inputs.questions
        if each.of_kind.averaged and each.lower is not None
    }
    whole = result.whole.uncrossed
    if len(whole) == 1:
        return None
    shown, several = whole[:most], len(set(whole.columns.question)) > 1
    cells = []
    for row in shown:
        scale, unit = (100.0, "%") if row.level else (1.0, "")
        figures = [scale * each for each in (row.estimate, row.lower, row.upper)]
        estimate, lower, upper = (f"{each}{unit}" for each in at_error(figures, scale * row.standard_error))
        question = (row.question,) if several else ()
        cells.append((*question, averaged.get(row.question, row.level), estimate, f"{lower} to {upper}"))
    return TextTable(
        "Results for the whole population",
        (*(("question",) if several else ()), "answer", "estimate", interval_in_words(result)),
        cells,
        " ".join([*beyond_in_words(shown), not_shown(len(whole) - most, "results")]).strip(),
        columns_of_text=1 + several,
    )


def _told_apart(shown: Results) -> tuple[bool, bool]:
    """Whether rows are told apart by their questions, and by their levels."""
    questions, levels = (len(set(each)) > 1 for each in (shown.columns.question, shown.columns.level))
    return questions, questions or levels


def what_is_estimated(result: Results) -> str:
    """Name what is estimated of a single question: its mean, or the share of a level, or of several."""
    level, *others = dict.fromkeys(result.columns.level)
    if others:
        return "share"
    return f"share of {level}" if level else result.design.inputs.mean_in_words


def interval_in_words(result: Results) -> str:
    """Name the intervals by their confidence."""
    return f"{100 * result.confidence:.10g}% interval"


def place_of(row: Estimate) -> str:
    """Name what an estimate is for, and the group whose result it takes."""
    place = row.group if row.column in ("all", "stratum", REPORTED) else f"{row.column}: {row.group}"
    return f"{place} (as {row.taken_from})" if row.taken_from else place


def _safe_interval(row: Estimate) -> str:
    assert row.safe_lower is not None
    assert row.safe_upper is not None
    return " to ".join(at_error((row.safe_lower, row.safe_upper), row.standard_error))


def _bias(bias: float | None) -> str:
    if bias is None:
        return "not known"
    return figure(bias) if bias else ""


def results_in_words(result: Results) -> list[str]:
    """State the total, what the figures are, and what to be careful with."""
    return [
        *_total(result),
        *([_SHARES_IN_WORDS] if len(set(result.columns.level)) > 1 else []),
        *beyond_in_words(result.shown),
        *spread_of_design(result),
        *doubts_in_words(result),
    ]


def _total(result: Results) -> list[str]:
    """State the population total, if there is only one."""
    totals = result.at(result.columns.column == "total")
    if len(totals) != 1:
        return []
    (row,) = totals
    figures = (row.estimate, row.lower, row.upper)
    estimate, lower, upper = at_error(figures, row.standard_error, whole=bool(row.level))
    clipped = result.design.inputs.mean_in_words.removeprefix("mean")
    return [f"The population total{clipped} is {estimate} ({interval_in_words(result)}: {lower} to {upper})."]


def beyond_in_words(shown: Results) -> list[str]:
    """Explain estimates that noise took out of their intervals, which never leave what is possible."""
    columns = shown.columns
    rows = int(((columns.estimate < columns.lower) | (columns.estimate > columns.upper)).sum())
    if not rows:
        return []
    left = "it is" if rows == 1 else "such estimates are"
    holds = "its interval is" if rows == 1 else "their intervals are"
    return [
        f"In {counted(rows, 'row')} noise took the estimate out of the possible range; {left} not cut, "
        f"so that figures add up, and {holds} what holds."
    ]


def spread_of_design(result: Results) -> list[str]:
    """Say that standard errors come from the design and not from the answers, where they do."""
    questions = list(dict.fromkeys(result.columns.question))
    planned = [
        name for name in questions if name in result.questions and result.questions[name].known.planned
    ]
    if not planned:
        return []
    errors = "these standard errors"
    if len(planned) < len(questions):
        errors = f"the standard errors of {_listed(planned)}"
    return [
        f"Published sums and means show no spread of the answers, so {errors} use the spread that the design "
        "assumed: the largest possible, or a smaller one that was stated."
    ]


def doubts_in_words(result: Results) -> list[str]:
    """Name what to be careful with, and say what became of the promise."""
    questions = dict.fromkeys(result.columns.question)
    known = {name: result.questions[name] for name in questions if name in result.questions}
    about = {name: each for name, each in known.items() if not each.known.crossed}
    stand_ins = {name: each.stand_ins for name, each in about.items() if each.stand_ins}
    zero = names_of(result.shown.at(result.shown.columns.lower == 0), result.shown)
    return [
        *([f"{counted(len(zero), 'estimate')} cannot be told from zero: {_listed(zero)}."] if zero else []),
        *([_SAFE_IN_WORDS] if result[0].safe_lower is not None else []),
        *(_without_answers(result, name, each) for name, each in stand_ins.items()),
        *_doubts({name: each.doubts for name, each in about.items()}),
        *result.notes,
    ]


def names_of(rows: Results, among: Results) -> list[str]:
    """Name estimates by question, level and place, as far as these tell them apart among others."""
    tell_questions, tell_levels = _told_apart(among)
    names = []
    for row in rows:
        question, level = row.question if tell_questions else "", row.level or "mean" if tell_levels else ""
        figure = " = ".join(filter(None, (question, level)))
        place = "" if figure and row.column == "all" else place_of(row)
        names.append(" in ".join(filter(None, (figure, place))))
    return names


def _without_answers(result: Results, question: str, stand_ins: Sequence[StandIn]) -> str:
    """Name strata that nobody answered in, what stands in for them, and how much that can matter."""
    each = [f"{one.stratum} (as {one.neighbour})" for one in stand_ins]
    takes = "it takes the result" if len(each) == 1 else "they take the results"
    what = f" {question!r}" if len(result.questions) > 1 else ""
    said = (
        f"Nobody answered{what} in {counted(len(each), 'stratum')}; {takes} of the nearest with answers: "
        f"{_listed(each)}."
    )
    columns = result.columns
    whole = result.at((columns.question == question) & (columns.column == "all"))
    if not len(whole):
        return said
    return f"{said} This can shift the estimate for the population by at most {_bias(whole[0].largest_bias)}."


def _doubts(about: Mapping[str, Mapping[str, Sequence[str]]]) -> list[str]:
    """Name the strata to be careful with, and the questions if that is so for some of them only."""
    said = []
    for words in (FLOORED, ONLY_ONE, FEW):
        strata: dict[str, list[str]] = {}
        for question, doubts in about.items():
            for stratum in doubts.get(words, ()):
                strata.setdefault(stratum, []).append(question)
        names = [
            stratum if len(questions) == len(about) else f"{stratum} ({_listed(questions)})"
            for stratum, questions in strata.items()
        ]
        if names:
            said.append(f"In {counted(len(names), 'stratum')}, {words}: {_listed(names)}.")
    return said


def ratio_name(over: str, answers: Sequence[str], under: str, others: Sequence[str]) -> tuple[str, str]:
    """Name the questions of a ratio, and its answers."""
    return f"{over} / {under}", f"{' + '.join(answers)} / {' + '.join(others)}"


def ratio_left_out(question: str, answer: str, groups: Sequence[tuple[str, str]], most: float) -> list[str]:
    """Say where a ratio is not given, and why."""
    if not groups:
        return []
    called = {REPORTED: "stratum"}
    named = [
        "the whole" if column == "all" else f"{called.get(column, column)} {label!r}"
        for column, label in groups
    ]
    return [
        f"The ratio {question} ({answer}) is left out for {_listed(named)}: the standard "
        f"error of its denominator is {100 * most:.3g}% of it or more."
    ]


def _listed(names: Sequence[str]) -> str:
    left = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {left:,} more" if left > 0 else "")


# --- in a report ------------------------------------------------------------------------------------


def headline_of_results(plan: Design, result: Results, people: tuple[int, int]) -> str:
    """State the main result, and how many answers from how many invitations it is from."""
    came = f"{counted(people[0], 'answer')} from {counted(people[1], 'invitation')}"
    came = f"{came} in two waves" if result.waves else came
    whole = result.whole
    if len(whole) == 1:
        (row,) = whole
        shown = at_error((row.estimate, row.lower, row.upper), row.standard_error)
        interval = f"{interval_in_words(result)}: {shown[1]} to {shown[2]}"
        return f"The population {what_is_estimated(result)} is {shown[0]} ({interval}), from {came}."
    questions = len(plan.inputs.questions)
    if questions == 1:
        return f"Shares of {counted(len(whole), 'category')}, from {came}."
    forms = f" on {len(plan.forms)} forms, one for each person" if len(plan.forms) > 1 else ""
    return (
        f"{counted(questions, 'question')}{forms}; {came}. Intervals contain the error of sampling and that "
        "of privacy."
    )


def altered_in_words(name: str, released: Sequence[str]) -> str:
    """Warn of a file that is none of those that the ledger records."""
    return (
        f"{name} differs from what the ledger records as released for this design ({', '.join(released)}); "
        "make sure that it holds the noised answers of this design, unchanged."
    )


def cautions_of_results(
    plan: Design, said: Sequence[str], wide: Sequence[str], rows: int, ledger: Sequence[str]
) -> list[str]:
    """Put together what a reader must know before the figures.

    Parameters
    ----------
    plan : Design
        The design.
    said : sequence of str
        What the estimates say of themselves: few answers, stand-ins, the promise.
    wide : sequence of str
        Estimates whose intervals tell little.
    rows : int
        How many estimates there are.
    ledger : sequence of str
        What the ledger makes doubtful.
    """
    found = [*ledger, *said]
    if plan.inputs.clip:
        found.append(f"Answers outside the range were {plan.inputs.clipping}; the estimate is of those.")
    if wide:
        names = "; ".join(wide[:5]) + (f" and {len(wide) - 5:,} more" if len(wide) > 5 else "")
        found.append(
            f"In {len(wide):,} of {counted(rows, 'row')} the interval covers more than half of all possible "
            f"values: {names}."
        )
    return found


def unlisted_in_words(name: str) -> str:
    """Warn of a file that no ledger lists."""
    return (
        f"No ledger here lists {name}, so nothing shows that it was released with this design, nor what was "
        "spent."
    )


def cautions_of_ledger(plan: Design, published: Published) -> list[str]:
    """Warn of a file that was altered or is on no ledger, and of more spent than the design promises."""
    found = []
    if published.others:
        found.append(altered_in_words(published.name, published.others))
    elif published.entry is None:
        found.append(unlisted_in_words(published.name))
    promised, spent = _promised(plan), published.spent
    if spent is not None and _exceeds(spent, promised):
        who = "this design promises" if plan.waves is None else "both waves promise together"
        found.append(
            f"More was spent than {who}: {spent.in_words} in all releases of this population "
            f"according to the ledger, instead of {promised.in_words}."
        )
    return found


def _promised(plan: Design) -> Spent:
    """Return what may be spent on a survey: of two waves, what both may spend together."""
    spent = plan.inputs.promise.spent
    return spent if plan.waves is None else replace(spent, epsilon=plan.waves.epsilon)


def promised_in_words(plan: Design, waves: int = 1) -> str:
    """State what was promised: by one release, or by two waves together."""
    if waves == 1:
        return plan.inputs.promise.in_words
    return f"two waves, {_promised(plan).in_words} in both together"


def waves_in_words() -> str:
    """Say what two waves are."""
    return (
        "There were two waves, each with a secret sample of its own from the whole population. The second "
        "was designed from what the first published. The results combine both, with weights that were fixed "
        "before the first answer came. A stratum in which nobody answered in one wave has the result of the "
        "other."
    )


def _exceeds(spent: Spent, other: Spent) -> bool:
    """Whether more was spent, of any kind."""
    pairs = ((getattr(spent, each.name), getattr(other, each.name)) for each in fields(other))
    return any(more > less * (1.0 + 1e-9) for more, less in pairs)


def kept_in_words(plan: Design, published: Published) -> str:
    """State what the ledger says of the published file, and what everyone has spent in all."""
    name, entry, spent = published.name, published.entry, published.spent
    if spent is None:
        return (
            f"No ledger beside {name} or the design lists this file. What follows is what the design "
            "promises; whether more was released of the same people is not known here."
        )
    promised = _promised(plan)
    all_of_them = f"All releases of this population together have spent {spent.in_words}."
    if entry is None:
        return (
            f"The ledger does not list {name} as it is now. It lists {', '.join(published.others)} as "
            f"released under this design. {all_of_them} What follows is what the design promises for one "
            "release."
        )
    listed = (
        f"The ledger lists {name}, unchanged, as {entry.status} under this design; it added "
        f"{entry.spent.in_words} to what was spent."
    )
    if entry.raw:
        listed = f"{listed} {RAW_ANSWERS}."
    if not _exceeds(spent, entry.spent):
        return f"{listed} Nothing else was released of this population according to the ledger."
    if not _exceeds(spent, promised):
        return f"{listed} {all_of_them}"
    who = "the design promises for one release" if plan.waves is None else "both waves promise together"
    return (
        f"{listed} {all_of_them} That is more than {promised.in_words}, which {who} and which what follows "
        "is about."
    )


def promise_in_words(designs: Sequence[Design], *, raw: bool) -> str:
    """State the promise of one design, or of two waves together.

    Parameters
    ----------
    designs : sequence of Design
        The design, or those of both waves.
    raw : bool
        Whether the office had raw answers, so that only the promise about what is published is left.
    """
    if len(designs) > 1:
        published, *against_the_office, besides = _promise_of_waves(designs)
        return " ".join([published, *(() if raw else against_the_office), besides])
    privacy: Mapping[str, Any] = designs[0].privacy
    said: str = privacy["in_words"]
    return said.replace(" ".join(["", *privacy["sentences"][1:]]), "") if raw else said


def _promise_of_waves(designs: Sequence[Design]) -> Iterator[str]:
    """State what both waves promise together: whoever is drawn for both spends both local budgets."""
    inputs = designs[-1].inputs
    promise: Any = inputs.promise  # of epsilon: waves support no other
    together = replace(promise, epsilon=_promised(designs[-1]).epsilon)
    largest = max(map(sum, zip(*(each.local_epsilons.tolist() for each in designs), strict=True)))
    yield from together.sentences(
        largest=largest, release=inputs.release_form, everyone=False, waves=len(designs)
    )
    spent = " and ".join(plain_number(each.inputs.promise.central_epsilon) for each in designs)
    yield f"These figures are of both waves together, which spend epsilon = {spent}."


def method_of_results(plan: Design, people: tuple[int, int], *, shares: bool, waves: int = 1) -> list[str]:
    """State how estimates and intervals were found, and what they do not contain, in a paragraph each.

    ``people`` are those who answered and those who were invited; ``shares``, whether a question has several.
    """
    both = "Each stratum has the weighted mean of what its two waves gave. " if waves > 1 else ""
    together = " Those of a question hold for all its answers together." if shares else ""
    silent = people[1] - people[0]
    return [
        f"{asking_of(plan).estimated_from} {both}Strata are weighted by their numbers of people, which are "
        "known. The estimates have no bias from sampling or privacy. They are not cut at the ends of what is "
        "possible, so that they add up; noise may take one beyond.",
        "Intervals are tilted score intervals: the values of the share, or mean, that would not be unlikely "
        "to give what was published. They contain sampling, the noise of devices and that of the office, and "
        f"never leave the range of the answers.{together}",
        *([] if silent <= 0 else [_not_answered(silent, people[1])]),
    ]


def _not_answered(silent: int, invited: int) -> str:
    return (
        f"{silent:,} of {counted(invited, 'invitation')} were not answered. The estimates take those people "
        "to be like those who answered; the intervals do not cover what changes if they are not."
    )
