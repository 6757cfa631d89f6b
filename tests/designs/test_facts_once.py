"""What follows from a design is worked out once, whoever asks for it and however often."""

import copy
import pickle
import sys
from collections import Counter
from dataclasses import asdict, fields, replace

import numpy as np
import pytest
from typer.testing import CliRunner

import dpstrata as dps
from dpstrata.allocation import variances
from dpstrata.allocation.comparison import compare_designs
from dpstrata.cli import app
from dpstrata.designs import choice, reading, record
from dpstrata.designs.document import design_columns
from dpstrata.planning import curves
from dpstrata.privacy.promises import promise_of
from dpstrata.survey.goals import goal_of, targets_of
from dpstrata.survey.releases import release_of
from questionnaires import small_plan

STRATA = dps.Strata(
    sizes=[7000, 8000, 9000, 10000],
    sds=[0.283, 0.08, 0.0226, 0.0064],
    extra={"region": ["north", "north", "south", "south"]},
)
ASKED = {
    "a mechanism": {"total": 200, "mechanism": "laplace"},
    "the best mechanism": {"total": 200},
    "domains": {"total": 200, "domains": ["region"]},
    "targets": {"target_se": 0.02, "domains": {"region": "0.03se"}},
    "sums": {"total": 200, "release": "sums", "device_epsilon": 2},
    "a mean": {"total": 200, "release": "mean", "domains": ["region"]},
    "a cap": {"total": 200, "local_epsilon_cap": 4},
}
HELD = [name for name, each in vars(dps.Design).items() if type(each).__name__ == "cached_property"]


def designed(case="a mechanism"):
    return dps.design(STRATA, epsilon=1, questions="0:1", **ASKED[case])


def count(monkeypatch, module, name):
    """List the arguments of every call of a function, wherever it was imported to."""
    real, calls = getattr(module, name), []

    def counted(*arguments, **options):
        calls.append(arguments)
        return real(*arguments, **options)

    for each in [*sys.modules.values()]:
        if getattr(each, "__name__", "").startswith("dpstrata") and vars(each).get(name) is real:
            monkeypatch.setattr(each, name, counted)
    return calls


@pytest.fixture
def calls(monkeypatch):
    """Calls of ``variance_parts``, each a problem and sizes."""
    return count(monkeypatch, variances, "variance_parts")


def own(plan, calls):
    """Return those for the design itself."""
    return [sizes for problem, sizes in calls if problem is plan.problem and sizes is plan.sample_sizes]


@pytest.fixture
def alternatives(monkeypatch):
    """Other mechanisms and releases that a design is set beside."""
    return count(monkeypatch, choice, "_with_inputs")


@pytest.mark.parametrize("case", ASKED)
def test_one_repr_works_the_parts_of_each_design_out_once(case, calls):
    plan = designed(case)
    calls.clear()
    text = repr(plan)
    assert len(own(plan, calls)) == 1
    shown = Counter((id(problem.terms), sizes.tobytes()) for problem, sizes in calls)
    assert max(shown.values()) == 1
    calls.clear()
    assert repr(plan) == text
    plan.to_dict()
    assert not calls


def test_one_repr_shows_the_design_its_rivals_and_alternatives(calls, alternatives):
    plan = designed()
    repr(plan)
    asked = {(each.mechanism, each.release, each.device_epsilon) for _, each in alternatives}
    assert len(asked) == len(alternatives) > 1
    assert (plan.inputs.mechanism, plan.inputs.release, None) not in asked
    assert len(calls) == 1 + 3 + len(alternatives)


def test_one_report_works_the_parts_of_each_design_out_once(calls, alternatives, monkeypatch):
    plan = designed()
    made = count(monkeypatch, curves, "design_for")
    calls.clear()
    dps.report_html(plan)
    assert len(own(plan, calls)) == 1
    assert all(inputs is not plan.inputs for _, inputs, *_ in made)  # its own point is not solved again
    # the first finds the best total; each other is a point of a curve, beside Neyman's allocation
    shown = 1 + 3 + len(alternatives) + 2 * (len(made) - 1)
    tried = len(calls) - shown
    assert 0 < tried <= 10  # totals on the way to the best


def test_estimates_with_a_report_read_and_prove_the_design_once(calls, monkeypatch, tmp_path):
    plan, design = designed(), tmp_path / "design.json"
    plan.save(design)
    names = np.repeat(plan.strata.names, plan.sample_sizes)
    answers = "".join(f"{name},{i % 2}\n" for i, name in enumerate(names))
    (tmp_path / "noised.csv").write_text(f"stratum,answer\n{answers}")
    read, proven = count(monkeypatch, reading, "read_design"), count(monkeypatch, record, "_prove")
    calls.clear()
    command = ["estimate", design, tmp_path / "noised.csv", "--report", tmp_path / "results.html"]
    outcome = CliRunner().invoke(app, [*map(str, command)], catch_exceptions=False)
    assert outcome.exit_code == 0
    assert (tmp_path / "results.html").exists()
    assert len(read) == len(proven) == 1
    assert len(calls) == 1 + 3  # its rivals are in the document, which is checked


@pytest.mark.parametrize("case", ASKED)
def test_what_is_held_is_what_is_worked_out_anew(case):
    plan = designed(case)
    repr(plan), plan.to_dict()
    correct = plan.inputs.finite_population
    parts = variances.variance_parts(plan.problem, plan.sample_sizes, finite_population=correct)
    assert plan.variance_parts == parts
    scored = compare_designs(plan.problem, plan.sample_sizes, finite_population=correct)
    assert [row.variance for row in plan.compare()] == [row.variance for row in scored]
    assert [row.ratio for row in plan.compare()] == [row.ratio for row in scored]
    anew = replace(plan)
    assert not set(HELD) & set(vars(anew))
    assert repr(anew) == repr(plan)
    assert anew == plan
    assert design_columns(anew) == design_columns(plan)


def test_what_is_held_cannot_be_changed():
    plan = designed("a cap")
    for name in ("local_epsilons", "noise_sds", "stratum_errors", "central_epsilons", "capped"):
        assert getattr(plan, name) is getattr(plan, name)
        assert not getattr(plan, name).flags.writeable
    assert not any(part.flags.writeable for part in plan.stratum_variances)
    with pytest.raises(AttributeError):
        plan.total = 3
    plan.better_releases().append("mine")
    assert "mine" not in plan.better_releases()


def test_another_design_holds_nothing_of_the_first():
    plan = designed("the best mechanism")
    repr(plan), plan.to_dict(), plan.digest
    fewer = replace(plan, sample_sizes=np.minimum(plan.sample_sizes, 20))
    assert fewer.total == int(np.minimum(plan.sample_sizes, 20).sum()) < plan.total
    assert fewer.variance > plan.variance
    assert fewer.digest != plan.digest
    assert fewer.compare()[0].variance == fewer.variance
    assert replace(plan, choice=None).digest == plan.digest


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
@pytest.mark.parametrize("plan", [designed("targets"), small_plan()], ids=["one question", "questionnaire"])
def test_copies_are_equal(again, plan):
    repr(plan)
    assert again(plan) == plan
    assert again(plan.inputs) == plan.inputs
    assert again(plan.inputs).goal == plan.inputs.goal
    with pytest.raises(TypeError, match="unhashable"):
        hash(plan)


@pytest.mark.parametrize("case", ASKED)
def test_inputs_hold_what_their_options_ask_for(case):
    inputs = designed(case).inputs
    assert inputs.promise == promise_of(inputs)
    assert inputs.goal == goal_of(inputs)
    assert inputs.targets == targets_of(inputs)
    assert type(inputs.release_form) is type(release_of(inputs))
    for name in ("promise", "release_form", "targets", "goal"):
        assert getattr(inputs, name) is getattr(inputs, name)
        assert name not in repr(inputs).replace("microdata", "")
    stricter = replace(inputs, epsilon=0.5)
    assert stricter.promise.central_epsilon == 0.5
    assert stricter != inputs
    assert replace(stricter, epsilon=1.0) == inputs
    other = replace(inputs, total=90, target_se=None, domains=None)
    assert other.goal.total == 90
    assert not other.targets


def test_a_document_has_the_options_and_not_what_follows_from_them():
    plan = designed()
    follows = {part.name for part in fields(plan.inputs) if not part.init}
    assert follows == {"promise", "release_form", "targets", "goal"}
    assert not follows & set(plan.to_dict()["inputs"])
    assert follows <= set(asdict(plan.inputs))
