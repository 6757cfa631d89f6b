"""Scores of an allocation that someone already has."""

import math

import numpy as np
import pytest

import dpstrata as dps

PAPER = dps.Strata([7000, 8000, 9000, 10000], [math.sqrt(0.08**i) for i in (1, 2, 3, 4)])


FOR_ALL = {"response_rate": 0.6, "proportion": 0.08}
FILLED = dps.Strata(PAPER.sizes).filled(**FOR_ALL)


def test_one_value_for_all_strata_in_every_function(tmp_path):
    bare, promise = dps.Strata(PAPER.sizes), {"epsilon": 1, "questions": "yes_no"}
    plan = dps.design(bare, total=400, **promise, **FOR_ALL)
    assert plan == dps.design(FILLED, total=400, **promise)
    plan.save(tmp_path / "design.json")
    assert dps.load_design(tmp_path / "design.json") == plan
    given = dps.evaluate(bare, [100] * 4, **promise, **FOR_ALL)
    assert given.variance == dps.evaluate(FILLED, [100] * 4, **promise).variance
    waves = {"pilot_epsilon": 0.3, "total": 400, "pilot_total": 100}
    assert dps.pilot(bare, **promise, **waves, **FOR_ALL) == dps.pilot(FILLED, **promise, **waves)
    rows = dps.sweep(bare, response_rate=[0.6, 1.0], proportion=[0.08, 0.5], total=400, **promise)
    assert [(row["response_rate"], row["proportion"]) for row in rows] == [
        (0.6, 0.08),
        (0.6, 0.5),
        (1.0, 0.08),
        (1.0, 0.5),
    ]
    assert rows[0]["variance"] == plan.variance
    assert len({row["variance"] for row in rows}) == 4


def test_sums_are_noised_once_in_evaluate_too():
    score = dps.evaluate(PAPER, [100] * 4, epsilon=1, release="sums")
    shown = np.array(score.table()["noise_sd"])
    weights = PAPER.sizes / PAPER.population
    assert float((weights**2 * shown**2).sum()) == pytest.approx(score.variance_parts.privacy, rel=1e-12)
    for rates in (None, [0.5, 0.6, 0.7, 1.0]):
        strata = dps.Strata(PAPER.sizes, PAPER.sds, response_rates=rates)
        plan = dps.design(strata, epsilon=1, total=400, release="sums")
        same = dps.evaluate(strata, plan.sample_sizes, epsilon=1, release="sums")
        assert same.table()["noise_sd"] == plan.noise_sds.tolist()


COSTLY = dps.Strata(PAPER.sizes, PAPER.sds, costs=[12, 10, 11, 25])


def test_an_allocation_is_compared_with_the_best_of_the_same_cost():
    given = [50, 50, 50, 50]
    score = dps.evaluate(COSTLY, given, epsilon=1, mechanism="laplace")
    best = dps.design(COSTLY, epsilon=1, budget=2900, mechanism="laplace")
    assert score.cost == 2900
    assert score.total == 200 == score.to_dict()["total"]
    assert score.best.sample_sizes.tolist() == best.sample_sizes.tolist()
    assert score.ratio == score.variance / best.variance > 1
    assert not score.certificate.optimal
    assert score.certificate.lower_bound == best.certificate.lower_bound
    assert "the best allocation for the same cost" in repr(score)
    itself = dps.evaluate(COSTLY, best.sample_sizes, epsilon=1, mechanism="laplace")
    assert itself.ratio == 1
    assert itself.certificate == best.certificate
    same = dps.Strata(PAPER.sizes, PAPER.sds, costs=[3] * 4)
    plain = dps.evaluate(same, given, epsilon=1, mechanism="laplace")
    assert plain.ratio == dps.evaluate(PAPER, given, epsilon=1, mechanism="laplace").ratio
    assert plain.sentences()[1] == "The invitations cost 600."
    assert dps.evaluate(PAPER, given, epsilon=1, mechanism="laplace").cost is None


def test_a_budget_is_compared_with_the_cost_of_an_allocation():
    given = [50, 50, 50, 50]
    over = dps.evaluate(COSTLY, given, epsilon=1, budget=2500)
    assert over.within_budget is False
    assert over.sentences()[1] == "The invitations cost 2,900, 400 more than the budget of 2,500."
    inside = dps.evaluate(COSTLY, given, epsilon=1, budget=2900)
    assert inside.to_dict()["within_budget"] is True
    assert inside.sentences()[1] == "The invitations cost 2,900, within the budget of 2,900."
    assert inside.ratio == over.ratio
    with pytest.raises(dps.InputError, match="budget requires the cost of one invitation in every stratum"):
        dps.evaluate(PAPER, given, epsilon=1, budget=2500)
    with pytest.raises(dps.InputError, match="budget must be positive"):
        dps.evaluate(COSTLY, given, epsilon=1, budget=-1)
