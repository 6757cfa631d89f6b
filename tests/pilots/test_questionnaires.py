"""Pilots of questionnaires and of single questions on forms: what they learn, and the estimates of both waves."""

import csv
import json
import math

import numpy as np
import pyarrow as pa
import pytest

import commands
import dpstrata as dps
from dpstrata.fielding.draw import draw
from dpstrata.fielding.frames import frame_strata, open_frame
from dpstrata.fielding.publish import privatize, publish
from dpstrata.pilots.pilot import pilot_weights, plan_second_wave
from dpstrata.pilots.spreads import learn
from dpstrata.simulation.pilot import _published, _spreads_of, _variances
from dpstrata.simulation.stratum import Stratum
from dpstrata.simulation.survey import check_population
from extent import FULL, few, may_cover, mean_limit, variance_limits
from questionnaires import fielded, people, question, spreads_of, truth

SIZES = [1500, 2200, 900]
BUDGETS = {"epsilon": 2, "pilot_epsilon": 0.6, "total": 1000, "pilot_total": 250}
SUMS = {"release": "sums", "device_epsilon": 3.5}
EVERY_KIND = [
    question("smokes", "yes_no"),
    question("tenure", "category"),
    question("trust", "scale"),
    question("income", "number", upper=8000),
]
COUNTED = EVERY_KIND[:2]


def strata_of(sizes=SIZES):
    return dps.Strata(sizes, names=[f"s{i}" for i in range(len(sizes))])


def population(rng, sizes=SIZES):
    """People whose answers differ much in the first stratum and little in the second."""
    shares, tenures = (0.5, 0.06, 0.2), ([0.4, 0.3, 0.3], [0.9, 0.07, 0.03], [0.2, 0.7, 0.1])
    trust = ([0.2] * 5, [0.05, 0.1, 0.7, 0.1, 0.05], [0.05, 0.1, 0.2, 0.3, 0.35])
    return [
        {
            "smokes": (rng.random(size) < shares[i]).astype(float),
            "tenure": rng.choice(3, size, p=tenures[i]).astype(float),
            "trust": 1.0 + rng.choice(5, size, p=trust[i]),
            "income": 8000 * rng.beta(*((2, 2), (20, 20), (1, 6))[i], size),
        }
        for i, size in enumerate(sizes)
    ]


# --- both waves -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("questions", "options"), [(EVERY_KIND, {}), (COUNTED, SUMS)], ids=["microdata", "sums"]
)
def test_repeated_surveys_of_two_waves(questions, options):
    """Unbiased, as precise as they say, covered; and the second plan is nearer to that of true spreads."""
    rng = np.random.default_rng(3)
    everyone = population(rng)
    first = dps.pilot(strata_of(), questions=questions, **BUDGETS, **options)
    right = np.concatenate(list(truth(first.inputs.questions, everyone).values()))
    main_budgets = {"epsilon": 1.4, "total": 750, "questions": questions, **options}
    knowing = dps.design(
        strata_of(), spreads=spreads_of(strata_of(), first.inputs.questions, everyone), **main_budgets
    )
    worst = dps.design(strata_of(), **main_budgets)
    assert np.array_equal(worst.sample_sizes, plan_second_wave(first).sample_sizes)
    repeats, errors, variances, covered, away = few(20, of=600), [], [], [], []
    for _ in range(repeats):
        one = fielded(first, everyone, rng)
        main = dps.main_design(first, one)
        both = dps.combine_waves(
            first, main, dps.estimate(first, one), dps.estimate(main, fielded(main, everyone, rng))
        ).whole
        errors.append([row.estimate for row in both] - right)
        variances.append([row.standard_error**2 for row in both])
        covered.append([row.lower <= true <= row.upper for row, true in zip(both, right, strict=True)])
        away.append(np.abs(main.sample_sizes - knowing.sample_sizes).sum())
    errors = np.array(errors)
    assert np.all(np.abs(errors.mean(axis=0)) < mean_limit(errors))
    least, most = variance_limits(repeats, slack=0.1)
    ratio = errors.var(axis=0, ddof=1) / np.mean(variances, axis=0)
    assert np.all((least < ratio) & (ratio < most))
    assert all(
        may_cover(int(sum(each)), repeats, least=0.93, most=1.0) for each in zip(*covered, strict=True)
    )
    assert np.mean(away) < 0.75 * np.abs(worst.sample_sizes - knowing.sample_sizes).sum()


def test_what_was_learned_makes_the_second_wave_better():
    """With true spreads, its variance is nearer to the least than that of a plan for the worst case."""
    rng, sizes = np.random.default_rng(4), [15_000, 22_000, 9000]
    everyone = population(rng, sizes)
    first = dps.pilot(strata_of(sizes), questions=EVERY_KIND, **BUDGETS)
    true = spreads_of(strata_of(sizes), first.inputs.questions, everyone)
    knowing = dps.design(strata_of(sizes), questions=EVERY_KIND, epsilon=1.4, total=750, spreads=true)
    importances = knowing.problem.forms.importances
    best, worst = (importances @ _variances(plan, true) for plan in (knowing, plan_second_wave(first)))
    for _ in range(3):
        main = dps.main_design(first, fielded(first, everyone, rng))
        assert importances @ _variances(main, true) < best + 0.7 * (worst - best)


def test_the_combination_has_weights_by_question_that_no_answer_changes():
    rng = np.random.default_rng(5)
    first = dps.pilot(strata_of(), questions=EVERY_KIND, **BUDGETS)
    weights = pilot_weights(first)
    assert list(weights) == ["smokes", "tenure", "trust", "income"]
    mains = []
    for _ in range(2):
        everyone = population(rng)[:: rng.choice([1, -1])]
        everyone = [
            {k: np.resize(v, n) for k, v in each.items()} for each, n in zip(everyone, SIZES, strict=True)
        ]
        one = fielded(first, everyone, rng)
        main = dps.main_design(first, one)
        mains.append(main)
        two = fielded(main, everyone, rng)
        each = dps.estimate(first, one), dps.estimate(main, two)
        both = dps.combine_waves(first, main, *each)
        assert [dict(wave.weights) for wave in both.waves] == [
            weights,
            {name: 1 - weight for name, weight in weights.items()},
        ]
        for row, a, b in zip(both, *each, strict=True):
            w = weights[row.question]
            assert row.estimate == pytest.approx(w * a.estimate + (1 - w) * b.estimate)
            assert row.standard_error == pytest.approx(
                math.hypot(w * a.standard_error, (1 - w) * b.standard_error)
            )
            assert row.lower <= row.upper
            assert (row.invited, row.answered) == (a.invited + b.invited, a.answered + b.answered)
        with pytest.raises(dps.NotAvailableError, match="ask those of each wave"):
            both.ratio(("smokes", "yes"), ("tenure", "red"))
        matrix = both.question("tenure").whole.covariance.matrix
        ones = [w.question("tenure").whole.covariance.matrix for w in each]
        w = weights["tenure"]
        assert matrix == pytest.approx(w**2 * ones[0] + (1 - w) ** 2 * ones[1], rel=0.02)
        assert np.abs(matrix.sum(axis=1)).max() < 0.2 * matrix.max()  # shares add up to one
    assert mains[0].digest != mains[1].digest


def test_a_question_without_an_answer_in_one_wave_takes_the_other():
    """People of one stratum answered one form of the second wave alone."""
    rng = np.random.default_rng(6)
    everyone = population(rng)
    first = dps.pilot(
        strata_of(), questions=EVERY_KIND, forms=[["smokes", "tenure"], ["trust", "income"]], **BUDGETS
    )
    one = fielded(first, everyone, rng)
    main = dps.main_design(first, one)
    columns = fielded(main, everyone, rng).to_pydict()
    kept = [not (s == "s1" and f == 2) for s, f in zip(columns["stratum"], columns["form"], strict=True)]
    two = pa.table(
        {name: [v for v, k in zip(values, kept, strict=True) if k] for name, values in columns.items()}
    )
    of_first, of_main = dps.estimate(first, one), dps.estimate(main, two)
    both = dps.combine_waves(first, main, of_first, of_main)
    alone, joined = (each.question("trust").by("stratum")[1] for each in (of_first, both))
    assert (joined.estimate, joined.taken_from) == (alone.estimate, "")
    assert joined.standard_error == pytest.approx(alone.standard_error)
    assert of_main.question("trust").by("stratum")[1].taken_from != ""
    assert (
        both.question("smokes").by("stratum")[1].answered
        > of_first.question("smokes").by("stratum")[1].answered
    )


def test_cross_tables_of_two_waves():
    """Combinations of questions that are kept together; of numbers only where the levels are the same."""
    rng = np.random.default_rng(7)
    asked = [
        question("smokes", "yes_no", together="a"),
        question("trust", "scale", together="a"),
        question("tenure", "category", together="b"),
        question("income", "number", upper=8000, together="b"),
    ]
    everyone = population(rng)
    first = dps.pilot(strata_of(), questions=asked, **{**BUDGETS, "epsilon": 9, "pilot_epsilon": 3})
    one = fielded(first, everyone, rng)
    main = dps.main_design(first, one)
    each = dps.estimate(first, one), dps.estimate(main, fielded(main, everyone, rng))
    both = dps.combine_waves(first, main, *each)
    weights = pilot_weights(first)
    w = (weights["smokes"] + weights["trust"]) / 2
    rows = [result.question("smokes by trust").whole for result in (*each, both)]
    for a, b, row in zip(*rows, strict=True):
        assert row.level == a.level == b.level
        assert row.estimate == pytest.approx(w * a.estimate + (1 - w) * b.estimate)
    levels = {
        form.levels[form.questions.index("income")]
        for plan in (first, main)
        for form in plan.forms
        if "income" in form.questions
    }
    assert ("tenure by income" in both.questions) == (len(levels) == 1)


@pytest.mark.filterwarnings("ignore:.*exceeds the best total")
def test_forms_are_chosen_for_each_wave_under_what_was_asked():
    given = [["smokes", "trust"], ["tenure", "income"]]
    for forms, asked in (("auto", "auto"), ("one", "one"), (given, tuple(map(tuple, given)))):
        first = dps.pilot(strata_of(), questions=EVERY_KIND, forms=forms, **BUDGETS)
        main = dps.main_design(
            first, fielded(first, population(np.random.default_rng(8)), np.random.default_rng(9))
        )
        assert first.waves.forms == main.waves.forms == asked
        for plan in (first, main):
            names = [list(form.questions) for form in plan.forms]
            assert {"auto": True, "one": len(names) == 1}.get(str(forms), names == given)
        alike = dps.design(
            strata_of(), questions=EVERY_KIND, epsilon=1.4, total=750, forms=forms, spreads=main.spreads
        )
        assert main.inputs.forms == alike.inputs.forms  # as without a pilot, with what it showed


# --- what is learned --------------------------------------------------------------------------------


def learned_from(first, everyone):
    """Spreads after one simulated pilot, and the true ones."""
    checked = check_population(first, everyone)
    strata = [Stratum(first, i, answers) for i, answers in enumerate(checked)]
    return learn(first, _published(first, strata, np.random.default_rng(100))), _spreads_of(first, checked)


SINGLE = [
    ("smokes", {}),
    ("smokes", {"forms": "one"}),
    ("smokes", {"release": "sums"}),
    ("smokes", {"release": "sums", "device_epsilon": 8.0}),
    ("smokes", {"release": "sums", "device_epsilon": 8.0, "forms": "one"}),
    ("tenure", {}),
    ("tenure", {"forms": "one"}),
    ("tenure", {"release": "sums", "device_epsilon": 8.0}),
    ("trust", {}),
    ("trust", {"forms": "one"}),
    ("income", {}),
    ("income", {"forms": "one"}),
]


# a number of which nothing is known is put on two levels, which show its mean alone
TOLD = [(*each, told) for each in SINGLE for told in (False, True) if each != SINGLE[-1] or told]


@pytest.mark.parametrize(("name", "options", "told"), TOLD, ids=str)
def test_a_huge_pilot_finds_the_truth_of_every_kind(name, options, told):
    """Whatever was told before, which is wrong here by a factor of two or so."""
    sizes = [30_000, 40_000, 20_000]
    (asked,) = (each for each in EVERY_KIND if each.name == name)
    everyone = [each[name] for each in population(np.random.default_rng(1), sizes)]
    if name == "tenure":
        everyone = [np.array(asked.categories)[each.astype(int)] for each in everyone]
    more = {"sds": [0.15 * asked.range, 0.4 * asked.range, 0.1 * asked.range]} if told else {}
    first = dps.pilot(
        dps.Strata(sizes, **more),
        questions=asked,
        epsilon=30,
        pilot_epsilon=15,
        total=60_000,
        pilot_total=50_000,
        **options,
    )
    found, true = learned_from(first, everyone)
    assert np.sqrt(found.variances) == pytest.approx(np.sqrt(true.variances), rel=0.05)
    for column, values in true.values[name].items():  # and where the answers lie
        assert found.values[name][column] == pytest.approx(values, abs=0.02 * asked.range)


def test_the_rule_for_categories_is_the_mean_given_their_shares():
    """Against plain quadrature, written anew from the formulas: replaced rows, and the office's noise."""
    strata = dps.Strata([2000], names=["s0"])
    budgets = {"epsilon": 1.2, "pilot_epsilon": 0.3, "total": 400, "pilot_total": 50}
    first = dps.pilot(strata, questions=COUNTED, forms=[["smokes"], ["tenure"]], **budgets, **SUMS)
    published = fielded(first, population(np.random.default_rng(2), [2000]), np.random.default_rng(3))
    rows = [row for row in published.to_pylist() if row["table"] == "tenure"]
    m, y, u = rows[0]["answers"], math.expm1(3.5), math.expm1(0.3) * 2000 / 50
    assert u < y
    r, b = 3 / y, math.log1p(u * (1 + 3 / y) / (1 - u / y)) / 2
    noise = 2 * math.exp(-b) / math.expm1(-b) ** 2  # of a count, by the office
    counts = np.array([row["count"] for row in rows])
    p, total = (np.arange(200_000) + 0.5) / 200_000, 0.0
    for count in counts - (counts.sum() - m) / 3:
        share = (count / m - r / (1 + r) / 3) * (1 + r)
        replaced = (r * (share / 3 + 1 / 3) + r**2 * 2 / 9) / m
        variance = p * (1 - p) / m + replaced + (1 + r) ** 2 * noise * 2 / 3 / m**2
        density = np.exp(-0.5 * (share - p) ** 2 / variance) / np.sqrt(variance)
        total += 0.5 * (density * p * (1 - p)).sum() / density.sum()
    found = dps.main_design(first, published).spreads.variances[0, 1]
    assert found == pytest.approx(total * 2000 / 1999, rel=1e-3)


@pytest.mark.parametrize("levels", [2, 5])
def test_the_rule_for_numbers_on_levels(levels):
    """Likewise: the mean bounds the spread, rows say how far apart answers are, and half of rounding is left out."""
    asked = [question("income", "number")]
    cells = np.random.default_rng(4).integers(0, levels, 60)
    forms = [{"questions": ["income"], "levels": [levels], "share": 1.0, "tables": []}]
    first = dps.pilot(
        dps.Strata([3000], names=["s0"]),
        questions=asked,
        forms=forms,
        epsilon=1.5,
        pilot_epsilon=0.5,
        total=400,
        pilot_total=60,
    )
    published = pa.table({"stratum": ["s0"] * 60, "form": [1] * 60, "cell": cells})
    m, r, u = 60, levels / (math.expm1(0.5) * 3000 / 60), 1 / (4 * (levels - 1) ** 2)
    at = np.arange(levels) / (levels - 1)
    reports, level = 0.5 + (at[cells] - 0.5) * (1 + r), ((at - 0.5) ** 2).mean()
    p = (np.arange(400_000) + 0.5) / 400_000
    variance = (p * (1 - p) + r / 4 + r * (1 + r) * level) / m
    density = np.exp(-0.5 * (reports.mean() - p) ** 2 / variance) / np.sqrt(variance)
    product = (density * p * (1 - p)).sum() / density.sum()
    right = product / 2 * 3000 / 2999  # of two levels the mean shows all, and half of that may be rounding
    if levels > 2:
        bound, noise = product * 3000 / 2999, r * (0.25 - product) + r * (1 + r) * level
        freedom = 2 * (m - 1) / 2  # kurtosis 3
        total = (freedom * reports.var(ddof=1) + (1 + r) * bound / 2 + noise) / (freedom + 1)
        x = bound * p
        w = (1 + r) * x + noise
        density = -(freedom + 1) / 2 * (np.log(w) + total / w)
        density = np.exp(density - density.max())
        right = (density * (x - np.minimum(x, u) / 2)).sum() / density.sum()
    known = dps.main_design(first, published).spreads
    assert known.variances[0, 0] == pytest.approx(right, rel=2e-3)
    mean = known.values["income"]["mean"][0] / 100
    assert (mean - 0.5) ** 2 == pytest.approx(0.25 - product, rel=1e-3)


@pytest.mark.parametrize("blank", [False, True])
def test_spreads_are_never_zero_and_never_above_what_answers_allow(blank):
    """Everyone gives the same report, or every report is as frequent."""
    asked = [
        question("smokes", "yes_no", blank=blank),
        question("tenure", "category", blank=blank),
        question("trust", "scale"),
        question("income", "number"),
    ]
    first = dps.pilot(strata_of(), questions=asked, epsilon=9, pilot_epsilon=5, total=800, pilot_total=200)
    for same in (True, False):
        columns = {"stratum": [], "form": [], "cell": []}
        for t, form in enumerate(first.forms):
            cells = math.prod(form.levels)
            for name, n in zip(first.strata.names, form.sample_sizes.tolist(), strict=True):
                columns["stratum"] += [name] * n
                columns["form"] += [t + 1] * n
                columns["cell"] += [0 if same else i % cells for i in range(n)]
        found = dps.main_design(first, pa.table(columns)).spreads
        most = [each.of_kind.largest(each, first.strata.sizes) for each in first.inputs.questions]
        assert np.all(found.variances > 1e-5)
        assert np.all(found.variances <= np.stack(most, axis=1) * (1 + 1e-9))


@pytest.mark.filterwarnings("ignore:.*exceeds the best total")
def test_what_was_told_counts_as_right_to_within_a_factor():
    """Between a plan that ignores it and one that believes it; which category is which does not matter."""
    told = {"smokes": [0.02, 0.02, 0.5], "tenure": [[0.96, 0.02, 0.02]] * 3}
    everyone = population(np.random.default_rng(1))
    found = []
    for proportions in (None, told, {**told, "tenure": [[0.02, 0.96, 0.02]] * 3}):
        spreads = None if proportions is None else dps.Spreads(strata_of(), COUNTED, proportions=proportions)
        first = dps.pilot(strata_of(), questions=COUNTED, spreads=spreads, forms="one", **BUDGETS)
        published = fielded(first, everyone, np.random.default_rng(2))
        found.append(np.sqrt(dps.main_design(first, published).spreads.variances))
    before = np.sqrt(dps.Spreads(strata_of(), COUNTED, proportions=told).variances)
    assert before[0, 0] < found[1][0, 0] < found[0][0, 0]
    assert found[1][:, 1] == pytest.approx(found[2][:, 1], rel=0.02)


# --- refusals ---------------------------------------------------------------------------------------


def test_questions_whose_sums_show_no_spread_are_named():
    for asked in (EVERY_KIND[2], EVERY_KIND[3]):
        forms = [["smokes", "tenure"], [asked.name]]
        with pytest.raises(dps.NotAvailableError, match="published in random groups") as caught:
            dps.pilot(strata_of(), questions=[*COUNTED, asked], forms=forms, **BUDGETS, **SUMS)
        assert f"the answers to {asked.name!r} differ" in str(caught.value)
    with pytest.raises(dps.NotAvailableError, match="the answers to 'answer' differ"):
        dps.pilot(strata_of(), questions=(0, 10), **BUDGETS, **SUMS)


def test_combinations_of_questions_in_sums_show_the_spread_of_numbers():
    """They are counted together, with the office's noise."""
    asked = [
        question("smokes", "yes_no", together="a"),
        question("trust", "scale", together="a"),
        question("income", "number", upper=8000, together="a"),
    ]
    sizes = [30_000, 40_000, 20_000]
    everyone = population(np.random.default_rng(1), sizes)
    spreads = spreads_of(strata_of(sizes), dps.Questionnaire(asked), everyone)
    options = {"questions": asked, "spreads": spreads, "release": "sums", "device_epsilon": 8}
    first = dps.pilot(
        strata_of(sizes), epsilon=2, pilot_epsilon=1, total=40_000, pilot_total=30_000, **options
    )
    main = dps.main_design(first, fielded(first, everyone, np.random.default_rng(2)))
    assert np.sqrt(main.spreads.variances) == pytest.approx(np.sqrt(spreads.variances), rel=0.1)
    few_people = dps.pilot(
        strata_of(sizes), epsilon=2, pilot_epsilon=0.1, total=9000, pilot_total=300, **options
    )
    main = dps.main_design(few_people, fielded(few_people, everyone, np.random.default_rng(2)))
    assert np.sqrt(main.spreads.variances) == pytest.approx(
        np.sqrt(spreads.variances), rel=1.5
    )  # drowned in noise


def test_refusals_of_a_questionnaire():
    with pytest.raises(dps.InfeasibleError, match="pilot_total must be at least the sum of the minimums"):
        dps.pilot(strata_of(), questions=EVERY_KIND, **{**BUDGETS, "pilot_total": 5})
    with pytest.raises(dps.InputError, match="targets"):
        dps.pilot(
            strata_of(), questions=[question("smokes", "yes_no", target_se=0.1), *EVERY_KIND[1:]], **BUDGETS
        )
    rates = dps.Strata(SIZES, names=["s0", "s1", "s2"], response_rates=[0.5] * 3)
    first = dps.pilot(
        rates, questions=EVERY_KIND, forms=[["smokes", "tenure"], ["trust", "income"]], **BUDGETS
    )
    columns = fielded(first, population(np.random.default_rng(1)), np.random.default_rng(2)).to_pydict()
    kept = [not (s == "s2" and f == 2) for s, f in zip(columns["stratum"], columns["form"], strict=True)]
    some = {name: [v for v, k in zip(values, kept, strict=True) if k] for name, values in columns.items()}
    with pytest.raises(dps.InputError, match=r"must have an answer to 'trust' .* got no answer in 's2'"):
        dps.main_design(first, pa.table(some))
    with pytest.raises(dps.InputError, match="no column 'form'"):
        dps.main_design(first, pa.table({"stratum": ["s0"], "answer": [1]}))


# --- documents, files and the ledger ----------------------------------------------------------------


def test_documents_of_both_waves(tmp_path):
    first = dps.pilot(strata_of(), questions=EVERY_KIND, **BUDGETS)
    main = dps.main_design(
        first, fielded(first, population(np.random.default_rng(1)), np.random.default_rng(2))
    )
    for plan, name in ((first, "pilot.json"), (main, "design.json")):
        plan.save(tmp_path / name)
        assert dps.load_design(tmp_path / name) == plan
        assert plan.privacy["central_in_all"]["epsilon"] == 2
        assert "the two together spend at most 2;" in plan.privacy["in_words"]
    assert (main.inputs.epsilon, main.total) == (1.4, 750)
    assert main.waves.pilot_digest == first.digest
    assert main.strata.sd_sources == "private_pilot"
    assert main.table()["sd_epsilon"] == [0.6] * 3
    assert main.privacy["spent_on_deviations"] == 0.6
    assert main.inputs.spreads.keys() == {"smokes", "tenure", "trust", "income"}
    data = json.loads((tmp_path / "design.json").read_text())
    assert data["waves"]["forms"] == "auto"
    (tmp_path / "changed.json").write_text(json.dumps({**data, "waves": {**data["waves"], "epsilon": 1.9}}))
    with pytest.raises(dps.InputError, match="both waves together may spend"):
        dps.load_design(tmp_path / "changed.json")
    page = dps.report_html(main)
    assert "All of it was learned from the pilot, which cost epsilon = 0.600." in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("questions", "options"), [(EVERY_KIND, {}), (COUNTED, SUMS)], ids=["microdata", "sums"]
)
def test_from_the_frame_to_one_estimate_of_a_questionnaire(questions, options, tmp_path):
    """Real draws and noise, files and the ledger: both waves spend what they promise together."""
    everyone = [(f"p-{i:04}", "north" if i % 2 else "south") for i in range(2400)]
    (tmp_path / "people.csv").write_text("person,region\n" + "".join(f"{p},{r}\n" for p, r in everyone))
    frame = open_frame(tmp_path / "people.csv", id="person", stratum="region")
    first = dps.pilot(frame_strata(frame), questions=questions, **BUDGETS, **options)
    first.save(tmp_path / "pilot.json")
    answers = {"smokes": "yes", "tenure": "red", "trust": 4, "income": 1200}
    columns = ["person", "region", *first.inputs.questions.names]

    def field(design, wave):
        (tmp_path / wave).mkdir()
        sample, out = tmp_path / wave / "sample.csv", tmp_path / wave / "published.csv"
        draw(tmp_path / design, frame, out=sample, key_file=tmp_path / "draw.key")
        with open(sample, newline="") as file:
            rows = [{**row, **answers} for row in csv.DictReader(file)]
        with open(tmp_path / wave / "answers.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
        step = publish if options else privatize
        released = step(
            tmp_path / design,
            tmp_path / wave / "answers.csv",
            sample=sample,
            out=out,
            key_file=tmp_path / "draw.key",
        )
        return released, out

    before, one = field("pilot.json", "first")
    assert before.spent.epsilon == 0.6
    main = dps.main_design(first, one)
    main.save(tmp_path / "design.json")
    after, two = field("design.json", "second")
    assert (after.spent.epsilon, after.known_before > 0) == (2.0, True)
    both = dps.combine_waves(first, main, dps.estimate(first, one), dps.estimate(main, two))
    assert both.whole[0].estimate == pytest.approx(1.0, abs=0.15)
    assert both.answered.sum() == 1000
    page = dps.results_html(main, both, dps.find_published(main, two), pilot=dps.find_published(first, one))
    assert "The two waves, each by itself" in page
    ledger = json.loads((tmp_path / "ledger.json").read_text())
    assert [entry["spent"]["epsilon"] for entry in ledger["entries"]] == [0.6, 1.4]
    if FULL or not options:
        waves = ["--pilot", "pilot.json", "--pilot-answers", "first/published.csv", "--json"]
        done = commands.run(tmp_path, "estimate", "design.json", "second/published.csv", *waves)
        assert done.returncode == 0, done.stderr
        shown = json.loads(done.stdout)["estimates"]
        assert [row["estimate"] for row in shown] == pytest.approx([row.estimate for row in both])
        again = commands.run(tmp_path, "main-design", "pilot.json", "first/published.csv", "--json")
        assert json.loads(again.stdout) == json.loads((tmp_path / "design.json").read_text())


def test_made_up_people_of_tests_are_what_is_said_of_them():
    """The helper that these tests rely on gives what the designs of one wave predict."""
    rng = np.random.default_rng(9)
    asked = dps.Questionnaire(COUNTED)
    everyone = people(asked, [800, 900], {"smokes": 2, "tenure": 3}, rng)
    strata = dps.Strata([800, 900], names=["s0", "s1"])
    plan = dps.design(
        strata, questions=asked, epsilon=2, total=300, spreads=spreads_of(strata, asked, everyone), **SUMS
    )
    right, repeats = truth(asked, everyone)["smokes"][0], few(60, of=400)
    errors = [
        dps.estimate(plan, fielded(plan, everyone, rng)).whole[0].estimate - right for _ in range(repeats)
    ]
    assert abs(np.mean(errors)) < mean_limit(errors)
    least, most = variance_limits(repeats)
    assert least < np.var(errors, ddof=1) / plan.questions[0].standard_error ** 2 < most
