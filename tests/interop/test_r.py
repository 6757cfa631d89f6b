"""Estimates and designs in R: the lines of the documentation, and R's own survey package as a second opinion."""

import csv
import importlib.util
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dpstrata as dps
from commands import run

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "r.md"
NAMES = ("a", "b", "c")
STRATA = dps.Strata([900, 500, 700], names=NAMES, extra={"side": ["east", "east", "west"]})
TENURES = ["rent", "own", "other"]


def of_page():
    """The files and commands of the page, as the tests of the documentation find them."""
    path = ROOT / "tests" / "docs" / "test_commands.py"
    spec = importlib.util.spec_from_file_location("test_commands", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.blocks(PAGE)), module.carried_out


def in_r(folder, script):
    """Run R, which must be there."""
    assert shutil.which("Rscript"), (
        "R is missing. Install it: apt-get install r-cran-survey r-cran-reticulate"
    )
    (folder / "run.R").write_text(script, encoding="utf-8")
    done = subprocess.run(["Rscript", "run.R"], capture_output=True, text=True, cwd=folder, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers_in(path):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))[1:]
    return np.array([[math.nan if cell == "NA" else float(cell) for cell in row] for row in rows])


def write(path, header, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def lines_of_page():
    blocks, _ = of_page()
    return next(text for kind, name, text in blocks if (kind, name) == ("file", "svystat.R"))


def test_three_lines_make_a_svystat():
    assert len(lines_of_page().splitlines()) == 3


def test_the_page_runs_in_r(tmp_path):
    blocks, carried_out = of_page()
    shutil.copy(Path(dps.__file__).parent / "examples" / "fair1978.csv", tmp_path)
    path = os.pathsep.join([os.fspath(Path(sys.executable).parent), os.environ["PATH"]])
    for kind, first, second in blocks:
        if kind == "file":
            (tmp_path / first).write_text(second, encoding="utf-8")
        else:
            done = carried_out(first, tmp_path, {**os.environ, "PATH": path})
            assert done.returncode == 0, done.stderr
    shown = in_r(
        tmp_path,
        'source("contrast.R"); difference <- svycontrast(result, c("stratum=managerial" = 1, "stratum=professional" = -1))\n'
        "both <- data.frame(c(coef(result), coef(difference)), c(SE(result), SE(difference)))\n"
        'write.csv(both, "both.csv", row.names = FALSE)\n'
        'stopifnot(inherits(result, "svystat"), identical(names(coef(result))[1:2], c("all", "total")))',
    )
    assert "contrast" in shown
    found = numbers_in(tmp_path / "both.csv")
    result = dps.estimate(tmp_path / "design.json", tmp_path / "noised.csv")
    known = [(row.estimate, row.standard_error) for row in result]
    strata = {row.group: row for row in result.by("stratum")}
    one, other = strata["managerial"], strata["professional"]
    error = math.hypot(one.standard_error, other.standard_error)
    assert found == pytest.approx(np.array([*known, (one.estimate - other.estimate, error)]), rel=1e-9)


@pytest.mark.parametrize("answers", ["numbers", "categories"])
def test_without_the_finite_population_r_finds_the_same_covariances(tmp_path, answers):
    """Noise and sampling are then one: the spread of what was reported, or of reports whose bias is taken out."""
    categories = answers == "categories"
    options = {"questions": TENURES} if categories else {"questions": (0, 1), "mechanism": "laplace"}
    plan = dps.design(STRATA, epsilon=2, total=300, domains=["side"], finite_population=False, **options)
    plan.save(tmp_path / "design.json")
    generator = np.random.default_rng(1)
    place = np.repeat(np.arange(3), plan.sample_sizes)
    scores = generator.normal(0.5, 1.0, (len(place), 1))
    sent = scores[:, 0].tolist()
    if categories:
        codes = generator.choice(3, len(place), p=[0.4, 0.35, 0.25])
        q, d = plan.mechanism.chances(plan.local_epsilons[place])
        scores = ((codes[:, None] == np.arange(3)) - q[:, None]) / d[:, None]
        sent = [TENURES[code] for code in codes]
    strata = [NAMES[i] for i in place]
    write(tmp_path / "noised.csv", ["stratum", "answer"], zip(strata, sent, strict=True))
    weights = (STRATA.sizes / plan.sample_sizes)[place].tolist()
    names = [f"y{i}" for i in range(scores.shape[1])]
    rows = zip(strata, weights, *scores.T.tolist(), strict=True)
    write(tmp_path / "scores.csv", ["stratum", "weight", *names], rows)
    done = run(
        tmp_path,
        *(
            "estimate",
            "design.json",
            "noised.csv",
            "--out",
            "estimates.csv",
            "--covariance",
            "covariance.csv",
        ),
    )
    assert done.returncode == 0, done.stderr
    formula = "~" + "+".join(names)
    in_r(
        tmp_path,
        "library(survey)\n"
        + lines_of_page()
        + 'people <- svydesign(~1, strata = ~stratum, weights = ~weight, data = read.csv("scores.csv"))\n'
        f"whole <- svymean({formula}, people)\n"
        f"strata <- svyby({formula}, ~stratum, people, svymean, covmat = TRUE)\n"
        'write.csv(vcov(whole), "whole.csv", row.names = FALSE)\n'
        'write.csv(vcov(strata), "strata.csv", row.names = FALSE)\n'
        'write.csv(vcov(result), "ours.csv", row.names = FALSE)\n',
    )
    ours = numbers_in(tmp_path / "ours.csv")
    k = len(names)
    assert numbers_in(tmp_path / "whole.csv") == pytest.approx(ours[:k, :k], rel=1e-9, abs=1e-15)
    theirs = numbers_in(tmp_path / "strata.csv")  # by score, then by stratum
    order = [3 * figure + stratum for stratum in range(3) for figure in range(k)]
    assert theirs[np.ix_(order, order)] == pytest.approx(ours[-3 * k :, -3 * k :], rel=1e-9, abs=1e-15)


def test_what_is_not_known_is_not_zero_in_r(tmp_path):
    questions = dps.Questionnaire(
        [
            dps.Question("home", "category", blank=False, categories=TENURES),
            dps.Question("ill", "yes_no", blank=False),
        ]
    )
    plan = dps.design(STRATA, questions=questions, epsilon=2, total=300, forms=[["home", "ill"]])
    plan.save(tmp_path / "design.json")
    cells = np.random.default_rng(2).integers(0, 6, plan.total).tolist()
    strata = np.repeat(NAMES, plan.sample_sizes).tolist()
    rows = [(stratum, 1, cell) for stratum, cell in zip(strata, cells, strict=True)]
    write(tmp_path / "noised.csv", ["stratum", "form", "cell"], rows)
    done = run(
        tmp_path,
        *(
            "estimate",
            "design.json",
            "noised.csv",
            "--out",
            "estimates.csv",
            "--covariance",
            "covariance.csv",
        ),
    )
    assert done.returncode == 0, done.stderr
    in_r(
        tmp_path,
        "library(survey)\n"
        + lines_of_page()
        + "known <- svycontrast(result, c('home=rent, all' = 1, 'home=own, all' = -1))\n"
        "stopifnot(is.finite(SE(known)), is.na(vcov(result)['home=rent, all', 'ill=yes, all']))\n",
    )


@pytest.fixture
def reticulate(tmp_path, monkeypatch):
    """Give R this Python, and the files of the page."""
    monkeypatch.setenv("RETICULATE_PYTHON", sys.executable)
    for kind, name, text in of_page()[0]:
        if kind == "file":
            (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_design_made_in_r_is_the_one_made_here(reticulate):
    shown = in_r(reticulate, 'source("plan.R")\nwrite.csv(sizes, "sizes.csv")')
    here = dps.design(
        dps.Strata([900, 600], names=["north", "south"]), epsilon=1, total=300, questions="yes_no"
    )
    assert dps.load_design(reticulate / "from-r.json").digest == here.digest
    assert "Proven optimal" in shown
    with open(reticulate / "sizes.csv", newline="") as file:
        found = {name: int(size) for name, size in list(csv.reader(file))[1:]}
    assert found == dict(zip(here.strata.names, here.sample_sizes.tolist(), strict=True))


def test_estimates_made_in_r_are_those_made_here(reticulate):
    in_r(
        reticulate,
        'source("try.R")\nwrite.csv(answers[c("stratum", "sent")], "sent.csv", row.names = FALSE)\n'
        'write.csv(estimates, "found.csv", row.names = FALSE)\n'
        'write.csv(covariance, "matrix.csv", row.names = FALSE)',
    )
    with open(reticulate / "sent.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    plan = dps.load_design(reticulate / "from-r.json")
    result = dps.estimate_means(plan, [row["stratum"] for row in rows], [float(row["sent"]) for row in rows])
    known = [(row.estimate, row.lower, row.upper) for row in result]
    assert numbers_in(reticulate / "found.csv") == pytest.approx(np.array(known), rel=1e-6)
    assert numbers_in(reticulate / "matrix.csv") == pytest.approx(result.covariance.matrix, rel=1e-6)


def test_mistakes_and_single_strata_are_as_the_page_says(reticulate):
    in_r(
        reticulate,
        'library(reticulate)\ndps <- import("dpstrata")\n'
        'strata <- dps$Strata(sizes = list(900), names = list("north"))\n'
        "said <- tryCatch(dps$design(strata, epsilon = -1, total = 30), error = conditionMessage)\n"
        'stopifnot(length(strata$names) == 1, grepl("epsilon must lie between", said))',
    )
