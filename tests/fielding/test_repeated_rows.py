"""A questionnaire fielded again and again on a shipped population: real draws, real rows, real office noise."""

import csv
import os
import secrets
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.allocation.variances import question_parts
from dpstrata.fielding.estimate import reader_of
from dpstrata.fielding.intervals.of_design import PartLimits
from dpstrata.fielding.intervals.tilt import Limits
from dpstrata.fielding.randomizers.form import odds_in
from dpstrata.fielding.results import form_figures, ratios
from dpstrata.fielding.sample import draw_sample
from dpstrata.privacy.rows import DENOMINATOR
from surveys import Listed, published_by

REPEATS = int(os.environ.get("DPSTRATA_REPEATS", "150"))
ENOUGH = 25_000  # surveys of `make slow`: they know the variance of every question to about half a percent
MOST = 4.0  # standard errors
SLACK = 0.02  # of a variance
AGES = (17.5, 22.0, 27.0, 32.0, 37.0, 42.0)
QUESTIONS = dps.Questionnaire(
    [
        dps.Question("affair", "yes_no", together="marriage", blank=False),
        dps.Question("rating", "scale", lower=1, upper=5, together="marriage"),
        dps.Question("age", "category", categories=["up to 22", "27", "32", "above 32"], blank=False),
        dps.Question("faith", "scale", lower=1, upper=4),
        dps.Question("years", "number", lower=0, upper=25),
        dps.Question("old", "yes_no", blank=True),
        dps.Question("length", "category", categories=["short", "medium", "long"], blank=True),
        dps.Question("long", "yes_no", everyone=True, blank=False),
    ]
)
NAMES = [question.name for question in QUESTIONS]
CROSSED = "affair by rating"
RATIOS = {  # of figures in one table, of different people, and both, in tables of several forms
    "affair over rating": (("affair", "yes"), ("rating", "mean")),
    "years over rating": (("years", "mean"), ("rating", "mean")),
    "long over rating": (("long", "yes"), ("rating", "mean")),
}
WORK = {"professional": "office", "managerial": "office", "white collar": "office"}  # others: "elsewhere"
RELEASES = {
    "sums": {"release": "sums", "device_epsilon": 4.0, "total": 900},
    "microdata": {"release": "microdata", "total": 500},
}


@cache
def people():
    """Where the answers of 6,366 people lie between the first level and the last, by question, and their strata.

    Every seventh leaves blank what may be left blank, and so do some of those who have been married for long.
    """
    with open(Path(dps.__file__).parent / "examples" / "fair1978.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    shares = {name: [] for name in NAMES}
    for person, row in enumerate(rows):
        age, years = float(row["age"]), float(row["yrs_married"])
        silent = person % 7 == 0 or (years > 16 and person % 3 == 0)
        shares["affair"].append(Fraction(int(row["had_affair"])))
        shares["rating"].append(Fraction(int(float(row["rate_marriage"])) - 1, 4))
        shares["age"].append(Fraction(min(max(AGES.index(age) - 1, 0), 3), 3))
        shares["faith"].append(Fraction(int(float(row["religious"])) - 1, 3))
        shares["years"].append(Fraction(years) / 25)
        shares["old"].append(Fraction(2 if silent else int(age > 35), 2))
        shares["length"].append(Fraction(3 if silent else int(years > 3) + int(years > 10), 3))
        shares["long"].append(Fraction(years > 9))
    return shares, np.array([row["occupation"] for row in rows])


@cache
def scores():
    """What every person counts for in every figure: one if a share is about them, or a number."""
    each = {name: np.array([float(share) for share in given]) for name, given in people()[0].items()}
    found = {}
    for question in QUESTIONS:
        if question.of_kind.averaged:
            found[question.name, "mean"] = question.lower + question.range * each[question.name]
            continue
        cases = question.of_kind.cases(question) or ("no", "yes")
        for place, case in enumerate(cases):
            found[question.name, case] = np.rint(each[question.name] * (len(cases) - 1)) == place
    for affair, rating in product(("no", "yes"), range(5)):
        both = found["affair", affair] & (found["rating", "mean"] == rating + 1)
        found[CROSSED, f"{affair} and {rating + 1}.0"] = both
    for name in ("affair", "long"):  # what is left is one minus that
        del found[name, "no"]
    return {figure: values.astype(float) for figure, values in found.items()}


@cache
def groups():
    """Who is in what is reported, by column and label."""
    strata = people()[1]
    work = np.array([WORK.get(each, "elsewhere") for each in strata])
    found = {("all", "all"): np.ones(len(strata), bool)}
    found |= {("work", label): work == label for label in ("office", "elsewhere")}
    return found | {("stratum", name): strata == name for name in sorted(set(strata))}


@cache
def make_plan(release):
    """A design that knows what these people are like."""
    inside = {label: members for (column, label), members in groups().items() if column == "stratum"}
    strata = dps.Strata(
        [members.sum() for members in inside.values()],
        names=list(inside),
        extra={"work": [WORK.get(name, "elsewhere") for name in inside]},
    )
    known = {"proportions": {}, "sds": {}, "means": {}}
    for question in QUESTIONS:
        of = {answer: each for (name, answer), each in scores().items() if name == question.name}
        if question.of_kind.averaged:
            known["sds"][question.name] = [of["mean"][each].std(ddof=1) for each in inside.values()]
            known["means"][question.name] = [of["mean"][each].mean() for each in inside.values()]
        else:
            shares = [[values[each].mean() for values in of.values()] for each in inside.values()]
            known["proportions"][question.name] = [each[0] if len(each) == 1 else each for each in shares]
    spreads = dps.Spreads(strata, QUESTIONS, **known)
    return dps.design(
        strata,
        questions=QUESTIONS,
        spreads=spreads,
        epsilon=1,
        domains=["work"],
        **RELEASES[release],
    )


@cache
def truth():
    """Every figure of every group, and ratios of the whole population."""
    found = {
        (*figure, *group): values[members].mean()
        for figure, values in scores().items()
        for group, members in groups().items()
    }
    for name, (over, under) in RATIOS.items():
        found["ratio", name, "all", "all"] = scores()[over].mean() / scores()[under].mean()
    return found


@cache
def raw_rows(release):
    """What everybody would answer on each form."""
    shares, _ = people()
    return [
        [(number, given) for given in zip(*(shares[name] for name in form.questions), strict=True)]
        for number, form in enumerate(make_plan(release).forms, start=1)
    ]


def survey(release, frame):
    """Draw, deal, let devices randomise, publish and estimate, as the field does without its files."""
    plan, given = make_plan(release), raw_rows(release)
    sample = draw_sample(plan, frame, secrets.token_bytes(32))
    rows = {name: [] for name in plan.strata.names}
    for person, stratum, form in zip(sample.ids, sample.strata, sample.forms, strict=True):
        rows[stratum].append(given[form - 1][person])
    columns = published_by(plan, rows)
    if release == "sums":
        return reader_of(plan).estimate(*columns.values())
    return reader_of(plan).estimate(*(columns[name] for name in ("stratum", "form", "cell")))


def repeated(release):
    """Estimates and squared standard errors of every figure, a row for each survey."""
    strata = people()[1]
    frame = Listed(range(len(strata)), strata)
    estimates, squares = [], []
    for _ in range(REPEATS):
        result = survey(release, frame)
        rows = {
            (row.question, row.level or "mean", row.column, row.group): row
            for row in result
            if row.column != "total"
        }
        for name, (over, under) in RATIOS.items():
            rows["ratio", name, "all", "all"] = result.ratio(over, under).whole[0]
        estimates.append([rows[key].estimate for key in truth()])
        squares.append([rows[key].standard_error ** 2 for key in truth()])
    assert set(rows) == set(truth())
    return np.array(estimates), np.array(squares)


def planned(release):
    """Variances of every question in every stratum as the design plans them, in the units of its answers.

    A number is planned as if its answers lay half-way between two levels; here it is known where they lie.
    """
    plan = make_plan(release)
    parts = question_parts(plan.problem, plan.sample_sizes, finite_population=True)
    ranges = np.array([question.range for question in QUESTIONS])
    variances = parts.total * ranges**2
    whole = (plan.strata.sizes / plan.strata.population) ** 2 @ variances
    assert whole == pytest.approx([question.standard_error**2 for question in plan.questions])
    variances[:, NAMES.index("years")] -= rounded_less(plan, "years")
    return variances


def rounded_less(plan, name):
    """By how much answers that do not lie half-way between two levels make the variance of a number smaller."""
    place, less = NAMES.index(name), []
    question, (form,) = QUESTIONS[place], [form for form in plan.forms if name in form.questions]
    levels = form.levels[form.questions.index(name)]
    for i, stratum in enumerate(plan.strata.names):
        answers = (scores()[name, "mean"][groups()["stratum", stratum]] - question.lower) / question.range
        r = form.cells / (odds_in(plan, i) / DENOMINATOR)
        at = answers * (levels - 1)
        u = np.mean((at - np.floor(at)) * (1 - at + np.floor(at))) / (levels - 1) ** 2
        x2 = np.mean((answers - 0.5) ** 2)
        mu2 = (levels + 1) / (12 * (levels - 1))
        real = answers.var(ddof=1) + r * x2 + mu2 * r * (1 + r) + (1 + r) * u
        one = plan.spreads.in_row(place, levels).at(r)[i]
        assert one >= real * (1 - 1e-12)
        less.append(question.range**2 * (one - real) / form.sample_sizes[i])
    return np.array(less)


def over_plan(release, estimates):
    """What each survey adds to the variance of a question over that planned, by question and group.

    Of a category that is half of the sum over its shares.
    """
    variances, squares, found = planned(release), squared_errors(estimates), {}
    for j, name in enumerate(NAMES):
        for group in groups():
            found[name, *group] = squares[name, *group] / (weights_in(release, group) ** 2 @ variances[:, j])
    return found


def over_plan_by_strata(release, estimates):
    """The same of the whole population, from the errors in each stratum.

    Strata are drawn and noised independently, so the variance of the whole is the sum of theirs, which the same
    surveys tell more exactly: nearly as if there were three times as many.
    """
    variances, squares, found = planned(release), squared_errors(estimates), {}
    weights = weights_in(release, ("all", "all")) ** 2
    for j, name in enumerate(NAMES):
        each = [squares[name, "stratum", stratum] for stratum in make_plan(release).strata.names]
        found[name] = np.transpose(each) @ weights / (weights @ variances[:, j])
    return found


def weights_in(release, group):
    """Share of every stratum in a group."""
    members = [
        (groups()["stratum", each] & groups()[group]).sum() for each in make_plan(release).strata.names
    ]
    return np.array(members) / sum(members)


def squared_errors(estimates):
    """Squared error of every survey, by question and group; its mean is the variance."""
    keys, off, found = list(truth()), estimates - estimates.mean(axis=0), {}
    for name in NAMES:
        for group in groups():
            at = [i for i, key in enumerate(keys) if (key[0], *key[2:]) == (name, *group)]
            shared = 2.0 if len(at) > 1 else 1.0
            found[name, *group] = (off[:, at] ** 2).sum(axis=1) / shared * REPEATS / (REPEATS - 1)
    return found


def beyond(ratios, *, least=1.0 - SLACK, most=1.0 + SLACK):
    """By how many standard errors the mean of ratios is more than 2% off one, or off other limits."""
    error = ratios.std(ddof=1) / np.sqrt(REPEATS)
    return max(ratios.mean() - most, least - ratios.mean()) / error


def alarms(release):
    """Field surveys, and return by how many standard errors every figure is further off than it may be."""
    estimates, squares = repeated(release)
    off = np.abs(estimates.mean(axis=0) - list(truth().values()))
    errors = estimates.std(axis=0, ddof=1) / np.sqrt(REPEATS)
    stated = (estimates - estimates.mean(axis=0)) ** 2 / squares.mean(axis=0)
    found = {}
    for i, (key, value) in enumerate(truth().items()):
        # a ratio is biased by what the denominator varies, squared: at most a hundredth of it
        may = 0.01 * abs(value) if key[0] == "ratio" else 0.0
        found["bias", *key] = (off[i] - may) / errors[i]
        found["stated", *key] = beyond(stated[:, i], least=least_stated(key), most=most_stated(key))
    planned_for = over_plan(release, estimates)
    found |= {("planned", *key): beyond(ratios) for key, ratios in planned_for.items()}
    for name, known_better in over_plan_by_strata(release, estimates).items():
        found["planned by strata", name] = beyond(known_better)
        if REPEATS >= ENOUGH:  # chance is not allowed for
            found["planned to 2%", name] = MOST * abs(known_better.mean() - 1.0) / SLACK
    return found


def least_stated(key):
    """How much of the variance that is stated there must be.

    Of ratios whose covariance is not known an upper bound is stated; in strata with two answers to a form so is
    the largest variance there can be, and what they show of a rare combination is taken to be possible.
    """
    name, answer, column, _ = key
    if column == "stratum" or answer in ("years over rating", "long over rating"):
        return 0.0
    return 1.0 - SLACK - (0.1 if name == CROSSED else 0.0)


def most_stated(key):
    """How much of the variance that is stated there may be.

    That of a rare combination is stated for all strata together, so that what small strata have too much is taken
    off the large ones: up to 6%, which is 3% of a standard error.
    """
    name, _, column, _ = key
    return 1.0 + SLACK + (0.04 if name == CROSSED and column == "stratum" else 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_surveys_are_unbiased_and_as_precise_as_planned(release, monkeypatch):
    """Every figure: its mean within 4 standard errors, its variance within 2% of the plan and of what is stated.

    A variance may be 4 of its own standard errors beyond 2%; that of a question in the whole population may not,
    once there are enough surveys to know it. What is too far off by chance, as one of hundreds of figures is in
    one of eight runs, is so in two more less than once in a million.
    """
    monkeypatch.setattr(PartLimits, "__call__", nowhere)
    monkeypatch.setattr(ratios, "ratio_limits", lambda over, under, correlation: over.limits)
    too_far = None
    for _ in range(3):
        found = alarms(release)
        too_far = {
            key: errors
            for key, errors in found.items()
            if errors >= MOST and (too_far is None or key in too_far)
        }
        if not too_far:
            return
    pytest.fail(f"too far off three times: {too_far}")


def nowhere(_, groups):
    """Intervals that nobody searches for, which takes most of the time; their coverage is tested elsewhere."""
    return Limits(np.zeros(groups.number), np.zeros(groups.number))


@pytest.mark.slow
def test_a_wrong_estimator_is_noticed(monkeypatch):
    """One that takes the odds of a replaced row to be twice what they are."""
    monkeypatch.setattr(PartLimits, "__call__", nowhere)
    monkeypatch.setattr(ratios, "ratio_limits", lambda over, under, correlation: over.limits)
    monkeypatch.setitem(globals(), "REPEATS", 80)
    right = form_figures.stretches
    monkeypatch.setattr(form_figures, "stretches", lambda plan, t: 2.0 * right(plan, t))
    found = alarms("microdata")
    for what in ("bias", "planned"):
        assert max(errors for key, errors in found.items() if key[0] == what) > MOST
