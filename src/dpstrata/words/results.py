"""The sentences of a report of results: what came out, what to doubt, what was kept, and how it was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dpstrata.words.numbers import at_error, counted, six_digits_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpstrata.designs.record import Design
    from dpstrata.privacy.promises import Spent


def headline_of_results(plan: Design, whole: Sequence[Figures], answered: int, level: str) -> str:
    """State the main result, and how many answers it is from."""
    people = f"{counted(answered, 'answer')} from {counted(plan.total, 'invitation')}"
    if plan.forms:
        return (
            f"{counted(len(plan.questions), 'question')}, {people}. Intervals contain the error of sampling "
            "and that of privacy."
        )
    if len(whole) > 1:
        return f"Shares of {counted(len(whole), 'category')}, from {people}."
    estimate, error, lower, upper = whole[0]
    shown = at_error((estimate, lower, upper), error)
    return (
        f"The population {plan.inputs.mean_in_words} is {shown[0]} ({level}: {shown[1]} to {shown[2]}), from "
        f"{people}."
    )


class Figures(NamedTuple):
    """An estimate with its standard error and interval."""

    estimate: float
    error: float
    lower: float
    upper: float


def cautions_of_results(plan: Design, said: Sequence[str], wide: Sequence[str], *, listed: bool) -> list[str]:
    """Put together what a reader must know before the figures.

    Parameters
    ----------
    plan : Design
        The design.
    said : sequence of str
        What the estimates say of themselves: few answers, stand-ins, the promise.
    wide : sequence of str
        Estimates whose intervals tell little.
    listed : bool
        Whether a ledger lists the file.
    """
    found = list(said)
    if plan.inputs.clip:
        found.append(f"Answers outside the range were {plan.inputs.clipping}; the estimate is of those.")
    if wide:
        names = ", ".join(wide[:5]) + (f" and {len(wide) - 5:,} more" if len(wide) > 5 else "")
        covers = "covers" if len(wide) == 1 else "cover"
        found.append(
            f"{counted(len(wide), 'interval')} {covers} more than half of all possible values: {names}."
        )
    if not listed:
        found.append("No ledger lists the file of these results, so what was spent is not known here.")
    return found


def kept_in_words(name: str, status: str | None, own: Spent | None, spent: Spent | None) -> str:
    """State what the ledger says of the published file, and what everyone has spent in all."""
    if status is None or own is None or spent is None:
        return (
            f"No ledger beside {name} or the design lists this file. What follows is what the design "
            "promises; whether more was released of the same people is not known here."
        )
    more = (
        "Nothing else was released of this population according to the ledger."
        if spent.epsilon <= own.epsilon * (1.0 + 1e-12)
        else "All releases of this population together have spent an epsilon of "
        f"{six_digits_up(spent.epsilon)}."
    )
    return (
        f"The ledger lists {name}, unchanged, as {status} under this design, at an epsilon of "
        f"{six_digits_up(own.epsilon)}. {more}"
    )


def method_of_results(plan: Design) -> list[str]:
    """State how estimates and intervals were found, in a sentence each."""
    how = (
        "Rows of answers were randomised as a whole; a share is the reported one, less what random rows "
        "add, stretched to its own scale."
        if plan.forms
        else "The noise has mean zero, so noised answers and sums are added up as if they were exact."
    )
    return [
        f"{how} Strata are weighted by their numbers of people, which are known. The estimates have no bias "
        "from sampling or privacy.",
        "Intervals are tilted score intervals: the values of the share, or mean, that would not be unlikely "
        "to give what was published. They contain sampling, the noise of devices and that of the office, and "
        "never leave the range of the answers.",
    ]
