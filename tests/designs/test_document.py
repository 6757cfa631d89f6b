"""Designs as documents, tables and files."""

import datetime
import json
import math
import os
import stat
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow.parquet as pq
import pytest

import dpstrata as dps
from dpstrata.designs.document_shape import DesignDocument, design_schema
from dpstrata.words.numbers import factor_up, round_up
from problems import MECHANISMS, OBJECTIVES, PAPER_SDS, PAPER_SIZES, asked_of


def make_plan(**options):
    strata = dps.Strata(
        PAPER_SIZES,
        PAPER_SDS,
        names=["A", "B=1", "C", "<b>D</b>"],
        coefficients=[1, 2, 3, 4],
        costs=[1, 1, 2, 2],
        mins=[2, 2, 2, 2],
        maxs=PAPER_SIZES,
        sd_sources=["public", "prior", "bound", "prior"],
        extra={"region": ["n", "n", "s", None], "code": [1, 2.5, True, "x"]},
    )
    asked = {"epsilon": 1.0, "total": 200, "questions": (0, 1, 0.01), "mechanism": "laplace", **options}
    return dps.design(strata, **asked)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("mechanism", "steps"), MECHANISMS)
def test_round_trip_is_exact(tmp_path, objective, mechanism, steps):
    questions = asked_of(steps)
    plan = make_plan(objective=objective, mechanism=mechanism, questions=questions, min_fraction=0.001)
    plan.save(tmp_path / "design.json")
    again = dps.load_design(tmp_path / "design.json")
    assert again == plan
    assert again.to_dict() == plan.to_dict()
    for name in ("sample_sizes", "relaxed_sizes", "local_epsilons", "noise_sds", "sds"):
        assert np.array_equal(getattr(again, name), getattr(plan, name))
    assert again.variance == plan.variance
    assert again.certificate == plan.certificate
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "design.json").read_bytes()


def test_worst_case_spreads_and_unnamed_strata_round_trip(tmp_path):
    plan = dps.design(dps.Strata([10, 20, 1]), epsilon=1, total=9)
    plan.save(tmp_path / "d.json")
    assert dps.load_design(tmp_path / "d.json") == plan


def test_the_document_has_its_published_form():
    document = make_plan().to_dict()
    DesignDocument.model_validate(document)
    assert list(document) == [
        "format",
        "version",
        "created_with",
        "inputs",
        "strata",
        "total",
        "cost",
        "variance",
        "standard_error",
        "standard_error_without_privacy",
        "variance_parts",
        "certificate",
        "domains",
        "outcome",
        "choice",
        "comparison",
        "privacy",
    ]
    assert document["inputs"]["questions"]["questions"][0]["step"] == 0.01
    first = document["strata"][0]
    assert (first["stratum"], first["size"], first["sample_size"], first["sd_source"]) == (
        "A",
        7000,
        62,
        "public",
    )
    assert first["local_epsilon"] == pytest.approx(5.27, abs=0.01)
    assert [row["design"] for row in document["comparison"]] == [
        "this_design",
        "neyman",
        "proportional",
        "equal",
    ]
    assert document["comparison"][1]["ratio"] == pytest.approx(2.44, abs=0.01)  # at the same cost
    privacy = document["privacy"]
    assert privacy["central"] == {"epsilon": 1.0, "delta": 0.0}
    assert privacy["neighbours"] == "replace one person within a stratum"
    assert "factor of at most 2.72 (epsilon = 1)" in privacy["in_words"]
    assert all(privacy[key] for key in ("public", "secret", "not_protected"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.update(format="other"), "is not a design document"),
        (lambda d: d.update(version=2), "must be a design document of version 5, got version 2"),
        (lambda d: d.pop("strata"), "not a valid design document: strata: Field required"),
        (lambda d: d["strata"][0].update(size="many"), "strata.0.size"),
        (lambda d: d["strata"][0].update(surprise=1), "strata.0.surprise"),
        (lambda d: d["strata"][0].update(sample_size=63), "must add up to the total, got 201 and 200"),
        (
            lambda d: (d["strata"][0].update(sample_size=63), d["strata"][1].update(sample_size=42)),
            "the certificate does not hold for the sample sizes; the file was changed",
        ),
        (lambda d: d["strata"][0].update(size=50), "does not describe a possible design"),
        (lambda d: d["inputs"].update(epsilon=-1.0), "does not describe a possible design: epsilon must lie"),
        (lambda d: d["inputs"].update(at_most=300), "needs one of total, at_most"),
        (lambda d: d.update(total=199), "must add up to the total, got 200 and 199"),
    ],
)
def test_documents_that_do_not_hold_are_refused(tmp_path, change, words):
    document = make_plan().to_dict()
    change(document)
    path = tmp_path / "d.json"
    path.write_text(json.dumps(document))
    with pytest.raises(dps.InputError, match=words):
        dps.load_design(path)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'"text"', b"\xff\xfe", b"[" * 100_000])
def test_files_that_are_no_documents(tmp_path, content):
    path = tmp_path / "d.json"
    path.write_bytes(content)
    with pytest.raises(dps.InputError, match="is not a"):
        dps.load_design(path)
    with pytest.raises(dps.InputError, match="does not exist"):
        dps.load_design(tmp_path / "none.json")


def test_tables_by_ending(tmp_path):
    plan = make_plan()
    for ending in ("csv", "parquet", "xlsx"):
        plan.save(tmp_path / f"d.{ending}")
    csv = pd.read_csv(tmp_path / "d.csv")
    assert csv["sample_size"].tolist() == [62, 43, 45, 50]
    assert csv["region"].tolist()[:3] == ["n", "n", "s"]
    assert csv["local_epsilon"].tolist() == plan.local_epsilons.tolist()
    assert pq.read_table(tmp_path / "d.parquet")["noise_sd"].to_pylist() == plan.noise_sds.tolist()
    sheet = openpyxl.load_workbook(tmp_path / "d.xlsx").active
    assert [cell.value for cell in sheet["A"]] == ["stratum", "A", "B=1", "C", "<b>D</b>"]
    with pytest.raises(dps.InputError, match=r"must end in .json, .csv, .parquet or .xlsx, got 'd.txt'"):
        plan.save(tmp_path / "d.txt")


def test_a_saved_table_reads_back_as_strata(tmp_path):
    plan = make_plan()
    for ending in ("csv", "parquet", "xlsx"):
        plan.save(tmp_path / f"d.{ending}")
        again = dps.Strata.from_file(tmp_path / f"d.{ending}")
        assert again.sds == pytest.approx(plan.sds, rel=1e-15)  # Excel keeps 16 digits
        assert again.names == plan.strata.names


def test_files_appear_whole_or_not_at_all(tmp_path, monkeypatch):
    plan = make_plan()
    path = tmp_path / "d.json"
    before = '{"format": "dpstrata.design"}'
    path.write_text(before)

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(dps.InputError, match=r"d.json cannot be written: No space left on device"):
        plan.save(path)
    assert path.read_text() == before
    assert [file.name for file in tmp_path.iterdir()] == ["d.json"]
    with pytest.raises(dps.InputError, match="cannot be written"):
        plan.save(tmp_path / "no" / "such" / "folder.json")


def test_files_follow_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        make_plan().save(tmp_path / "d.json")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "d.json").stat().st_mode) == 0o640


@pytest.mark.parametrize("library", [None, "pandas", "polars", "pyarrow"])
def test_to_frame(library):
    plan = make_plan()
    strata = dps.Strata(PAPER_SIZES, PAPER_SDS)
    frame = dps.design(strata, epsilon=1, total=200, mechanism="laplace").to_frame(library)
    assert type(frame).__module__.split(".")[0] == (library or "pandas")
    assert list(frame["sample_size"] if library != "pyarrow" else frame["sample_size"].to_pylist()) == [
        62,
        43,
        45,
        50,
    ]
    with pytest.raises(dps.InputError, match="to_frame needs one of"):
        plan.to_frame("excel")


def test_shows_itself_as_text_and_as_html():
    plan = make_plan()
    text, html = repr(plan), plan._repr_html_()
    assert "62 + 43 + 45 + 50" in text
    assert "Proven optimal" in text
    assert "<table>" in html
    assert "&lt;b&gt;D&lt;/b&gt;" in html
    assert "<b>D" not in html
    many = dps.design(dps.Strata([100] * 60, [0.1] * 60), epsilon=1, total=300)
    assert "20 more strata are not shown." in repr(many)


def test_arrays_are_read_only():
    plan = make_plan()
    for name in ("sample_sizes", "relaxed_sizes", "local_epsilons", "noise_sds"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(plan, name)[0] = 1
    assert plan != 1


def test_the_published_schema_is_current():
    published = Path(__file__).parents[2] / "docs" / "design-document.schema.json"
    assert published.read_text() == design_schema(), (
        "run: python -m dpstrata.designs.document_shape > " + published.name
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["strata"][0].update(local_epsilon=50.0),
        lambda d: d["strata"][1].update(noise_sd=0.0),
        lambda d: d.update(variance=1e-9),
        lambda d: d["inputs"].update(epsilon=1.001),
        lambda d: d["privacy"]["central"].update(epsilon=0.01),
        lambda d: d["privacy"].update(in_words="Perfectly private."),
        lambda d: d["strata"][0].update(size=7001),
        lambda d: d["strata"][0].update(sd=0.2),
        lambda d: d["strata"][0].update(relaxed_size=-5.0),
        lambda d: d.update(comparison=[]),
        lambda d: d["certificate"].update(largest_gain=0.0),
    ],
)
def test_a_document_cannot_contradict_itself(tmp_path, change):
    document = make_plan().to_dict()
    change(document)
    path = tmp_path / "d.json"
    path.write_text(json.dumps(document))
    with pytest.raises(dps.InputError, match=r"the file was changed|does not describe"):
        dps.load_design(path)


def test_columns_of_an_earlier_design_do_not_overwrite_the_new_one(tmp_path):
    strata = dps.Strata(
        [100, 200],
        [0.1, 0.2],
        extra={"sample_size": [77, 88], "local_epsilon": [9.9, 9.9], "region": ["n", "s"]},
    )
    plan = dps.design(strata, epsilon=1, total=50)
    plan.save(tmp_path / "d.csv")
    table = pd.read_csv(tmp_path / "d.csv")
    assert table["sample_size"].tolist() == plan.sample_sizes.tolist()
    assert table["sample_size_given"].tolist() == [77, 88]
    assert plan.to_frame("pandas")["local_epsilon"].tolist() == plan.local_epsilons.tolist()


def test_cells_of_any_kind_are_written(tmp_path):
    when = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    strata = dps.Strata([100, 200], [0.1, 0.2], extra={"x": [math.inf, math.nan], "when": [when, None]})
    plan = dps.design(strata, epsilon=1, total=50)
    for ending in ("json", "csv", "parquet", "xlsx"):
        plan.save(tmp_path / f"d.{ending}")
    assert dps.load_design(tmp_path / "d.json").strata.extra["x"] == ("inf", None)
    odd = dps.design(dps.Strata([100, 200], [0.1, 0.2], names=["a\x01", "b"]), epsilon=1, total=50)
    with pytest.raises(dps.InputError, match="cannot hold control characters"):
        odd.save(tmp_path / "odd.xlsx")


def test_budgets_and_odds_are_rounded_upwards():
    assert factor_up(10040) == "1.01e+04"
    assert float(factor_up(123400)) >= 123400
    assert round_up(5.8421, 3) == "5.843"
    assert "epsilon = 0.1234567" in make_plan(epsilon=0.1234567).privacy["in_words"]
    privacy = make_plan().privacy
    text = " ".join(privacy["assumptions"])
    for word in ("simple random sample", "answers, or whether", "twice", "before any answer", "shuffled"):
        assert word in text


def test_the_digest_is_of_what_was_asked_and_decided():
    """Another machine's last digits do not change it; anything that was asked or decided does."""
    names = ["a", "b"]
    asked = {"epsilon": 1, "total": 40, "mechanism": "laplace"}

    def digest(sizes=(700, 900), sds=(0.3, 0.1), **options):
        return dps.design(dps.Strata(sizes, sds, names), **(asked | options)).digest

    known = digest()
    assert known == "bfcf00e4f1bf9359cbc9150d42e372d378899d800ae6a029d706a957582f4ed8"
    assert (
        len({known, digest(epsilon=2), digest(total=41), digest(sds=(0.3, 0.2)), digest(sizes=(700, 901))})
        == 5
    )
    assert digest(mechanism="tulap") != known
    from dpstrata.designs.document import COMPUTED
    from dpstrata.designs.document_shape import StratumPart

    asked = set(StratumPart.model_fields) - set(COMPUTED)
    assert asked == {
        *("stratum", "size", "sd", "sd_source", "sample_size", "coefficient", "cost", "min", "max"),
        *("response_rate", "sd_epsilon", "extra"),
    }
