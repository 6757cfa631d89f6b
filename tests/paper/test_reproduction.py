"""The whole reproduction, on its quick grid, as a user runs it."""

import csv
import math
import re
import subprocess
import sys

import pytest

import dpstrata as dps
from dpstrata.allocation.solvers.exhaustive import MOST_CANDIDATES, MOST_IN_BALL
from dpstrata.paper.items import QUICK, Extent
from dpstrata.paper.reproduction import reproduce

ITEMS = ("claims", "table-1", "ratio-mean", "ratio-trace", "interplay", "computation-time", "growth")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper") / "results"
    result = subprocess.run(
        [sys.executable, "-m", "dpstrata", "paper", "--quick", "--out", str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    assert "Written to" in result.stdout
    return folder


def rows(folder, name):
    with (folder / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_every_item_has_its_files(results):
    for name in ITEMS:
        assert rows(results, name)
        if name not in ("claims", "table-1"):
            assert (results / f"{name}.svg").read_bytes().startswith(b"<svg")
            assert (results / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_page_is_self_contained_and_shows_every_item(results):
    page = (results / "index.html").read_text(encoding="utf-8")
    for name in ITEMS:
        assert f'id="{name}"' in page
    assert page.count("<svg") == 5
    assert "<script" not in page
    outside = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert all(link.startswith("#") or re.fullmatch(r"[\w.-]+\.(csv|svg|png)", link) for link in outside)
    assert not re.findall(r"url\(['\"]?http", page)


@pytest.mark.slow
def test_table_1_has_no_differing_digit(results):
    assert [row["same_digits"] for row in rows(results, "table-1")] == ["True"] * 10


@pytest.mark.slow
def test_claims_are_judged(results):
    verdicts = {row["claim"].split(":")[0]: row["holds"] for row in rows(results, "claims")}
    by_claim = {row["claim"]: row["holds"] for row in rows(results, "claims")}
    assert len(by_claim) == 17
    assert verdicts["Table 1, all ten ratios"] == "yes"
    assert verdicts["TuLap, mean"] == "yes"
    assert verdicts["Discrete Laplace, mean"] == "yes"
    # claims of the paper that do not hold as printed
    assert verdicts["Laplace, mean"] == "no: 2.5 is not reached"
    assert verdicts["Laplace, A-optimal"] == "partly: a little more"
    assert verdicts["TuLap, A-optimal"] == "no"
    assert (
        by_claim["Exhaustive search grows exponentially with the total"] == "no: polynomially, with degree 9"
    )


def test_the_limit_of_strong_privacy_is_not_pure_noise():
    """n ∝ N·√(S² + R²/6) as ε → 0, which the paper's figure approaches but its text calls pure noise."""
    import numpy as np

    from dpstrata.paper.items import three_strata

    strata = three_strata()
    with pytest.warns(dps.DpstrataWarning, match="exceeds the best total"):
        relaxed = dps.design(strata, epsilon=1e-5, total=200, mechanism="laplace").relaxed_sizes
    limit = strata.sizes * np.sqrt(strata.sds**2 + 1 / 6)
    assert relaxed == pytest.approx(200 * limit / limit.sum(), rel=1e-3)
    assert abs(relaxed[2] - 100) > 4


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("x")
    result = subprocess.run(
        [sys.executable, "-m", "dpstrata", "paper", "--quick", "--out", str(tmp_path / "file" / "x")],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 2
    assert "cannot be made" in result.stderr


@pytest.mark.parametrize("extent", [Extent(), QUICK])
def test_the_extents_stay_within_what_the_solvers_accept(extent):
    assert set(extent.exhaustive_totals) <= set(extent.totals)
    assert all(math.comb(total - 1, 9) <= MOST_CANDIDATES for total in extent.exhaustive_totals)
    assert 2 ** (max(extent.first_stage_strata) - 1) <= MOST_IN_BALL


def test_a_missing_extra_is_told_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(dps.MissingExtraError, match="charts need an extra"):
        reproduce(tmp_path / "results", quick=True)
    assert not (tmp_path / "results").exists()
