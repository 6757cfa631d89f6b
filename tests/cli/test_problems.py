"""Every problem of a command is one line, in the words of the command line, and nothing is lost by it."""

import re
from pathlib import Path

import pytest
import typer

import commands
import dpstrata as dps
from dpstrata.cli import app

EXAMPLES = Path(dps.__file__).parent / "examples"
DESIGN = "design strata.csv --epsilon 1"
FRAME = "--id person --stratum occupation"
BATCH = f"--sample sample.csv {FRAME} --answer affairs --out noised.csv"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files that are right, so that each command has one thing wrong."""
    folder = tmp_path_factory.mktemp("problems")
    (folder / "strata.csv").write_text("stratum,size,sd\nA,700,0.3\nB,800,0.1\n")
    (folder / "budget.csv").write_text("stratum,size,sd\nA,700,x\nB,-8,0.1\n")
    (folder / "answers.csv").write_text("stratum,size,sd\nA,700,0.3\nB,800,0.1\n")
    strata = dps.Strata.from_file(folder / "strata.csv")
    dps.design(strata, epsilon=1, total=20).save(folder / "design.json")
    (folder / "loop.csv").symlink_to("pool.csv")
    (folder / "pool.csv").symlink_to("loop.csv")
    for name in ("fair1978.csv", "regions.csv"):
        (folder / name).write_bytes((EXAMPLES / name).read_bytes())
    return folder


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("design strata.csv", "a design needs one of --epsilon, --zcdp and --gdp, got none of them."),
        (DESIGN, "needs one of --total, --at-most, --budget, --target-se, --target-margin, --target-cv, got"),
        ("design strata.csv --epsilon x", "--epsilon must be a number, got 'x'. See dpstrata design --help."),
        (f"{DESIGN} --total 2.5", "--total must be a whole number, got '2.5'. See dpstrata design --help."),
        (
            f"{DESIGN} --trust me",
            "--trust must be one of local, curator, got 'me'. See dpstrata design --help.",
        ),
        (
            f"{DESIGN} --total 40000",
            "--total must be at most the sum of the maximums (1,500), got --total 40,000.",
        ),
        (f"{DESIGN} --total 9 --at-most 9", "got --total and --at-most."),
        (f"{DESIGN} --total 9 --answers yes:no", "--answers must be 'binary', lower and upper (as in 0:1)"),
        (f"{DESIGN} --no-such", "no such option: --no-such"),
        (
            f"{DESIGN} --budget 9",
            "--budget needs the cost of one invitation in every stratum (in a file the column",
        ),
        (
            f"{DESIGN} --total 9 --mechanism laplace --delta 0.1",
            "--delta 0.1 does not go with --mechanism laplace",
        ),
        (
            f"{DESIGN} --total 9 --mechanism randomized_response",
            "Use --answers binary, a grid of one step, or",
        ),
        (f"{DESIGN} --total 9 --mechanism discrete_laplace", "Give the step of the grid too (as in 0:100:1)"),
        (f"{DESIGN} --total 9 --trust curator --mechanism piecewise", "got --mechanism piecewise."),
        (
            "design strata.csv --zcdp 1 --total 9 --mechanism laplace",
            "--zcdp requires --mechanism gaussian, got --mechanism lap",
        ),
        (
            f"{DESIGN} --total 9 --mechanism best --delta 1e-6 --questions 2",
            "questions above 1 with Gaussian noise is not available in this version of dpstrata; leave it out.",
        ),
        (f"{DESIGN} --total 9 --domains stratum=0.1", "how many people are invited, got --total too."),
        (f"{DESIGN} --total 9 --min-fraction 2", "--min-fraction and --max-fraction must satisfy 0 <="),
        (f"{DESIGN} --target-cv 0.1", "got --target-cv alone."),
        ("design budget.csv --epsilon 1 --total 9", "budget.csv: 2 problems."),
        ("design . --epsilon 1 --total 9", "a table must end in .csv"),
        (
            "evaluate strata.csv --epsilon 1 --sample-sizes 9",
            "--sample-sizes must be 2 whole numbers, one for each",
        ),
        ("evaluate strata.csv --epsilon 1 --sample-sizes 1.5,2", "got 1.5 in stratum 'A'."),
        (
            "evaluate strata.csv --epsilon 1 --sample-sizes 5,99999",
            "of the stratum (800), got 99999 in stratum 'B'.",
        ),
        (
            "pilot strata.csv --epsilon 1 --pilot-epsilon 2 --total 90 --pilot-total 9",
            "below --epsilon 1, so",
        ),
        (
            "pilot strata.csv --epsilon 1 --pilot-epsilon 0.2 --total 90 --pilot-total 90",
            "below --total 90, so",
        ),
        (
            "pilot strata.csv --epsilon 1 --pilot-epsilon 0.2 --total 90 --pilot-total 1",
            "--pilot-total must be at least the sum of the minimums (2), got --pilot-total 1.",
        ),
        (
            "pilot strata.csv --epsilon 1 --pilot-epsilon 0.2 --total 90 --pilot-total 0",
            "--pilot-total must be at least 1, got --pilot-total 0.",
        ),
        (
            "main-design design.json answers.csv --answer sd",
            "a main wave follows the design of a pilot, got another design.",
        ),
        ("sensitivity design.json --factor 0.5", "--factor must be a number above 1, got 0.5."),
        ("sensitivity design.json --strata -1", "--strata must be a whole number >= 0, got -1."),
        ("serve --port 99999", "--port must lie between 0 and 65535, got 99999."),
        ("serve --host 203.0.113.9", "--host must be an address of this machine"),
        (
            f"frame fair1978.csv {FRAME} --out s.csv --table x",
            "--table is for a DuckDB database, got 'fair1978.csv'.",
        ),
        (
            f"frame fair1978.csv {FRAME} --out s.csv --sd-column age",
            "--sd-column and --sd-source go together",
        ),
        ("frame answers.csv --id a --stratum b --out s.csv", "answers.csv has no column 'a'"),
        ("estimate design.json answers.csv --answer nope", "answers.csv has no column"),
        ("privatize design.json --stratum-value nowhere", "the design has no stratum 'nowhere'."),
        ("privatize design.json --stratum-value A --out x.csv", "is for one respondent, got --out too."),
        ("privatize design.json --stratum-value A --again", "is for one respondent, got --again too."),
        (
            "privatize design.json --stratum-value A --key-file k",
            "is for one respondent, got --key-file too.",
        ),
        ("design loop.csv --epsilon 1 --total 9", "loop.csv"),
        (
            "privatize design.json answers.csv --stratum-value A",
            "is for one respondent, got a table of answers too.",
        ),
        (
            "privatize design.json answers.csv --id a",
            "a batch of answers needs --sample, --stratum, --answer, --out.",
        ),
        (
            "privatize design.json",
            "privatize needs a table of answers, or --stratum-value for one respondent.",
        ),
        (f"{DESIGN} --total 20 --out strata.csv", "strata.csv is given for two different files."),
        (f"{DESIGN} --total 20 --out new.json --plot new.json", "new.json is given for two different files."),
        ("sensitivity design.json --out ./design.json", "design.json is given for two different files."),
        (
            "sweep strata.csv --epsilon 1,2 --total 20 --out strata.csv",
            "strata.csv is given for two different files.",
        ),
        (
            "evaluate strata.csv --epsilon 1 --sample-sizes 9,9 --out strata.csv",
            "is given for two different files.",
        ),
        ("sweep strata.csv --epsilon 1 --total 20 --mechanism magic", "gaussian, best, got 'magic'."),
        ("desing", "no such command 'desing'. Did you mean 'design'? See dpstrata --help."),
    ],
)
def test_a_problem_is_one_line_in_the_words_of_the_command_line(folder, command, sentence):
    before = {path: path.read_bytes() for path in folder.iterdir() if not path.is_symlink()}
    result = commands.run(folder, *command.split(), input="")
    lines = [line for line in result.stderr.splitlines() if not line.startswith("Warning: ")]
    assert result.returncode == 2, result.stderr
    assert lines[0].startswith("Error: ")
    assert sentence in lines[0]
    assert all(line.startswith("  ") for line in lines[1:]), "only problems of a table are listed"
    text = " ".join(lines)
    assert not re.search(r"\b[a-z_]+=|\(lower,|dpstrata\.\w+\(", text)
    known = typer.main.get_command(app).commands.get(command.split()[0])
    flags = {"--help"} | {
        flag for each in (known.params if known else []) for flag in (*each.opts, *each.secondary_opts)
    }
    assert set(re.findall(r"--[a-z][a-z-]*", text)) - {"--no-such"} <= flags
    assert {path: path.read_bytes() for path in folder.iterdir() if not path.is_symlink()} == before


def test_an_answer_that_is_no_number_is_not_repeated(folder):
    result = commands.run(folder, "privatize", "design.json", "--stratum-value", "A", input="canary\n")
    assert result.returncode == 2
    assert result.stderr == "Error: every answer must be a number, got something else.\n"


def test_a_sweep_shows_problems_in_the_words_of_the_command_line(folder):
    result = commands.run(folder, *["sweep", "strata.csv", "--epsilon", "1", "--total", "1,20"])
    assert "got --total 1." in " ".join(result.stdout.split())
    assert "None" not in result.stdout


def test_without_arguments_there_is_help():
    result = commands.run(None)
    assert result.returncode == 0
    assert "main-design" in result.stdout
