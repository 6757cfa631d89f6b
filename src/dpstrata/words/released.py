"""What is collected and released, in sentences: how many answered, what still holds, what was spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpstrata.words.numbers import counted, plain_number, round_up, three_digits_up

if TYPE_CHECKING:
    from dpstrata.collect.overseeing import Progress
    from dpstrata.fielding.losses import Response
    from dpstrata.fielding.releasing import Released

TAKEN_UP = (
    "An interrupted run had made this release already; its results are in place, and later changes to the "
    "answers are not in them."
)

RAW_ANSWERS = (
    "The office had raw answers and randomised them itself, so nothing protects them against the office"
)
_RAW_ANSWERS_SEEN = "Raw answers were seen here, so only the central promise holds, not the local one."


def privatized_sentences(release: Released, out: Path) -> list[str]:
    """Say what was written of a batch that the office noised, what still holds, and what was spent."""
    return [
        f"{release.answers:,} of {release.invited:,} answers noised. Written to {out} and recorded in the "
        "ledger beside the design.",
        *([] if release.from_devices else [_RAW_ANSWERS_SEEN]),
        *_notes_and_losses(release),
    ]


def published_sentences(release: Released, out: Path) -> list[str]:
    """Say what was published, and what was spent."""
    return [
        f"{release.answers:,} of {release.invited:,} answers added up. Results written to {out}, and the "
        "privacy spent recorded in the ledger beside the design.",
        *_notes_and_losses(release),
    ]


def collected_sentences(release: Released, out: Path) -> list[str]:
    """Say what was published of a survey that was closed, and what was spent."""
    return [
        f"The survey is closed: {release.answers:,} of {release.invited:,} people answered. Results written "
        f"to {out}, and the privacy spent recorded in the ledger beside the design. The answers were deleted "
        "from the database.",
        *_notes_and_losses(release),
    ]


def _notes_and_losses(release: Released) -> list[str]:
    return [
        *release.notes,
        f"According to the ledger, everyone in the frame has spent {release.spent.in_words} in total.",
        *_earlier_releases(release),
    ]


def _earlier_releases(release: Released) -> list[str]:
    """Say what earlier releases mean for those who answered."""
    said = []
    if release.known_before:
        said.append(
            f"{release.known_before:,} of those who answered also answered in an earlier release; against "
            "anyone who knows that, their local budgets add up."
        )
    if release.untold_releases:
        releases = counted(release.untold_releases, "earlier release")
        said.append(
            f"Nobody can be recognised in {releases}, because those digests in the ledger were made with "
            "another key; more of those who answered may have answered before."
        )
    return said


def release_notes(response: Response | None, blank: int, *, taken_up: bool = False) -> tuple[str, ...]:
    """Say what is to be said of a release: that it was cut short, blanks, and who did not answer."""
    notes = (
        TAKEN_UP if taken_up else None,
        _blank_in_words(blank),
        None if response is None else response.in_words,
    )
    return tuple(note for note in notes if note is not None)


def left_out_in_words(incomplete: int) -> str:
    """Say how many rows of a questionnaire did not count; nothing of none."""
    if not incomplete:
        return ""
    return f"{counted(incomplete, 'row')} {'was' if incomplete == 1 else 'were'} incomplete and left out."


def _blank_in_words(blank: int) -> str | None:
    """Say how many answers were blank, and never whose."""
    if not blank:
        return None
    if blank == 1:
        return "1 answer was blank and is left out; that person counts as someone who did not answer."
    return f"{blank:,} answers were blank and are left out; those people count as people who did not answer."


def raw_rows_in_words(response: Response | None) -> str:
    """Say what is left of the promise where the office randomised rows itself."""
    if response is not None and response.over:
        return f"{RAW_ANSWERS}."
    return f"{RAW_ANSWERS}; the promise about what is published holds."


def response_in_words(response: Response) -> str | None:
    """Say what the field contradicts and what holds; ``None`` for nothing to say."""
    if not response.fewer:
        return None
    start = "Fewer people answered than the design assumes"
    if response.strata > 1:
        start += f", in {response.fewer:,} of {response.strata:,} strata"
    if not response.over:
        return f"{start}; the promise of epsilon = {plain_number(response.promised)} still holds."
    delta = f" and delta = {response.delta:.3g}" if response.delta else ""
    return (
        f"{start}. Up to epsilon = {round_up(response.epsilon, 3)}{delta} may be lost instead of "
        f"{plain_number(response.promised)}, unless willingness to answer is unrelated to the person."
    )


def collecting_in_words(*, promised: float, within: float, batch: int, delta: float) -> list[str]:
    """Say what devices promise against whoever sees what they send, and what counting in batches adds.

    Examples
    --------
    >>> for line in collecting_in_words(promised=2.0, within=1.5, batch=20, delta=1e-5):
    ...     print(line)
    Whoever sees what one device sends learns at most E = 2: that is promised.
    Whoever copies the database again and again sees batches of 20 answers: at most 1.50, with δ = 1e-05.
    No copy shows the last answers of a stratum and form; E and any noise of the office protect them.
    """
    promise = f"learns at most E = {three_digits_up(promised):g}: that is promised."
    copies = f"Whoever copies the database again and again sees batches of {batch:,} answers: at most "
    if within >= promised:
        return [f"Whoever sees what one device sends {promise}", f"{copies}E, too."]
    return [
        f"Whoever sees what one device sends {promise}",
        f"{copies}{round_up(within, 2)}, with δ = {delta:g}.",
        # They are opened at closing, in groups of any size, and never written to the database.
        "No copy shows the last answers of a stratum and form; E and any noise of the office protect them.",
    ]


def progress_in_words(progress: Progress) -> list[str]:
    """Say how far a survey is: in all, and by stratum."""
    about = "" if progress.expected == progress.invited else "about "
    expects = "expects" if progress.state == "open" else "expected"
    lines = [
        f"The survey is {progress.state}: {progress.answered:,} of {progress.invited:,} people answered; the "
        f"design {expects} {about}{progress.expected:,.0f}."
    ]
    for name, invited, answered in progress.strata:
        number = "not shown," if answered is None else f"{answered:,} of"
        lines.append(f"  {name}: {number} {invited:,} invited")
    if any(answered is None for *_, answered in progress.strata):
        lines.append(
            f"Strata with fewer than {progress.batch:,} answers are not shown, nor are others from which "
            "theirs would follow."
        )
    return lines


def reminded_in_words(people: int, out: str, *, only_missing: bool) -> str:
    """Say whom a file of reminders is for, and what it tells."""
    written = f"{counted(people, 'reminder')} written to {out}: "
    if not only_missing:
        return f"{written}to everyone, so the file does not tell who has answered."
    return (
        f"{written}whoever sees this file knows who has not answered yet. What people answered stays as "
        "hidden as before."
    )
