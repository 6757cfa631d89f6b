"""The randomiser in JavaScript: the same rows as in Python from the same bytes, and the right law from secure ones."""

import json
import math
import random
from fractions import Fraction

import pytest
from scipy import stats
from scipy.stats import chi2

import dpstrata as dps
from dpstrata.collect.kit import respondent_kit
from dpstrata.fielding.randomizers import randomizers_of
from dpstrata.fielding.randomizers.noise import noise_at
from dpstrata.privacy.rows import cell_of
from extent import few
from laws import probabilities
from questionnaires import small_plan

VECTORS = few(2_500, of=10_000)
DRAWS = few(100_000, of=1_000_000)
RUN = """async (cases) => {
  const { noiseRow } = await import("/static/dpstrata-respond.js");
  return cases.vectors.map(([which, form, odds, answers, hex]) => {
    let used = 0;
    const byte = () => parseInt(hex.substr(2 * used++, 2), 16);
    const source = (size) => Uint8Array.from({ length: size }, byte);
    return [noiseRow(cases.kits[which], form, odds, answers, source), used];
  });
}"""
COUNT = """async ([kit, form, odds, answers, cells, draws]) => {
  const { noiseRow } = await import("/static/dpstrata-respond.js");
  const counts = new Array(cells).fill(0);
  for (let i = 0; i < draws; i++) counts[noiseRow(kit, form, odds, answers)]++;
  return counts;
}"""
ODD_QUESTIONS = dps.Questionnaire(
    [
        dps.Question("depth", "number", lower=-3.7, upper=1e-7),
        dps.Question("mass", "number", lower=0.1, upper=1.7e21),
        dps.Question("grade", "scale", lower=-0.3, upper=0.9, step=0.1),
        dps.Question("name", "category", categories=["Ä", "عربي", "a b", 'c"d']),
    ]
)
MAY_BE_BLANK = dps.Questionnaire(
    [
        dps.Question("smokes", "yes_no", blank=True),
        dps.Question("home", "category", categories=["rent", "own"], blank=True),
    ]
)


@pytest.fixture(scope="module")
def page(browser, survey):
    """A page from which the served module is imported."""
    opened = browser.new_page()
    opened.goto(survey.address)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def plans():
    """Every kind of question; one budget, or one a stratum; awkward ranges; blanks; a large budget."""
    published = small_plan(release="microdata", device_epsilon=None)
    odd = small_plan(questions=ODD_QUESTIONS, forms=[["depth", "grade"], ["mass", "name"]])
    blank = small_plan(questions=MAY_BE_BLANK)
    return [small_plan(), published, odd, blank, small_plan(device_epsilon=40.0), *numbers_alone()]


def numbers_alone(times=1.0):
    """Numbers and scales that devices send as cells: with two ends beside the sine, and without."""
    strata = dps.Strata([500, 800], [0.2, 0.3], ["a", "b"])
    asked = [
        (dps.Question("income", "number", lower=-3.7, upper=8000), {"mechanism": "sine"}),
        (dps.Question("share", "number", lower=-0.3, upper=0.7), {"mechanism": "sine"}),
        (dps.Question("grade", "scale", lower=-0.3, upper=0.9, step=0.1), {"mechanism": "cells"}),
        (dps.Question("points", "scale", lower=0, upper=100, step=1), {"mechanism": "sine"}),
    ]
    devices = [
        dps.design(
            strata,
            questions=question,
            epsilon=1,
            total=100,
            release="sums",
            device_epsilon=times * E,
            **options,
        )
        for question, options in asked
        for E in (1.0, 4.0)
    ]
    return [
        *devices,
        dps.design(strata, questions=asked[0][0], epsilon=0.3 * times, total=40, mechanism="sine"),
    ]


def any_answer(question, chance):
    """Something that can be answered, as Python and as JavaScript take it."""
    if question.kind == "number":
        near = chance.choice([1, 1e-3, 1e-9])
        answer = question.lower + (question.upper - question.lower) * chance.random() * near
        answer = min(max(float(f"{answer:.{chance.randint(1, 17)}g}"), question.lower), question.upper)
        return chance.choice([question.lower, question.upper, answer, answer, answer])
    if question.blank and chance.random() < 0.3:
        return chance.choice(["", None])
    place = chance.randrange(question.answer_count)
    return question.of_kind.answer_at(question, place, question.answer_count)


def make_vectors(plans, kits, number):
    chance = random.Random(20)
    vectors, expected = [], []
    for _ in range(number):
        which = chance.randrange(len(plans))
        plan = plans[which]
        form, stratum = chance.randrange(len(plan.forms)), chance.randrange(len(plan.strata))
        named = {question.name: question for question in plan.inputs.questions}
        answers = {name: any_answer(named[name], chance) for name in plan.forms[form].questions}
        given = chance.randbytes(300)
        used = 0

        def source(size, given=given):
            nonlocal used
            used += size
            return given[used - size : used]

        randomizer = randomizers_of(plan)[form]
        (report,) = randomizer.randomized(stratum, [randomizer.raw(answers)], source)
        vectors.append([which, form, kits[which].odds[stratum], answers, given[: used + 8].hex()])
        expected.append((randomizer, stratum, report, used))
    return vectors, expected


def test_the_same_bytes_make_the_same_rows_in_python_and_javascript(page, plans):
    kits = [respondent_kit(plan) for plan in plans]
    vectors, expected = make_vectors(plans, kits, VECTORS)
    found = page.evaluate(RUN, {"kits": [kit.to_dict() for kit in kits], "vectors": vectors})
    assert len(found) == VECTORS
    for (cell, used), (randomizer, stratum, report, bytes_of) in zip(found, expected, strict=True):
        assert ([report], bytes_of) == (randomizer.reports_of_cells(stratum, [cell]), used)
    assert len({tuple(each) for each in found}) > 100


def chi_square(counts, kept, cells, true):
    """Compare counts with the law of a row that is kept with this probability."""
    total = sum(counts)
    statistic = 0.0
    for cell, count in enumerate(counts):
        mean = total * ((1 - kept) / cells + (kept if cell == true else 0.0))
        statistic += (count - mean) ** 2 / mean
    return float(chi2.sf(statistic, cells - 1))


@pytest.mark.parametrize(
    ("form", "answers"),
    [(0, {"smokes": "yes", "home": "own", "income": 8000}), (1, {"drinks": "no", "trust": 4})],
)
def test_draws_in_the_browser_have_the_law_and_no_other(page, small_kit, form, answers):
    kit = small_kit.to_dict()
    questions = kit["forms"][form]["questions"]
    places = [question["values"].index(str(answers[question["name"]])) for question in questions]
    true = cell_of(places, [len(question["values"]) for question in questions])
    cells = kit["forms"][form]["cells"]
    counts = page.evaluate(COUNT, [kit, form, 0, answers, cells, DRAWS])
    odds = Fraction(int(kit["odds"][0]), int(kit["denominator"]))
    kept = float(odds / (odds + cells))
    assert abs(kept - (1 - small_plan_replaced(cells))) < 1e-9
    assert chi_square(counts, kept, cells, true) > 1e-7
    assert chi_square(counts, 1 - 1.1 * (1 - kept), cells, true) < 1e-12
    assert chi_square(counts, 1 - 0.9 * (1 - kept), cells, true) < 1e-12


@pytest.mark.parametrize("which", range(9))
def test_cells_of_a_number_drawn_in_the_browser_have_the_law_and_no_other(page, which):
    plan = numbers_alone()[which]
    question, noise = plan.inputs.question, noise_at(plan, 0)
    level = noise.steps // 3 if plan.inputs.mechanism == "cells" else noise.steps
    answer = question.upper
    if level < noise.steps:  # other answers lie between two levels of the sine
        answer = question.of_kind.answer_at(question, level, noise.steps + 1)
    kit = respondent_kit(plan, text="How?")
    counts = page.evaluate(
        COUNT, [kit.to_dict(), 0, kit.odds[0], {question.name: answer}, noise.cells, DRAWS]
    )
    _, law = probabilities(noise, level)
    _, other = probabilities(noise_at(numbers_alone(1.1)[which], 0), level)
    assert stats.chisquare(counts, DRAWS * law / law.sum()).pvalue > 1e-7
    if len(other) == len(law):  # a larger budget may have more cells
        assert stats.chisquare(counts, DRAWS * other / other.sum()).pvalue < 1e-12


def small_plan_replaced(cells):
    return cells / (cells + math.expm1(4.0))


def test_numbers_are_put_on_levels_without_bias(page, small_kit):
    """Of the rows that were kept, a share of 3/8 has the upper of two levels."""
    kit = small_kit.to_dict()
    kit["odds"] = ["1" + "0" * 40]  # nothing is ever replaced
    cells = kit["forms"][0]["cells"]
    answers = {"smokes": "no", "home": "rent", "income": "3000.0"}
    counts = page.evaluate(COUNT, [kit, 0, 0, answers, cells, DRAWS])
    assert sum(counts[:2]) == DRAWS
    off = (counts[1] / DRAWS - 3 / 8) / math.sqrt(15 / 64 / DRAWS)
    assert abs(off) < 5.5  # less than once in ten million runs


@pytest.mark.parametrize("answer", [None, "", "maybe", True, 8000.5, -1, "NaN", "Infinity", "0x10z"])
def test_what_cannot_be_answered_is_refused_without_being_shown(page, small_kit, answer):
    for name in ("smokes", "income"):
        answers = {"smokes": "yes", "home": "own", "income": 100} | {name: answer}
        message = page.evaluate(
            """async ([kit, answers]) => {
              const { noiseRow } = await import("/static/dpstrata-respond.js");
              try { noiseRow(kit, 0, 0, answers); return "taken"; } catch (error) { return error.message; }
            }""",
            [small_kit.to_dict(), answers],
        )
        assert message == f"question {name}: this answer cannot be given"


def test_it_is_small_and_stands_alone():
    from dpstrata.collect.contract import STATIC

    code = (STATIC / "dpstrata-respond.js").read_text(encoding="utf-8")
    assert len(code.encode()) < 2500
    assert "import" not in code
    assert "Math.random" not in code


def test_every_part_of_a_kit_is_plain_json(plans):
    for plan in plans:
        kit = respondent_kit(plan)
        assert json.loads(json.dumps(kit.to_dict())) == kit.to_dict()


def test_one_question_alone_has_the_law_of_its_design(page):
    """Randomized response at a design's budget, as rows of one question."""
    strata = dps.Strata([900, 2000], names=["a", "b"])
    plan = dps.design(strata, epsilon=0.8, total=300, questions=["x", "y", "z"])
    kit = respondent_kit(plan, text="Which?")
    counts = page.evaluate(COUNT, [kit.to_dict(), 0, kit.odds[1], {"answer": "y"}, 3, DRAWS])
    q, d = (float(each) for each in plan.mechanism.chances(plan.local_epsilons[1]))
    mean = [DRAWS * q, DRAWS * (q + d), DRAWS * q]
    statistic = sum((count - each) ** 2 / each for count, each in zip(counts, mean, strict=True))
    assert chi2.sf(statistic, 2) > 1e-7
