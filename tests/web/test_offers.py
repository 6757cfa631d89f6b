"""What else could be chosen: what is offered does better and can be had, and what is called unfit is refused."""

import pytest

import dpstrata as dps
from dpstrata.privacy.mechanisms import MECHANISMS
from dpstrata.web.offers import find_misfits, find_offers
from dpstrata.web.replies import parts_of


def arguments(options):
    return {"epsilon": 1.0, "total": 200, **options}


@pytest.mark.parametrize(
    "options",
    [
        {"mechanism": "laplace"},
        {"mechanism": "laplace", "local_epsilon_cap": 4.0},
        {"mechanism": "gaussian", "delta": 1e-6},
        {"mechanism": "laplace", "release": "sums"},
        {"mechanism": "laplace", "total": None, "target_se": 0.03},
        {"objective": "trace", "mechanism": "piecewise"},
    ],
)
def test_an_offer_does_better_and_gives_what_it_says(strata, options):
    asked = arguments(options)
    plan = dps.design(strata, **asked)
    offers = find_offers(plan)
    assert offers
    for offer in offers:
        made = dps.design(strata, **{**asked, **offer["options"]})
        assert (made.total, made.variance) == (offer["total"], offer["variance"])
        assert made.total < plan.total if "target_se" in options else made.variance < plan.variance
        assert offer["saves"] == ("total" if "target_se" in options else None)
        assert offer["raw_answers"] is (made.inputs.release == "sums" and made.inputs.device_epsilon is None)


def test_where_people_cost_differently_an_offer_saves_cost(strata):
    costly = dps.Strata(strata.sizes, strata.sds, costs=[1.0, 2.0, 3.0, 4.0])
    plan = dps.design(costly, epsilon=1, target_se=0.03, mechanism="laplace")
    offers = find_offers(plan)
    assert offers
    assert all(offer["saves"] == "cost" and offer["cost"] < plan.cost for offer in offers)


def test_nothing_is_offered_where_nothing_does_better(strata):
    assert find_offers(dps.design(strata, epsilon=1, total=200, release="sums")) == []


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"questions": "yes_no"},
        {"questions": "0:10:1"},
        {"questions": ["a", "b", "c"]},
        {"release": "sums"},
        {"release": "sums", "questions": "yes_no", "device_epsilon": 2.0},
        {"release": "mean", "device_epsilon": 2.0},
        {"local_epsilon_cap": 3.0},
    ],
)
def test_a_misfit_is_what_a_design_refuses(options):
    strata = dps.Strata([7000, 8000])
    found = find_misfits(arguments(options))
    for name in MECHANISMS:
        delta = {"delta": 1e-6} if name == "gaussian" else {}
        asked = {**arguments(options), "mechanism": name, **delta}
        if name in found:
            with pytest.raises(dps.DpstrataError) as refused:
                dps.design(strata, **asked)
            assert parts_of(refused.value.sentence) == found[name]
        else:
            dps.design(strata, **asked)


def test_a_fault_of_the_other_options_is_no_misfit():
    assert find_misfits(arguments({"epsilon": -1.0})) == {}
