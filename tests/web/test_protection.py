"""The first choice on the page: whom the survey protects against, what that costs and what it means."""

import json

import pytest
from playwright.sync_api import expect

import dpstrata as dps
from dpstrata.web.workers import work


def asked(four, language="en", **options):
    four["options"] = {"epsilon": 1.0, "total": 200, **options}
    reply = work("protection", {"language": language}, json.dumps(four).encode())
    return reply.status, json.loads(reply.content)


@pytest.mark.parametrize(
    ("options", "against", "summed"),
    [
        ({}, "published", "sums"),
        ({"release": "sums"}, "public", "sums"),
        ({"release": "sums", "device_epsilon": 3.0}, "office", "sums"),
        ({"release": "mean"}, "public", "mean"),
        ({"release": "mean", "device_epsilon": 5.0}, "office", "mean"),
    ],
)
def test_every_choice_has_the_figures_of_its_own_design(four, strata, options, against, summed):
    status, answer = asked(four, **options)
    assert status == 200
    assert answer["against"] == against
    device = options.get("device_epsilon", 5.0)
    assert answer["device_epsilon"] == device
    designs = {
        "public": {"release": summed},
        "office": {"release": summed, "device_epsilon": device},
        "published": {},
    }
    assert set(answer["choices"]) == set(designs)
    for name, more in designs.items():
        plan = dps.design(strata, epsilon=1.0, total=200, **more)
        assert answer["choices"][name]["standard_error"] == pytest.approx(plan.standard_error, rel=1e-12)
        assert answer["choices"][name]["office_sees_raw_answers"] is (name == "public")
    plan = dps.design(strata, epsilon=1.0, total=200, **options)
    assert answer["sentences"] == list(plan.privacy["sentences"])
    assert answer["consent"]["title"] == plan.consent("en").title


def test_a_promise_that_devices_cannot_keep_leaves_that_choice_out(four):
    status, answer = asked(four, mechanism="gaussian", delta=1e-6)
    assert status == 200
    assert set(answer["choices"]) == {"public", "published"}
    assert answer["device_epsilon"] is None
    assert answer["consent"] is None


def test_a_goal_that_a_choice_misses_is_told_apart_from_one_that_cannot_be_made(four):
    four["options"] = {"epsilon": 1.0, "target_se": 0.002, "release": "sums"}
    reply = work("protection", {"language": "en"}, json.dumps(four).encode())
    choices = json.loads(reply.content)["choices"]
    assert choices["public"]["total"] > 0
    assert choices["published"] == {**choices["published"], "total": None, "standard_error": None}


def test_respondents_are_told_in_their_language(four):
    status, answer = asked(four, "ar")
    assert status == 200
    assert answer["consent"]["direction"] == "rtl"
    assert answer["languages"]["de"] == "Deutsch"
    status, answer = asked(four, "tlh")
    assert status == 422
    assert "language" in answer["error"]["message"]


def against(visit, name):
    return visit.page.locator(f'input[name="against"][value="{name}"]')


def test_a_choice_sets_the_release_and_the_budget_of_devices(visit, strata):
    first = visit.page.locator(".controls").locator("input, select").first
    expect(first).to_have_attribute("name", "against")
    expect(against(visit, "published")).to_be_checked()
    costs = visit.page.locator(".protection .cost")
    expect(costs.nth(0)).to_contain_text("200 invited, standard error 0.0065")
    expect(costs.nth(1)).to_contain_text("against the office ε 5")
    expect(costs.nth(2)).to_contain_text("standard error 0.00937")
    against(visit, "office").check()
    expect(visit.control("release")).to_have_value("sums")
    expect(visit.control("device_epsilon")).to_have_value("5")
    visit.headline("standard error of 0.0117")
    against(visit, "public").check()
    expect(visit.control("device_epsilon")).to_have_value("")
    visit.headline("standard error of 0.0065")
    visit.control("release").select_option("mean")
    expect(against(visit, "public")).to_be_checked()
    against(visit, "office").check()
    expect(visit.control("release")).to_have_value("mean")
    against(visit, "published").check()
    expect(visit.control("release")).to_have_value("microdata")
    expect(visit.control("device_epsilon")).to_have_count(0)


def test_no_choice_of_a_plan_that_is_refused_waits_for_its_cost(visit):
    costs = visit.page.locator(".protection .cost")
    expect(costs.nth(2)).to_contain_text("standard error 0.00937")
    visit.control("min_per_stratum").fill("9999")
    visit.page.locator("details.more > summary").click()
    expect(visit.page.locator(".failure").first).to_be_visible()
    expect(costs).to_have_count(0)
    visit.page.go_back()
    expect(costs.nth(2)).to_contain_text("standard error 0.00937")
    visit.settle()


def test_what_a_choice_means_is_told_in_odds_and_to_respondents(visit):
    against(visit, "office").check()
    visit.page.locator(".protection summary").click()
    meaning = visit.page.locator(".protection .meaning")
    expect(meaning).to_contain_text(
        "whoever sees what it sends, the office too, can change their odds by a factor of at most 148.42"
    )
    expect(meaning).to_contain_text("What happens to your answers")
    meaning.locator("select").select_option("ar")
    expect(meaning.locator(".consent")).to_have_attribute("dir", "rtl")
    visit.settle()
    visit.check()
