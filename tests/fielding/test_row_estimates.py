"""Estimates from published rows and tables: noise of their own, honest standard errors, sums that add up."""

import csv
import math
from fractions import Fraction

import numpy as np
import pytest

import dpstrata as dps
from commands import run
from dpstrata.fielding.estimate import reader_of
from dpstrata.fielding.intervals.shares import Reports
from dpstrata.fielding.releases import SumsFielding
from dpstrata.fielding.results.form_figures import _reported_variances
from surveys import collected_of, estimate_once, published_by

RELEASES = {"sums": {"release": "sums", "device_epsilon": 4.0}, "microdata": {"total": 150}}


def test_every_published_number_has_noise_of_its_own():
    """Answers that read alike once they are joined are still two entries."""
    questions = dps.Questionnaire(
        [
            dps.Question(
                "a", "category", blank=False, categories=["bread", "bread and butter"], together="t"
            ),
            dps.Question("b", "category", blank=False, categories=["butter and jam", "jam"], together="t"),
        ]
    )
    strata = dps.Strata([3000, 3000])
    plan = dps.design(strata, questions=questions, epsilon=0.1, device_epsilon=3, release="sums", total=200)
    fielding = SumsFielding()
    noise = fielding.draw_office_noise(plan, np.zeros(0, dtype=np.int64))
    rows = {
        name: [(1, (Fraction(0), Fraction(1)))] * int(n)
        for name, n in zip(strata.names, plan.sample_sizes, strict=True)
    }
    collected = collected_of(plan, rows)
    columns = fielding.published(plan, collected, noise, lambda number: None)
    assert len(noise) == len(columns["count"]) == 8
    assert len(set(zip(columns["stratum"], columns["entry"], strict=True))) == 8
    with pytest.raises(dps.InputError, match="the office's noise that was kept"):
        fielding.published(plan, collected, dict(list(noise.items())[1:]), lambda number: None)


def test_standard_errors_know_the_noise_of_replaced_rows():
    """Even where all reported answers agree, or a stratum has one."""
    strata = dps.Strata([60, 60])
    questions = dps.Questionnaire(
        [dps.Question("a", "yes_no", blank=False), dps.Question("b", "scale", lower=1, upper=5)]
    )
    plan = dps.design(strata, questions=questions, epsilon=1, total=24)
    cells = [0] * plan.total
    forms = [
        str(t) for i in range(2) for t, form in enumerate(plan.forms, 1) for _ in range(form.sample_sizes[i])
    ]
    names = [name for i, name in enumerate(strata.names) for _ in range(int(plan.sample_sizes[i]))]
    result = reader_of(plan).estimate(names, forms, list(map(str, cells)))
    planned = {question.name: question.standard_error for question in plan.questions}
    assert all(row.standard_error > 0.3 * planned[row.question] for row in result.whole)
    assert any("too few for a reliable standard error" in said for said in result.sentences)


def test_one_answer_under_the_office_s_noise_does_not_decide_on_the_variance_of_others():
    """Of 110 answers beside one: without bias, and within what 110 answers tell."""
    rng = np.random.default_rng(19)
    m, noise, ones = np.array([110.0, 1.0]), 8.0, np.ones(2)
    q, d = 0.1 / 1.2 * ones, ones / 1.2
    seen = q + 0.3 * d
    true = seen * (1.0 - seen) / m
    found = []
    for _ in range(1000):
        counts = rng.binomial(m.astype(int), seen) + rng.normal(0.0, math.sqrt(noise), 2)
        known = Reports(counts, m, m, np.inf * ones, q, d, noise * ones)
        found.append(_reported_variances(known, np.array([1000, 60])))
    north, alone = np.transpose(found)
    assert north.mean() == pytest.approx(true[0], rel=0.02)
    assert np.quantile(north, [0.05, 0.95]) == pytest.approx(true[0], rel=0.2)
    assert true[1] < alone.mean() <= 0.25


def test_a_census_has_no_sampling_error_however_many_forms_a_question_is_on():
    strata = dps.Strata([400, 400])
    questions = dps.Questionnaire(
        [
            dps.Question("a", "category", blank=False, categories=list("abcdef")),
            dps.Question("b", "category", blank=False, categories=list("abcdef")),
            dps.Question("all", "yes_no", blank=False, everyone=True),
        ]
    )
    plan = dps.design(
        strata,
        questions=questions,
        epsilon=8,
        device_epsilon=9,
        release="sums",
        total=800,
        forms=[["a"], ["b"]],
    )
    rows = {
        name: [
            (t, (Fraction(j % 6, 5), Fraction(j % 2)))
            for t, form in enumerate(plan.forms, start=1)
            for j in range(int(form.sample_sizes[i]))
        ]
        for i, name in enumerate(strata.names)
    }
    (whole,) = [row for row in estimate_once(plan, rows).whole if row.question == "all"]
    (planned,) = [question.standard_error for question in plan.questions if question.name == "all"]
    assert whole.standard_error == pytest.approx(planned, rel=0.35)
    assert whole.estimate == pytest.approx(0.5, abs=6 * planned)


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_what_is_written_adds_up(tmp_path, release):
    """Shares over answers to one, strata over domains to the whole, in the file that people read."""
    sizes = {"a": 600, "b": 700, "c": 500, "d": 900}
    strata = dps.Strata(
        list(sizes.values()), names=list(sizes), extra={"side": ["east", "east", "west", "west"]}
    )
    questions = dps.Questionnaire(
        [
            dps.Question("home", "category", categories=["rent", "own", "other"], together="t", blank=True),
            dps.Question("smokes", "yes_no", together="t", blank=True),
            dps.Question("trust", "scale", lower=1, upper=5),
        ]
    )
    given = {"epsilon": 1.0, "total": 400, **RELEASES[release]}
    plan = dps.design(strata, questions=questions, domains=["side"], **given)
    plan.save(tmp_path / "design.json")
    generator = np.random.default_rng(2)
    rows = {
        name: [
            (t, tuple(Fraction(int(generator.integers(k)), k - 1) for k in (k or 5 for k in form.levels)))
            for t, form in enumerate(plan.forms, start=1)
            for _ in range(int(form.sample_sizes[i]))
        ]
        for i, name in enumerate(sizes)
    }
    columns = published_by(plan, rows)
    with open(tmp_path / "published.csv", "w", newline="") as file:
        csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])
    done = run(tmp_path, "estimate", "design.json", "published.csv", "--out", "estimates.csv")
    assert done.returncode == 0, done.stderr
    written = csv.DictReader((tmp_path / "estimates.csv").read_text().splitlines())
    found = [row for row in written if row["column"] != "total"]
    figures = {(r["question"], r["level"], r["column"], r["group"]): float(r["estimate"]) for r in found}
    places = {(row["column"], row["group"]) for row in found}
    assert places == {
        ("all", "all"),
        ("side", "east"),
        ("side", "west"),
        *(("stratum", name) for name in sizes),
    }
    for question, number in (("home", 4), ("smokes", 3), ("home by smokes", 12)):
        for place in places:
            shares = [value for key, value in figures.items() if (key[0], key[2:]) == (question, place)]
            assert len(shares) == number
            assert math.fsum(shares) == pytest.approx(1.0, abs=1e-13)
    for question, level in {key[:2] for key in figures}:
        totals = {
            column: math.fsum(
                people * figures[question, level, column, group] for group, people in groups.items()
            )
            for column, groups in (
                ("all", {"all": 2700}),
                ("side", {"east": 1300, "west": 1400}),
                ("stratum", sizes),
            )
        }
        assert list(totals.values()) == pytest.approx([totals["all"]] * 3, rel=1e-12, abs=1e-9)
