"""The generated programs are run, and what they make is compared with the design they came from."""

import json
import warnings

import numpy as np
import pytest

import dpstrata as dps
from commands import run_line
from dpstrata.files.writing import write_table
from dpstrata.present.report.code import (
    command_line,
    given_options,
    python_code,
    python_code_with_strata,
    strata_columns,
)
from extent import FULL
from questionnaires import QUESTIONS as QUESTIONNAIRE
from questionnaires import fielded, people
from report_reader import require_document
from surveys import microdata

NAMES = ["north", 'O\'Brien "x"', "007", "Süd 🙂"]
STRATA = dps.Strata(
    sizes=[7000, 8000, 9000, 10000],
    sds=[0.283, 0.08, 0.0226, 0.0064],
    names=NAMES,
    costs=[3, 2.5, 4, 3],
    mins=[2, 2, 2, 2],
    maxs=[900, 800, 700, 9000],
    response_rates=[0.9, 1.0, 0.75, 0.6],
    coefficients=[1.5, -2, 0.25, 1],
    extra={"region": ["a: b", "a: b", "c=d", "c=d"], "old": ["w", "x", "y", "z"]},
)
PLAIN = dps.Strata(sizes=[7000, 8000, 9000, 10000], sds=[0.283, 0.08, 0.0226, 0.0064], names=NAMES)
QUESTIONS = {
    "total": {"epsilon": 1, "total": 200},
    "at_most": {"epsilon": 0.1, "at_most": 20_000},
    "budget": {"epsilon": 0.7, "budget": 555.5},
    "target_se": {"epsilon": 1, "target_se": 0.03, "budget": 1e5},
    "target_margin": {"epsilon": 1, "target_margin": 0.06, "confidence": 0.9},
    "target_cv": {"epsilon": 1, "target_cv": 0.1, "expected_mean": 0.4},
    "domains": {
        "epsilon": 2,
        "domains": {"region": {"c=d": "0.05se", "a: b": "0.06margin"}, "stratum": None},
    },
    "one target for all domains": {"epsilon": 2, "domains": {"region": dps.SE(0.06)}},
    "best": {"epsilon": 1, "total": 300, "mechanism": "best", "questions": "yes_no"},
    "grid": {"epsilon": 1, "total": 300, "mechanism": "discrete_laplace", "questions": (-5, 5, 0.5)},
    "gaussian": {"epsilon": 1, "delta": 1e-6, "total": 300, "mechanism": "gaussian"},
    "zcdp": {"zcdp": 0.3, "total": 300, "mechanism": "gaussian"},
    "gdp": {"gdp": 1.25, "total": 300, "mechanism": "gaussian", "release": "sums"},
    "cap": {"epsilon": 1, "total": 300, "local_epsilon_cap": 4.5, "finite_population": False},
    "limits": {
        "epsilon": 1,
        "total": 900,
        "min_per_stratum": 5,
        "min_fraction": 0.001,
        "max_fraction": 0.05,
        "objective": "trace",
    },
    "custom": {"epsilon": 1, "total": 300, "objective": "custom"},
}


@pytest.fixture(params=QUESTIONS, scope="module")
def plan(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dps.design(STRATA, **QUESTIONS[request.param])


def run_python(code):
    space = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(code, space)
    return space["plan"]


@pytest.mark.slow
def test_python_with_the_strata_in_it_gives_the_same_design(plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_python(python_code_with_strata(plan)) == plan
    require_document(tmp_path / "design.json", plan)


def test_python_with_a_strata_file_gives_the_same_design(plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(strata_columns(plan), tmp_path / "my strata.csv")
    code = python_code(plan, strata="my strata.csv", out=None)
    assert run_python(code).digest == plan.digest


@pytest.mark.slow
def test_the_command_line_gives_the_same_design(plan, tmp_path):
    write_table(strata_columns(plan), tmp_path / "my 'strata'.csv")
    command = command_line(plan, strata="my 'strata'.csv")
    assert command.startswith("dpstrata design ")
    done = run_line(tmp_path, command)
    assert done.returncode == 0, done.stderr
    require_document(tmp_path / "design.json", plan)


def test_nothing_that_is_a_default_is_written():
    plan = dps.design(PLAIN, epsilon=1, total=200)
    assert given_options(plan.inputs, best=True) == {"epsilon": 1.0, "total": 200}
    assert given_options(plan.inputs) == {"epsilon": 1.0, "total": 200, "mechanism": "sine"}
    assert "mechanism" not in python_code_with_strata(plan)
    named = dps.design(PLAIN, epsilon=1, total=200, mechanism="staircase")
    assert 'mechanism="staircase"' in python_code_with_strata(named)
    assert "sd_sources" in python_code_with_strata(plan)
    assert "costs" not in python_code_with_strata(plan)


def test_one_value_for_all_strata_is_written_stratum_by_stratum(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bare = dps.Strata([7000, 8000], names=["a", "b"])
    plan = dps.design(
        bare, epsilon=1, total=200, response_rate=0.6, proportion=0.08, questions=(0, 10, 1), mechanism="best"
    )
    assert run_python(python_code_with_strata(plan)) == plan
    write_table(strata_columns(plan), tmp_path / "strata.csv")
    assert run_python(python_code(plan)) == plan


def test_names_cannot_leave_their_quotes():
    wicked = ['"]); raise SystemExit("out") #', "\n import os", "\\", "\u2028", "'; rm -rf ~; '", "\x7f\x01"]
    strata = dps.Strata([700] * 6, [0.3] * 6, names=wicked)
    plan = dps.design(strata, epsilon=1, total=60)
    code = python_code_with_strata(plan, out=None)
    assert code.isascii()
    assert run_python(code).strata.names == tuple(wicked)


def test_names_in_any_language_can_be_read():
    """But none that would be shown in another order than it is read."""
    plain, turned = ["Região", "Zürich", "東京"], ["\u202etxt", "שלום", "a\u200bb"]
    plan = dps.design(dps.Strata([700] * 6, [0.3] * 6, names=[*plain, *turned]), epsilon=1, total=60)
    code = python_code_with_strata(plan, out=None)
    assert all(f'"{name}"' in code for name in plain)
    assert not any(name in code for name in turned)
    assert run_python(code).strata.names == (*plain, *turned)


def test_many_strata_are_read_from_a_file():
    plan = dps.design(dps.Strata([700] * 50, [0.3] * 50), epsilon=1, total=500)
    assert 'from_file("strata.csv")' in python_code_with_strata(plan)
    assert json.dumps(strata_columns(plan))


@pytest.mark.slow
def test_both_waves_of_a_pilot_are_made_again(tmp_path, monkeypatch):
    """The first from its strata, the second from the first and its noised answers."""
    monkeypatch.chdir(tmp_path)
    waves = {"pilot_epsilon": 0.25, "total": 300, "pilot_total": 60, "questions": "yes_no"}
    first = dps.pilot(PLAIN, epsilon=1, mechanism="randomized_response", **waves)
    assert run_python(python_code_with_strata(first, out="pilot.json")) == first
    names = [name for name, n in zip(NAMES, first.sample_sizes.tolist(), strict=True) for _ in range(n)]
    noised = [0.1 * (i % 10) for i in range(60)]
    main = dps.main_design(first, microdata(names, noised))
    write_table({"stratum": names, "answer": noised}, tmp_path / "published.csv")
    assert run_python(python_code_with_strata(main)).digest == main.digest
    write_table(strata_columns(first), tmp_path / "strata.csv")
    for plan, out in ((first, "pilot.json"), (main, "design.json")):
        (tmp_path / out).unlink()
        done = run_line(tmp_path, command_line(plan, out=out))
        assert done.returncode == 0, done.stderr
        assert dps.load_design(tmp_path / out).digest == plan.digest


@pytest.mark.filterwarnings("ignore:.*exceeds the best total")
@pytest.mark.parametrize("forms", ["auto", "one", [["smokes", "trust"], ["home", "income"]]], ids=str)
def test_a_pilot_of_a_questionnaire_is_made_again_with_what_was_asked_of_forms(forms, tmp_path, monkeypatch):
    """Not with the forms that were chosen: the second wave chooses its own."""
    monkeypatch.chdir(tmp_path)
    questions = dps.Questionnaire([each for each in QUESTIONNAIRE if each.name != "drinks"])
    strata = dps.Strata([1500, 2200, 900], names=["a", "b", "c"])
    waves = {"epsilon": 2, "pilot_epsilon": 0.5, "total": 900, "pilot_total": 200}
    first = dps.pilot(strata, questions=questions, forms=forms, **waves)
    questions.to_file("questions.csv")
    assert run_python(python_code_with_strata(first, out="pilot.json")) == first
    columns = fielded(first, population(strata, questions), np.random.default_rng(1))
    main = dps.main_design(first, columns)
    write_table(columns.to_pydict(), tmp_path / "published.csv")
    assert run_python(python_code_with_strata(main)) == main
    if FULL or forms == "auto":
        write_table(strata_columns(first), tmp_path / "strata.csv")
        for plan, out in ((first, "pilot.json"), (main, "design.json")):
            (tmp_path / out).unlink()
            done = run_line(tmp_path, command_line(plan, out=out))
            assert done.returncode == 0, done.stderr
            assert dps.load_design(tmp_path / out).digest == plan.digest


def population(strata, questions):
    """People who answer by chance, with numbers in the middle."""
    levels = {each.name: each.answer_count or 3 for each in questions}
    return people(questions, strata.sizes.tolist(), levels, np.random.default_rng(2))
