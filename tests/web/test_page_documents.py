"""Design documents opened in the planner: with everything they say, or refused in a sentence."""

import json

from browser import FIRST, open_file
from playwright.sync_api import expect

import dpstrata as dps
from dpstrata.present.report.words import headline


def test_a_document_opens_with_its_own_question_or_not_at_all(visit, strata, tmp_path):
    def saved(plan):
        plan.save(tmp_path / "design.json")
        return (tmp_path / "design.json").read_bytes()

    notice = visit.page.locator(".notice.error")
    costly = dps.Strata(strata.sizes, strata.sds, costs=[1.0, 2.0, 3.0, 4.0], names=list(strata.names))
    open_file(visit, "design.json", saved(dps.design(costly, epsilon=1, target_se=0.03, budget=5000)))
    expect(notice).to_contain_text("target_se and budget together, for which the page has no control")
    open_file(
        visit,
        "design.json",
        saved(dps.pilot(strata, epsilon=1, pilot_epsilon=0.5, pilot_total=200, total=800)),
    )
    expect(notice).to_contain_text("two waves, for which the page has no control")
    clipped = dps.design(strata, epsilon=1, total=200, questions=(0, 1), clip=True)
    open_file(visit, "design.json", saved(clipped))
    expect(notice).to_contain_text("clip, for which the page has no control")
    for content in (
        b'{"format": "dpstrata.design", "version": 5, "strata": []}',
        b'{"format": "dpstrata.design", "version": 5, "strata": [1]}',
    ):
        open_file(visit, "design.json", content)
        expect(notice).to_contain_text("This design document is damaged.")
    open_file(visit, "design.json", b'{"format": "dpstrata.design", "version": 2, "strata": [1]}')
    expect(notice).to_contain_text("This design document is of version 2; the page opens version 5.")
    open_file(visit, "plan.json", b"null")
    expect(notice).to_contain_text("neither a plan file nor a design document")
    visit.headline(FIRST)
    plan = dps.design(strata, epsilon=1, total=250)
    assert json.loads(saved(plan))["inputs"]["delta"] == 0
    open_file(visit, "design.json", saved(plan))
    visit.headline(headline(plan))
    visit.control("mechanism").select_option("gaussian")
    visit.headline(headline(dps.design(strata, epsilon=1, total=250, mechanism="gaussian", delta=1e-6)))


def test_targets_of_groups_say_what_they_are(visit, tmp_path):
    """In documents, in the control and in links; a percent sign survives all of them."""
    extra = {"region": ["n", "n", "s"], "expected_mean": [0.5, 0.3, 0.1]}
    strata = dps.Strata(
        [7000, 8000, 9000], [0.5, 0.45, 0.3], names=["A", "B", "C"], costs=[1, 1, 2], extra=extra
    )
    asked = {"epsilon": 1, "budget": 2000, "min_per_stratum": 1}
    plan = dps.design(strata, domains={"region": dps.CV(0.15)}, **asked)
    plan.save(tmp_path / "design.json")
    open_file(visit, "design.json", (tmp_path / "design.json").read_bytes())
    visit.headline(headline(plan))
    target = visit.page.get_by_label("Target for every group of region")
    expect(target).to_have_value("0.15cv")
    expect(visit.page.locator(".groups tbody")).to_contain_text("15%")
    target.fill("25%cv")
    visit.headline(headline(dps.design(strata, domains={"region": dps.CV(0.25)}, **asked)))
    link = visit.page.url
    visit.leave()
    visit.page.goto(link)
    expect(visit.page.get_by_label("Target for every group of region")).to_have_value("25%cv")
    visit.page.get_by_label("Target for every group of region").fill("0.25")
    expect(visit.page.locator(".failure")).to_contain_text(
        "must say what it is: 0.25cv, 0.25se or 0.25margin"
    )
    alone = dps.design(strata, epsilon=1, domains={"region": dps.CV(0.2)})
    alone.save(tmp_path / "alone.json")
    open_file(visit, "design.json", (tmp_path / "alone.json").read_bytes())
    expect(visit.page.locator(".notice.error")).to_contain_text("targets for groups alone")


def test_a_document_opens_with_categories_and_with_any_name_of_a_column(visit, tmp_path):
    extra = {"2024": ["x", "y"], "toString": ["n", "s"]}
    strata = dps.Strata([7000, 8000], names=["A", "B"], extra=extra)
    plan = dps.design(
        strata,
        epsilon=1, total=250, questions=["own flat", "rent"], domains=["toString"],
    )  # fmt: skip
    plan.save(tmp_path / "design.json")
    open_file(visit, "design.json", (tmp_path / "design.json").read_bytes())
    visit.headline(headline(plan))
    expect(visit.control("questions")).to_have_value("own flat|rent")
    assert visit.page.locator("tbody tr:first-child [data-column]").evaluate_all(
        "cells => cells.map(cell => cell.dataset.column)"
    )[:1] == ["stratum"]
    expect(visit.page.get_by_role("checkbox", name="toString")).to_be_checked()
    visit.settle()
    _, content = visit.download(visit.page.get_by_role("button", name="Design document"))
    assert json.loads(content)["inputs"]["questions"]["questions"][0]["categories"] == ["own flat", "rent"]


def test_a_document_opens_with_its_release(visit, strata, tmp_path):
    for device in (3.5, None):
        plan = dps.design(strata, epsilon=1, total=250, release="sums", device_epsilon=device)
        plan.save(tmp_path / "design.json")
        open_file(visit, "design.json", (tmp_path / "design.json").read_bytes())
        visit.headline(headline(plan))
        expect(visit.control("release")).to_have_value("sums")
        expect(visit.control("device_epsilon")).to_have_value("" if device is None else "3.5")
    visit.control("release").select_option("microdata")
    kept = visit.control(
        "mechanism"
    ).input_value()  # what the document names, though sums had been given the choice
    assert kept == plan.mechanism.name
    visit.headline(headline(dps.design(strata, epsilon=1, total=250, mechanism=kept)))
    visit.control("mechanism").select_option("best")
    visit.headline(headline(dps.design(strata, epsilon=1, total=250)))


# --- numbers ----------------------------------------------------------------------------------
