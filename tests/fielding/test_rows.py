"""A questionnaire in the field: forms are dealt, rows randomised, tables published once, estimates unbiased."""

import csv
import html
import json
import runpy
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.fielding.draw import draw, verify_draw
from dpstrata.fielding.estimate import estimate
from dpstrata.fielding.publish import privatize, publish
from dpstrata.fielding.randomizers.row import RowRandomizer
from surveys import estimate_once

QUESTIONS = dps.Questionnaire(
    [
        dps.Question("smokes", "yes_no", blank=False),
        dps.Question("drinks", "yes_no", blank=False),
        dps.Question("home", "category", blank=False, categories=["rent", "own", "other"], together="living"),
        dps.Question("trust", "scale", lower=1, upper=5, together="living"),
        dps.Question("income", "number", lower=0, upper=100),
        dps.Question("ill", "yes_no", blank=False, everyone=True),
    ]
)
SIZES = {"north": 800, "south": 1500}
RELEASES = {"sums": {"release": "sums", "device_epsilon": 4.0}, "microdata": {"total": 150}}


def make_people(seed=3):
    """Everyone's true answers, as shares of the range of each question, by stratum."""
    generator = np.random.default_rng(seed)
    return {
        name: {
            "smokes": generator.random(size) < 0.2,
            "drinks": generator.random(size) < 0.5,
            "home": generator.choice(3, size, p=[0.6, 0.3, 0.1]) / 2,
            "trust": generator.integers(0, 5, size) / 4,
            "income": np.round(np.minimum(generator.gamma(2, 10 + i, size), 100)) / 100,
            "ill": generator.random(size) < 0.1,
        }
        for i, (name, size) in enumerate(SIZES.items())
    }


PEOPLE = make_people()


def known_spreads(strata):
    """What is true of the population, as if it were known."""
    shares = {
        name: [people[name].mean() for people in PEOPLE.values()] for name in ("smokes", "drinks", "ill")
    }
    homes = [[(people["home"] == c / 2).mean() for c in range(3)] for people in PEOPLE.values()]
    numbers = {"trust": (4.0, 1.0), "income": (100.0, 0.0)}
    sds = {
        name: [scale * p[name].std(ddof=1) for p in PEOPLE.values()] for name, (scale, _) in numbers.items()
    }
    means = {
        name: [lower + s * p[name].mean() for p in PEOPLE.values()] for name, (s, lower) in numbers.items()
    }
    return dps.Spreads(strata, QUESTIONS, proportions={**shares, "home": homes}, sds=sds, means=means)


def make_plan(release, **more):
    strata = dps.Strata(list(SIZES.values()), names=list(SIZES))
    given = {"epsilon": 1.0, "total": 600, **RELEASES[release], **more}
    return dps.design(strata, questions=QUESTIONS, spreads=known_spreads(strata), **given)


def truth():
    weights = np.array(list(SIZES.values())) / sum(SIZES.values())

    def mean(of):
        return float(sum(w * of(people) for w, people in zip(weights, PEOPLE.values(), strict=True)))

    figures = {(name, "yes"): mean(lambda p, n=name: p[n].mean()) for name in ("smokes", "drinks", "ill")}
    for c, category in enumerate(("rent", "own", "other")):
        figures["home", category] = mean(lambda p, c=c: (p["home"] == c / 2).mean())
    figures["trust", "mean"] = mean(lambda p: 1 + 4 * p["trust"].mean())
    figures["income", "mean"] = mean(lambda p: 100 * p["income"].mean())
    return figures


def drawn_rows(plan, generator):
    """One sample with its forms, and the raw rows of everyone in it."""
    rows = {}
    for i, name in enumerate(SIZES):
        people = iter(generator.permutation(SIZES[name]))
        rows[name] = [
            (number, tuple(Fraction(float(PEOPLE[name][question][who])) for question in form.questions))
            for number, form in enumerate(plan.forms, start=1)
            for who in (next(people) for _ in range(int(form.sample_sizes[i])))
        ]
    return rows


@pytest.mark.parametrize("release", RELEASES)
def test_shares_add_up_to_one_and_strata_to_the_whole(release):
    plan = make_plan(release)
    result = estimate_once(plan, drawn_rows(plan, np.random.default_rng(5)))
    by_group = Counter()
    for row in result:
        if row.question in ("home", "home by trust") and row.column != "total":
            by_group[row.question, row.column, row.group] += row.estimate
    assert len(by_group) == 2 * 3
    assert list(by_group.values()) == pytest.approx([1.0] * 6, abs=1e-12)
    for whole in result.whole:
        strata = {
            row.group: row.estimate
            for row in result
            if (row.question, row.level, row.column) == (whole.question, whole.level, "stratum")
        }
        added = sum(SIZES[name] * value for name, value in strata.items()) / sum(SIZES.values())
        assert added == pytest.approx(whole.estimate, abs=1e-10)


# --- with files -------------------------------------------------------------------------------------


@pytest.fixture
def survey(tmp_path, request):
    """A design, its frame, sample and raw answers in files; people have whole numbers as ids."""
    plan = make_plan(request.param)
    plan.save(tmp_path / "design.json")
    people = [(f"{name}-{i}", name, i) for name, size in SIZES.items() for i in range(size)]
    with open(tmp_path / "people.csv", "w", newline="") as file:
        csv.writer(file).writerows([("person", "region"), *((who, name) for who, name, _ in people)])
    frame = dps.open_frame(tmp_path / "people.csv", id="person", stratum="region")
    draw(tmp_path / "design.json", frame, out=tmp_path / "sample.csv", key_file=tmp_path / "draw.key")
    return plan, tmp_path, frame


def raw_answers(person):
    name, number = person.split("-")
    people, i = PEOPLE[name], int(number)
    return {
        "smokes": "yes" if people["smokes"][i] else "no",
        "drinks": "yes" if people["drinks"][i] else "no",
        "home": ("rent", "own", "other")[int(2 * people["home"][i])],
        "trust": str(int(1 + 4 * people["trust"][i])),
        "income": str(round(100 * people["income"][i])),
        "ill": "yes" if people["ill"][i] else "no",
    }


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write_answers(folder, *, devices, plan, change=None):
    rows = []
    for row in read(folder / "sample.csv"):
        answers = raw_answers(row["person"])
        if devices:
            form = plan.forms[int(row["form"]) - 1]
            asked = {name: answers[name] for name in form.questions}
            sent = dps.randomize(plan, row["region"], asked, int(row["form"]))
            rows.append({"person": row["person"], "region": row["region"], "cell": sent.value})
        else:
            rows.append({"person": row["person"], "region": row["region"], **answers})
    if change is not None:
        change(rows)
    with open(folder / "answers.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def released(folder, plan, **more):
    step = privatize if plan.inputs.release == "microdata" else publish
    return step(
        folder / "design.json",
        folder / "answers.csv",
        sample=folder / "sample.csv",
        out=folder / "published.csv",
        key_file=folder / "draw.key",
        id="person",
        stratum="region",
        **more,
    )


@pytest.mark.parametrize("survey", RELEASES, indirect=True)
def test_forms_are_dealt_in_the_draw(survey):
    plan, folder, frame = survey
    dealt = Counter((row["region"], int(row["form"])) for row in read(folder / "sample.csv"))
    for number, form in enumerate(plan.forms, start=1):
        assert [dealt[name, number] for name in SIZES] == form.sample_sizes.tolist()
    names = {"sample": folder / "sample.csv", "key_file": folder / "draw.key"}
    verify_draw(folder / "design.json", frame, **names)
    rows = read(folder / "sample.csv")
    rows[0]["form"], rows[1]["form"] = "1", "2"
    rows[2]["form"] = rows[-1]["form"]
    with open(folder / "sample.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    with pytest.raises(dps.InputError, match="is not the sample"):
        verify_draw(folder / "design.json", frame, **names)


@pytest.mark.slow
@pytest.mark.parametrize("devices", [False, True])
@pytest.mark.parametrize("survey", RELEASES, indirect=True)
def test_from_rows_to_estimates(survey, devices):
    plan, folder, _ = survey
    write_answers(folder, devices=devices, plan=plan)
    done = released(folder, plan)
    assert done.answers == plan.total
    assert done.from_devices is devices
    assert any("raw answers" in note for note in done.notes) is (
        not devices and plan.inputs.release == "sums"
    )
    result = estimate(folder / "design.json", folder / "published.csv")
    for row in result.whole:
        key = row.question, row.level or "mean"
        if key in truth():
            assert abs(row.estimate - truth()[key]) < 6 * row.standard_error
    ledger = json.loads((folder / "ledger.json").read_text())
    assert [entry["questions"] for entry in ledger["entries"]] == [list(plan.inputs.questions.names)]
    assert [entry["raw"] for entry in ledger["entries"]] == [not devices]
    published = dps.find_published(plan, folder / "published.csv", folder / "design.json")
    page = html.unescape(dps.results_html(plan, result, published))
    assert ("nothing protects them against the office" in page) is not devices
    assert (" ".join(plan.privacy["sentences"][1:]) in page) is devices
    with pytest.raises(dps.InputError):  # once only
        released(folder, plan)
    ids = {row["person"] for row in read(folder / "sample.csv")}
    text = (folder / "published.csv").read_text()
    assert not any(who in text for who in ids)


def _blank(rows):
    rows[0]["smokes"] = rows[0]["home"] = rows[0]["income"] = ""
    rows[0]["trust"] = rows[0]["drinks"] = rows[0]["ill"] = ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("smokes", "perhaps-canary", "column 'smokes', lines .*: must be yes or no"),
        ("home", "castle-canary", "column 'home', lines .*: must be one of rent, own, other"),
        ("trust", "2.5", "column 'trust', lines .*: must be a number from 1 to 5 in whole steps"),
        ("income", "100.5", "column 'income', lines .*: must be a number from 0 to 100"),
        ("ill", "7331", "column 'ill', lines .*: must be yes or no"),
    ],
)
@pytest.mark.parametrize("survey", ["sums"], indirect=True)
def test_what_is_no_answer_is_refused_with_its_place_alone(survey, column, value, words):
    plan, folder, _ = survey

    def change(rows):
        for row in rows:
            row[column] = value

    write_answers(folder, devices=False, plan=plan, change=change)
    with pytest.raises(dps.InputError, match=words) as caught:
        released(folder, plan)
    assert value not in str(caught.value)
    assert not (folder / "ledger.json").exists()


@pytest.mark.parametrize("survey", ["sums"], indirect=True)
def test_a_row_with_a_blank_does_not_count(survey):
    plan, folder, _ = survey
    write_answers(folder, devices=False, plan=plan, change=_blank)
    with pytest.raises(dps.InputError, match=r"\. 1 row was incomplete and left out\. Wait for more answers"):
        released(folder, plan)
    done = released(folder, plan, accept_response=True)
    assert (done.answers, done.blank) == (plan.total - 1, 1)


@pytest.mark.parametrize("survey", ["sums"], indirect=True)
def test_cells_of_other_forms_and_designs_are_refused(survey):
    plan, folder, _ = survey

    def change(rows):
        rows[3]["cell"] = 99_999

    write_answers(folder, devices=True, plan=plan, change=change)
    with pytest.raises(dps.InputError, match="line 5: not a cell of the form"):
        released(folder, plan)


def test_rows_are_refused_where_they_do_not_belong():
    plan = make_plan("sums")
    answers = dict.fromkeys(plan.forms[0].questions, "no")
    for form, words in ((0, "form must be"), (99, "form must be"), (True, "form must be")):
        with pytest.raises(dps.InputError, match=words):
            dps.randomize(plan, "north", answers, form)
    with pytest.raises(dps.InputError, match="no stratum"):
        dps.randomize(plan, "west", answers)
    with pytest.raises(dps.InputError, match="answers must be a mapping"):
        dps.randomize(plan, "north", 1)
    single = dps.design(dps.Strata([500], [0.5]), epsilon=1, total=50)
    with pytest.raises(dps.InputError, match="question 'answer': the answer must be"):
        dps.randomize(single, single.strata.names[0], {})
    with pytest.raises(dps.InputError, match="form must be a whole number from 1 to 1"):
        dps.randomize(single, single.strata.names[0], 1, 2)


def test_the_same_bytes_make_the_same_row():
    """What a page in a browser must reproduce."""
    plan = make_plan("sums")
    form = plan.forms[0]
    answers = {name: raw_answers("north-7")[name] for name in form.questions}

    def source(seed):
        generator = np.random.default_rng(seed)
        return generator.bytes

    randomizer = RowRandomizer(plan, 0)
    raw = [randomizer.raw(answers)]
    rows = [randomizer.randomized(0, raw, source(seed)) for seed in (1, 1, 2, 3, 4, 5)]
    assert rows[0] == rows[1]
    assert len(set(map(tuple, rows))) > 1 or form.replaced < 0.2


def test_the_example_runs(capsys, tmp_path, monkeypatch):
    """To a table with a figure for every answer, and a chart of those that are shares."""
    script = Path(__file__).parents[2] / "examples" / "questionnaire.py"
    monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path / "results")])
    runpy.run_path(str(script), run_name="__main__")
    written, *lines = capsys.readouterr().out.splitlines()
    assert written.endswith("results.svg")
    with open(tmp_path / "results" / "results.csv", newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert [row["column"] for row in table].count("all") == 9
    assert {row["column"] for row in table} == {"all", "total", "stratum"}
    chart = (tmp_path / "results" / "results.svg").read_text(encoding="utf-8")
    for line in ("smokes = yes", "help = nobody", "help = family", "help = professional"):
        assert line in chart
    assert "1,500 of 6,800 people" in lines[0]
    assert len(lines) == 2 + 9
    for line in lines[2:]:
        estimate, error, true = map(float, line.split()[-3:])
        assert abs(estimate - true) < 7 * error


# --- what a reviewer broke --------------------------------------------------------------------------


def test_names_of_columns_of_the_field_are_no_questions():
    for name in ("cell", "Form", "PART", " stratum "):
        with pytest.raises(dps.QuestionnaireError, match="must be none of cell, form, part, stratum"):
            dps.Question(name, "yes_no", blank=False)
    with pytest.raises(dps.QuestionnaireError, match="must not contain"):
        dps.Question("a|b", "yes_no", blank=False)


@pytest.mark.parametrize("survey", ["sums"], indirect=True)
def test_a_file_has_cells_or_answers(survey):
    plan, folder, _ = survey

    def change(rows):
        for row in rows:
            row["cell"] = 0

    write_answers(folder, devices=False, plan=plan, change=change)
    with pytest.raises(
        dps.InputError, match="either a column 'cell', as devices send it, or a column for each"
    ):
        released(folder, plan)
    assert not (folder / "ledger.json").exists()


def test_rows_from_data_frames_and_odd_values():
    plan = make_plan("sums")
    answers = {name: raw_answers("north-7")[name] for name in plan.forms[0].questions}
    assert dps.randomize(plan, "north", answers, np.int64(1)).form == 1
    with pytest.raises(dps.InputError, match="answers must be a mapping"):
        dps.randomize(plan, "north", list(answers.values()))
    with pytest.raises(dps.InputError, match=r"no stratum \['north'\]"):
        dps.randomize(plan, ["north"], answers)
    for odd in ([1, 2], np.array([1, 2]), {"a": 1}, 10**5000):
        with pytest.raises(dps.InputError, match="the answer must be"):
            dps.randomize(plan, "north", dict.fromkeys(answers, odd))


@pytest.mark.parametrize(
    ("question", "answer", "words"),
    [
        pytest.param(dps.Question("q", "yes_no", blank=False), 10**5000, "yes or no", id="endless"),
        (dps.Question("q", "scale", lower=1, upper=5), 2.5, "a number from 1 to 5 in whole steps"),
        (
            dps.Question("q", "scale", lower=0, upper=1, step=0.25),
            0.3,
            "a number from 0 to 1 in steps of 0.25",
        ),
        (
            dps.Question("q", "number", lower=0, upper=8000),
            "1,500",
            "a number from 0 to 8,000, written without thousands separators",
        ),
        (dps.Question("q", "number", lower=0, upper=100), 101, "a number from 0 to 100"),
    ],
)
def test_a_refusal_says_how_an_answer_must_be_written(question, answer, words):
    options = {"forms": "one", "release": "sums", "device_epsilon": 2}
    plan = dps.design(dps.Strata([900]), epsilon=1, total=40, questions=question, **options)
    with pytest.raises(dps.InputError) as caught:
        RowRandomizer(plan, 0).raw(answer)
    assert str(caught.value) == f"question 'q': the answer must be {words}."


def test_options_that_would_be_ignored_are_refused():
    with pytest.raises(dps.InputError, match="proportion is for a single question"):
        dps.design(dps.Strata([400, 600]), epsilon=1, total=50, questions=QUESTIONS, proportion=0.1)
