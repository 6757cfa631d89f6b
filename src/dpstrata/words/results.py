"""The sentences of a report of results: what came out, what to doubt, what was kept, and how it was found."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from dpstrata.words.estimates import interval_in_words, what_is_estimated
from dpstrata.words.numbers import at_error, counted, plain_number
from dpstrata.words.released import RAW_ANSWERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dpstrata.designs.record import Design
    from dpstrata.fielding.ledger import Entry
    from dpstrata.fielding.results.results import Results
    from dpstrata.privacy.promises import Spent


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


def cautions_of_ledger(
    plan: Design, name: str, spent: Spent | None, released: Sequence[str], *, listed: bool
) -> list[str]:
    """Warn of a file that was altered or is on no ledger, and of more spent than the design promises."""
    found = []
    if released:
        found.append(altered_in_words(name, released))
    elif not listed:
        found.append(unlisted_in_words(name))
    promised = _promised(plan)
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
        "was designed from the noised answers of the first. The results combine both, with weights that were "
        "fixed before the first answer came. A stratum in which nobody answered in one wave has the result "
        "of the other."
    )


def _exceeds(spent: Spent, other: Spent) -> bool:
    """Whether more was spent, of any kind."""
    pairs = ((getattr(spent, each.name), getattr(other, each.name)) for each in fields(other))
    return any(more > less * (1.0 + 1e-9) for more, less in pairs)


def kept_in_words(
    plan: Design, name: str, entry: Entry | None, spent: Spent | None, released: Sequence[str]
) -> str:
    """State what the ledger says of the published file, and what everyone has spent in all."""
    if spent is None:
        return (
            f"No ledger beside {name} or the design lists this file. What follows is what the design "
            "promises; whether more was released of the same people is not known here."
        )
    promised = _promised(plan)
    all_of_them = f"All releases of this population together have spent {spent.in_words}."
    if entry is None:
        return (
            f"The ledger does not list {name} as it is now. It lists {', '.join(released)} as released under "
            f"this design. {all_of_them} What follows is what the design promises for one release."
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
    how = (
        "Rows of answers were randomised as a whole; a share is the reported one, less what random rows "
        "add, stretched to its own scale."
        if plan.inputs.rows
        else "The noise has mean zero, so noised answers and sums are added up as if they were exact."
    )
    both = "Each stratum has the weighted mean of what its two waves gave. " if waves > 1 else ""
    together = " Those of a question hold for all its answers together." if shares else ""
    silent = people[1] - people[0]
    return [
        f"{how} {both}Strata are weighted by their numbers of people, which are known. The estimates have no "
        "bias from sampling or privacy. They are not cut at the ends of what is possible, so that they add "
        "up; noise may take one beyond.",
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
