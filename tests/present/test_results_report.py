"""What a report of results says, read back and compared with the estimates and the ledger."""

import csv
import json

import numpy as np
import pytest

import dpstrata as dps
from commands import run
from dpstrata.allocation.variances import answer_noise
from report_reader import Reader, require_closed
from small_questionnaire import small_plan

PEOPLE = {"north": 60, "south": 90, "west": 30}
KINDS = {
    "numbers": {"answers": (0, 10)},
    "clipped": {"answers": (0, 8), "clip": True},
    "yes/no": {"answers": "binary", "release": "sums", "device_epsilon": 3},
    "categories": {"answers": ["rent", "own", "other"]},
    "mean": {"answers": (0, 10), "release": "mean"},
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
    if plan.inputs.answers.names:
        answers = rng.choice(plan.inputs.answers.names, len(drawn))
    elif options["answers"] == "binary":
        answers = rng.integers(0, 2, len(drawn))
    else:
        answers = rng.integers(0, 11, len(drawn))
    if plan.inputs.device_epsilon is not None:
        answers = [
            dps.noise_answer(plan, row["region"], answer) for row, answer in zip(drawn, answers, strict=True)
        ]
    rows = [f"{row['person']},{row['region']},{answer}\n" for row, answer in zip(drawn, answers, strict=True)]
    (folder / "answers.csv").write_text("person,region,canary\n" + "".join(rows))
    release = dps.privatize if plan.inputs.release == "microdata" else dps.publish
    release(
        folder / "design.json",
        folder / "answers.csv",
        sample=folder / "sample.csv",
        answer="canary",
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
    assert len(shown) == len(result.rows)
    for row, cells in zip(result.rows, shown, strict=True):
        assert cells["for"] == row.group
        assert int(cells["answers"]) == row.answers
        assert float(cells["estimate"]) == pytest.approx(row.estimate, abs=0.06 * row.standard_error)
        lower, upper = map(float, cells["95% interval"].split(" to "))
        assert (lower, upper) == pytest.approx((row.lower, row.upper), abs=0.06 * row.standard_error)
    people = report.table("People, invitations and answers")
    strata = [] if kind == "mean" else plan.sample_sizes.tolist()
    assert [int(row["answered"]) for row in people] == [*strata, plan.total]
    (error,) = report.table("Standard errors, and the variance")
    causes = [float(error[name][:-1]) for name in ("who is asked", "devices", "office")]
    assert sum(causes) == pytest.approx(100, abs=1.5)
    assert (causes[1] > 0) == (plan.inputs.release == "microdata" or plan.inputs.device_epsilon is not None)
    assert (causes[2] > 0) == (plan.inputs.release != "microdata")
    assert "as released under this design, at an epsilon of 2." in page
    assert "Nothing else was released" in page
    assert ("clipped to" in page) == (kind == "clipped")
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
        assert "No ledger lists the file of these results" in page
        assert "No ledger beside" in page


def test_the_noise_of_answers_and_that_of_the_office_add_up():
    """Against the same design without devices' noise, or without the office's."""
    strata = dps.Strata([700, 900], [0.3, 0.1])
    for options in ({}, {"release": "sums"}, {"release": "sums", "device_epsilon": 3}, {"release": "mean"}):
        plan = dps.design(strata, epsilon=1, total=40, **options)
        device = answer_noise(plan.problem, plan.sample_sizes, finite_population=True)
        privacy = plan.variance_parts.privacy
        if "device_epsilon" in options:
            noise = float(plan.mechanism.variance(3.0))
            by_hand = sum(
                (size / 1600) ** 2 * noise / n for size, n in zip((700, 900), plan.sample_sizes, strict=True)
            )
            assert device == pytest.approx(by_hand)
            assert 0 < device < privacy
        else:
            assert device == pytest.approx(0.0 if "release" in options else privacy)


def test_a_questionnaire_on_the_command_line(tmp_path):
    plan = small_plan()
    plan.save(tmp_path / "design.json")
    rows = published_tables(plan)
    text = "stratum,form,table,entry,count,answers\n"
    text += "".join(f'{a},{b},"{c}","{d}",{e},{f}\n' for a, b, c, d, e, f in rows)
    (tmp_path / "published.csv").write_text(text)
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
    done = run(tmp_path, "estimate", "design.json", "published.csv", "--report", "r.txt")
    assert done.returncode == 2
    assert "a report file must end in .html or .pdf" in done.stderr
    done = run(tmp_path, "estimate", "design.json", "published.csv", "--report", "r.pdf", "--title", "Pilot")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "r.pdf").read_bytes().startswith(b"%PDF")
    for more in (["--pilot", "p.json"], ["--engine", "spark"]):
        done = run(tmp_path, "estimate", "design.json", "published.csv", "--report", "x.html", *more)
        assert (done.returncode, "--report is not available" in done.stderr) == (2, True), done.stderr


def published_tables(plan):
    """Tables as the office would publish them if everyone gave the first answer to everything."""
    from dpstrata.fielding.questionnaires.counts import table_entries, table_label

    for i, name in enumerate(plan.strata.names):
        for t, form in enumerate(plan.forms):
            answers = int(form.sample_sizes[i])
            for table in form.tables:
                for place, entry in enumerate(table_entries(plan, t, table.questions)):
                    yield name, t + 1, table_label(table.questions), entry, answers * (place == 0), answers
