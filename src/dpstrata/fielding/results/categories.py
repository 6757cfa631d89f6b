r"""Estimates of shares from noised answers that are names of categories.

A category whose share is p is reported with probability :math:`q + d p`. If it is a share
:math:`\hat\lambda` of a stratum's reports, the estimate is :math:`\hat p = (\hat\lambda - q)/d`. It may
lie outside 0 to 1; those of all categories add up to 1. Its standard error is that of a mean of debiased
reports, whose noise depends on p and is taken at :math:`\hat p`. The intervals of all categories hold
together: each has its share of the chance to miss. Two shares are one, so they need not divide it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.answer_files import read_noised_names
from dpstrata.fielding.covariances.shares import Reported, Together
from dpstrata.fielding.grid_noise import places
from dpstrata.fielding.intervals.of_design import limits_of_shares
from dpstrata.fielding.results.combining import combine
from dpstrata.fielding.results.figures import QuestionFigures, doubts_about
from dpstrata.fielding.results.microdata import Moments, figure_from, is_floored, require_counts
from dpstrata.fielding.results.reader import Reader
from dpstrata.fielding.results.results import Results
from dpstrata.files.tables import Table
from dpstrata.numerics.arrays import IntArray
from dpstrata.privacy.mechanisms.category_response import CategoryResponse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class CategoriesReader(Reader):
    """Estimate the share of each category from noised names."""

    def read(self, table: Table, stratum: str, answer: str) -> tuple[Sequence[Any], ...]:
        """Read noised names."""
        return read_noised_names(table, stratum, answer)

    def estimate(self, plan: Design, *columns: Any) -> Results:
        """Count the categories of each stratum, and estimate from that."""
        strata, answers = columns
        rows = places(plan, strata)
        question = plan.inputs.question
        found = question.of_kind.checked(question, list(answers), where="the noised answers").astype(np.int64)
        counts = np.zeros((len(plan.strata), len(question.names)), dtype=np.int64)
        np.add.at(counts, (rows, found), 1)
        return estimate_shares(plan, counts)

    def estimate_on_spark(self, plan: Design, data: DataFrame, stratum: str, answer: str) -> Results:
        """Let Spark count the categories of each stratum, and estimate from that."""
        from dpstrata.fielding.noised_on_spark import count_names

        rows = count_names(data, stratum, answer)
        order = places(plan, [row[0] for row in rows])
        question, names = plan.inputs.question, [row[1] for row in rows]
        found = question.of_kind.checked(question, names, where="the noised answers").astype(np.int64)
        counts = np.zeros((len(plan.strata), len(question.names)), dtype=np.int64)
        np.add.at(counts, (order, found), np.array([row[2] for row in rows], dtype=np.int64))
        return estimate_shares(plan, counts)


def estimate_shares(plan: Design, counts: IntArray) -> Results:
    """Estimate the share of every category from how often each was reported.

    Parameters
    ----------
    plan : Design
        The design, with categories as answers.
    counts : array of int
        A row for each stratum, a column for each category.

    Raises
    ------
    InputError
        If there are more reports than invitations in a stratum, or none at all.
    """
    mechanism = plan.mechanism
    if not isinstance(mechanism, CategoryResponse):
        raise InputError(f"shares are estimated from categories, got {plan.inputs.space.described}.")
    answered = counts.sum(axis=1)
    require_counts(plan, answered)
    question = plan.inputs.question
    e, m = plan.local_epsilons, np.maximum(answered, 1)
    q, d = mechanism.chances(e)
    reported = counts.T / m
    shares = (reported - q) / d
    figures, floored = [], np.zeros(len(m), dtype=bool)
    for name, seen, share in zip(question.names, reported, shares, strict=True):
        moments = Moments(answered, share, answered * seen * (1.0 - seen) / d**2)
        noise = mechanism.noise_of_shares(np.clip(share, 0.0, 1.0), e)
        # a spread that the design states is that of all categories; of one it is at most 1/4
        stated = np.minimum(plan.sds**2, 0.25)
        limits = limits_of_shares(
            plan, share, answered, floor=q, slope=d, noise=np.zeros(len(d)), together=len(question.names)
        )
        figures.append(figure_from(plan, moments, noise, stated, limits, name))
        floored |= is_floored(moments, noise)
    # how the shares of one stratum err together: a report of one category is none of another
    reports = Reported.of(shares, m.astype(float), np.ones(len(m)), q, d, np.zeros(len(m)))
    known = QuestionFigures(
        question.name, figures, doubts_about(answered, floored), Together.of(plan, [reports])
    )
    return combine(plan, [known], answered=answered)
