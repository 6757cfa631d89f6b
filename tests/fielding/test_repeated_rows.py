"""A questionnaire fielded again and again on a shipped population: real draws, real rows, real office noise."""

import csv
import os
import secrets
from collections import defaultdict
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2
from scipy.stats import t as student

import dpstrata as dps
from dpstrata.fielding.questionnaires.files import RawRow
from dpstrata.fielding.questionnaires.rows import odds_in
from dpstrata.fielding.releases.rows import RowsFielding
from dpstrata.fielding.releases.tables import TablesFielding
from dpstrata.fielding.sample import draw_sample
from listed import Listed

REPEATS = int(os.environ.get("DPSTRATA_REPEATS", "30"))  # ten thousand in `make slow`
# Of one comparison: with fewer than 200 of them a false alarm comes at most once in a million runs.
ALARM = 1e-6 / 200
SLACK = 0.02  # of a variance
AGES = (17.5, 22.0, 27.0, 32.0, 37.0, 42.0)
QUESTIONS = dps.Questionnaire(
    [
        dps.Question("affair", "yes_no", together="marriage"),
        dps.Question("rating", "scale", lower=1, upper=5, together="marriage"),
        dps.Question("age", "category", categories=["up to 22", "27", "32", "above 32"]),
        dps.Question("faith", "scale", lower=1, upper=4),
        dps.Question("years", "number", lower=0, upper=25),
        dps.Question("old", "yes_no"),
        dps.Question("long", "yes_no", everyone=True),
    ]
)
RATIOS = {  # of figures in one table, of different people, and both, in tables of several forms
    "affair over rating": (("affair", "yes"), ("rating", "mean")),
    "years over rating": (("years", "mean"), ("rating", "mean")),
    "long over rating": (("long", "yes"), ("rating", "mean")),
}
# Their standard errors are upper bounds.
BOUNDED = [("ratio", "years over rating"), ("ratio", "long over rating")]
KNOWN = [question.name for question in QUESTIONS]
RELEASES = {
    "sums": {"release": "sums", "device_epsilon": 4.0, "total": 900},
    "microdata": {"release": "microdata", "total": 500},
}


@cache
def people():
    """Where the answers of 6,366 people lie between the first level and the last, by id, and their strata."""
    with open(Path(dps.__file__).parent / "examples" / "fair1978.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    shares, strata = {}, {}
    for row in rows:
        age, years = float(row["age"]), float(row["yrs_married"])
        shares[int(row["person"])] = {
            "affair": Fraction(int(row["had_affair"])),
            "rating": Fraction(int(float(row["rate_marriage"])) - 1, 4),
            "age": Fraction(min(max(AGES.index(age) - 1, 0), 3), 3),
            "faith": Fraction(int(float(row["religious"])) - 1, 3),
            "years": Fraction(years) / 25,
            "old": Fraction(age > 35),
            "long": Fraction(years > 9),
        }
        strata[int(row["person"])] = row["occupation"]
    return shares, strata


@cache
def by_stratum():
    """The same as arrays, by stratum and question."""
    shares, strata = people()
    found = defaultdict(lambda: defaultdict(list))
    for person, given in shares.items():
        for name in KNOWN:
            found[strata[person]][name].append(float(given[name]))
    return {
        name: {question: np.array(each) for question, each in found[name].items()} for name in sorted(found)
    }


@cache
def make_plan(release):
    """A design that knows what these people are like."""
    strata = dps.Strata([len(each["age"]) for each in by_stratum().values()], names=list(by_stratum()))
    known = {"proportions": {}, "sds": {}, "means": {}}
    for question in QUESTIONS:
        each = [answers[question.name] for answers in by_stratum().values()]
        if question.kind == "yes_no":
            known["proportions"][question.name] = [values.mean() for values in each]
        elif question.kind == "category":
            known["proportions"][question.name] = [
                [(np.rint(3 * v) == c).mean() for c in range(4)] for v in each
            ]
        else:
            known["sds"][question.name] = [question.range * values.std(ddof=1) for values in each]
            known["means"][question.name] = [
                question.lower + question.range * values.mean() for values in each
            ]
    spreads = dps.Spreads(strata, QUESTIONS, **known)
    return dps.design(strata, questionnaire=QUESTIONS, spreads=spreads, epsilon=1, **RELEASES[release])


def truth():
    """Every figure of the whole population."""
    shares, _ = people()
    each = {name: np.array([float(given[name]) for given in shares.values()]) for name in KNOWN}
    found = {(name, "yes"): each[name].mean() for name in ("affair", "old", "long")}
    for question in (QUESTIONS[1], QUESTIONS[3], QUESTIONS[4]):
        found[question.name, "mean"] = question.lower + question.range * each[question.name].mean()
    for c, category in enumerate(QUESTIONS[2].categories):
        found["age", category] = (np.rint(3 * each["age"]) == c).mean()
    for affair, word in enumerate(("no", "yes")):
        for rating in range(5):
            both = (each["affair"] == affair) & (each["rating"] == rating / 4)
            found["affair by rating", f"{word} and {rating + 1}.0"] = both.mean()
    for name, (over, under) in RATIOS.items():
        found["ratio", name] = found[over] / found[under]
    return found


def survey(plan, frame):
    """Draw, deal, let devices randomise, publish and estimate, as the field does without its files."""
    shares, _ = people()
    sample = draw_sample(plan, frame, secrets.token_bytes(32))
    rows, forms = {name: [] for name in plan.strata.names}, plan.forms
    for person, stratum, form in zip(sample.ids, sample.strata, sample.forms, strict=True):
        given = tuple(shares[person][name] for name in forms[form - 1].questions)
        rows[stratum].append(RawRow(form, given))
    if plan.inputs.release == "sums":
        fielding = TablesFielding()
        noise = fielding.draw_office_noise(plan, plan.sample_sizes)
        return fielding.estimate(plan, *fielding.published(plan, rows, noise, lambda number: None).values())
    columns = RowsFielding().noised(plan, rows, lambda number: None)
    names = ("stratum", "form", "cell")
    return RowsFielding().estimate(plan, *([str(cell) for cell in columns[name]] for name in names))


def repeated(plan):
    """Estimates and squared standard errors of every figure, a row for each survey."""
    shares, strata = people()
    frame = Listed(list(shares), list(strata.values()))
    estimates, squares = [], []
    for _ in range(REPEATS):
        result = survey(plan, frame)
        whole = {(row.question, row.answer): row for row in result.whole}
        for name, (over, under) in RATIOS.items():
            (whole["ratio", name],) = result.ratio(over, under).whole
        assert set(whole) == set(truth())
        estimates.append([whole[key].estimate for key in truth()])
        squares.append([whole[key].standard_error ** 2 for key in truth()])
    return np.array(estimates), np.array(squares)


def rounded_less(plan, name):
    """By how much answers that do not lie half-way between two levels make the variance of a number smaller."""
    question = QUESTIONS[KNOWN.index(name)]
    less = 0.0
    for i, (stratum, answers) in enumerate(by_stratum().items()):
        weight = plan.strata.sizes[i] / plan.strata.sizes.sum()
        (form,) = [form for form in plan.forms if name in form.questions]
        levels = form.levels[form.questions.index(name)]
        assert plan.strata.names[i] == stratum
        r = form.cells / float(odds_in(plan, i))
        place = answers[name] * (levels - 1)
        u = np.mean((place - np.floor(place)) * (1 - place + np.floor(place))) / (levels - 1) ** 2
        x2 = np.mean((answers[name] - 0.5) ** 2)
        mu2 = (levels + 1) / (12 * (levels - 1))
        real = answers[name].var(ddof=1) + r * x2 + mu2 * r * (1 + r) + (1 + r) * u
        planned = plan.inputs.spreads_in(plan.strata).in_row(KNOWN.index(name), levels).at(r)[i]
        assert planned >= real * (1 - 1e-12)
        less += weight**2 * question.range**2 * (planned - real) / form.sample_sizes[i]
    return less


@pytest.mark.parametrize("release", RELEASES)
def test_surveys_are_unbiased_and_as_precise_as_planned(release):
    """Every figure; variances within 2% of the plan and of the standard errors, beyond what chance explains."""
    plan = make_plan(release)
    estimates, squares = repeated(plan)
    found = estimates.var(axis=0, ddof=1)
    off = np.abs(estimates.mean(axis=0) - list(truth().values()))
    # a ratio is biased by what the denominator varies, squared: at most a hundredth of it
    most = np.array([0.01 * abs(value) * (name == "ratio") for (name, _), value in truth().items()])
    z = np.maximum(off - most, 0.0) / np.sqrt(found / REPEATS)
    assert z.max() < student.isf(ALARM / 2, REPEATS - 1), dict(zip(truth(), z.round(1), strict=True))
    low, high = chi2.ppf([ALARM / 2, 1 - ALARM / 2], REPEATS - 1) / (REPEATS - 1)
    variances = dict(zip(truth(), found, strict=True))
    planned = {question.name: ratio_to_plan(plan, question, variances) for question in plan.questions}
    stated = dict(zip(truth(), found / squares.mean(axis=0), strict=True))
    for name, ratio in (planned | stated).items():
        # a rare combination is taken to be at least as random as replaced rows make it, which is more than it is
        bounded = name in BOUNDED or name[0] == "affair by rating"
        least = 0.0 if bounded else low * (1 - SLACK)
        assert least < ratio < high * (1 + SLACK), name
    if REPEATS >= 10_000:  # the questions of several forms are independent: together they are known better
        assert np.mean(list(planned.values())) == pytest.approx(1.0, abs=SLACK)


def ratio_to_plan(plan, question, variances):
    """The variance of a question, of a category half of the sum over its shares, over what was planned."""
    of = [variance for (name, _), variance in variances.items() if name == question.name]
    planned = question.standard_error**2
    if question.name == "years":
        planned -= rounded_less(plan, "years")
    return sum(of) / (2 if len(of) > 1 else 1) / planned
