"""The best mechanism, and what each form of release gives."""

import inspect
import json
import math
from contextlib import contextmanager

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.allocation.proof.bound import Bound
from dpstrata.allocation.variances import planned_variance
from dpstrata.designs.choice import better_mechanism, better_releases, valid_mechanisms
from dpstrata.privacy.mechanisms import MECHANISMS
from dpstrata.privacy.mechanisms.sine import Sine
from dpstrata.survey.releases import kind_of
from extent import few
from surveys import microdata

PAPER = dps.Strata([7000, 8000, 9000, 10000], [math.sqrt(0.08**i) for i in (1, 2, 3, 4)])
ONLY_GAUSSIAN = ({"epsilon": 1, "delta": 1e-6}, {"zcdp": 0.5}, {"gdp": 1.0})


def one_stratum_at(e):
    """A stratum and a total at which the local budget is e, nearly, for a central budget of 1."""
    n = 1000
    return dps.Strata([round(n * math.expm1(e) / math.expm1(1.0))], [0.2]), n


@pytest.mark.parametrize(
    ("e", "answers", "chosen"),
    [
        (3.0, "yes_no", "randomized_response"),
        (5.15, "yes_no", "randomized_response"),
        (3.0, (0, 1), "sine"),
        (5.15, (0, 1), "sine"),
    ],
)
@pytest.mark.filterwarnings("ignore:total=.* exceeds the best total")
def test_best_picks_what_it_should(e, answers, chosen):
    strata, n = one_stratum_at(e)
    plan = dps.design(strata, epsilon=1, total=n, questions=answers, mechanism="best")
    assert plan.local_epsilons[0] == pytest.approx(e, abs=1e-3)
    assert plan.mechanism.name == chosen
    given = {row.mechanism: row.variance for row in plan.choice}
    assert plan.variance == min(given.values())
    for name, variance in given.items():
        other = dps.design(strata, epsilon=1, total=n, questions=answers, mechanism=name)
        assert other.variance == variance
    if answers == (0, 1) and e == 3.0:
        assert (plan.noise_sds[0] ** 2) == pytest.approx(0.0777, abs=5e-5)
    assert f"{plan.mechanism.title} noise was chosen" in repr(plan)


def test_valid_mechanisms_by_answers_and_release():
    def names(answers, **more):
        inputs = dps.design(PAPER, **{"epsilon": 1, "total": 99, "questions": answers, **more}).inputs
        return list(valid_mechanisms(inputs))

    assert names((0, 1)) == ["sine", "laplace", "tulap", "staircase", "piecewise"]
    assert names((0, 10, 0.25)) == [
        "sine",
        "laplace",
        "discrete_laplace",
        "tulap",
        "staircase",
        "piecewise",
    ]
    assert names((0, 1, 0.25))[:2] == ["sine", "cells"]
    assert "randomized_response" in names("yes_no")
    assert names((0, 1), release="sums") == ["laplace", "tulap", "staircase"]
    on_devices = ["sine", "laplace", "tulap", "staircase", "piecewise"]
    assert names((0, 1), release="sums", device_epsilon=3) == on_devices
    assert "randomized_response" not in names("yes_no", release="sums")
    assert "randomized_response" in names("yes_no", release="sums", device_epsilon=3)
    for promise in ONLY_GAUSSIAN:
        assert names("yes_no", **{"epsilon": None, "mechanism": "gaussian", **promise}) == ["gaussian"]


@pytest.mark.parametrize(
    ("answers", "release", "options", "names"),
    [
        ("yes_no", "microdata", {}, ["randomized_response"]),
        ("yes_no", "sums", {}, ["discrete_laplace"]),
        ((0, 1), "microdata", {}, ["sine"]),
        ((0, 1), "sums", {}, ["staircase"]),
        ((0, 1, 0.5), "microdata", {}, ["cells"]),
        ((0, 100, 1), "sums", {}, ["staircase"]),
        ("yes_no", "sums", {"device_epsilon": 3}, ["discrete_laplace", "randomized_response"]),
        ((0, 1), "sums", {"device_epsilon": 3}, ["sine", "staircase"]),
        ((0, 1), "microdata", {"local_epsilon_cap": 4.4}, ["sine"]),
        ((0, 1), "microdata", {"at_most": 100, "total": None}, ["sine"]),
    ],
)
def test_nothing_is_solved_that_cannot_be_the_best(answers, release, options, names):
    asked = {"epsilon": 1, "total": 4000, "questions": answers, "release": release, "mechanism": "best"}
    plan = dps.design(PAPER, **(asked | options))
    assert [row.mechanism for row in plan.choice] == names


def test_a_beaten_mechanism_says_so_in_one_line():
    plan = dps.design(PAPER, epsilon=1, total=200, mechanism="laplace")
    title, variance = better_mechanism(plan)
    assert title == "Sine"
    with_it = dps.evaluate(PAPER, plan.sample_sizes, epsilon=1, mechanism="sine")
    assert variance == pytest.approx(with_it.variance)
    assert f"with the same sample sizes, give a standard error of {math.sqrt(variance):.4g}." in repr(plan)
    best = dps.design(PAPER, epsilon=1, total=200, mechanism="best")
    assert better_mechanism(best) is None


@pytest.mark.parametrize(
    "question", [{"total": 200}, {"at_most": 900}, {"target_se": 0.02}, {"budget": 3000}]
)
def test_best_answers_every_question_and_survives_a_document(tmp_path, question):
    strata = dps.Strata(PAPER.sizes, PAPER.sds, costs=[12, 10, 11, 25])
    plan = dps.design(strata, epsilon=0.5, mechanism="best", **question)
    for row in plan.choice:
        other = dps.design(strata, epsilon=0.5, mechanism=row.mechanism, **question)
        if "target_se" in question:
            assert plan.cost <= other.cost
        else:
            assert plan.variance <= other.variance
    plan.save(tmp_path / "d.json")
    assert dps.load_design(tmp_path / "d.json") == plan
    document = json.loads((tmp_path / "d.json").read_text())
    document["choice"][0]["variance"] = 1e-9
    (tmp_path / "d.json").write_text(json.dumps(document))
    with pytest.raises(dps.InputError, match="contradicts itself at choice"):
        dps.load_design(tmp_path / "d.json")


@contextmanager
def without(name):
    """Hide a mechanism, as if this version did not have it; the order of the others matters."""
    everything = dict(MECHANISMS)
    del MECHANISMS[name]
    try:
        yield
    finally:
        MECHANISMS.clear()
        MECHANISMS.update(everything)


@pytest.mark.parametrize("question", [{"total": 200}, {"at_most": 900}, {"target_se": 0.05}])
@pytest.mark.parametrize("answers", [(0, 1), (0, 2, 0.05)])
def test_designs_load_whichever_mechanisms_there_are(answers, question, tmp_path, monkeypatch):
    beaten = frozenset({"laplace", "discrete_laplace", "tulap", "staircase"})
    monkeypatch.setattr(Sine, "never_worse_than", lambda self, least, most: beaten)  # so that it has a rival
    asked = {"epsilon": 0.5, "mechanism": "best", "questions": answers, **question}
    everything = dps.design(PAPER, **asked)
    everything.save(tmp_path / "everything.json")
    names = [row.mechanism for row in everything.choice]
    assert len(names) > 1
    (rival,) = {*names[:2]} - {everything.inputs.mechanism}
    for hidden in (rival, everything.inputs.mechanism):
        with without(hidden):
            plan = dps.design(PAPER, **asked)
            plan.save(tmp_path / f"without-{hidden}.json")
            assert hidden not in [row.mechanism for row in plan.choice]
            assert dps.load_design(tmp_path / f"without-{hidden}.json") == plan
            if hidden == rival:  # its row stays as it was written
                loaded = dps.load_design(tmp_path / "everything.json")
                assert loaded.choice == everything.choice
                assert repr(loaded)
    for hidden in (rival, everything.inputs.mechanism):  # which this version has, and the document does not
        loaded = dps.load_design(tmp_path / f"without-{hidden}.json")
        assert hidden not in [row.mechanism for row in loaded.choice]
        assert repr(loaded)
    assert dps.load_design(tmp_path / "everything.json") == everything


@pytest.mark.parametrize("name", ["gaussian", "category_response"])
def test_a_choice_with_a_mechanism_that_could_not_be_tried_was_changed(name, tmp_path):
    plan = dps.design(PAPER, epsilon=0.5, total=200, mechanism="best")
    plan.save(tmp_path / "d.json")
    document = json.loads((tmp_path / "d.json").read_text())
    changes = (
        lambda rows: [*rows, {**rows[0], "mechanism": name}],
        lambda rows: [row for row in rows if row["mechanism"] != plan.inputs.mechanism],
    )
    for change in changes:
        (tmp_path / "d.json").write_text(json.dumps({**document, "choice": change(document["choice"])}))
        with pytest.raises(dps.InputError, match="contradicts itself at choice; the file was changed"):
            dps.load_design(tmp_path / "d.json")


def test_best_leaves_out_what_no_design_meets_and_says_why_if_none_does():
    released = {"release": "sums", "device_epsilon": 1}
    plan = dps.design(PAPER, epsilon=0.1, target_se=0.007, mechanism="best", **released)
    assert {row.mechanism for row in plan.choice if row.total is None} == {"staircase"}
    with pytest.raises(dps.InfeasibleError, match="the best possible under this privacy"):
        dps.design(PAPER, epsilon=0.1, target_se=0.001, mechanism="best")


def test_the_reason_is_that_of_the_mechanism_that_comes_closest():
    def reason(**question):
        with pytest.raises(dps.InfeasibleError) as caught:
            dps.design(strata, epsilon=0.1, questions="yes_no", **question)
        return str(caught.value)

    strata = dps.Strata(PAPER.sizes, PAPER.sds, costs=[12, 10, 11, 25], extra={"half": list("aabb")})
    for question in (
        {"target_se": 0.01},  # 0.0181 with 303 people by randomized response, 0.0237 with 842 by piecewise
        {"domains": {"half": {"a": "0.02se", "b": "0.001se"}}},
        {"target_se": 0.03, "budget": 100},  # reached by all, at different costs
        {"target_se": 0.02, "budget": 100},  # reached by randomized response alone
    ):
        assert reason(mechanism="best", **question) == reason(mechanism="randomized_response", **question)
        assert reason(mechanism="best", **question) != reason(mechanism="piecewise", **question)
    plain = dps.Strata(PAPER.sizes, PAPER.sds)
    with pytest.raises(dps.InfeasibleError, match=r"best possible .* is 0\.01807, with 303 interviews\."):
        dps.design(plain, epsilon=0.1, questions="yes_no", target_se=0.01, mechanism="best")


def test_every_release_is_tried_for_the_same_goal():
    plan = dps.design(PAPER, epsilon=1, total=200)
    compared = dps.compare_releases(plan)
    published, devices, device_mean, raw, raw_mean = (each.design for each in compared.options)
    assert published.sample_sizes.tolist() == plan.sample_sizes.tolist()
    E = compared.options[1].device_epsilon
    assert 0 <= plan.local_epsilons.max() - E < 0.01  # no weaker a promise than that of published answers
    for each, release, asked in (
        (devices, "sums", {"device_epsilon": E}),
        (device_mean, "mean", {"device_epsilon": E}),
        (raw, "sums", {}),
        (raw_mean, "mean", {}),
    ):
        same = dps.design(PAPER, epsilon=1, total=200, release=release, **asked)
        assert each.sample_sizes.tolist() == same.sample_sizes.tolist()
    table = compared.table()
    assert table["release"] == ["microdata", "sums", "mean", "sums", "mean"]
    assert table["device_epsilon"] == [None, E, E, None, None]
    assert table["standard_error"] == [each.design.standard_error for each in compared.options]
    assert table["office_sees_raw_answers"] == [False, False, False, True, True]
    assert table["office_epsilon"] == [plan.local_epsilons.max(), E, E, None, None]
    errors = table["standard_error"]
    assert errors[0] > errors[1] > errors[3]
    for words in (
        "every noised answer",
        "one number",
        f"noised on devices at {E:g}",
        "of raw answers",
        "sees everything",
    ):
        assert words in repr(compared)
        assert words in compared._repr_html_()
    with pytest.raises(dps.InputError, match="needs a Design"):
        dps.compare_releases(np.zeros(3))


def test_releases_are_compared_by_their_own_goal():
    target = dps.compare_releases(dps.design(PAPER, epsilon=1, target_se=0.008)).table()
    sums = [
        total for total, release in zip(target["total"], target["release"], strict=True) if release != "mean"
    ]
    assert sums == sorted(sums, reverse=True)
    assert len(set(sums)) == 3
    out_of_reach = dps.compare_releases(
        dps.design(PAPER, epsilon=0.1, target_se=0.008, release="sums", mechanism="laplace")
    )
    assert [each.design is None for each in out_of_reach.options] == [True, False, False]
    assert "cannot meet the goal" in repr(out_of_reach)
    assert out_of_reach.table()["total"][0] is None


def test_a_release_is_compared_with_noise_that_it_can_use():
    plan = dps.design(PAPER, epsilon=1, total=200, questions="yes_no", mechanism="randomized_response")
    table = dps.compare_releases(plan).table()
    responses = ["randomized_response"] * 3
    assert table["mechanism"] == [*responses, "discrete_laplace", "laplace"]
    capped = dps.design(PAPER, epsilon=1, total=200, local_epsilon_cap=4, mechanism="piecewise")
    table = dps.compare_releases(capped).table()
    assert table["mechanism"] == ["piecewise"] * 3 + ["staircase", "laplace"]
    assert table["device_epsilon"] == [None, 4.0, 4.0, None, None]
    assert (
        "mean"
        not in dps.compare_releases(dps.design(PAPER, epsilon=1, total=99, objective="trace")).table()[
            "release"
        ]
    )


def test_the_comparison_does_not_depend_on_the_release_that_was_designed():
    options = {"epsilon": 1, "total": 400, "questions": "yes_no", "mechanism": "best"}
    tables = [
        dps.compare_releases(dps.design(PAPER, **options, **release), device_epsilon=3).table()
        for release in ({}, {"release": "sums"}, {"release": "sums", "device_epsilon": 3})
    ]
    assert tables[0] == tables[1] == tables[2]
    compared = dps.compare_releases(dps.design(PAPER, **options), device_epsilon=3)
    assert "sums, of answers noised on devices at 3" in repr(compared)
    with pytest.raises(dps.InputError, match="device_epsilon must be at least 1e-6, got device_epsilon=0"):
        dps.compare_releases(dps.design(PAPER, **options), device_epsilon=0)


@pytest.mark.parametrize("epsilon", [97, 100])
def test_a_release_with_devices_is_compared_and_suggested_at_no_more_than_the_largest_budget(epsilon):
    plan = dps.design(PAPER, epsilon=epsilon, total=200)
    assert plan.local_epsilons.min() > 100
    assert dps.compare_releases(plan).table()["device_epsilon"] == [None, 100, 100, None, None]
    offered = [inputs.device_epsilon for inputs in kind_of("sums").alternatives(plan)]
    assert offered == [100, None]
    better_releases(plan)


def test_a_promise_that_two_layers_cannot_keep_is_compared_without_them():
    plan = dps.design(PAPER, epsilon=1, delta=1e-6, total=200, mechanism="gaussian")
    assert dps.compare_releases(plan).table()["device_epsilon"] == [None, None]
    with pytest.raises(dps.InputError, match="device_epsilon supports pure epsilon only"):
        dps.compare_releases(plan, device_epsilon=3)


@pytest.mark.parametrize("promise", ONLY_GAUSSIAN)
def test_the_best_is_gaussian_where_only_that_keeps_the_promise(promise, tmp_path):
    plan = dps.design(PAPER, total=200, mechanism="best", **promise)
    explicit = dps.design(PAPER, total=200, mechanism="gaussian", **promise)
    assert plan.inputs == explicit.inputs
    assert plan.sample_sizes.tolist() == explicit.sample_sizes.tolist()
    assert [row.mechanism for row in plan.choice] == ["gaussian"]
    assert f"Gaussian noise was chosen: a promise of {plan.inputs.promise.title} requires it." in repr(plan)
    plan.save(tmp_path / "d.json")
    assert dps.load_design(tmp_path / "d.json") == plan


def random_survey(rng):
    """A survey and a question about it, with everything that changes what an answer's noise counts for."""
    k = int(rng.integers(1, 6))
    sizes = np.floor(10 ** rng.uniform(1, rng.choice([2, 4, 6]), k)).astype(np.int64) + 1
    answers = [(0, 1), "yes_no", (0, 1, 0.5), (0, 10, 1), (-3.0, 4.5)][rng.integers(5)]
    width = 1.0 if answers == "yes_no" else float(answers[1] - answers[0])
    sds = width * 10 ** rng.uniform(-3, -0.32, k)
    release = "sums" if rng.random() < 0.4 else "microdata"
    some = rng.random(3) < 0.3
    strata = dps.Strata(
        sizes,
        sds,
        coefficients=rng.uniform(0.1, 1, k),
        costs=rng.choice([1.0, 2.5, 7.0], k) if some[0] else np.ones(k),
        response_rates=rng.uniform(0.5, 1, k) if some[1] else None,
        extra={"half": [f"part {i % 2}" for i in range(k)]},
    )
    options = {"epsilon": float(10 ** rng.uniform(-2, 1)), "questions": answers, "release": release}
    if release == "sums" and rng.random() < 0.5:
        options["device_epsilon"] = float(10 ** rng.uniform(-1, 1))
    if some[2] and release == "microdata":
        options["local_epsilon_cap"] = float(10 ** rng.uniform(-1, 1))
    if rng.random() < 0.3:
        options["max_fraction"] = float(rng.uniform(0.2, 0.9))
        options["min_per_stratum"] = int(rng.integers(1, 4))
    most = int(0.4 * sizes.sum())
    total = int(rng.integers(4 * k, max(4 * k + 1, most)))
    error = width * float(10 ** rng.uniform(-1.5, 0.3))
    goals = [
        {"total": total},
        {"at_most": total},
        {"budget": 3.0 * total},
        {"target_se": error},
        {"target_margin": 2 * error},
        {"target_cv": error, "expected_mean": 0.7},
        {"domains": {"half": dps.SE(error)}},
        {"domains": {"half": dps.SE(2 * error)}, "budget": 5.0 * total},
        {"total": total, "objective": str(rng.choice(["trace", "unit_free", "custom"]))},
    ]
    return strata, options, goals[rng.integers(len(goals))]


def in_order(plan):
    """What makes one design of a question better than another, and by how much it may miss the optimum."""
    proof, inputs = plan.certificate, plan.inputs
    gap = proof.relative_gap if isinstance(proof, Bound) else 0.0
    variance = plan.variance  # with what devices save the office
    if plan.problem.terms.random_answers:
        variance = planned_variance(
            plan.problem, plan.sample_sizes, finite_population=inputs.finite_population
        )
    return plan.cost if inputs.asks_for_least else variance, gap


@pytest.mark.filterwarnings("ignore::dpstrata.DpstrataWarning")
def test_the_best_is_what_trying_all_of_them_finds():
    rng = np.random.default_rng(14)
    seen = {"designs": 0, "infeasible": 0, "pruned": 0, "two": 0}
    for _ in range(few(50, of=250)):
        strata, options, goal = random_survey(rng)
        plans, reasons = {}, []
        for name in (name for name in MECHANISMS if name != "gaussian"):
            try:
                plans[name] = dps.design(strata, **options, **goal, mechanism=name)
            except dps.InfeasibleError as reason:
                reasons.append(str(reason))
            except dps.InputError:
                continue  # not for such answers, or not for sums
        if not plans:
            with pytest.raises(dps.InfeasibleError) as caught:
                dps.design(strata, **options, **goal)
            assert str(caught.value) in reasons
            seen["infeasible"] += 1
            continue
        best = dps.design(strata, **options, **goal)
        value, gap = in_order(best)
        for name, plan in plans.items():
            other, _ = in_order(plan)
            assert value <= other * (1 + gap + 1e-12), (name, best.mechanism.name, options, goal)
        assert value == in_order(plans[best.inputs.mechanism])[0]
        assert best.sample_sizes.tolist() == plans[best.inputs.mechanism].sample_sizes.tolist()
        for row in best.choice:
            if row.variance is not None:
                assert row.variance == plans[row.mechanism].variance
        seen["designs"] += 1
        seen["pruned"] += len(best.choice) < len(plans)
        seen["two"] += len(best.choice) == 2
    assert min(seen.values()) > few(4, of=10), seen


@pytest.mark.parametrize("mechanism", ["laplace", "best"])
def test_the_warning_beyond_the_best_points_at_the_caller(mechanism):
    with pytest.warns(dps.DpstrataWarning, match="exceeds the best total") as caught:
        dps.design(PAPER, epsilon=0.1, total=34_000, mechanism=mechanism)
    assert [warning.filename for warning in caught] == [__file__]


def test_every_way_in_has_the_same_default():
    from dpstrata.cli.options import OPTIONS
    from dpstrata.survey.inputs import Inputs
    from dpstrata.web.requests import Options

    assert inspect.signature(dps.design).parameters["mechanism"].default == "best"
    assert Inputs(epsilon=1.0, total=9).mechanism == "best"
    assert OPTIONS["mechanism"].default == "best"
    assert Options().mechanism == "best"


def test_what_is_derived_from_a_design_keeps_to_the_best(tmp_path):
    rows = dps.sweep(PAPER, epsilon=[0.1, 1.0], total=[100, 200, 400])
    for row in rows:
        plan = dps.design(PAPER, epsilon=row["epsilon"], total=row["total"])
        assert (row["sample_sizes"], row["variance"]) == (plan.sample_sizes.tolist(), plan.variance)
    assert dps.evaluate(PAPER, plan.sample_sizes, epsilon=1).ratio == 1
    assert dps.sensitivity(plan).scenarios
    first = dps.pilot(dps.Strata([5000, 6000]), epsilon=1, pilot_epsilon=0.3, total=400, pilot_total=40)
    names = [name for name, n in zip(first.strata.names, first.sample_sizes, strict=True) for _ in range(n)]
    main = dps.main_design(first, microdata(names, np.full(len(names), 0.5)))
    assert main.inputs.mechanism == first.inputs.mechanism
    for each in (plan, first):
        assert repr(each).count(" was chosen: ") == 1
    for each in (plan, first, main):
        assert "noise would keep the same promise" not in repr(each)
        each.save(tmp_path / f"{each.digest}.json")
        assert dps.load_design(tmp_path / f"{each.digest}.json") == each


def test_reports_that_are_seldom_informative_save_the_office_noise():
    """Cells have less noise than sine noise at every budget, and no larger reports; but the office adds more."""
    strata = dps.Strata([200, 200], [2.4, 1.2])
    asked = {"epsilon": 0.1, "total": 200, "questions": (1, 13, 1), "release": "sums", "device_epsilon": 0.95}
    best = dps.design(strata, **asked)
    assert best.mechanism.name == "sine"
    assert best.variance < dps.design(strata, mechanism="cells", **asked).variance
