r"""What to plan a main wave with, from what a pilot published.

The variance of the final estimates is linear in every :math:`S_i^2`, so what to plan with is the mean
of :math:`S_i^2` given the pilot, not its most likely value: a stratum is never starved because its few noised
answers happen to vary less than the noise. In units of the answer range, with m answers of a stratum to a
question:

- The share p of an answer is uniform before, and its estimate normal around it with variance
  :math:`p(1-p)/m + v`; v is due to noise, to rows that were replaced and to the office. The mean of p(1 − p)
  given the estimate is S² of yes and no; of categories it is half their sum.
- The mean μ of numbers is uniform before, and estimated likewise. The mean of μ(1−μ) given the estimate
  bounds S² (Bhatia and Davis 2000), and is S² where there are two numbers to answer.
- S² of other numbers is uniform below that bound before. The variance of their reports is
  :math:`s^2 \sim w\,\chi^2_d/d` with :math:`w = S^2 + \text{noise}`, :math:`d = 2(m-1)/(\kappa-1)`, κ the
  kurtosis of all reports pooled, at least 3. One imaginary answer with the variance expected before is added.
- Where numbers were put on levels at random, s² shows S² and rounding together, and rounding is at most
  :math:`u = 1/(4(L-1)^2)`. What was rounded is anything up to that: half of the smaller of both is taken off.
- A bound that was told is kept to. Any other spread that was told counts as right to within a factor of two:
  log-normal around it, one standard deviation of which is that factor. Either counts as at least a thousandth
  of the range. Of categories the shares that were told count, whichever category each is of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.fielding.results.figures import NumberReports, QuestionFigures
from dpstrata.numerics.arrays import BoolArray, FloatArray
from dpstrata.survey.questionnaires.kinds.category import completed
from dpstrata.survey.questionnaires.question import Question
from dpstrata.survey.questionnaires.spreads import Spreads

DOUBT = 2.0
"""Factor within which a spread that was told counts as right."""
_REACH = 8.0  # standard errors on either side that are looked at
_NODES = 257
_ROWS = 4096  # strata at once
_LEAST_KURTOSIS = 3.0
_LEAST_TOLD = 1e-3  # share of the range below which nothing that is told is believed
_SMALLEST = 1e-200  # where one person leaves no room, so that logarithms exist


def learn(plan: Design, figures: Sequence[QuestionFigures]) -> Spreads:
    """Learn the spreads of the answers to every question.

    Parameters
    ----------
    plan : Design
        The design of the pilot, with what was known of the spreads before.
    figures : sequence of QuestionFigures
        What was estimated of each question from what the pilot published; at least one answer in every
        stratum.

    Returns
    -------
    Spreads
        Above 0 in every stratum of two people or more, and at most what the answers and the bounds that were
        told allow. The square of a standard deviation is the mean of S² given the pilot. Means are at the
        distance from the middle whose square is the mean of that square; shares are those whose spread is the
        mean of S², as near to the mean of each as can be.
    """
    before, told = _known_before(plan)
    given: dict[str, dict[str, FloatArray]] = {"proportion": {}, "sd": {}, "mean": {}}
    for j, (question, known) in enumerate(zip(plan.inputs.questions, figures, strict=True)):
        learned = _learn_question(plan, question, known, before[:, j], told[:, j])
        sds = question.range * np.sqrt(learned.spread)
        centres = _in_units(question, learned.centre)
        columns = question.of_kind.columns_from_sd(question, sds, plan.strata.sizes, centres)
        for column, values in columns.items():
            given[column][question.name] = values
    proportions, sds_of, means = given.values()
    return Spreads(plan.strata, plan.inputs.questions, proportions=proportions, sds=sds_of, means=means)


def _in_units(question: Question, shares: FloatArray) -> FloatArray:
    return shares if question.names else (question.lower or 0.0) + question.range * shares


def _known_before(plan: Design) -> tuple[FloatArray, BoolArray]:
    """Return S² of each stratum and question, and whether it was told and is no bound."""
    strata, questions = plan.strata, plan.inputs.questions
    if len(questions) == 1:
        sources = np.array([strata.sd_source(i) for i in range(len(strata))])
        return (plan.sds[:, None] / questions[0].range) ** 2, (sources != "bound")[:, None]
    known = [
        values["proportion"] if "proportion" in values else values["sd"]
        for values in plan.spreads.values.values()
    ]
    told = [~np.isnan(each.reshape(len(strata), -1)).all(axis=1) for each in known]
    return plan.spreads.variances, np.stack(told, axis=1)


class _Learned(NamedTuple):
    """What a pilot says of the answers to one question in every stratum, given all that was known before.

    Attributes
    ----------
    spread : array
        The mean of S², in squared ranges.
    centre : array
        Where the answers lie: the mean, as a share of the range, or the share of each category in columns.
    """

    spread: FloatArray
    centre: FloatArray


def _learn_question(
    plan: Design, question: Question, known: QuestionFigures, before: FloatArray, told: BoolArray
) -> _Learned:
    """Learn the spread of the answers to one question, a run of strata at a time."""
    sizes = plan.strata.sizes
    before = np.maximum(before, _LEAST_TOLD**2)
    most = np.minimum(question.of_kind.largest(question, sizes), np.where(told, np.inf, before))
    figures, reports = known.figures, known.reports
    m = figures[0].answered.astype(float)
    unit = 1.0 if question.names else question.range
    shares = np.stack([each.estimates for each in figures], axis=1)
    if not question.names:
        shares = (shares - (question.lower or 0.0)) / unit
    noise = np.stack([each.office / unit**2 for each in figures], axis=1)
    if reports is None:
        noise += np.stack([each.device / unit**2 for each in figures], axis=1)
    else:  # if the answers are as far apart as they can be
        noise += ((reports.stretch / 4 + reports.constant) / m)[:, None]
    stated = np.where(told, before, 0.0)[:, None]
    if len(figures) > 1:
        stated = _told_products(plan, question, shares, before, told)
    kurtosis = 0.0 if reports is None else _kurtosis(reports)
    found = []
    for start in range(0, len(m), _ROWS):
        rows = slice(start, start + _ROWS)
        seen = _Seen(m[rows], shares[rows], noise[rows], sizes[rows].astype(float), most[rows], stated[rows])
        found.append(_learn_rows(seen, None if reports is None else reports.at(rows), kurtosis))
    return _Learned(*map(np.concatenate, zip(*found, strict=True)))


class _Seen(NamedTuple):
    """What is seen of a question in some strata: figures in columns."""

    answers: FloatArray
    shares: FloatArray
    noise: FloatArray
    sizes: FloatArray
    most: FloatArray
    told: FloatArray
    """p(1 − p) of each figure, or S² of numbers; 0 where nothing was told."""


def _learn_rows(seen: _Seen, reports: NumberReports | None, kurtosis: float) -> _Learned:
    """Return the mean of S² given the pilot, and where the answers lie."""
    correction = seen.sizes / np.maximum(seen.sizes - 1, 1)
    cases = seen.shares.shape[1]
    by_mean = reports is None or reports.two_levels
    rounding = np.zeros(len(seen.sizes)) if reports is None else reports.rounding
    told = seen.told if by_mean else np.zeros_like(seen.told)
    each = [
        _learn_share(seen.answers, seen.shares[:, c], seen.noise[:, c], told[:, c], rounding)
        for c in range(cases)
    ]
    if cases > 1:
        spread = np.sum([figure.product for figure in each], axis=0) / 2
        shares = np.stack([figure.share for figure in each], axis=1)
        return _Learned(
            np.minimum(spread * correction, seen.most), shares / shares.sum(axis=1, keepdims=True)
        )
    (figure,) = each
    off = np.sqrt(np.maximum(0.25 - figure.product, 0.0))
    middle = 0.5 + np.where(seen.shares[:, 0] < 0.5, -off, off)
    if by_mean:
        return _Learned(np.minimum(figure.spread * correction, seen.most), middle)
    assert reports is not None
    return _Learned(_learn_numbers(seen, reports, kurtosis, figure.product, correction), middle)


class _Share(NamedTuple):
    """The means of p(1 − p), of p, and of p(1 − p) without rounding, given an estimate of p."""

    product: FloatArray
    share: FloatArray
    spread: FloatArray


def _learn_share(
    answers: FloatArray,
    estimates: FloatArray,
    noise: FloatArray,
    told: FloatArray,
    rounding: FloatArray,
) -> _Share:
    """Learn one share or mean of some strata."""
    near = np.minimum(estimates, 1 - estimates)  # nodes are densest near 0
    x, weight = _nodes(near, np.sqrt(0.25 / answers + noise), np.ones_like(near))
    product, p = x * (1 - x), np.where((estimates > 0.5)[:, None], 1 - x, x)
    spread = _without_rounding(product, rounding)
    variance = product / answers[:, None] + noise[:, None]
    log_density = -0.5 * (np.log(variance) + (near[:, None] - x) ** 2 / variance) + _log_prior(spread, told)
    return _Share(*(_mean(each, weight, log_density) for each in (product, p, spread)))


def _learn_numbers(
    seen: _Seen, reports: NumberReports, kurtosis: float, products: FloatArray, correction: FloatArray
) -> FloatArray:
    """Return the mean of S² given how far apart reports are."""
    told, r = seen.told[:, 0], reports.stretch
    bounds = np.minimum(products * correction, seen.most + reports.rounding)
    noise = r * (0.25 - products) + reports.constant
    # One imaginary answer keeps strata alive whose people all happened to answer alike.
    expected = np.where(told > 0, np.minimum(told + reports.rounding / 2, bounds), bounds / 2)
    expected = (1 + r) * expected + noise
    seen_freedom = 2.0 * reports.freedom / (kurtosis - 1)
    # noise of the office counts as so many fewer answers
    lost = reports.office * seen_freedom / (2 * np.maximum(reports.variances, expected) ** 2)
    seen_freedom = seen_freedom / (1 + lost)
    freedom = seen_freedom + 1
    total = (seen_freedom * reports.variances + expected) / freedom
    error = (total + noise) * np.sqrt(2.0 / freedom)
    x, weight = _nodes((total - noise) / (1 + r), error / (1 + r), bounds)
    spread = (1 + r)[:, None] * x + noise[:, None]
    likelihood = -freedom[:, None] / 2 * (np.log(spread) + total[:, None] / spread)
    value = _without_rounding(x, reports.rounding)
    return np.minimum(_mean(value, weight, likelihood + _log_prior(value, told)), seen.most)


def _without_rounding(spread: FloatArray, rounding: FloatArray) -> FloatArray:
    """Take half of what may be rounding off."""
    return np.asarray(spread - np.minimum(rounding[:, None], spread) / 2)


def _told_products(
    plan: Design, question: Question, shares: FloatArray, before: FloatArray, told: BoolArray
) -> FloatArray:
    """Return p(1 − p) of the shares that were told, the larger ones for the larger estimates."""
    if plan.inputs.rows:
        known = completed(plan.spreads.values[question.name]["proportion"])
    else:
        sizes = plan.strata.sizes
        known = question.of_kind.columns_from_sd(question, np.sqrt(before), sizes)["proportion"]
    ranks = np.argsort(np.argsort(-shares, axis=1, kind="stable"), axis=1)
    p = np.take_along_axis(-np.sort(-known, axis=1), ranks, axis=1)
    return np.where(told[:, None], np.maximum(p * (1 - p), _LEAST_TOLD**2), 0.0)


def _kurtosis(reports: NumberReports) -> float:
    """Kurtosis of the reports of all strata together, each in units of its own variance."""
    scale = float(reports.squares.sum())
    return max(float(reports.fourths.sum()) / scale if scale > 0 else 0.0, _LEAST_KURTOSIS)


def _nodes(centre: FloatArray, error: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return nodes in [0, upper] around an estimate, dense at their lower end, with their log weights."""
    upper = np.maximum(upper, _SMALLEST)
    reach = np.minimum(_REACH * error, upper)
    low = np.clip(centre - reach, 0.0, upper - reach)
    high = np.clip(centre + reach, reach, upper)
    t = (np.arange(_NODES) + 0.5) / _NODES
    return low[:, None] + (high - low)[:, None] * t**4, 3.0 * np.log(t)


def _log_prior(variance: FloatArray, told: FloatArray) -> FloatArray:
    """Log density of a variance before the pilot, flat where nothing was told."""
    known = told > 0
    distance = np.log(variance / np.where(known, told, 1.0)[:, None]) / (2.0 * np.log(DOUBT))
    return np.where(known[:, None], -np.log(variance) - 0.5 * distance**2, 0.0)


def _mean(values: FloatArray, weight: FloatArray, log_density: FloatArray) -> FloatArray:
    """Mean of values under a density known up to a factor."""
    log_density = log_density + weight
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    return np.asarray((density * values).sum(axis=1) / density.sum(axis=1))
