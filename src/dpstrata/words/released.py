"""What was released, in sentences: how many answered, what that means for the promise, what was spent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpstrata.words.numbers import plain_number, round_up

if TYPE_CHECKING:
    from dpstrata.fielding.releasing import Released
    from dpstrata.fielding.response import Response

TAKEN_UP = (
    "An interrupted run had made this release already; its results are in place, and later changes to the "
    "answers are not in them."
)

_RAW_ANSWERS = "Raw answers were seen here, so only the central promise holds, not the local one."
RAW_ROWS = (
    "The office had raw answers and randomised the rows itself, so nothing protects them against the office; "
    "the promise about what is published holds."
)


def privatized_sentences(release: Released, out: Path) -> list[str]:
    """Say what was written of a batch that the office noised, what still holds, and what was spent."""
    return [
        f"{release.answers:,} of {release.invited:,} answers noised. Written to {out} and recorded in the "
        "ledger beside the design.",
        *([] if release.from_devices else [_RAW_ANSWERS]),
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
        f"to {out}, and the privacy spent recorded in the ledger beside the design.",
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
        said.append(
            f"Nobody can be recognised in {_earlier(release.untold_releases)}, because those digests in the "
            "ledger were made with another key; more of those who answered may have answered before."
        )
    return said


def _earlier(releases: int) -> str:
    return "one earlier release" if releases == 1 else f"{releases:,} earlier releases"


def release_notes(response: Response | None, blank: int, *, taken_up: bool = False) -> tuple[str, ...]:
    """Say what is to be said of a release: that it was cut short, blanks, and who did not answer."""
    notes = (
        TAKEN_UP if taken_up else None,
        _blank_in_words(blank),
        None if response is None else response.in_words,
    )
    return tuple(note for note in notes if note is not None)


def _blank_in_words(blank: int) -> str | None:
    """Say how many answers were blank, and never whose."""
    if not blank:
        return None
    if blank == 1:
        return "1 answer was blank and is left out; that person counts as someone who did not answer."
    return f"{blank:,} answers were blank and are left out; those people count as people who did not answer."


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
