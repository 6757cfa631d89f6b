"""Errors carry what they are about, and sentences mention options so that everyone can name them."""

import ast
import copy
import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.solvers.solve import solve
from dpstrata.errors import InputError, Mention, Sentence, option
from dpstrata.fielding.frames import frame_strata, open_frame
from dpstrata.servers.running import open_socket

SOURCES = Path(dps.__file__).parent


def test_a_sentence_is_plain_text_that_remembers_its_options():
    sentence = Sentence(f"{option('at_most')} must be below 9, got {option('at_most', 9000, ',')}.")
    assert sentence == "at_most must be below 9, got at_most=9,000."
    assert sentence.mentions == [Mention("at_most", None), Mention("at_most", "9,000")]
    assert "".join(map(str, sentence.parts)) == sentence
    assert sentence.worded(lambda mention: f"<{mention.name}>") == "<at_most> must be below 9, got <at_most>."


def test_text_of_others_is_never_taken_for_an_option():
    names = ["total", "\ufdd0total\ufdd2", "\ufdd0", "total=9"]
    for name in names:
        assert Sentence(f"there is no stratum {name!r}.").mentions == []
    quoted = Sentence(f"{option('mechanism', names[1])} is not known.")
    assert [mention.name for mention in quoted.mentions] == ["mechanism"]


@pytest.mark.parametrize("again", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_error_survives_the_way_between_processes(again):
    error = again(InputError.must("total", "be at least 12", 10, where="stratum 'A'", then="Ask for more."))
    assert str(error) == "total must be at least 12, got total=10 in stratum 'A'. Ask for more."
    assert (error.argument, error.value, error.where) == ("total", 10, "stratum 'A'")
    assert error.sentence.mentions[1] == Mention("total", "10")


@pytest.mark.parametrize(
    "error",
    [
        dps.StrataError(["size must be positive.", f"{option('sds')} must be numbers."]),
        dps.InfeasibleError("too few.", misses=(True, 2.0), argument="total"),
        dps.MissingExtraError("charts need", "charts"),
    ],
)
def test_every_kind_survives_it(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
    assert again.sentence.mentions == error.sentence.mentions


def test_an_error_is_about_the_option_it_mentions_first():
    error = dps.InfeasibleError(f"{option('budget')} does not cover {option('total', 10)}.")
    assert error.argument == "budget"
    assert dps.InputError("nothing is named.").argument is None


def test_warnings_mention_options_too():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn(dps.DpstrataWarning(f"{option('total', 9)} exceeds the best total."), stacklevel=1)
    assert caught[0].message.sentence.mentions == [Mention("total", "9")]
    assert str(caught[0].message) == "total=9 exceeds the best total."


def test_a_sentence_can_be_part_of_another():
    inner = Sentence(f"{option('total', 9)} is too few.")
    whole = dps.InputError(f"design.json is not possible: {inner.marked}", where="design.json")
    assert str(whole) == "design.json is not possible: total=9 is too few."
    assert (whole.argument, whole.where) == ("total", "design.json")


def test_problems_of_strata_mention_the_arguments():
    with pytest.raises(dps.StrataError) as caught:
        dps.Strata([10, 20], [0.1], extra={"my region": ["a"]})
    assert caught.value.mistakes == (
        "sds must have one entry per stratum (2), got 1.",
        "extra['my region'] must have one entry per stratum (2), got 1.",
    )
    assert [mention.name for mention in caught.value.sentence.mentions] == ["sds", "extra"]


# --- what each error is about -----------------------------------------------------------------

TWO = dps.Strata([700, 800], [0.3, 0.1], names=["A", "B"], extra={"region": ["n", ""]})
PLAN = dps.design(dps.Strata([70, 80], [0.3, 0.1]), epsilon=1, total=20)
ONE = {"epsilon": 1.0, "total": 20}
PILOT = {**ONE, "pilot_epsilon": 0.5, "pilot_total": 5}


def planned(**options):
    return dps.design(TWO, **{**ONE, **options})


@pytest.mark.parametrize(
    ("call", "argument", "value", "where"),
    [
        (lambda: planned(epsilon=1000), "epsilon", 1000.0, None),
        (lambda: planned(epsilon=None), "epsilon", None, None),
        (lambda: planned(delta=2.0, mechanism="gaussian"), "delta", 2.0, None),
        (lambda: planned(delta=0.1), "delta", 0.1, None),
        (lambda: planned(epsilon=None, zcdp=1e9, mechanism="gaussian"), "zcdp", 1e9, None),
        (lambda: planned(epsilon=None, gdp=1.0, mechanism="laplace"), "mechanism", "laplace", None),
        (lambda: planned(epsilon=None, gdp=1.0, mechanism="gaussian", delta=0.1), "delta", 0.1, None),
        (
            lambda: planned(epsilon=None, gdp=1.0, mechanism="gaussian", local_epsilon_cap=2),
            "local_epsilon_cap",
            2.0,
            None,
        ),
        (lambda: planned(mechanism="best", delta=0.1), "delta", 0.1, None),
        (lambda: planned(total=1), "total", 1, None),
        (lambda: planned(total=9000), "total", 9000, None),
        (lambda: planned(objective="custom"), "objective", "custom", None),
        (lambda: planned(response_rate=2), "response_rate", 2.0, None),
        (lambda: planned(response_rate="x"), "response_rate", "x", None),
        (lambda: planned(proportion=0.1), "proportion", 0.1, None),
        (lambda: planned(total=None, domains={"colour": "0.1se"}), "domains", "colour", None),
        (lambda: planned(total=None, domains={"region": "0.1se"}), "domains", "region", "stratum 'B'"),
        (
            lambda: planned(total=None, domains={"stratum": {"C": "0.1se"}}),
            "domains",
            "C",
            "column 'stratum'",
        ),
        (lambda: dps.evaluate(TWO, [5, 9000], epsilon=1), "sample_sizes", 9000.0, "stratum 'B'"),
        (lambda: dps.evaluate(TWO, [5, 5], epsilon=1, min_per_stratum=9), "sample_sizes", 5, "stratum 'A'"),
        (lambda: dps.evaluate(TWO, [5], epsilon=1), "sample_sizes", None, None),
        (lambda: dps.evaluate(TWO, [5, 5], epsilon=1, at_most=9), "at_most", 9, None),
        (lambda: dps.sensitivity(PLAN, factor=0.5), "factor", 0.5, None),
        (lambda: dps.sensitivity(PLAN, strata=-1), "strata", -1, None),
        (lambda: dps.pilot(TWO, **PILOT | {"pilot_epsilon": 2}), "pilot_epsilon", 2, None),
        (lambda: dps.pilot(TWO, **PILOT | {"pilot_total": 0}), "pilot_total", 0, None),
        (lambda: dps.pilot(TWO, **PILOT | {"pilot_total": 1}), "pilot_total", 1, None),
        (lambda: dps.pilot(TWO, **PILOT | {"pilot_total": 20}), "pilot_total", 20, None),
        (lambda: dps.pilot(TWO, **PILOT, release="sums"), "release", "sums", None),
        (lambda: dps.pilot(TWO, **PILOT, objective="unit_free"), "objective", "unit_free", None),
        (lambda: dps.pilot(TWO, **PILOT, gdp=1.0), "gdp", 1.0, None),
        (lambda: dps.local_epsilon(-1, sample_size=1, stratum_size=2), "epsilon", -1.0, None),
        (lambda: dps.local_epsilon(1, sample_size=3, stratum_size=2), "sample_size", None, None),
        (lambda: solve(PLAN.problem, "magic"), "method", "magic", None),
        (
            lambda: Problem(PLAN.problem.forms, PLAN.problem.terms, np.array([2, 9]), np.array([5, 5]), 9),
            None,
            None,
            "stratum 2",
        ),
        (lambda: PLAN.to_frame("excel"), "library", "excel", None),
        (lambda: open_frame("a.csv", id="i", stratum=[]), "stratum", None, None),
        (lambda: open_frame("a.csv", id="i", stratum="i"), "id", "i", None),
        (lambda: open_frame("a.csv", id="i", stratum="s", table="t"), "table", "t", "a.csv"),
        (lambda: frame_strata(None, sd_column="x"), "sd_column", None, None),
        (lambda: frame_strata(None, sd_column="x", sd_source="secret"), "sd_source", "secret", None),
        (lambda: open_socket("127.0.0.1", 99999), "port", 99999, None),
        (lambda: open_socket("203.0.113.9", None), "host", "203.0.113.9", None),
        (lambda: dps.Strata.from_file("nowhere.csv"), None, None, "nowhere.csv"),
    ],
)
def test_an_error_says_what_it_is_about(call, argument, value, where):
    with pytest.raises(dps.DpstrataError) as caught:
        call()
    error = caught.value
    assert (error.argument, error.value, error.where) == (argument, value, where), str(error)
    if argument is not None and error.sentence.mentions:
        assert argument in {mention.name for mention in error.sentence.mentions}


# --- messages mention options and spell none --------------------------------------------------

FLAG = re.compile(r"(?<![\w-])--[a-z]")
# These write commands for people to copy, or a script.
WRITE_COMMANDS = {
    *(f"present/report/{name}.py" for name in ("code", "page", "results")),
    "fielding/frames/spark_session.py",
}


def _trees(pattern=""):
    """Every module but those of the command line, with its path in the package, if the pattern is in it."""
    for path in sorted(SOURCES.rglob("*.py")):
        name, text = path.relative_to(SOURCES).as_posix(), path.read_text(encoding="utf-8")
        if not name.startswith("cli/") and re.search(pattern, text):
            yield name, ast.parse(text)


def _texts(node, but=frozenset()):
    return (
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and id(part) not in but
    )


def _docstrings(tree):
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    bodies = (node.body for node in ast.walk(tree) if isinstance(node, kinds) and node.body)
    return {id(body[0].value) for body in bodies if isinstance(body[0], ast.Expr)}


def _messages(tree):
    """What is raised and warned of."""
    for node in ast.walk(tree):
        called = getattr(node, "func", None)
        name = getattr(called, "attr", getattr(called, "id", ""))
        if isinstance(node, ast.Raise) or name in ("warn", "must") or name.endswith(("Error", "Warning")):
            yield from _texts(node)


def test_no_sentence_of_the_library_spells_a_flag():
    for name, tree in _trees("--"):
        if name not in WRITE_COMMANDS:
            found = [text for text in _texts(tree, _docstrings(tree)) if FLAG.search(text)]
            assert not found, f"{name}: {found}"


def test_no_message_spells_an_option_with_its_value():
    for name, tree in _trees():
        found = [text for text in _messages(tree) if re.search(r"\b[a-z][a-z_]*=(?!=)", text)]
        assert not found, f"{name}: {found}"


@pytest.mark.parametrize("text", ["\ufdd0total\ufdd1(\ufdd2", "\ufdd0total\ufdd2", "\ufdd1", "\ufdd2\ufdd0"])
def test_the_name_of_a_file_or_group_is_never_taken_for_an_option(text):
    error = dps.InputError(f"{text}.csv does not exist.")
    assert str(error) == f"{text}.csv does not exist."
    assert error.argument is None
    with pytest.raises(dps.InputError) as caught:
        dps.load_design(f"{text}.json")
    assert caught.value.argument is None


def test_a_sentence_is_the_same_in_a_process_that_has_other_marks():
    error = InputError.must("total", "be at least 12", 10)
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "import pickle, sys; e = pickle.load(sys.stdin.buffer); print(e, e.sentence.mentions)",
        ],
        input=pickle.dumps(error),
        capture_output=True,
        check=True,
    ).stdout.decode()
    assert told.strip() == f"{error} {error.sentence.mentions}"


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({"total": 2}, "total"),
        ({"total": 40_000}, "total"),
        ({"at_most": 3}, "at_most"),
        ({"budget": 2.5}, "budget"),
        ({"target_se": 1e-5}, "target_se"),
        ({"target_margin": 1e-4}, "target_margin"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*exceeds the best total")
def test_the_nearest_value_that_a_design_can_meet_is_one(asked, name):
    """It is met, and what lies a little on the side of what was asked for is not."""
    strata = dps.Strata([7000, 8000, 9000, 10000], [0.283, 0.08, 0.0226, 0.0064], costs=[1.0] * 4)
    with pytest.raises(dps.InfeasibleError) as caught:
        dps.design(strata, epsilon=1, **asked)
    assert caught.value.argument == name
    nearest = caught.value.nearest
    dps.design(strata, epsilon=1, **{name: nearest})
    step = 1 if name in ("total", "at_most") else 0.01 * nearest
    closer = nearest + (step if asked[name] > nearest else -step)
    with pytest.raises(dps.InfeasibleError):
        dps.design(strata, epsilon=1, **{name: closer})


def test_a_target_of_one_group_has_no_nearest_value():
    strata = dps.Strata([700, 800], [0.3, 0.3], extra={"region": ["N", "S"]})
    with pytest.raises(dps.InfeasibleError) as caught:
        dps.design(strata, epsilon=1, target_se=0.2, domains={"region": 1e-6})
    assert caught.value.nearest is None
