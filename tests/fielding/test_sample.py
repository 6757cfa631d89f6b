"""Frames and the secret draw: counts, uniformity, repeatability, refusals, and nothing that leaks."""

import hashlib
import json
import os
import stat
from itertools import combinations
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import dpstrata as dps
from commands import run
from dpstrata.fielding.draw import draw, verify_draw
from dpstrata.fielding.frames import frame_strata, open_frame
from dpstrata.fielding.keys import commitment, read_key, read_or_make_key, survey_key, write_key
from dpstrata.fielding.sample import draw_sample
from surveys import Listed

FALSE_ALARM = 1e-8
KEYS = int(os.environ.get("DPSTRATA_KEYS", "1000"))  # 20,000 in `make slow`
PEOPLE = {"north": 400, "south": 900, "west": 37}


def everyone():
    return [(f"person-{name}-{i:04}", name) for name, size in PEOPLE.items() for i in range(size)]


def write_csv(path, rows):
    path.write_text("person,region\n" + "".join(f"{person},{region}\n" for person, region in rows))
    return path


@pytest.fixture
def survey(tmp_path):
    path = write_csv(tmp_path / "people.csv", everyone())
    frame = open_frame(path, id="person", stratum="region")
    plan = dps.design(frame_strata(frame), epsilon=1, total=120, min_per_stratum=5)
    plan.save(tmp_path / "design.json")
    return frame, plan, tmp_path


def test_a_frame_is_counted_from_every_kind_of_file(tmp_path):
    rows = everyone()
    table = pa.table(
        {"person": [p for p, _ in rows], "region": [r for _, r in rows], "age": list(range(len(rows)))}
    )
    pq.write_table(table, tmp_path / "p.parquet")
    with duckdb.connect(str(tmp_path / "p.duckdb")) as connection:
        connection.register("t", table)
        connection.execute("CREATE TABLE people AS SELECT * FROM t")
    write_csv(tmp_path / "p.csv", rows)
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["person", "region"])
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "p.xlsx")
    for name, table_name in (("p.csv", None), ("p.parquet", None), ("p.xlsx", None), ("p.duckdb", "people")):
        frame = open_frame(tmp_path / name, id="person", stratum="region", table=table_name)
        assert dict(zip(*(lambda s: (s.names, s.sizes.tolist()))(frame_strata(frame)), strict=True)) == PEOPLE
    crossed = frame_strata(open_frame(tmp_path / "p.parquet", id="person", stratum=["region", "region"]))
    assert crossed.names == ("north | north", "south | south", "west | west")
    spread = frame_strata(
        open_frame(tmp_path / "p.parquet", id="person", stratum="region"), sd_column="age", sd_source="public"
    )
    assert spread.sds[0] == pytest.approx(np.std(np.arange(400), ddof=1))
    assert spread.sd_source(0) == "public"


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ([("person-north-0001", "south")], "1 listed more than once"),
        ([("someone", "")], "1 without a stratum"),
        ([("", "north"), ("", "north")], "2 without an id"),
    ],
)
def test_what_is_wrong_with_a_frame_is_counted_and_nobody_named(tmp_path, extra, words):
    path = write_csv(tmp_path / "p.csv", [*everyone(), *extra])
    with pytest.raises(dps.InputError, match=words) as caught:
        frame_strata(open_frame(path, id="person", stratum="region"))
    assert "person-" not in str(caught.value)
    assert "someone" not in str(caught.value)


def test_a_draw_has_exact_counts_and_the_same_key_draws_the_same(survey):
    frame, plan, _ = survey
    key = bytes(range(32))
    sample = draw_sample(plan, frame, key)
    assert len(set(sample.ids)) == 120
    assert [sample.strata.count(name) for name in plan.strata.names] == plan.sample_sizes.tolist()
    assert draw_sample(plan, frame, key).ids == sample.ids
    assert set(draw_sample(plan, frame, bytes(32)).ids) != set(sample.ids)


def test_order_and_engine_do_not_matter(survey):
    """The sample is a set of ids: rows shuffled, in Parquet, in other batches, give the same people."""
    frame, plan, folder = survey
    rows = everyone()
    np.random.default_rng(1).shuffle(rows)
    table = pa.table({"person": [str(p) for p, _ in rows], "region": [str(r) for _, r in rows]})
    pq.write_table(table, folder / "p.parquet")
    other = open_frame(folder / "p.parquet", id="person", stratum="region")
    key = bytes(range(32))
    assert draw_sample(plan, frame, key).ids == draw_sample(plan, other, key).ids


def test_blanks_around_the_names_of_strata_do_not_matter(survey):
    """What a frame counts and what it draws from are the same strata, however they are padded."""
    frame, plan, folder = survey
    rows = [(p, " \u00a0\t"[: i % 4] + r + "  "[: i % 3]) for i, (p, r) in enumerate(everyone())]
    table = pa.table({"person": [p for p, _ in rows], "region": [r for _, r in rows]})
    pq.write_table(table, folder / "padded.parquet")
    padded = open_frame(folder / "padded.parquet", id="person", stratum="region")
    assert frame_strata(padded).names == frame_strata(frame).names
    drawn, other = (draw_sample(plan, each, bytes(32)) for each in (frame, padded))
    assert (drawn.ids, drawn.strata, drawn.frame_digest) == (other.ids, other.strata, other.frame_digest)


def test_an_empty_name_is_no_stratum(survey):
    _, plan, folder = survey
    path = write_csv(folder / "empty.csv", [*everyone(), ("x", "  ")])
    with pytest.raises(dps.InputError, match=r"'\(nothing\)' has a size of 1 in the frame and is not"):
        draw_sample(plan, open_frame(path, id="person", stratum="region"), bytes(32))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["whole", "text"])
def test_every_subset_is_equally_likely(kind):
    """Many keys: inclusion, joint inclusion, and both strata independent of each other."""
    ids = list(range(100, 111)) if kind == "whole" else [f"p{i}" for i in range(11)]
    strata = ["a"] * 6 + ["b"] * 5
    plan = dps.design(dps.Strata([6, 5], [0.3, 0.3], names=["a", "b"]), epsilon=5, total=4, min_per_stratum=2)
    assert plan.sample_sizes.tolist() == [2, 2]
    frame = Listed(ids, strata)
    pairs = {frozenset(pair): i for i, pair in enumerate(combinations(ids[:6], 2))}
    others = {frozenset(pair): i for i, pair in enumerate(combinations(ids[6:], 2))}
    counts = np.zeros((len(pairs), len(others)))
    keys = np.random.default_rng(7).bytes(32 * KEYS)
    for i in range(KEYS):
        chosen = draw_sample(plan, frame, keys[32 * i : 32 * i + 32]).ids
        counts[pairs[frozenset(chosen[:2])], others[frozenset(chosen[2:])]] += 1
    assert stats.chisquare(counts.ravel()).pvalue > FALSE_ALARM
    # and the order within a stratum tells nothing: checked by the same counts of ordered pairs elsewhere


def test_a_short_stratum_is_read_again(survey, monkeypatch):
    frame, plan, _ = survey
    key = bytes(range(32))
    right = draw_sample(plan, frame, key)
    monkeypatch.setattr(
        "dpstrata.fielding.sample._thresholds", lambda sizes, wanted: np.full(len(sizes), 1e-3)
    )
    assert draw_sample(plan, frame, key).ids == right.ids


def test_few_people_are_kept_on_the_way(survey):
    from dpstrata.fielding.sample import _thresholds

    limits = _thresholds(np.array([10**6, 50, 10]), np.array([1000, 1, 10]))
    assert 0.001 < limits[0] < 0.0013
    assert limits[2] == 1.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: rows[1:], "'north' has a size of 399 in the frame and 400 in the design"),
        (lambda rows: [*rows, ("x", "east")], "'east' has a size of 1 in the frame and is not in the design"),
        (
            lambda rows: [(p, "east" if r == "west" else r) for p, r in rows],
            "'west' has a size of 0 in the frame and 37",
        ),
        (
            lambda rows: [*rows, ("x", " east"), ("y", "east\t")],
            "'east' has a size of 2 in the frame and is not in the design",
        ),
        (
            lambda rows: [(p, f"to the {r}") for p, r in rows],
            "the frame has nobody in any stratum of the design",
        ),
    ],
)
def test_other_counts_are_refused_by_stratum(survey, change, words):
    _, plan, folder = survey
    path = write_csv(folder / "other.csv", change(everyone()))
    with pytest.raises(dps.InputError, match=words):
        draw_sample(plan, open_frame(path, id="person", stratum="region"), bytes(32))


def test_draws_are_recorded_and_verified(survey):
    frame, _, folder = survey
    key_file = folder / "draw.key"
    record = draw(folder / "design.json", frame, out=folder / "sample.parquet", key_file=key_file)
    assert stat.S_IMODE(os.stat(key_file).st_mode) == 0o600
    key = read_key(key_file)
    assert record["key_commitment"] == commitment(key)
    written = (folder / "draw.json").read_text()
    assert json.loads(written) == record
    assert key.hex() not in written
    assert "person-" not in written
    verify_draw(folder / "design.json", frame, sample=folder / "sample.parquet", key_file=key_file)
    first = (folder / "sample.parquet").read_bytes()
    draw(folder / "design.json", frame, out=folder / "sample.parquet", key_file=key_file)
    assert (folder / "sample.parquet").read_bytes() == first
    table = pq.read_table(folder / "sample.parquet")
    pq.write_table(table.slice(1), folder / "sample.parquet")
    with pytest.raises(dps.InputError, match="is not the sample that this design, frame and key produce"):
        verify_draw(folder / "design.json", frame, sample=folder / "sample.parquet", key_file=key_file)


def test_keys_are_never_overwritten_and_surveys_have_their_own(tmp_path):
    key = read_or_make_key(tmp_path / "k")
    with pytest.raises(dps.InputError, match="is never overwritten"):
        write_key(tmp_path / "k", key)
    assert read_key(tmp_path / "k") == key
    assert survey_key(key, "one") != survey_key(key, "two")
    (tmp_path / "bad").write_text("not a key")
    with pytest.raises(dps.InputError, match="is not a key file"):
        read_key(tmp_path / "bad")


@pytest.mark.slow
def test_the_commands(survey):
    _, _, folder = survey
    columns = ["--id", "person", "--stratum", "region"]
    counted = run(folder, "frame", "people.csv", *columns, "--out", "strata.csv")
    assert counted.returncode == 0, counted.stderr
    assert "1,337 people in 3 strata" in counted.stdout
    (folder / "few.csv").write_text("person,region\n1,a\n2,a\n")
    few = run(folder, "frame", "few.csv", *columns, "--out", "few-strata.csv")
    assert few.stdout.startswith("2 people in 1 stratum.")
    drawn = run(folder, "draw", "design.json", "people.csv", *columns, "--out", "sample.csv")
    assert drawn.returncode == 0, drawn.stderr
    assert "person-" not in drawn.stdout
    checked = run(folder, "draw", "design.json", "people.csv", *columns, "--out", "sample.csv", "--verify")
    assert checked.returncode == 0, checked.stderr
    for arguments, words in (
        (["frame", "nobody.csv", *columns, "--out", "s.csv"], "does not exist"),
        (
            ["frame", "people.csv", "--id", "who", "--stratum", "region", "--out", "s.csv"],
            "has no column 'who'",
        ),
        (
            ["frame", "people.csv", *columns, "--out", "s.csv", "--sd-column", "x"],
            "--sd-column and --sd-source (public or prior) must be given together",
        ),
        (["draw", "strata.csv", "people.csv", *columns, "--out", "s.csv"], "is not a JSON file"),
        (
            ["draw", "design.json", "people.csv", *columns, "--out", "people.csv"],
            "is given for two different files",
        ),
        (
            ["draw", "design.json", "people.csv", *columns, "--out", "x", "--key-file", "x"],
            "two different files",
        ),
        (
            ["draw", "design.json", "people.csv", *columns, "--out", "sample.csv", "--key-file", "k2"],
            "is not replaced",
        ),
        (["frame", "people.csv", *columns, "--out", "people.csv"], "is given for two different files"),
        (["draw", "design.json", "people.csv", *columns, "--out", "s.json"], "must end in .csv, .parquet or"),
        (
            ["frame", "people.csv", "--id", "region", "--stratum", "region", "--out", "s.csv"],
            "different columns",
        ),
        (["frame", "design.json", *columns, "--out", "s.csv"], "a frame must end in"),
    ):
        wrong = run(folder, *arguments)
        assert (wrong.returncode, words in wrong.stderr) == (2, True), wrong.stderr
        assert "person-" not in wrong.stderr


def test_samples_with_strata_exchanged_are_not_verified(survey):
    frame, _, folder = survey
    draw(folder / "design.json", frame, out=folder / "sample.csv", key_file=folder / "k")
    header, *rows = (folder / "sample.csv").read_text().splitlines()
    people, regions, *_ = zip(*(row.split(",") for row in rows), strict=True)
    swapped = [f"{person},{region},0,1" for person, region in zip(people, reversed(regions), strict=True)]
    (folder / "sample.csv").write_text("\n".join([header, *swapped]) + "\n")
    with pytest.raises(dps.InputError, match="is not the sample"):
        verify_draw(folder / "design.json", frame, sample=folder / "sample.csv", key_file=folder / "k")


def test_names_that_stand_for_others_and_ambiguous_crossings_are_refused(tmp_path):
    write_csv(tmp_path / "people1.csv", everyone())
    write_csv(tmp_path / "people[1].csv", everyone()[:30])
    with pytest.raises(dps.InputError, match="must not contain"):
        frame_strata(open_frame(tmp_path / "people[1].csv", id="person", stratum="region"))
    (tmp_path / "c.csv").write_text("p,a,b\n1,x | y,z\n2,x,y | z\n")
    with pytest.raises(dps.InputError, match="2 in crossed strata whose names contain"):
        frame_strata(open_frame(tmp_path / "c.csv", id="p", stratum=["a", "b"]))


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        ([-5 + i for i in range(8)], pa.int64()),
        ([10**17 + i for i in range(8)], pa.int64()),
        ([250 - i for i in range(8)], pa.uint8()),
        ([2**32 - 1 - i for i in range(8)], pa.uint32()),
    ],
)
def test_whole_numbers_of_any_kind_are_ids(tmp_path, ids, kind):
    pq.write_table(pa.table({"p": pa.array(ids, type=kind), "s": ["a"] * 8}), tmp_path / "f.parquet")
    frame = open_frame(tmp_path / "f.parquet", id="p", stratum="s")
    plan = dps.design(frame_strata(frame), epsilon=5, total=3)
    sample = draw_sample(plan, frame, bytes(range(32)))
    assert len(set(sample.ids)) == 3
    assert set(sample.ids) <= set(ids)


def test_a_record_tells_nothing_of_a_small_sample_and_is_checked(survey):
    """Its digest of the sample needs the key; and an auditor reads the record, not only the files."""
    frame, _, folder = survey
    record = draw(folder / "design.json", frame, out=folder / "sample.csv", key_file=folder / "k")
    content = (folder / "sample.csv").read_bytes()
    assert record["sample_digest"] not in {
        hashlib.new(name, content).hexdigest() for name in ("sha256", "blake2b")
    }
    arguments = {"sample": folder / "sample.csv", "key_file": folder / "k"}
    for name in ("key_commitment", "frame_digest", "sample_digest", "design_digest"):
        changed = record | {name: "0" * 64}
        (folder / "draw.json").write_text(json.dumps(changed))
        with pytest.raises(dps.InputError, match="records"):
            verify_draw(folder / "design.json", frame, **arguments)
    (folder / "draw.json").unlink()
    with pytest.raises(dps.InputError, match="needs the record of its draw"):
        verify_draw(folder / "design.json", frame, **arguments)


def test_a_record_confirms_no_guess_about_a_row(survey):
    """Someone knows all of the frame but one cell, and tries every value that it could have."""
    _, _, folder = survey
    rows = everyone()

    def written(answer, people=rows):
        lines = [f"{person},{region},{i % 7}" for i, (person, region) in enumerate(people[:-1])]
        lines.append(f"{people[-1][0]},{people[-1][1]},{answer}")
        return "\n".join(["person,region,confidential", *lines]) + "\n"

    def recorded(text, key="k"):
        (folder / "f.csv").write_text(text)
        (folder / "draw.json").unlink(missing_ok=True)
        (folder / "sample.csv").unlink(missing_ok=True)
        frame = open_frame(folder / "f.csv", id="person", stratum="region")
        return draw(folder / "design.json", frame, out=folder / "sample.csv", key_file=folder / key)

    record = recorded(written(3))
    digests = {cell for cell in record.values() if isinstance(cell, str)}
    for candidate in range(154):
        text = written(candidate).encode()
        assert not digests & {hashlib.new(name, text).hexdigest() for name in ("sha256", "blake2b", "md5")}
    # nor who is in the frame, without the key
    pairs = sorted(f"{person},{region}" for person, region in rows)
    assert hashlib.sha256("\n".join(pairs).encode()).hexdigest() not in digests
    assert recorded(written(3), key="other")["frame_digest"] != record["frame_digest"]
    # with it, ids and strata are all that counts
    assert recorded(written(5))["frame_digest"] == record["frame_digest"]
    assert recorded(written(3, rows[::-1]))["frame_digest"] == record["frame_digest"]
    swapped = [(rows[-1][0], "north"), *rows[1:-1], (rows[0][0], "west")]
    other = [*rows[:-1], ("someone else", "west")]
    changed = {recorded(written(3, people))["frame_digest"] for people in (swapped, other)}
    assert len(changed | {record["frame_digest"]}) == 3


def test_a_record_of_the_shipped_walkthrough_gives_no_answer_away(tmp_path):
    """Every row but one cell of the last is known; 154 values of it are tried, and none matches."""
    file = Path(dps.__file__).parent / "examples" / "fair1978.csv"
    frame = open_frame(file, id="person", stratum="occupation")
    options = {"questions": "yes_no", "mechanism": "best"}
    dps.design(frame_strata(frame), epsilon=1, total=600, **options).save(tmp_path / "design.json")
    draw(tmp_path / "design.json", frame, out=tmp_path / "sample.csv", key_file=tmp_path / "draw.key")
    before, last = file.read_text().removesuffix("\n").rsplit("\n", 1)
    *known, _, _ = last.split(",")
    affairs = sorted({row.split(",")[6] for row in before.splitlines()[1:]})
    guesses = [f"{before}\n{','.join([*known, number, had])}\n" for number in affairs for had in "01"]
    assert len(guesses) == 154
    assert file.read_text() in guesses
    text = (tmp_path / "draw.json").read_text()
    assert sum(hashlib.sha256(guess.encode()).hexdigest() in text for guess in guesses) == 0


def test_a_digest_of_a_frame_is_that_of_its_people_in_any_kind_of_file(survey):
    from openpyxl import Workbook

    frame, plan, folder = survey
    table = pa.table({"person": [p for p, _ in everyone()], "region": [r for _, r in everyone()]})
    pq.write_table(table, folder / "p.parquet", row_group_size=100)
    with duckdb.connect(str(folder / "p.duckdb")) as connection:
        connection.register("t", table)
        connection.execute("CREATE TABLE people AS SELECT * FROM t ORDER BY hash(person)")
    book = Workbook()
    book.active.append(["person", "region"])
    for row in everyone():
        book.active.append(row)
    book.save(folder / "p.xlsx")
    frames = [
        open_frame(folder / name, id="person", stratum="region", table="people" if "duck" in name else None)
        for name in ("p.parquet", "p.xlsx", "p.duckdb")
    ]
    digests = {draw_sample(plan, each, bytes(range(32))).frame_digest for each in (frame, *frames)}
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"frame_digest": "0"}, "records a different frame"),
        ({"version": 3}, "must be the record of a draw of version 4, got version 3"),
        ({"format": "x"}, "is not the record of a draw"),
    ],
)
def test_a_record_that_does_not_fit_is_refused(survey, change, words):
    frame, _, folder = survey
    files = {"sample": folder / "sample.csv", "key_file": folder / "k"}
    record = draw(folder / "design.json", frame, out=files["sample"], key_file=files["key_file"])
    (folder / "draw.json").write_text(json.dumps(record | change))
    with pytest.raises(dps.InputError, match=words):
        verify_draw(folder / "design.json", frame, **files)


def test_a_second_draw_does_not_replace_the_record_of_the_first(survey):
    frame, plan, folder = survey
    draw(folder / "design.json", frame, out=folder / "sample.csv", key_file=folder / "k")
    dps.design(plan.strata, epsilon=2, total=50).save(folder / "other.json")
    with pytest.raises(dps.InputError, match="records another draw, so it is not replaced"):
        draw(folder / "other.json", frame, out=folder / "other.csv", key_file=folder / "k")
    assert not (folder / "other.csv").exists()


def test_a_draw_that_is_refused_leaves_no_key(survey):
    frame, _, folder = survey
    other = open_frame(write_csv(folder / "other.csv", everyone()[1:]), id="person", stratum="region")
    with pytest.raises(dps.InputError, match="'north' has a size of 399"):
        draw(folder / "design.json", other, out=folder / "s.csv", key_file=folder / "new")
    assert not (folder / "new").exists()
    draw(folder / "design.json", frame, out=folder / "sample.csv", key_file=folder / "k")
    for out in ("sample.csv", "other.csv"):
        with pytest.raises(dps.InputError, match="so it is not replaced"):
            draw(folder / "design.json", frame, out=folder / out, key_file=folder / "new")
        assert not (folder / "new").exists()


@pytest.mark.parametrize("ids", [["=1+1", "#N/A", "007", "1e3", "true"], [2**60 + i for i in range(5)]])
def test_samples_in_excel_keep_their_ids(tmp_path, ids):
    pq.write_table(pa.table({"p": ids, "s": ["=A1"] * 5}), tmp_path / "f.parquet")
    frame = open_frame(tmp_path / "f.parquet", id="p", stratum="s")
    dps.design(frame_strata(frame), epsilon=5, total=5).save(tmp_path / "d.json")
    draw(tmp_path / "d.json", frame, out=tmp_path / "s.xlsx", key_file=tmp_path / "k")
    verify_draw(tmp_path / "d.json", frame, sample=tmp_path / "s.xlsx", key_file=tmp_path / "k")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('p,s\n7,a\n"7 ",a\n8,a\n" 8",a\n', "2 listed more than once"),
        ("p,p,s\n1,2,a\n", "has several columns named 'p'"),
        ("p,s\n1,a\xe9\n".encode("latin-1"), "is not UTF-8 text; save it as UTF-8"),
        ("", "cannot be read|has no column"),
    ],
)
def test_files_that_mislead_are_refused(tmp_path, content, words):
    (tmp_path / "f.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(dps.InputError, match=words):
        frame_strata(open_frame(tmp_path / "f.csv", id="p", stratum="s"))


def test_quotes_that_come_late_are_quotes(tmp_path):
    rows = "".join(f"{i},a\n" for i in range(60_000))
    (tmp_path / "f.csv").write_text(f'p,s\n{rows}"900000","b, c"\n')
    assert frame_strata(open_frame(tmp_path / "f.csv", id="p", stratum="s")).names == ("a", "b, c")


def test_keys_that_others_may_read_are_remarked(tmp_path):
    read_or_make_key(tmp_path / "k")
    (tmp_path / "k").chmod(0o644)
    with pytest.warns(
        dps.DpstrataWarning, match=r"others may read .*knows the sample\. Restrict it to your account"
    ):
        read_key(tmp_path / "k")
    (tmp_path / "k").rename(tmp_path / "ledger.key")
    with pytest.warns(dps.DpstrataWarning, match=r"can find respondents in the ledger\. Restrict it"):
        read_key(tmp_path / "ledger.key")


def test_strata_of_one_or_two_people_are_warned_of(tmp_path):
    """Dates as text are strata like any others, but hardly anyone shares one; few strata are never warned of."""
    dates = [f"19{50 + i % 40}-{1 + i % 12:02}-01" for i in range(90)]
    (tmp_path / "people.csv").write_text(
        "person,born,half\n" + "".join(f"{i},{date},{i % 2}\n" for i, date in enumerate(dates))
    )
    frame = dps.open_frame(tmp_path / "people.csv", id="person", stratum="born")
    number = len(set(dates))
    with pytest.warns(dps.DpstrataWarning, match=rf"{number} of {number} strata have only .* of 'born'"):
        assert len(dps.frame_strata(frame)) == number
    dps.frame_strata(dps.open_frame(tmp_path / "people.csv", id="person", stratum="half"))
    (tmp_path / "few.csv").write_text("person,half\n1,a\n2,b\n")
    dps.frame_strata(dps.open_frame(tmp_path / "few.csv", id="person", stratum="half"))
