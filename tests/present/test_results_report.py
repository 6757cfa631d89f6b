"""What a report of results says, read back and compared with the estimates and the ledger."""

import csv
import html
import json

import numpy as np
import pytest

import dpstrata as dps
from commands import run
from questionnaires import published_tables, small_plan
from report_reader import Reader, require_closed

pytestmark = pytest.mark.slow

PEOPLE = {"north": 60, "south": 90, "west": 30}
KINDS = {
    "numbers": {"questions": (0, 10)},
    "clipped": {"questions": (0, 8), "clip": True},
    "yes/no": {"questions": "yes_no", "release": "sums", "device_epsilon": 3},
    "categories": {"questions": ["rent", "own", "other"]},
    "mean": {"questions": (0, 10), "release": "mean"},
}


def fielded(folder, options):
    """A survey carried out in a folder: the design, the file, and what is estimated from it."""
    people = [(f"{name}-{i}", name) for name, size in PEOPLE.items() for i in range(size)]
    (folder / "people.csv").write_text("person,region\n" + "".join(f"{a},{b}\n" for a, b in people))
    columns = {"id": "person", "stratum": "region"}
    strata = dps.frame_strata(dps.open_frame(folder / "people.csv", **columns))
    plan = dps.design(strata, epsilon=2, total=90, min_per_stratum=10, **options)
    plan.save(folder / "design.json")
    key = {"key_file": folder / "draw.key"}
    dps.draw(
        folder / "design.json",
        dps.open_frame(folder / "people.csv", **columns),
        out=folder / "sample.csv",
        **key,
    )
    with open(folder / "sample.csv", newline="") as file:
        drawn = list(csv.DictReader(file))
    rng = np.random.default_rng(4)
    if plan.inputs.question.names:
        answers = rng.choice(plan.inputs.question.names, len(drawn))
    elif options["questions"] == "yes_no":
        answers = rng.integers(0, 2, len(drawn))
    else:
        answers = rng.integers(0, 11, len(drawn))
    if plan.inputs.device_epsilon is not None:
        answers = [
            dps.randomize(plan, row["region"], answer).value
            for row, answer in zip(drawn, answers, strict=True)
        ]
    rows = [f"{row['person']},{row['region']},{answer}\n" for row, answer in zip(drawn, answers, strict=True)]
    (folder / "answers.csv").write_text("person,region,answer\n" + "".join(rows))
    release = dps.privatize if plan.inputs.release == "microdata" else dps.publish
    release(
        folder / "design.json",
        folder / "answers.csv",
        sample=folder / "sample.csv",
        out=folder / "out.csv",
        **columns,
        **key,
    )
    return plan, dps.estimate(folder / "design.json", folder / "out.csv")


@pytest.mark.parametrize("kind", KINDS)
def test_every_estimate_is_in_the_report(tmp_path, kind):
    plan, result = fielded(tmp_path, KINDS[kind])
    published = dps.find_published(plan, tmp_path / "out.csv", tmp_path / "design.json")
    page = dps.results_html(plan, result, published, title="Health & <income> 2031")
    require_closed(page)
    report = Reader(page)
    shown = report.table("Estimates")
    assert len(shown) == len(result.shown)
    for row, cells in zip(result.shown, shown, strict=True):
        assert cells["for"] == row.group
        assert int(cells["answers"]) == row.answered
        assert float(cells["estimate"]) == pytest.approx(row.estimate, abs=0.06 * row.standard_error)
        lower, upper = map(float, cells["95% interval"].split(" to "))
        assert (lower, upper) == pytest.approx((row.lower, row.upper), abs=0.06 * row.standard_error)
    people = report.table("People, invitations and answers")
    assert [int(row["answered"]) for row in people] == [*plan.sample_sizes.tolist(), plan.total]
    errors = report.table("Standard errors, and the variance")
    shows_spread = kind != "mean"
    assert [row["variance"] for row in errors] == ["planned", "estimated"][: 1 + shows_spread]
    assert ("They have planned figures only." in page) == (not shows_spread)
    for row in errors:
        causes = [float(row[name][:-1]) for name in ("who is asked", "devices", "office")]
        assert sum(causes) == pytest.approx(100, abs=1.5)
        on_devices = plan.inputs.release == "microdata" or plan.inputs.device_epsilon is not None
        assert (causes[1] > 0) == on_devices
        assert (causes[2] > 0) == (plan.inputs.release != "microdata")
    whole = [row.standard_error for row in result if row.column == "all"]
    got = np.linalg.norm(whole) * (np.sqrt(0.5) if len(whole) > 1 else 1.0)
    if shows_spread:
        assert float(errors[1]["standard error"]) == pytest.approx(got, rel=0.06)
    assert "as released under this design; it added epsilon = 2 to what was spent." in page
    assert "Nothing else was released" in page
    assert ("hold for all its answers together." in page) == (kind == "categories")
    raw = plan.inputs.release == "microdata"  # devices could have noised them, and did not
    assert published.entry.raw is raw
    assert ("randomised them itself, so nothing protects them against the office." in page) == raw
    against_the_office = " ".join(plan.privacy["sentences"][1:])
    assert (against_the_office in html.unescape(page)) == (not raw)
    assert plan.privacy["sentences"][0] in html.unescape(page)
    assert ("clipped to" in page) == (kind == "clipped")
    reach = 0.5 * plan.inputs.space.range
    wide = sum(row.upper - row.lower > reach for row in result.shown)
    assert (f"In {wide} of {len(shown)} row" in page) == (wide > 0)
    assert "canary" not in page
    assert published.digest in page


def test_a_file_that_no_ledger_lists_is_said(tmp_path):
    plan, result = fielded(tmp_path, KINDS["numbers"])
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "out.csv").write_bytes((tmp_path / "out.csv").read_bytes())
    published = dps.find_published(plan, tmp_path / "elsewhere" / "out.csv")
    assert published.entry is None
    for given in (published, None):
        page = dps.results_html(plan, result, given)
        assert "No ledger here lists " in page
        assert "No ledger beside" in page


def test_sums_that_no_ledger_lists_are_said_on_the_terminal(tmp_path):
    fielded(tmp_path, KINDS["yes/no"])
    (tmp_path / "elsewhere").mkdir()
    for name in ("design.json", "out.csv"):
        (tmp_path / "elsewhere" / name).write_bytes((tmp_path / name).read_bytes())
    for folder, listed in ((tmp_path, True), (tmp_path / "elsewhere", False)):
        done = run(folder, "estimate", "design.json", "out.csv")
        assert (done.returncode, "No ledger here lists out.csv" in done.stderr) == (0, not listed)


def test_wide_intervals_of_groups_are_counted(tmp_path):
    strata = dps.Strata([4000, 8], names=["north", "south"])
    plan = dps.design(strata, epsilon=2, total=1500, questions="yes_no")
    plan.save(tmp_path / "design.json")
    counted = zip(strata.names, plan.sample_sizes, strict=True)
    rows = [f"{name},{i % 2}" for name, number in counted for i in range(number)]
    (tmp_path / "out.csv").write_text("stratum,answer\n" + "\n".join(rows) + "\n")
    result = dps.estimate(tmp_path / "design.json", tmp_path / "out.csv", stratum="stratum")
    page = dps.results_html(plan, result)
    assert "In 1 of 3 rows the interval covers more than half of all possible values: south." in page


def test_what_a_neighbour_can_shift_is_in_the_report_and_in_files(tmp_path):
    """Of the domain that lacks a stratum as well as of the whole, each with its own largest bias."""
    strata = dps.Strata([400, 600, 500], names=list("abc"), extra={"half": ["x", "x", "y"]})
    options = {"questions": (0, 10), "release": "sums", "domains": ["half"]}
    plan = dps.design(strata, epsilon=1, total=90, **options)
    plan.save(tmp_path / "design.json")
    (tmp_path / "sums.csv").write_text("stratum,sum,answers\na,30,10\nb,3,0\nc,50,12\n")
    command = ["estimate", "design.json", "sums.csv", "--out", "estimates.csv", "--report", "r.html"]
    done = run(tmp_path, *command)
    assert done.returncode == 0, done.stderr
    assert "bias at most" in done.stdout
    with open(tmp_path / "estimates.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["column"], float(row["largest_bias"])) for row in rows] == [
        ("all", 4.0),
        ("total", 6000.0),
        ("half", 6.0),
        ("half", 0.0),
        ("stratum", 0.0),
        ("stratum", 10.0),
        ("stratum", 0.0),
    ]
    shown = Reader((tmp_path / "r.html").read_text()).table("Estimates")
    assert [row["bias at most"] for row in shown] == ["4", "6", "", "", "10", ""]


def test_a_file_that_was_altered_is_said_first(tmp_path):
    plan, result = fielded(tmp_path, KINDS["numbers"])
    released = (tmp_path / "out.csv").read_bytes()
    (tmp_path / "out.csv").write_bytes(released[:-2] + (b"1" if released[-2:-1] != b"1" else b"2") + b"\n")
    published = dps.find_published(plan, tmp_path / "out.csv")
    assert (published.entry, published.others) == (None, ("out.csv",))
    page = dps.results_html(plan, result, published)
    header = page[: page.index("<main>")]
    first = header.index('class="caution"')
    assert header.index("out.csv differs from what the ledger records as released") - first < 20
    assert "No ledger" not in page
    assert "The ledger does not list out.csv as it is now" in page
    assert "unchanged, as released" not in page


def test_a_second_release_is_said_with_what_was_spent_in_all(tmp_path):
    plan, result = fielded(tmp_path, KINDS["numbers"])
    dps.privatize(
        tmp_path / "design.json",
        tmp_path / "answers.csv",
        sample=tmp_path / "sample.csv",
        out=tmp_path / "second.csv",
        id="person",
        stratum="region",
        key_file=tmp_path / "draw.key",
        again=True,
    )
    for name in ("out.csv", "second.csv"):
        published = dps.find_published(plan, tmp_path / name)
        assert published.spent.epsilon > 2
        page = dps.results_html(plan, result, published)
        header, promise = page[: page.index("<main>")], page[page.index(">The promise that was kept<") :]
        assert f"More was spent than this design promises: {published.spent.in_words} in all" in header
        assert f"have spent {published.spent.in_words}. That is more than epsilon = 2," in promise


def test_the_noise_of_answers_and_that_of_the_office_add_up():
    """Against the same design without devices' noise, or without the office's."""
    strata = dps.Strata([700, 900], [0.3, 0.1])
    for options in ({}, {"release": "sums"}, {"release": "sums", "device_epsilon": 5}, {"release": "mean"}):
        plan = dps.design(strata, epsilon=1, total=40, **options)
        (device,) = (question.device for question in plan.questions)
        privacy = plan.variance_parts.privacy
        if "device_epsilon" in options:
            noise = float(plan.inputs.release_form.device.variance(5.0))
            by_hand = sum(
                (size / 1600) ** 2 * noise / n for size, n in zip((700, 900), plan.sample_sizes, strict=True)
            )
            assert device == pytest.approx(by_hand)
            assert 0 < device < privacy
        else:
            assert device == pytest.approx(0.0 if "release" in options else privacy)


def published_questionnaire(folder):
    """Write a design and tables that were published with it, and return the design."""
    plan = small_plan()
    plan.save(folder / "design.json")
    rows = published_tables(plan)
    text = "stratum,form,table,entry,count,answers\n"
    text += "".join(f'{a},{b},"{c}","{d}",{e},{f}\n' for a, b, c, d, e, f in rows)
    (folder / "published.csv").write_text(text)
    return plan


def test_a_questionnaire_on_the_command_line(tmp_path):
    plan = published_questionnaire(tmp_path)
    done = run(tmp_path, "estimate", "design.json", "published.csv", "--report", "r.html", "--json")
    assert done.returncode == 0, done.stderr
    estimates = json.loads(done.stdout)["estimates"]
    page = (tmp_path / "r.html").read_text()
    require_closed(page)
    for question in plan.questions:
        assert f"<h3>{question.name}</h3>" in page
    assert page.count("<svg") == len({row["question"] for row in estimates})
    asked = Reader(page).table("What was asked")
    assert [row["question"] for row in asked] == [question.name for question in plan.questions]
    assert "<h2>Ratios</h2>" not in page
    done = run(tmp_path, "estimate", "design.json", "published.csv", "--report", "r.txt")
    assert done.returncode == 2
    assert "a report file must end in .html or .pdf" in done.stderr
    done = run(
        tmp_path,
        "estimate",
        "design.json",
        "published.csv",
        "--report",
        "r.pdf",
        "--title",
        "Pilot",
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "r.pdf").read_bytes().startswith(b"%PDF")
    command = ["estimate", "design.json", "published.csv", "--report", "x.html"]
    done = run(tmp_path, *command, "--engine", "spark")
    assert (done.returncode, "--report is not available" in done.stderr) == (2, True), done.stderr
    errors = Reader(page).table("Standard errors, and the variance")
    estimated = [row["estimate"] for row in errors if row["variance"] == "estimated"]
    assert estimated == ["smokes", "drinks", "home"]  # of the others sums of levels are published
    assert len(errors) == len(plan.questions) + len(estimated)


@pytest.mark.parametrize("kind", ["questionnaire", "categories", "numbers"])
def test_results_of_the_whole_population_come_first(tmp_path, kind):
    """Before anything else there is a table of every answer, shares in percent; one figure is in the headline."""
    if kind == "questionnaire":
        plan = published_questionnaire(tmp_path)
        result = dps.estimate(tmp_path / "design.json", tmp_path / "published.csv")
        named = [(row.question, row.level or "mean") for row in result.whole]
    else:
        plan, result = fielded(tmp_path, KINDS[kind])
        named = []
    page = dps.results_html(plan, result)
    header = page[: page.index("<main>")]
    if kind == "numbers":
        assert "<table" not in header
        return
    assert header.index("<table") < header.index('class="caution"')
    shown = Reader(page).table("Results for the whole population")
    whole = [row for row in result if row.column == "all"]
    assert len(shown) == len(whole)
    for row, cells in zip(whole, shown, strict=True):
        share = bool(row.level)
        scale, error = (100, 100 * row.standard_error) if share else (1, row.standard_error)
        assert cells["estimate"].endswith("%") == share
        figures = [cells["estimate"], *cells["95% interval"].split(" to ")]
        read = [float(each.replace(",", "").rstrip("%")) for each in figures]
        assert read == pytest.approx(
            [scale * row.estimate, scale * row.lower, scale * row.upper], abs=0.06 * error
        )
    assert [(cells["question"], cells["answer"].split(",")[0]) for cells in shown if named] == named


def test_notes_explain_estimates_beyond_and_errors_of_the_design(tmp_path):
    """Below each table: rows outside their interval, and standard errors that the answers do not show."""
    plan = published_questionnaire(tmp_path)
    result = dps.estimate(tmp_path / "design.json", tmp_path / "published.csv")
    planned = [name for name, about in result.questions.items() if about.known.planned]
    assert planned == ["trust"]  # income has two levels, which are counted
    page = dps.results_html(plan, result)
    results = page[page.index(">Results<") : page.index(">Where the error comes from<")]
    for part in results.split("<h3>")[1:]:
        question = part[: part.index("<")]
        rows = result.question(question).shown
        beyond = sum(not row.lower <= row.estimate <= row.upper for row in rows)
        assert (f"In {beyond} row" in part) == (beyond > 0)
        assert ("is what holds." in part or "are what holds." in part) == (beyond > 0)
        assert ("or a smaller one that was stated." in part) == (question in planned)
    header = page[: page.index("<main>")]
    assert "--spreads" not in header
    assert "the standard errors of trust use the spread that the design assumed" in repr(result)
    plan, result = fielded(tmp_path, KINDS["numbers"] | {"release": "sums"})
    assert "these standard errors use the spread that the design assumed" in dps.results_html(plan, result)


def labelled_plan():
    """Design a questionnaire in two languages, two questions of which are kept together."""
    german = dps.Translation("de", "Wo wohnen Sie?", labels=["zur Miete", "im Eigentum"])
    same = {"categories": ["a", "b"], "labels": ["alike", "alike"], "blank": False}
    questions = dps.Questionnaire(
        [
            dps.Question("smokes", "yes_no", text="Do you smoke?", labels=["Never", "I do"], together="g"),
            dps.Question(
                "home",
                "category",
                categories=["rent", "own"],
                text="Where do you live?",
                labels=["I rent", "I own"],
                translations=[german],
                together="g",
            ),
            dps.Question("twins", "category", **same),
            dps.Question("votes", "yes_no", blank=False, labels=["No, never", "Yes, always"]),
        ],
        language="en",
    )
    return small_plan(questions=questions)


def answers_shown(page):
    """Collect what answers are called in the tables of estimates."""
    found = [each for each in Reader(page).tables if each["caption"].startswith("Estimates")]
    alone = {each["caption"].removeprefix("Estimates from noised answers: ") for each in found}
    return alone | {row[1] for each in found if each["rows"][0][1] == "answer" for row in each["rows"]}


def test_answers_are_shown_as_respondents_read_them(tmp_path):
    plan = labelled_plan()
    plan.save(tmp_path / "design.json")
    rows = "".join(f'{a},{b},"{c}","{d}",{e},{f}\n' for a, b, c, d, e, f in published_tables(plan))
    (tmp_path / "published.csv").write_text(f"stratum,form,table,entry,count,answers\n{rows}")
    result = dps.estimate(tmp_path / "design.json", tmp_path / "published.csv")
    codes = [row.level for row in result]
    ratio = result.ratio(("home", "rent"), ("home", ["rent", "own"]))
    page = dps.results_html(plan, result, ratios=[ratio])
    shown = answers_shown(page)
    for code, label in {
        "yes": "I do",
        "no answer": "no answer",
        "rent": "I rent",
        "no and own": "Never and I own",
        "a": "a",  # two answers that are called alike keep their codes
        "rent / rent + own": "I rent / I rent + I own",
    }.items():
        assert label in shown, (code, shown)
    assert "Yes, always" in page
    asked = {row["question"]: row["answers"] for row in Reader(page).table("What was asked")}
    assert asked["smokes"] == "I do, Never, or blank"
    assert asked["home"] == "I rent, I own, or blank"
    assert asked["votes"] == "Yes, always; No, never"
    assert "rent" not in shown
    german = dps.results_html(plan, result, ratios=[ratio], language="de")
    ratios = "zur Miete / zur Miete + im Eigentum"
    assert {"zur Miete", "Never and im Eigentum", ratios} <= answers_shown(german)
    assert "Wo wohnen Sie?" in german
    assert "Where do you live?" not in german
    assert [row.level for row in result] == codes
    with pytest.raises(dps.InputError, match=r"be a language of the questionnaire \(en, de\), got .*fr"):
        dps.results_html(plan, result, language="fr")
    with pytest.raises(dps.InputError, match="be left out here"):
        dps.results_html(small_plan(), result, language="fr")


def test_ratios_are_in_the_report(tmp_path):
    published_questionnaire(tmp_path)
    asked = [
        "--ratio",
        "home=own|other",
        "--over",
        "home=rent",
        "--ratio",
        "home=rent",
        "--over",
        "smokes=yes",
    ]
    command = ["estimate", "design.json", "published.csv", "--report", "r.html", "--json"]
    done = run(tmp_path, *command, *asked)
    assert done.returncode == 0, done.stderr
    estimates = json.loads(done.stdout)["estimates"]
    page = (tmp_path / "r.html").read_text()
    require_closed(page)
    of_home = [row for row in estimates if row["question"] == "home / home"]
    assert of_home
    ratios = page[page.index(">Ratios<") : page.index(">Where the error comes from<")]
    assert ratios.count("<svg") == 1
    assert ratios.count(">Estimates from noised answers: own + other / rent<") == 1
    assert ratios.count('<th scope="row"') == len(of_home)
    assert "follows from those of the numerator and the denominator" in ratios
    assert "standard errors to both sides" not in ratios
    assert "The ratio home / smokes (rent / yes) is left out for the whole" in ratios
    assert any(row["estimate"] > row["upper"] for row in estimates)
    assert "Estimates beyond what is possible are drawn at the end of their interval." in page
    beyond = any(not row["lower"] <= row["estimate"] <= row["upper"] for row in of_home)
    assert ("Estimates beyond" in ratios) == beyond
    again = "estimate design.json published.csv --ratio 'home=own|other' --over home=rent"
    assert f"{again} --ratio home=rent --over smokes=yes --report results.html" in html.unescape(page)


def test_a_report_is_headed_and_reproduced_with_its_title_and_language(tmp_path):
    questions = dps.Questionnaire(labelled_plan().inputs.questions, language="en", title="How we live")
    plan = small_plan(questions=questions)
    plan.save(tmp_path / "design.json")
    rows = "".join(f'{a},{b},"{c}","{d}",{e},{f}\n' for a, b, c, d, e, f in published_tables(plan))
    (tmp_path / "published.csv").write_text(f"stratum,form,table,entry,count,answers\n{rows}")
    result = dps.estimate(tmp_path / "design.json", tmp_path / "published.csv")
    page = dps.results_html(plan, result)
    assert "<h1>How we live</h1>" in page
    assert "published.csv --report results.html" in page
    page = dps.results_html(plan, result, title="In 1974", language="de")
    assert "<h1>In 1974</h1>" in page
    assert "published.csv --title &#x27;In 1974&#x27; --language de --report results.html" in page
