"""Standard errors by cause: as the design planned them, and as the answers that came show them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dpstrata.allocation.variances import answer_noise
from dpstrata.designs.record import Design
from dpstrata.fielding.results.figures import Causes
from dpstrata.fielding.results.results import Results
from dpstrata.present.report.markup import paragraphs, table
from dpstrata.words.numbers import at_error
from dpstrata.words.tables import TextTable

_HEADER = ("estimate", "variance", "standard error", "who is asked", "devices", "office")

_NOT_SHOWN = (
    "Sums and means of numbers show no spread, and numbers that are rounded at random on devices show one in "
    "which rounding cannot be told from who is asked. They have planned figures only."
)


def error_by_cause(plan: Design, result: Results) -> str:
    """Split the variance of every question by cause, as planned and as estimated."""
    words = [
        "Error comes from asking some people and not others, from noise on single answers (on devices, or in "
        "a batch at the office), and from the noise that the office adds to what it publishes. The standard "
        "error of categories is the root of half the sum of the variances of their shares.",
        "Planned figures are those of the design, with its spreads and the answers that it expected. For the "
        "estimated ones, noise follows from the design and the number of answers that came, and the rest of "
        "the estimated variance comes from who is asked.",
    ]
    splits = list(_by_question(plan, result))
    if any(estimated is None for *_, estimated in splits):
        words = [*words, _NOT_SHOWN]
    cells = [
        (name, how, *_shown(*found))
        for name, planned, estimated in splits
        for how, found in (("planned", planned), ("estimated", estimated))
        if found is not None
    ]
    caption = "Standard errors, and the variance by cause"
    return paragraphs(words) + table(TextTable(caption, _HEADER, cells, columns_of_text=2))


class _Split(NamedTuple):
    """A standard error, if there is one, and the variance by cause."""

    error: float | None
    causes: Causes

    @classmethod
    def estimated(cls, causes: Causes | None) -> _Split | None:
        return None if causes is None else cls(math.sqrt(sum(causes)), causes)


def _shown(error: float | None, causes: Causes) -> tuple[str, ...]:
    """Write a standard error, and the share of each cause in the variance."""
    total = sum(causes) or 1.0
    written = "" if error is None else at_error([error], error)[0]
    return written, *(f"{cause / total:.0%}" for cause in causes)


def _by_question(plan: Design, result: Results) -> Iterator[tuple[str, _Split, _Split | None]]:
    """Find the planned and the estimated error of every question."""
    if plan.inputs.rows:
        planned = [
            (
                each.name,
                each.name,
                _Split(each.standard_error, Causes(each.sampling, each.device, each.office)),
            )
            for each in plan.questions
        ]
    else:  # a single question needs no name
        question = plan.inputs.question
        designs = [(wave.weight, wave.design) for wave in result.waves] or [(1.0, plan)]
        planned = [(question.name, question.of_kind.estimated, _planned(designs))]
    for name, called, split in planned:
        yield called, split, _Split.estimated(result.questions[name].causes)


def _planned(designs: Sequence[tuple[float, Design]]) -> _Split:
    """Split the variance that designs of one question plan with, each with the weight of its wave."""
    parts, errors = [], []
    for weight, plan in designs:
        split, finite = plan.variance_parts, plan.inputs.finite_population
        device = answer_noise(plan.problem, plan.sample_sizes, finite_population=finite)
        causes = split.sampling, device, max(split.privacy - device, 0.0)
        parts.append([weight**2 * cause for cause in causes])
        errors.append(None if plan.standard_error is None else weight * plan.standard_error)
    known = [error for error in errors if error is not None]
    in_all = math.hypot(*known) if len(known) == len(errors) else None
    return _Split(in_all, Causes(*map(sum, zip(*parts, strict=True))))
