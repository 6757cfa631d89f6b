"""The report, read back with a parser and compared with the library."""

import base64
import hashlib
import itertools
import re
import sys
import warnings

import numpy as np
import pytest

import dpstrata as dps
from commands import run
from dpstrata.present.report.tables import options_table
from dpstrata.present.report.words import noise_in_words
from dpstrata.words.proofs import proof_in_words
from report_reader import Reader, require_closed

pytestmark = pytest.mark.slow

SIZES, SDS = [7000, 8000, 9000, 10000], [0.283, 0.08, 0.0226, 0.0064]
FOUR = dps.Strata(SIZES, SDS, names=["D", "C", "B", "A"])
RICH = dps.Strata(
    SIZES,
    SDS,
    costs=[3, 2.5, 4, 3],
    response_rates=[0.9, 1.0, 0.75, 0.6],
    sd_sources=["public", "prior", "bound", "private_pilot"],
    sd_epsilons=[0, 0, 0, 0.125],
    extra={"region": ["n", "n", "s", "s"]},
)
DESIGNS = {
    "total": (FOUR, {"epsilon": 1, "total": 200}),
    "at_most": (FOUR, {"epsilon": 0.1, "at_most": 20_000}),
    "too many": (FOUR, {"epsilon": 0.1, "total": 20_000}),
    "budget": (RICH, {"epsilon": 0.7, "budget": 555.5}),
    "target_se": (RICH, {"epsilon": 1, "target_se": 0.03}),
    "target_margin": (FOUR, {"epsilon": 1, "target_margin": 0.06}),
    "target_cv": (FOUR, {"epsilon": 1, "target_cv": 0.1, "expected_mean": 0.4}),
    "domains": (RICH, {"epsilon": 2, "domains": {"region": "0.06se"}}),
    "best": (FOUR, {"epsilon": 1, "total": 300, "mechanism": "best", "questions": "yes_no"}),
    "randomized response": (
        FOUR,
        {"epsilon": 1, "total": 300, "mechanism": "randomized_response", "questions": "yes_no"},
    ),
    "grid": (FOUR, {"epsilon": 1, "total": 300, "mechanism": "discrete_laplace", "questions": (-5, 5, 0.5)}),
    "piecewise": (FOUR, {"epsilon": 1, "total": 300, "mechanism": "piecewise"}),
    "tulap": (FOUR, {"epsilon": 1, "total": 300, "mechanism": "tulap"}),
    "gaussian": (FOUR, {"epsilon": 1, "delta": 1e-6, "total": 300, "mechanism": "gaussian"}),
    "zcdp": (FOUR, {"zcdp": 0.3, "total": 300, "mechanism": "gaussian"}),
    "gdp": (FOUR, {"gdp": 1.25, "total": 300, "mechanism": "gaussian", "release": "sums"}),
    "raw sums": (FOUR, {"epsilon": 1, "total": 300, "release": "sums", "mechanism": "staircase"}),
    "sums": (FOUR, {"epsilon": 1, "total": 300, "release": "sums", "device_epsilon": 3}),
    "yes/no sums": (
        FOUR,
        {"epsilon": 1, "total": 300, "questions": "yes_no", "mechanism": "randomized_response"}
        | {"release": "sums", "device_epsilon": 3},
    ),
    "cap": (RICH, {"epsilon": 1, "total": 300, "local_epsilon_cap": 4.5}),
    "trace": (FOUR, {"epsilon": 1, "total": 300, "objective": "trace"}),
    "unit_free": (FOUR, {"epsilon": 1, "total": 300, "objective": "unit_free"}),
    "one stratum": (dps.Strata([500], [0.0]), {"epsilon": 1, "total": 10}),
    "everyone": (dps.Strata([5, 6], [0.1, 0.2]), {"epsilon": 1, "total": 11}),
}


def quiet(strata, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dps.design(strata, **options)


@pytest.fixture(params=DESIGNS, scope="module")
def made(request):
    plan = quiet(*DESIGNS[request.param])
    page = dps.report_html(plan, title="Health & <income> 2031")
    return plan, page, Reader(page)


def test_the_page_is_whole_and_closed(made):
    _, page, reader = made
    assert page.startswith("<!DOCTYPE html>")
    require_closed(page)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.S)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = [a["content"] for tag, a in reader.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'"


def test_it_can_be_heard(made):
    _, _, reader = made
    assert dict(reader.tags)["html"] == {"lang": "en"}
    levels = [level for level, _ in reader.headings]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert all(attributes.get("scope") in ("col", "row") for tag, attributes in reader.tags if tag == "th")
    assert all(table["caption"] for table in reader.tables)
    pictures = [attributes for tag, attributes in reader.tags if tag == "svg"]
    assert len(pictures) >= 3
    assert all(picture["role"] == "img" and picture["aria-label"] for picture in pictures)
    ids = [attributes["id"] for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_the_allocation_is_that_of_the_design(made):
    plan, _, reader = made
    *rows, last = reader.table("The strata, and the people invited")
    assert [row["stratum"] for row in rows] == list(plan.strata.names)
    assert [int(row["invited"].replace(",", "")) for row in rows] == plan.sample_sizes.tolist()
    assert [int(row["people"].replace(",", "")) for row in rows] == plan.strata.sizes.tolist()
    neyman = plan.compare()[1].sample_sizes.tolist()
    assert [int(row["Neyman"].replace(",", "")) for row in rows] == neyman
    assert int(last["invited"].replace(",", "")) == plan.total
    if plan.strata.costs is not None:
        assert [float(row["cost"]) for row in rows] == plan.strata.costs.tolist()


def test_the_noise_is_that_of_the_design(made):
    plan, _, reader = made
    *rows, _ = reader.table(plan.strata.counted(plan.total))
    name = next(name for name in rows[0] if name.startswith("noise sd"))
    assert [float(row[name]) for row in rows] == pytest.approx(plan.noise_sds.tolist(), rel=1e-3)
    rates = [float(row["rate"][:-1]) / 100 for row in rows]
    assert rates == pytest.approx((plan.sample_sizes / plan.strata.sizes).tolist(), abs=6e-6)
    if plan.inputs.promise.amplified:
        shown = np.array([float(row[plan.inputs.release_form.budget_of]) for row in rows])
        assert np.all((shown >= plan.local_epsilons - 1e-12) & (shown < plan.local_epsilons + 1.001e-3))
    else:
        assert plan.inputs.release_form.budget_of not in rows[0]
    if plan.inputs.local_epsilon_cap is not None:
        assert [row["capped"] == "yes" for row in rows] == plan.capped.tolist()


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        ("laplace", "Laplace noise is added to an answer;"),
        ("randomized_response", "Each answer is kept or flipped"),
        ("piecewise", "Each answer is replaced by a random one (the piecewise mechanism);"),
    ],
)
def test_what_noises_an_answer_is_said(mechanism, words):
    asked = {"epsilon": 1, "total": 300, "questions": "yes_no", "mechanism": mechanism}
    plan = dps.design(FOUR, **asked)
    assert noise_in_words(plan).startswith(words)


def test_categories_are_listed_as_what_an_answer_can_be():
    plan = dps.design(dps.Strata([70, 90]), epsilon=1, total=30, questions=["rent", "own"])
    assert "; answers are one of rent, own. The smaller" in noise_in_words(plan)


def test_proof_promise_and_digest_are_those_of_the_design(made):
    plan, _, reader = made
    privacy = plan.privacy
    for said in (
        proof_in_words(plan, plan.certificate),
        privacy["in_words"],
        plan.inputs.promise.in_words,
        plan.digest,
    ):
        assert said in reader.text
    for part in ("assumptions", "public", "secret", "not_protected"):
        for said in privacy[part]:
            assert said in reader.text
    assert "Health & <income> 2031" in reader.text
    assert reader.text.count("Signature") >= 2


def test_sources_are_counted():
    reader = Reader(dps.report_html(quiet(RICH, {"epsilon": 1, "total": 200})))
    rows = reader.table("Standard deviations by their source")
    assert {row["source"]: (row["strata"], row["epsilon spent"]) for row in rows} == {
        "public": ("1", "none"),
        "prior": ("1", "none"),
        "bound": ("1", "none"),
        "private pilot": ("1", "0.125"),
    }
    assert "They have cost epsilon = 0.125 in addition" in reader.text


def test_names_stay_names():
    names = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror='alert(1)'>",
        "a&amp;b",
        "]]>--><!--",
        "tab\x01\x00\x1bend",
        "long" * 500,
        "القاهرة \u202e evil",
        "http://evil.example/x.css",
    ]
    strata = dps.Strata([700] * 8, [0.3, 0.2] * 4, names=names, extra={"<b>": ["<i>x"] * 4 + ["y"] * 4})
    plan = dps.design(strata, epsilon=1, total=100, domains=["<b>"])
    page = dps.report_html(plan, title="</title><script>")
    reader = Reader(page)
    for tag, attributes in reader.tags:
        assert tag not in ("script", "img", "b", "i")
        assert "onerror" not in attributes
    shown = [row["stratum"] for row in reader.table("The strata, and the people invited")][:-1]
    assert shown[:4] == names[:4]
    assert shown[4] == "tab\ufffd\ufffd\ufffdend"
    assert len(shown[5]) == 120
    assert shown[5].endswith("…")
    assert shown[6:] == names[6:]
    assert page.count("<bdi>") >= 16
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f]", page)


def test_many_strata_stay_readable():
    draw = np.random.default_rng(1)
    k = 3000
    strata = dps.Strata(draw.lognormal(7, 1, k).astype(int) + 50, draw.uniform(0.05, 0.5, k))
    page = dps.report_html(dps.design(strata, epsilon=1, total=20 * k))
    assert len(page) < 400_000
    reader = Reader(page)
    assert len(reader.table("The strata, and the people invited")) == 201
    assert "2,800 more strata are not shown." in reader.text
    assert 'from_file("strata.csv")' in reader.text
    require_closed(page)


def test_a_report_is_a_file_or_a_clear_sentence(tmp_path):
    plan = dps.design(FOUR, epsilon=1, total=200)
    dps.write_report(plan, tmp_path / "r.html", title="Mine")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == dps.report_html(plan, title="Mine")
    with pytest.raises(dps.InputError, match=r"a report file must end in .html or .pdf, got 'r.docx'"):
        dps.write_report(plan, tmp_path / "r.docx")
    with pytest.raises(dps.InputError, match="cannot be written"):
        dps.write_report(plan, tmp_path / "nowhere" / "r.html")


def test_the_report_as_pdf(tmp_path):
    dps.write_report(dps.design(FOUR, epsilon=1, total=200), tmp_path / "r.pdf")
    content = (tmp_path / "r.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert content.rstrip().endswith(b"%%EOF")
    assert len(content) > 20_000


def test_what_pdf_lacks_is_said_in_one_sentence(tmp_path, monkeypatch):
    import builtins

    plan = dps.design(FOUR, epsilon=1, total=200)
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(
        dps.MissingExtraError, match=r"PDF reports need an extra: pip install 'dpstrata\[pdf\]'"
    ):
        dps.write_report(plan, tmp_path / "r.pdf")
    monkeypatch.delitem(sys.modules, "weasyprint")
    real = builtins.__import__

    def without_pango(name, *others):
        if name == "weasyprint":
            raise OSError("cannot load library 'libpango-1.0-0'")
        return real(name, *others)

    monkeypatch.setattr(builtins, "__import__", without_pango)
    with pytest.raises(dps.InputError, match="need the library Pango on this machine"):
        dps.write_report(plan, tmp_path / "r.pdf")
    assert list(tmp_path.iterdir()) == []


def test_on_the_command_line(tmp_path):
    plan = dps.design(FOUR, epsilon=1, total=200, mechanism="laplace")
    plan.save(tmp_path / "design.json")

    done = run(tmp_path, "report", "design.json", "--out", "r.html", "--title", "Mine")
    assert done.returncode == 0, done.stderr
    assert "checked. Report written to r.html." in done.stdout
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == dps.report_html(plan, title="Mine")
    changed = (tmp_path / "design.json").read_text().replace('"sample_size": 62', '"sample_size": 61')
    (tmp_path / "changed.json").write_text(changed)
    refused = run(tmp_path, "report", "changed.json", "--out", "c.html")
    assert refused.returncode == 2
    assert "Error: " in refused.stderr
    assert not (tmp_path / "c.html").exists()


def test_where_everyone_is_asked_nothing_is_compared():
    strata = dps.Strata([40, 60], names=["north", "south"])
    options = {"epsilon": 1, "questions": "yes_no", "release": "sums"}
    everyone, some = (dps.design(strata, total=total, **options) for total in (100, 99))
    sentence = "Everyone is asked, so every other allocation is the same as this one."
    for plan, alone in ((everyone, True), (some, False)):
        page = dps.report_html(plan)
        assert (sentence in page) == (sentence in repr(plan)) == alone
        assert ("Other allocations" not in page) == ("Other allocations" not in repr(plan)) == alone
        assert ("beside Neyman" not in page) == alone


def test_what_was_asked_for_shows_each_answer_once():
    asked = dps.Question("hours", "scale", lower=0, upper=5)
    plan = dps.design(dps.Strata([900, 700]), epsilon=1, total=200, questions=asked)
    shown = dict(options_table(plan).rows)
    assert shown["answers"] == "0 to 5"
    assert "questions" not in shown
