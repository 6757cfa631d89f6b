"""The shipped examples as strata: tables as they are, frames already counted."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Any

from dpstrata.files.tables import read_table
from dpstrata.web.replies import RefusedError

FIRST = "four-strata"


@dataclass(frozen=True, slots=True)
class Example:
    """A shipped example.

    Attributes
    ----------
    file : str
        Its file in ``dpstrata/examples``.
    title, about : str
        What it is called, and a sentence about it.
    options : dict
        A goal that makes sense for it.
    count : str or None
        For a frame of people, the column that says the stratum.
    """

    file: str
    title: str
    about: str
    options: dict[str, Any]
    count: str | None = None


EXAMPLES = {
    FIRST: Example(
        "four-strata.csv",
        "The paper's four strata",
        "Four strata of 7,000 to 10,000 people whose answers differ more and more in spread.",
        {"epsilon": 1.0, "total": 200},
    ),
    "regions": Example(
        "regions.csv",
        "Six regions by age",
        "A made-up population with costs and response rates.",
        {"epsilon": 1.0, "total": 1500},
    ),
    "occupations": Example(
        "fair1978.csv",
        "Occupations (Fair 1978)",
        "6,366 people by occupation and a sensitive yes or no question; no spread is known, so the worst "
        "case of the answers is planned for.",
        {"epsilon": 1.0, "at_most": 1000, "questions": "yes_no"},
        count="occupation",
    ),
    "schools": Example(
        "california_schools.csv",
        "California's schools by county",
        "6,194 schools in 57 counties and a score from 200 to 1000; no spread is known, so the worst case of "
        "the answers is planned for.",
        {"epsilon": 2.0, "total": 600, "questions": [200.0, 1000.0]},
        count="county",
    ),
}


def list_examples() -> dict[str, Any]:
    """Name the examples."""
    return {
        "examples": [
            {"name": name, "title": example.title, "about": example.about}
            for name, example in EXAMPLES.items()
        ]
    }


def open_example(name: str) -> dict[str, Any]:
    """Return the strata of an example, as a request for a design holds them, and a goal."""
    if name not in EXAMPLES:
        raise RefusedError(404, f"there is no example {name!r}; there are {', '.join(EXAMPLES)}.")
    example = EXAMPLES[name]
    with resources.as_file(resources.files("dpstrata") / "examples" / example.file) as path:
        columns = read_table(path).columns
    if example.count is not None:
        names = sorted(set(columns[example.count]))
        sizes = [columns[example.count].count(each) for each in names]
        columns = {"stratum": names, "size": [str(size) for size in sizes]}
    return {
        "name": name,
        "title": example.title,
        "about": example.about,
        "strata": columns,
        "options": example.options,
    }
