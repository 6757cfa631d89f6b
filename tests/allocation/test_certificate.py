import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dpstrata
from dpstrata.allocation.proof.certificate import certify
from dpstrata.allocation.solvers.solve import solve
from dpstrata.errors import InputError
from problems import PAPER_SDS, PAPER_SIZES, make_problem, random_problem


@pytest.mark.parametrize("seed", range(150))
def test_it_holds_exactly_where_no_exchange_helps(seed):
    """Against trying every exchange of one person, with exact values."""
    rng = np.random.default_rng([11, seed])
    problem = random_problem(rng, most_strata=4)
    sizes = solve(problem).sizes.copy()
    if seed % 2 and len(sizes) > 1:  # disturb it
        movable = np.flatnonzero(sizes > problem.lower)
        open_ = np.flatnonzero(sizes < problem.upper)
        if movable.size and open_.size:
            sizes[rng.choice(movable)] -= 1
            sizes[rng.choice(open_)] += 1
            if np.any(sizes > problem.upper):
                return
    helps = False
    for i in np.flatnonzero(sizes < problem.upper):
        for j in np.flatnonzero(sizes > problem.lower):
            if i != j:
                gain = problem.terms.exact_gain(int(i), int(sizes[i]))
                loss = problem.terms.exact_gain(int(j), int(sizes[j]) - 1)
                helps = helps or gain - loss > abs(loss) * gain.context.mpf(10) ** -90
    assert certify(problem, sizes).optimal == (not helps)


def test_numbers_of_the_paper_problem():
    problem = make_problem(PAPER_SIZES, PAPER_SDS, total=200)
    good = certify(problem, np.array([62, 43, 45, 50]))
    assert good.optimal
    assert good.tie == "none"
    assert good.largest_gain < good.smallest_loss
    assert good.margin == pytest.approx(good.smallest_loss - good.largest_gain, rel=1e-6)
    assert good.in_words.startswith(
        "Proven optimal: no other allocation of the same total is as precise. Adding one person anywhere gains at most 1.355"
    )
    equal, unsettled = (replace(good, tie=tie).in_words for tie in ("equal", "open"))
    assert equal.startswith(
        "Proven optimal: no other allocation of the same total is more precise, though others are exactly as precise."
    )
    assert "total is more precise, though another agrees with it to 100 digits. Adding" in unsettled
    bad = certify(problem, np.array([137, 44, 14, 5]))
    assert not bad.optimal
    assert bad.in_words.startswith("Not optimal: moving one person would lower the objective by")


def test_nothing_to_move():
    problem = make_problem([5, 5], [0.1, 0.1], total=10)
    certificate = certify(problem, np.array([5, 5]))
    assert certificate.optimal
    assert certificate.largest_gain is None
    assert certificate.in_words == "Proven optimal: the minimums and maximums leave no choice."


def test_sizes_must_be_within_bounds():
    problem = make_problem([5, 5], [0.1, 0.1], total=6)
    for sizes in ([6, 0], [3], [[3, 3]], [2.5, 3.5]):
        with pytest.raises(InputError, match="one whole sample size per stratum"):
            certify(problem, np.array(sizes))


@pytest.mark.parametrize("room", ["allocation/proof", "designs"])
def test_proofs_and_designs_import_no_solver(room):
    """Also held by import-linter; here without it."""
    modules = list((Path(dpstrata.__file__).parent / room).glob("*.py"))
    assert len(modules) > 3
    for path in modules:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom | ast.Import):
                names = (
                    [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
                )
                assert not any("solvers" in name or "planning" in name for name in names), path
