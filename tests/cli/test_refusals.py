"""Every problem of a command is one line, in the words of the command line, and nothing is lost by it."""

import ast
import re
from pathlib import Path

import duckdb
import numpy as np
import pytest
import typer

import commands
import dpstrata as dps
from dpstrata.cli import app
from dpstrata.cli.refusals import in_flags
from dpstrata.cli.screen import print_paragraph
from dpstrata.errors import Sentence, option
from dpstrata.fielding.losses import Response

EXAMPLES = Path(dps.__file__).parent / "examples"
DESIGN = "design strata.csv --epsilon 1"
FRAME = "--id person --stratum occupation"
BATCH = f"--sample sample.csv {FRAME}"
# Arguments of functions that no command calls with what someone typed.
PYTHON_ALONE = {
    *("method", "stratum_size", "library", "upper"),
    *("sizes", "sds", "names", "sd_sources", "extra"),
    *("cells", "choices", "items", "prices", "variance", "y"),  # of forms, which the library makes itself
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files that are right, so that each command has one thing wrong."""
    folder = tmp_path_factory.mktemp("problems")
    (folder / "strata.csv").write_text("stratum,size,sd\nA,700,0.3\nB,800,0.1\n")
    (folder / "budget.csv").write_text("stratum,size,sd\nA,700,x\nB,-8,0.1\n")
    (folder / "answers.csv").write_text("stratum,size,sd\nA,700,0.3\nB,800,0.1\n")
    strata = dps.Strata.from_file(folder / "strata.csv")
    dps.design(strata, epsilon=1, total=20).save(folder / "design.json")
    (folder / "coefficients.csv").write_text("stratum,size,sd,coefficient\nA,700,0,0\nB,800,0.1,0\n")
    (folder / "rates.csv").write_text("stratum,size,sd,response_rate\nA,700,0.3,0.5\nB,800,0.1,0.5\n")
    (folder / "means.csv").write_text("stratum,answer\nA,0.3\nA,0.5\nB,0.1\nB,0.4\n")
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.execute("CREATE TABLE everyone (person INT, occupation TEXT)")
    (folder / "loop.csv").symlink_to("pool.csv")
    (folder / "pool.csv").symlink_to("loop.csv")
    for name in ("fair1978.csv", "regions.csv"):
        (folder / name).write_bytes((EXAMPLES / name).read_bytes())
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("design strata.csv", "a design needs one of --epsilon, --zcdp and --gdp, got none of them."),
        (DESIGN, "needs one of --total, --at-most, --budget, --target-se, --target-margin, --target-cv, got"),
        ("design strata.csv --epsilon x", "--epsilon must be a number, got 'x'. See dpstrata design --help."),
        (f"{DESIGN} --total 2.5", "--total must be a whole number, got '2.5'. See dpstrata design --help."),
        (
            f"{DESIGN} --release me",
            "--release must be one of microdata, sums, mean, got 'me'. See dpstrata design --help.",
        ),
        (
            f"{DESIGN} --total 40000",
            "--total must be at most the population (1,500), got --total 40,000.",
        ),
        (f"{DESIGN} --total 9 --at-most 9", "got --total and --at-most."),
        (
            f"{DESIGN} --total 9 --questions yes:no",
            "--questions must be 'yes_no', a range (as in 0:8000)",
        ),
        (f"{DESIGN} --no-such", "no such option: --no-such"),
        (
            f"{DESIGN} --budget 9",
            "--budget requires the cost of one invitation in every stratum (in a file, the column",
        ),
        (
            f"{DESIGN} --total 9 --mechanism laplace --delta 0.1",
            "--delta 0.1 does not go with --mechanism laplace",
        ),
        (
            f"{DESIGN} --total 9 --mechanism randomized_response",
            "Use --questions yes_no, a grid of one step, or",
        ),
        (
            f"{DESIGN} --total 9 --mechanism discrete_laplace",
            "Give the step of the grid too, as in --questions 0:100:1",
        ),
        (f"{DESIGN} --total 9 --release sums --mechanism piecewise", "got --mechanism piecewise."),
        (
            "design strata.csv --zcdp 1 --total 9 --mechanism laplace",
            "--zcdp requires --mechanism gaussian, got --mechanism lap",
        ),
        (
            f"{DESIGN} --total 9 --domains stratum=0.1",
            "how many people are invited, so --total cannot be given too.",
        ),
        (f"{DESIGN} --total 9 --min-fraction 2", "--min-fraction must be at most 1, got --min-fraction 2."),
        (f"{DESIGN} --target-cv 0.1", "got --target-cv alone."),
        ("design budget.csv --epsilon 1 --total 9", "budget.csv: 2 mistakes."),
        (
            "design strata.csv --epsilon 1 --total 9 --questions rent|own --release sums --mechanism tulap",
            "the office noises counts with discrete Laplace noise and sums with staircase noise",
        ),
        (
            "design strata.csv --epsilon 1 --target-cv 0.1 --questions rent|own",
            "a coefficient of variation needs answers with a mean, got 2 categories. Ask for a standard error",
        ),
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
            "main-design design.json means.csv",
            "a main wave must follow the design of a pilot, got another design.",
        ),
        ("sensitivity design.json --factor 0.5", "--factor must be a number above 1, got 0.5."),
        ("sensitivity design.json --strata -1", "--strata must be a whole number >= 0, got -1."),
        ("serve --port 99999", "--port must lie between 0 and 65535, got 99999."),
        ("serve --host 203.0.113.9", "--host must be an address of this machine"),
        (
            f"frame fair1978.csv {FRAME} --out s.csv --table x",
            "--table requires a database, got 'fair1978.csv'.",
        ),
        (
            f"frame fair1978.csv {FRAME} --out s.csv --sd-column age",
            "--sd-column and --sd-source (public or prior) must be given together",
        ),
        ("frame answers.csv --id a --stratum b --out s.csv", "answers.csv has no column 'a'"),
        ("estimate design.json strata.csv", "strata.csv has no column"),
        (
            "privatize design.json --stratum-value nowhere",
            "the design has no stratum 'nowhere'; it has 'A', 'B'",
        ),
        ("privatize design.json --stratum-value A --out x.csv", "is for one respondent only, got --out too."),
        ("privatize design.json --stratum-value A --again", "is for one respondent only, got --again too."),
        (
            "privatize design.json --stratum-value A --key-file k",
            "is for one respondent only, got --key-file too.",
        ),
        ("design loop.csv --epsilon 1 --total 9", "loop.csv"),
        (
            "privatize design.json answers.csv --stratum-value A",
            "is for one respondent only, got a table of answers too.",
        ),
        (
            "privatize design.json answers.csv --id a",
            "a batch of answers needs --sample, --out.",
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
        (f"{DESIGN}000 --total 9", "--epsilon must lie between 1e-06 and 100, got --epsilon 1000."),
        (f"{DESIGN} --total 9 --mechanism gaussian --delta 2", "and below 1, got --delta 2."),
        (f"{DESIGN} --total 1", "--total must be at least the sum of the minimums (2), got --total 1."),
        (
            "design strata.csv --zcdp 1e9 --total 9 --mechanism gaussian",
            "--zcdp must lie between 1e-6 and 1e6, got --zcdp 1e+09.",
        ),
        (
            "design strata.csv --gdp 1 --total 9 --mechanism gaussian --delta 0.1",
            "--gdp does not go with --delta 0.1; remove --delta.",
        ),
        (
            "design strata.csv --gdp 1 --total 9 --mechanism gaussian --local-epsilon-cap 2",
            "--gdp does not go with --local-epsilon-cap 2; remove --local-epsilon-cap.",
        ),
        ("design strata.csv --gdp 1 --zcdp 1 --total 9", "got --zcdp and --gdp."),
        (f"{DESIGN} --total 9 --objective custom", "--objective custom needs a coefficient for every"),
        (
            "design coefficients.csv --epsilon 1 --total 9 --objective custom",
            "--objective custom needs at least one coefficient other than 0.",
        ),
        (
            "design coefficients.csv --epsilon 1 --total 9 --objective unit_free",
            "--objective unit_free divides by sd, which must be above 0, got 0 in stratum 'A'.",
        ),
        (
            f"{DESIGN} --total 9 --response-rate 2",
            "--response-rate must be at most 1, got --response-rate 2.",
        ),
        (f"{DESIGN} --total 9 --proportion 0.1", "remove them, or leave --proportion out."),
        (
            "design rates.csv --epsilon 1 --total 9 --response-rate 0.5",
            "remove that column, or leave --response-rate out.",
        ),
        (
            f"{DESIGN} --domains colour=0.1se",
            "--domains must name columns of the strata ('stratum'), got 'col",
        ),
        (
            f"{DESIGN} --domains stratum=0.1 --target-cv 0.1 --expected-mean 0.5",
            "so the strata must have a column 'expected_mean' or 'proportion', got neither.",
        ),
        ("evaluate strata.csv --epsilon 1", "evaluate needs --sample-sizes, or a column sample_size"),
        ("evaluate strata.csv --epsilon 1 --sample-sizes x,1", "--sample-sizes must be whole numbers, one"),
        (
            "evaluate strata.csv --epsilon 1 --sample-sizes 5,5 --min-per-stratum 9",
            "--sample-sizes must lie between 9 and 700, got 5 in stratum 'A'.",
        ),
        ("sweep strata.csv --epsilon 1,x --total 20", "--epsilon must be numbers, got 'x'."),
        ("sweep strata.csv --epsilon 2:1:1 --total 20", "--epsilon must be start:stop:step with start <="),
        ("sweep strata.csv --epsilon 1 --at-most 1:1e9:1", "--at-most must have at most 100,000 values."),
        (
            "pilot strata.csv --pilot-epsilon 0.2 --pilot-total 9",
            "a pilot needs --epsilon and --total, each for both waves together.",
        ),
        (
            "pilot strata.csv --epsilon 1 --pilot-epsilon 0.2 --total 90 --pilot-total 9 --objective unit_free",
            "objectives mean, trace and custom, got --objective unit_free.",
        ),
        (
            "estimate design.json means.csv --pilot pilot.json",
            "to combine two waves, give both --pilot and --pilot-answers.",
        ),
        (
            "frame fair1978.csv --id person --stratum person --out s.csv",
            "--id and --stratum must be different columns, got 'person' for both.",
        ),
        (
            f"frame people.duckdb {FRAME} --out s.csv",
            "the table that lists the people (--table); it has 'everyone'.",
        ),
        (
            "sweep strata.csv --epsilon 1 --total 20 --mechanism magic",
            "gaussian, best, got --mechanism magic.",
        ),
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
    assert result.stderr == "Error: question 'answer': the answer must be a number from 0 to 1.\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "frame strata.csv {} --id a --stratum b --out s.csv",
        "frame {} --id a --stratum b --out s.csv",
        "frame strata.csv --engine {} --id a --stratum b --out s.csv",
        "estimate {} noised.csv",
        "estimate design.json {}",
        "draw design.json {} --id a --stratum b --out s.csv",
        "design {} --epsilon 1 --total 5",
    ],
)
def test_a_password_in_an_address_is_not_repeated(folder, command):
    result = commands.run(folder, *command.format("postgresql://ann:hunter2@db/people.csv").split())
    assert result.returncode == 2
    assert result.stderr.startswith("Error: ")
    assert "hunter2" not in result.stdout + result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("more", ["", "--table people", "--sheet people", "--engine spark"])
@pytest.mark.parametrize(
    "address", ["md:db?motherduck_token=hunter2", "bob:hunter2@host/db", "u/hunter2@orcl"]
)
def test_a_password_in_what_is_no_url_is_not_repeated(folder, address, more):
    command = f"frame {address} --id a --stratum b --out s.csv {more}"
    result = commands.run(folder, *command.split())
    assert result.returncode == 2
    assert result.stderr.startswith("Error: a table must be a file, got an address. ")
    assert "hunter2" not in result.stdout + result.stderr


def test_a_sweep_shows_problems_in_the_words_of_the_command_line(folder):
    result = commands.run(folder, *["sweep", "strata.csv", "--epsilon", "1", "--total", "1,20"])
    assert "got --total 1." in " ".join(result.stdout.split())
    assert "None" not in result.stdout


@pytest.mark.slow
def test_a_release_that_needs_consent_says_how_to_give_it(folder, tmp_path):
    (tmp_path / "fair1978.csv").write_bytes((folder / "fair1978.csv").read_bytes())

    def done(*words, code=0):
        result = commands.run(tmp_path, *" ".join(words).split())
        assert result.returncode == code, result.stderr
        return " ".join(result.stderr.split())

    done(f"frame fair1978.csv {FRAME} --out strata.csv")
    done("design strata.csv --epsilon 1 --total 6366 --questions 0:60 --out design.json")
    done(f"draw design.json fair1978.csv {FRAME} --out sample.csv")
    people = (tmp_path / "fair1978.csv").read_text().partition("\n")
    (tmp_path / "answers.csv").write_text(people[0].replace("affairs", "answer", 1) + "\n" + people[2])
    done(f"privatize design.json answers.csv {BATCH} --out one.csv")
    said = done(f"privatize design.json answers.csv {BATCH} --out two.csv", code=2)
    assert said.endswith("Pass --again to release anyway.")


def _mentioned():
    """The first argument of every option(...), and of every InputError.must(...)."""
    for path in Path(dps.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if not re.search(r"\b(option|must)\(", text):
            continue
        for node in ast.walk(ast.parse(text)):
            called = getattr(node, "func", None)
            if getattr(called, "id", getattr(called, "attr", "")) in ("option", "must") and node.args:
                yield from [node.args[0].value] if isinstance(node.args[0], ast.Constant) else []


def test_whatever_a_message_mentions_is_an_option_of_a_command():
    commands_known = list(typer.main.get_command(app).commands.values())
    commands_known += [each for group in commands_known for each in getattr(group, "commands", {}).values()]
    flags = {flag for each in commands_known for known in each.params for flag in known.opts}
    named = set(_mentioned())
    assert {"total", "again", "port"} <= named
    assert {f"--{name.replace('_', '-')}" for name in named - PYTHON_ALONE} <= flags


def test_a_loss_beyond_the_promise_names_the_flag_that_accepts_it():
    response = Response(2.0, 0.0, 1.0, 3, 1, 1, np.ones(3))
    with pytest.raises(dps.InputError) as caught:
        response.require_promise()
    assert "or pass --accept-response to release anyway" in in_flags(caught.value.sentence)


def test_sentences_on_the_screen_name_flags(capsys):
    print_paragraph(
        Sentence(f"Design again with {option('questions', (0, 100, 1))} or {option('clip', True)}.")
    )
    print_paragraph("Text of others stays: total=9.")
    assert capsys.readouterr().out.splitlines()[::2] == [
        "Design again with --questions 0:100:1 or --clip.",
        "Text of others stays: total=9.",
    ]


def test_a_group_of_commands_alone_says_what_is_missing(tmp_path):
    done = commands.run(tmp_path, "collect")
    assert (done.returncode, done.stderr) == (
        2,
        "Error: missing survey or command. See dpstrata collect --help.\n",
    )
    assert "close" in done.stdout
