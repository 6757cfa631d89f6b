"""What a collector says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpstrata.words.numbers import counted

if TYPE_CHECKING:
    from dpstrata.collect.overseeing import Progress


def collecting_in_words(*, promised: float, within: float, batch: int, delta: float) -> list[str]:
    """Say what devices promise against whoever sees what they send, and what counting in batches adds.

    Examples
    --------
    >>> for line in collecting_in_words(promised=2.0, within=1.5, batch=20, delta=1e-5):
    ...     print(line)
    Whoever sees what one device sends learns at most E = 2: that is promised.
    Whoever copies the database again and again sees batches of 20 answers: at most 1.5, with δ = 1e-05.
    """
    copies = f"Whoever copies the database again and again sees batches of {batch:,} answers: at most "
    return [
        f"Whoever sees what one device sends learns at most E = {promised:.3g}: that is promised.",
        f"{copies}{within:.2g}, with δ = {delta:g}." if within < promised else f"{copies}E, too.",
    ]


def progress_in_words(progress: Progress) -> list[str]:
    """Say how far a survey is: in all, and by stratum."""
    lines = [
        f"The survey is {progress.state}: {progress.answered:,} of {progress.invited:,} people answered."
    ]
    for name, invited, answered in progress.strata:
        number = f"fewer than {progress.batch:,}" if answered is None else f"{answered:,}"
        lines.append(f"  {name}: {number} of {invited:,}")
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
