"""A real sensitive question, from the frame to the estimate, many times: real draws, real noise."""

import csv
import os
import secrets
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.fielding.frames import frame_strata, open_frame
from dpstrata.fielding.results.microdata import estimate_means
from dpstrata.fielding.sample import draw_sample
from dpstrata.privacy.mechanisms import MECHANISMS, mechanism_class
from dpstrata.words.results import FLOORED, ONLY_ONE
from extent import may_cover, mean_limit, variance_limits
from surveys import Listed, reports_of

EXAMPLES = Path(dps.__file__).parent / "examples"
REPEATS = int(os.environ.get("DPSTRATA_REPEATS", "40"))  # ten thousand in `make slow`


def people(file, person, stratum, answer, number):
    with open(EXAMPLES / file, newline="") as handle:
        rows = list(csv.DictReader(handle))
    return (
        [row[person] for row in rows],
        [row[stratum] for row in rows],
        {row[person]: number(row[answer]) for row in rows},
    )


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [name for name in MECHANISMS if mechanism_class(name).numbers])
def test_estimates_are_unbiased_and_intervals_cover(mechanism):
    """Fair (1978), strata by occupation, epsilon 1, total 600, at least 2 a stratum."""
    ids, strata, answers = people("fair1978.csv", "person", "occupation", "had_affair", float)
    truth = float(np.mean(list(answers.values())))
    counted = frame_strata(open_frame(EXAMPLES / "fair1978.csv", id="person", stratum="occupation"))
    kinds = {"randomized_response": "yes_no", "discrete_laplace": "yes_no", "cells": (0, 1, 0.5)}
    kind = kinds.get(mechanism, (0, 1))
    delta = 1e-6 if mechanism == "gaussian" else 0.0
    plan = dps.design(
        counted, epsilon=1, delta=delta, total=600, min_per_stratum=2, questions=kind, mechanism=mechanism
    )
    frame = Listed(ids, strata)
    repeats = REPEATS
    errors, covered, variances = [], 0, []
    for _ in range(repeats):
        sample = draw_sample(plan, frame, secrets.token_bytes(32))
        by_stratum = defaultdict(list)
        for person, stratum in zip(sample.ids, sample.strata, strict=True):
            by_stratum[stratum].append(answers[person])
        names, noised = [], []
        for name, values in by_stratum.items():
            noised += reports_of(plan, name, values).tolist()
            names += [name] * len(values)
        result = estimate_means(plan, names, noised)
        errors.append(result.whole[0].estimate - truth)
        variances.append(result.whole[0].standard_error ** 2)
        covered += result.whole[0].lower <= truth <= result.whole[0].upper
    assert abs(np.mean(errors)) < mean_limit(errors)
    assert may_cover(covered, repeats)
    least, most = variance_limits(repeats)
    assert least < np.var(errors, ddof=1) / np.mean(variances) < most


def test_schools_with_domains():
    ids, strata, answers = people("california_schools.csv", "school", "type", "api00", float)
    counted = frame_strata(
        open_frame(EXAMPLES / "california_schools.csv", id="school", stratum="type"),
        sd_column="api00",
        sd_source="public",
    )
    extra = {"level": ["lower" if name == "E" else "upper" for name in counted.names]}
    with_domains = dps.Strata(counted.sizes, counted.sds, counted.names, sd_sources="public", extra=extra)
    plan = dps.design(
        with_domains, epsilon=2, total=900, questions=(200, 1000), mechanism="staircase", domains=["level"]
    )
    sample = draw_sample(plan, Listed(ids, strata), bytes(range(32)))
    noised = [
        dps.randomize(plan, s, answers[p]).value for p, s in zip(sample.ids, sample.strata, strict=True)
    ]
    result = estimate_means(plan, sample.strata, noised)
    truth = float(np.mean(list(answers.values())))
    assert abs(result.whole[0].estimate - truth) < 7 * result.whole[0].standard_error
    assert result.whole[0].standard_error == pytest.approx(plan.standard_error, rel=0.25)
    assert [domain.group for domain in result.by("level")] == ["lower", "upper"]
    assert result.whole[0].answered == 900


def test_fewer_answers_single_answers_and_refusals():
    plan = dps.design(dps.Strata([50, 60], [0.3, 0.2], names=["a", "b"]), epsilon=1, total=10)
    result = estimate_means(plan, ["a", "a", "b"], [0.5, 0.7, 0.2])
    doubts = result.questions["answer"].doubts
    assert doubts[ONLY_ONE] == ("b",)
    assert "a" in doubts[FLOORED]
    assert result.whole[0].answered == 3
    assert result.whole[0].invited == 10
    for strata, answers, words in (
        (["a", "z"], [0.1, 0.2], "has no stratum 'z'"),
        ([], [], "at least one answer, got none"),
        (["a"] * 11, [0.4321] * 11, "more answers than invitations in 'a'"),
        (["a"], ["secret"], "must be numbers"),
    ):
        with pytest.raises(dps.InputError, match=words) as caught:
            estimate_means(plan, strata, answers)
        assert "4321" not in str(caught.value)


@pytest.mark.slow
def test_the_demo_ends_beside_the_truth():
    script = Path(__file__).parent.parent.parent / "examples" / "fair1978.py"
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert "Estimated share: 0." in result.stdout
    assert "True share: 0.322." in result.stdout
