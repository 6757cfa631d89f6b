"""Every number that respondents are told, by a formula of its own."""

import json
import math
import re

import numpy as np
import pytest

import commands
import dpstrata as dps
from dpstrata.fielding.randomizers.row import RowRandomizer
from questionnaires import small_plan

SIZES = [7000, 8000, 9000, 10000]
PEOPLE = dps.Strata(sizes=SIZES)
QUESTIONS = [
    dps.Question("smokes", "yes_no", blank=False),
    dps.Question("trust", "scale", lower=1, upper=5),
    dps.Question("income", "number", lower=0, upper=10_000),
]


def ceiling(share):
    return math.ceil(100 * share - 1e-9)


def sure(epsilon):
    """Bayes: what becomes of 50:50 if one answer makes what is seen exp(epsilon) times as likely as another."""
    likely = math.exp(epsilon)
    return 0.5 * likely / (0.5 * likely + 0.5)


def numbers(told, part):
    return [int(n) for n in re.findall(r"(?:at most|about|at least) (\d+)", " ".join(told.parts[part][1]))]


def local(epsilon, plan):
    """e(n) = ln(1 + (exp(epsilon) − 1) N/n), stratum by stratum."""
    return [
        math.log(1 + (math.exp(epsilon) - 1) * N / n) for N, n in zip(SIZES, plan.sample_sizes, strict=True)
    ]


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("device_epsilon", [0.5, 1.0, 3.0, 4.5])
def test_yes_and_no_on_devices(epsilon, device_epsilon):
    plan = dps.design(
        PEOPLE, epsilon=epsilon, device_epsilon=device_epsilon, release="sums", questions="yes_no", total=4000
    )
    told = plan.consent("en")
    flipped = 1 / (1 + math.exp(device_epsilon))
    assert numbers(told, 0) == [ceiling(sure(device_epsilon)), math.floor(100 * flipped)]
    assert numbers(told, 1) == [ceiling(sure(min(epsilon, device_epsilon)))]
    assert plan.inputs.release_form.device.name == "randomized_response"


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_published_answers_of_yes_and_no(epsilon):
    plan = dps.design(PEOPLE, epsilon=epsilon, at_most=34_000, questions="yes_no")
    budgets = local(epsilon, plan)
    flipped = [1 / (1 + math.exp(e)) for e in budgets]
    told = plan.consent()
    assert numbers(told, 0) == [ceiling(sure(max(budgets))), math.floor(100 * min(flipped))]
    assert plan.consent(noised_at="device") == told
    office = plan.consent(noised_at="office")
    assert "sees your answers as you give them" in str(office)
    assert numbers(office, 0) == []
    assert numbers(office, 1) == [math.floor(100 * min(flipped)), ceiling(sure(epsilon))]


@pytest.mark.parametrize(("total", "everyone"), [(sum(SIZES), True), (sum(SIZES) - 1, False)])
def test_who_was_asked_is_no_secret_where_everyone_is(total, everyone):
    plan = dps.design(
        PEOPLE, epsilon=1.0, device_epsilon=3.0, release="sums", questions="yes_no", total=total
    )
    told = plan.consent()
    assert told.figures.everyone is everyone
    assert ("who was asked" in str(told)) is not everyone
    assert numbers(told, 1) == [ceiling(sure(1.0))]


@pytest.mark.filterwarnings("ignore:total.*exceeds the best total")
@pytest.mark.parametrize("release", ["sums", "microdata"])
@pytest.mark.parametrize(("total", "everyone"), [(3000, True), (2999, False)])
def test_nor_is_who_got_which_form(total, everyone, release):
    """Every form then has the whole of epsilon, whoever got it."""
    more = {} if release == "sums" else {"device_epsilon": None}
    plan = small_plan(at_most=None, total=total, release=release, **more)
    assert len(plan.forms) > 1
    assert np.all(plan.local_epsilons == pytest.approx(1.0, rel=1e-12)) == everyone
    for form in (None, 1):
        told = plan.consent(form=form)
        assert told.figures.everyone is everyone
        assert ("who was asked" in str(told)) is not everyone


def test_published_categories():
    plan = dps.design(PEOPLE, epsilon=1.0, total=10_000, questions=["rent", "own", "other", "none"])
    budgets = local(1.0, plan)
    changed = [3 / (math.exp(e) + 3) for e in budgets]
    told = plan.consent()
    assert numbers(told, 0) == [ceiling(sure(max(budgets))), math.floor(100 * min(changed))]
    assert math.floor(100 * min(changed)) > 20


def test_answers_that_hardly_change():
    told = dps.design(PEOPLE, epsilon=1.0, total=200, questions="yes_no").consent()
    assert "fewer than 1 of every 100 answers" in str(told)
    assert "almost certain: more than 99% sure" in str(told)
    assert numbers(told, 1) == [74]


@pytest.mark.parametrize("mechanism", ["laplace", "staircase", "piecewise"])
def test_amounts(mechanism):
    plan = dps.design(
        dps.Strata(SIZES, sds=[900.0] * 4),
        epsilon=1.0,
        at_most=20_000,
        questions=(0, 8000),
        mechanism=mechanism,
    )
    told = str(plan.consent())
    if mechanism == "piecewise":  # whose noise depends on the answer
        assert "The software changes every answer at random.\n" in told
        assert "typically" not in told
        return
    spread = float(plan.noise_sds.min())
    if mechanism == "laplace":
        assert spread == pytest.approx(math.sqrt(2) * 8000 / max(local(1.0, plan)))
    shown = int(re.search(r"typically by about ([\d,]+)\.", told)[1].replace(",", ""))
    assert 0.9 * spread < shown <= spread


@pytest.mark.parametrize("device_epsilon", [2.0, 8.0])
def test_numbers_on_a_grid_that_may_stay_as_they_are(device_epsilon):
    """Discrete Laplace noise on 0, 1, ..., 10: P(j) is proportional to p^|j|, p = exp(−e/10)."""
    plan = dps.design(
        dps.Strata(SIZES, sds=[2.0] * 4),
        epsilon=1.0,
        device_epsilon=device_epsilon,
        total=2000,
        questions=(0, 10, 1),
        release="sums",
        mechanism="discrete_laplace",
    )
    p = math.exp(-device_epsilon / 10)
    steps = np.arange(-2000, 2001)
    chances = p ** np.abs(steps)
    chances /= chances.sum()
    changed, spread = 1 - chances[2000], math.sqrt(chances @ steps**2)
    told = " ".join(plan.consent().parts[0][1])
    assert f"changes about {math.floor(100 * changed)} of every 100 answers" in told
    shown = float(re.search(r"typically moves by about ([\d.]+)\.", told)[1])
    assert 0.9 * spread < shown <= spread


def test_amounts_on_devices_are_those_of_one_answer():
    plan = dps.design(
        dps.Strata(SIZES, sds=[900.0] * 4),
        epsilon=1.0,
        device_epsilon=2.0,
        total=2000,
        questions=(0, 8000),
        release="mean",
        mechanism="laplace",
    )
    told = str(plan.consent())
    assert math.floor(math.sqrt(2) * 8000 / 2.0 / 100) * 100 == 5600
    assert "typically by about 5,600." in told
    assert (
        "Only averages are published. Before that, software at the survey office adds a random amount" in told
    )


@pytest.mark.parametrize(("release", "what"), [("sums", "totals of groups of people"), ("mean", "averages")])
def test_an_office_that_sees_raw_answers(release, what):
    told = dps.design(dps.Strata(SIZES, sds=[0.2] * 4), epsilon=0.5, total=500, release=release).consent()
    assert told.parts[0][1] == (
        "The survey office sees your answers as you give them, and must keep them safe. A thief, a court or your "
        "employer who got hold of its files would see them too.",
    )
    assert told.parts[1][1][0] == f"Only {what} are published."
    assert "adds a random amount" in told.parts[1][1][1]
    assert numbers(told, 1) == [ceiling(sure(0.5))]
    assert "adds random amounts to the results" in told.parts[2][1][0]


def test_the_office_adds_nothing_where_devices_do_enough():
    options = {"epsilon": 1.0, "release": "sums", "questions": "yes_no"}
    enough = dps.design(PEOPLE, **options, total=200, device_epsilon=3.0)
    assert (enough.local_epsilons >= 3.0).all()
    assert "adds a random amount" not in str(enough.consent())
    more = dps.design(PEOPLE, **options, total=20_000, device_epsilon=8.0)
    assert (more.local_epsilons < 8.0).all()
    assert "adds a random amount" in str(more.consent())


@pytest.mark.parametrize("release", [{"release": "sums", "device_epsilon": 3.0}, {"release": "microdata"}])
def test_rows_of_a_questionnaire(release):
    plan = dps.design(
        PEOPLE,
        epsilon=1.0,
        at_most=20_000,
        questions=dps.Questionnaire(QUESTIONS),
        forms="one",
        **release,
    )
    budgets = [3.0] if "device_epsilon" in release else local(1.0, plan)
    (form,) = plan.forms
    K = math.prod(form.levels)
    replaced = [K / (math.exp(e) - 1 + K) for e in budgets]
    changed = [rho * (K - 1) / K for rho in replaced]
    told = plan.consent()
    assert numbers(told, 0) == [ceiling(sure(max(budgets))), math.floor(100 * min(changed))]
    assert "completed questionnaires at random, all answers of a questionnaire together" in str(told)
    counts = "Only counts and sums of answers are published."
    assert (counts in str(told)) is ("device_epsilon" in release)


def test_numbers_are_said_to_be_moved_to_fixed_values_where_they_are():
    """A device never sends 1,000 on two levels from 0 to 4,000, however seldom rows are replaced."""
    income = dps.Question("income", "number", lower=0, upper=4000)
    for questions, moved in ([income], True), ([dps.Question("ill", "yes_no")], False):
        plan = dps.design(
            PEOPLE,
            epsilon=1.0,
            at_most=20_000,
            questions=questions,
            forms="one",
            release="sums",
            device_epsilon=4.0,
        )
        assert (
            "it replaces each number you give by one of a few fixed values" in str(plan.consent())
        ) is moved


def test_rows_that_the_office_gets_raw():
    plan = dps.design(
        PEOPLE,
        epsilon=1.0,
        at_most=20_000,
        questions=dps.Questionnaire(QUESTIONS),
        release="sums",
        device_epsilon=3.0,
    )
    told = plan.consent(noised_at="office")
    assert told.parts[0][1][0].startswith("The survey office sees your answers as you give them")
    assert told.parts[1][1][0] == "Only counts and sums of answers are published."
    assert numbers(told, 1) == numbers(plan.consent(), 1) == [ceiling(sure(1.0))]


def test_rows_of_each_form():
    plan = dps.design(
        PEOPLE,
        epsilon=1.0,
        total=2000,
        device_epsilon=3.0,
        release="sums",
        questions=dps.Questionnaire(QUESTIONS),
        forms=[["smokes"], ["income", "trust"]],
    )
    shares = []
    for form in plan.forms:
        K = math.prod(form.levels)
        shares.append(K / (math.expm1(3.0) + K) * (K - 1) / K)
    for place, share in enumerate(shares, start=1):
        said = " ".join(plan.consent("en", form=place).parts[0][1])
        assert f"about {math.floor(100 * share)} of every 100" in said
    assert f"at least {math.floor(100 * min(shares))} of every 100" in str(plan.consent("en"))
    for bad in (0, 3, True, "1"):
        with pytest.raises(dps.InputError, match=r"^form must be from 1 to 2, got form="):
            plan.consent("en", form=bad)


def test_respondents_are_told_that_taking_part_tells_that_a_form_is_complete():
    """Unless every question of the form may be left blank: a blank is then as well protected as an answer."""
    plan = dps.design(
        PEOPLE,
        epsilon=1.0,
        total=2000,
        device_epsilon=3.0,
        release="sums",
        questions=dps.Questionnaire([dps.Question("sick", "yes_no", blank=True), QUESTIONS[0]]),
        forms=[["sick"], ["smokes"]],
    )
    said = "Your answers count only if you answer every question that may not be left blank; "
    assert [said in str(plan.consent(form=form)) for form in (None, 1, 2)] == [True, False, True]
    alone = dps.design(PEOPLE, epsilon=1.0, total=2000, questions="yes_no")
    assert said not in str(alone.consent())


def test_shares_of_changed_rows_are_what_devices_do():
    """Rows drawn by the device itself; a false alarm is that of 6 standard errors."""
    plan = dps.design(
        PEOPLE,
        epsilon=1.0,
        total=2000,
        device_epsilon=1.0,
        release="sums",
        questions=dps.Questionnaire(QUESTIONS[:2]),
        forms="one",
    )
    generator = np.random.default_rng(4)
    given = {"smokes": 1, "trust": 4}
    randomizer = RowRandomizer(plan, 0)
    drawn = randomizer.randomized(0, [randomizer.raw(given)] * 4000, generator.bytes)
    share = 1 - np.bincount(drawn).max() / 4000  # the true row is the most frequent one
    (least, most) = plan.consent().figures.changed
    assert least == most == pytest.approx(9 / (math.expm1(1.0) + 10))
    assert abs(share - least) < 6 * math.sqrt(least * (1 - least) / 4000)


@pytest.mark.slow
def test_the_language_is_that_of_the_questionnaire():
    german = dps.Translation("fr", "Fumez-vous ?")
    asked = dps.Questionnaire(
        [dps.Question("smokes", "yes_no", blank=False, translations=[german])], language="Deutsch (de)"
    )
    options = {"epsilon": 1.0, "total": 2000, "device_epsilon": 3.0, "release": "sums"}
    plan = dps.design(PEOPLE, **options, questions=asked)
    assert plan.consent().language == "de"
    assert plan.consent("en").language == "en"
    assert dps.design(PEOPLE, epsilon=1, total=200, questions="yes_no").consent().language == "en"
    page = dps.report_html(plan)
    assert '<article lang="de" dir="ltr"><h3>Was mit Ihren Antworten geschieht</h3>' in page
    assert '<article lang="fr" dir="ltr">' in page
    assert '<article lang="en"' not in page
    foreign = dps.Questionnaire([dps.Question("smokes", "yes_no", blank=False)], language="Português (pt)")
    plan = dps.design(PEOPLE, **options, questions=foreign)
    with pytest.raises(
        dps.InputError, match=r"^language must have texts for respondents; there are ar \(Arabic\)"
    ):
        plan.consent()
    page = dps.report_html(plan)
    assert "There are no such words yet in: Português (pt)." in page
    assert '<article lang="en"' in page


def test_what_was_spent_on_deviations_counts():
    strata = dps.Strata(SIZES, sds=[0.3] * 4, sd_sources=["private_pilot"] * 4, sd_epsilons=[0.5] * 4)
    told = dps.design(strata, epsilon=1.0, total=500).consent()
    assert numbers(told, 1) == [ceiling(sure(1.5))]


def test_no_text_promises_what_does_not_hold():
    gaussian = dps.design(dps.Strata(SIZES, sds=[0.3] * 4), epsilon=1.0, delta=1e-6, total=500)
    with pytest.raises(dps.NotAvailableError, match="need a promise of pure epsilon"):
        gaussian.consent()
    assert "Texts for respondents need a promise of pure epsilon" in dps.report_html(gaussian)
    first = dps.pilot(
        dps.Strata(SIZES, sds=[0.3] * 4),
        epsilon=1.0,
        total=500,
        pilot_epsilon=0.4,
        pilot_total=100,
        questions=(0, 1),
    )
    with pytest.raises(dps.NotAvailableError, match="not available for the waves of a pilot"):
        first.consent()


def test_the_place_must_be_one_where_answers_are_noised():
    raw = dps.design(dps.Strata(SIZES, sds=[0.3] * 4), epsilon=1.0, total=500, release="sums")
    with pytest.raises(
        dps.InputError, match=r"^noised_at does not apply to this design: the office sees raw"
    ):
        raw.consent(noised_at="office")
    device = dps.design(
        PEOPLE, epsilon=1.0, total=500, release="sums", device_epsilon=2.0, questions="yes_no"
    )
    with pytest.raises(dps.InputError, match=r"^noised_at must be device where devices noise a single"):
        device.consent(noised_at="office")
    with pytest.raises(
        dps.InputError, match=r"^noised_at must be one of device, office, got noised_at='home'"
    ):
        device.consent(noised_at="home")
    with pytest.raises(dps.InputError, match=r"^form must be from 1 to 1, got form=2"):
        device.consent(form=2)


def test_the_command(tmp_path):
    plan = dps.design(PEOPLE, epsilon=1.0, total=500, release="sums", device_epsilon=2.0, questions="yes_no")
    plan.save(tmp_path / "design.json")
    shown = commands.run(tmp_path, "consent", "design.json", "--language", "fr", "--out", "consent.txt")
    assert shown.stdout == str(plan.consent("fr")) == (tmp_path / "consent.txt").read_text(encoding="utf-8")
    commands.run(tmp_path, "consent", "design.json", "--language", "ar", "--out", "consent.html")
    page = (tmp_path / "consent.html").read_text(encoding="utf-8")
    assert page.startswith('<!DOCTYPE html>\n<html lang="ar" dir="rtl">')
    assert plan.consent("ar").html() in page
    told = json.loads(commands.run(tmp_path, "consent", "design.json", "--json").stdout)
    assert told == json.loads(json.dumps(plan.consent().to_dict()))
    for flags, said in (
        (("--language", "pt"), "Error: --language must have texts for respondents; there are ar (Arabic), "),
        (("--out", "consent.doc"), "Error: --out must end in .txt or .html, got --out consent.doc."),
        (("--noised-at", "office"), "Error: --noised-at must be device where "),
    ):
        refused = commands.run(tmp_path, "consent", "design.json", *flags)
        assert refused.returncode == 2
        assert refused.stderr.startswith(said)
