"""The command line as its users meet it: real processes, files, exit statuses."""

import json
import re
from pathlib import Path

import pytest

import commands
import dpstrata as dps

EXAMPLE = Path(dps.__file__).parent / "examples" / "four-strata.csv"
LAPLACE = ("--mechanism", "laplace")  # as in the paper, whose figures are known


def run(*arguments, cwd=None, env=None):
    return commands.run(cwd, *arguments, env=env)


@pytest.mark.slow
def test_the_noise_is_the_best_unless_it_is_named_and_one_line_says_so():
    for options, title, reason in (
        ([], "Sine", "no other mechanism does better for these answers."),
        (
            ["--release", "sums", "--device-epsilon", 5],
            "Sine",
            "no other mechanism does better for these answers (staircase gives a standard error of",
        ),
        (
            ["--questions", "yes_no"],
            "Randomized response",
            "no other mechanism does better for these answers.",
        ),
        (["--delta", 1e-6], "Gaussian", "a promise of epsilon with delta requires it."),
    ):
        shown = " ".join(run("design", EXAMPLE, "--epsilon", 1, "--total", 200, *options).stdout.split())
        assert shown.count(f"{title} noise was chosen: {reason}") == 1
        assert "noise would keep the same promise" not in shown
    named = run("design", EXAMPLE, "--epsilon", 1, "--total", 200, *LAPLACE).stdout
    assert "Sine noise would keep the same promise" in " ".join(named.split())
    assert "was chosen" not in named


def test_design_shows_everything_the_planner_asked_for():
    result = run("design", EXAMPLE, "--epsilon", 1, "--total", 200, *LAPLACE)
    assert result.returncode == 0
    assert result.stderr == ""
    for part in (
        "200 interviews in 4 strata",
        "62 + 43 + 45 + 50",
        "137 + 44 + 14 + 5",
        "2.270 times",
        "0.01956",
        "5.273",
        "0.2682",
        "Proven optimal",
        "epsilon = 1 for everyone; --full shows the promise and what it assumes.",
    ):
        assert part in " ".join(result.stdout.split())


@pytest.mark.slow
def test_the_result_comes_first_and_the_promise_in_full_behind_a_flag():
    design = ("design", EXAMPLE, "--epsilon", 1, "--total", 200, *LAPLACE)
    short, full = (" ".join(run(*design, *more).stdout.split()) for more in ([], ["--full"]))
    result = (
        "200 interviews give a standard error of 0.01956 for the population mean, a margin of error of "
        "0.03833 at 95% confidence. Without privacy it would be 0.007958; privacy accounts for "
        "83.4% of the variance. "
    )
    assert short.startswith(result)
    assert full.startswith(result)
    plan = dps.design(dps.Strata.from_file(EXAMPLE), epsilon=1, total=200, mechanism="laplace")
    for promised in ("factor of at most 2.72", *plan.privacy["assumptions"]):
        assert promised not in short
        assert promised in full
        assert promised in repr(plan)
        assert promised.replace("'", "&#x27;") in plan._repr_html_()
    assert "--full" not in full
    level = run(*design, "--confidence", 0.9).stdout
    assert "a margin of error of 0.03217 at 90% confidence" in " ".join(level.split())


def test_the_short_promise_counts_what_else_was_spent(tmp_path):
    strata = tmp_path / "strata.csv"
    strata.write_text(
        "stratum,size,sd,sd_source,sd_epsilon\na,900,0.2,private_pilot,0.25\nb,800,0.3,public,0\n"
    )
    shown = run("design", strata, "--epsilon", 1, "--total", 90).stdout
    spent = "epsilon = 1 for everyone, on top of epsilon = 0.25 spent on the standard deviations; --full"
    assert spent in " ".join(shown.split())


def test_json_is_the_document_alone(tmp_path):
    out = tmp_path / "design.json"
    result = run("design", EXAMPLE, "--epsilon", 1, "--total", 200, *LAPLACE, "--json", "--out", out)
    assert result.returncode == 0
    assert json.loads(result.stdout) == json.loads(out.read_text())
    plan = dps.load_design(out)
    assert plan.sample_sizes.tolist() == [62, 43, 45, 50]
    assert plan == dps.design(dps.Strata.from_file(EXAMPLE), epsilon=1, total=200, mechanism="laplace")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "words"),
    [
        (["--at-most", 2000], "972 interviews are best, 1,028 fewer than the 2,000 allowed"),
        (["--target-se", 0.05], "50 interviews are the fewest that reach a standard error of 0.05"),
        (["--target-margin", 0.1, "--confidence", 0.9], "interviews are the fewest that reach"),
    ],
)
def test_other_questions(question, words):
    result = run("design", EXAMPLE, "--epsilon", 0.1, *LAPLACE, *question)
    assert result.returncode == 0
    assert words in " ".join(result.stdout.split())


def test_a_total_beyond_the_best_warns_and_goes_on():
    result = run("design", EXAMPLE, "--epsilon", 0.1, "--total", 34_000, *LAPLACE, "--json")
    assert result.returncode == 0
    assert "Warning: --total 34,000 exceeds the best total" in result.stderr
    assert json.loads(result.stdout)["outcome"]["best_total"] == 972


@pytest.mark.slow
def test_compare():
    result = run("compare", EXAMPLE, "--epsilon", 1, "--total", 200)
    assert result.returncode == 0
    assert "Neyman" in result.stdout
    assert "Proven" not in result.stdout
    as_json = json.loads(run("compare", EXAMPLE, "--epsilon", 1, "--total", 200, "--json").stdout)
    assert [row["design"] for row in as_json] == ["this_design", "neyman", "proportional", "equal"]


def test_every_flag_reaches_the_library(tmp_path):
    strata = tmp_path / "s.csv"
    strata.write_text("stratum;size;sd;coefficient\nx;100;20,5;1\ny;200;10;2\n")
    options = [
        *("--epsilon", 0.5, "--total", 60, "--mechanism", "discrete_laplace", "--objective", "custom"),
        *("--questions", "0:100:5", "--min-per-stratum", 3, "--min-fraction", 0.1, "--max-fraction", 0.4),
        *("--no-finite-population", "--confidence", 0.9),
    ]
    document = json.loads(run("design", strata, *options, "--json").stdout)
    assert document["inputs"] == {
        **document["inputs"],
        "epsilon": 0.5,
        "total": 60,
        "mechanism": "discrete_laplace",
        "objective": "custom",
        "min_per_stratum": 3,
        "min_fraction": 0.1,
        "max_fraction": 0.4,
        "finite_population": False,
        "confidence": 0.9,
    }
    (question,) = document["inputs"]["questions"]["questions"]
    asked = {"kind": "scale", "lower": 0.0, "upper": 100.0, "step": 5.0}
    assert {name: question[name] for name in asked} == asked


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_out_by_ending(tmp_path, ending):
    out = tmp_path / f"design.{ending}"
    result = run("design", EXAMPLE, "--epsilon", 1, "--total", 200, "--out", out)
    assert result.returncode == 0
    assert "Written to" in result.stdout
    assert len(dps.Strata.from_file(out)) == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["design", "nowhere.csv", "--epsilon", 1, "--total", 9], "nowhere.csv does not exist."),
        (["design", EXAMPLE, "--epsilon", 0, "--total", 9], "epsilon must lie between"),
        (["design", EXAMPLE, "--epsilon", "nan", "--total", 9], "epsilon must lie between"),
        (["design", EXAMPLE, "--epsilon", 1], "needs one of --total, --at-most"),
        (
            ["design", EXAMPLE, "--epsilon", 1, "--total", 3],
            "at least the sum of the minimums (4), got --total 3",
        ),
        (["design", EXAMPLE, "--epsilon", 1, "--total", 9, "--questions", "yes"], "questions must be"),
        (["design", EXAMPLE, "--epsilon", 1, "--total", 9, "--questions", "0:0.1"], "sd must be at most"),
        (["design", EXAMPLE, "--epsilon", 1, "--total", 9, "--at-most", 9], "got --total and --at-most"),
        (
            [
                "design",
                EXAMPLE,
                "--epsilon",
                1,
                "--total",
                9,
                "--release",
                "sums",
                "--mechanism",
                "piecewise",
            ],
            "--release sums without --device-epsilon needs additive noise",
        ),
        (
            ["design", EXAMPLE, "--epsilon", 1, "--total", 9, "--delta", 0.1, *LAPLACE],
            "--delta 0.1 does not go with",
        ),
        (["design", EXAMPLE, "--epsilon", 1, "--total", 9, "--domains", "x"], "got 'x'"),
        (["design", EXAMPLE, "--epsilon", 1, "--total", 9, "--out", "x.doc"], "must end in .json"),
        (["design", EXAMPLE, "--epsilon", "much", "--total", 9], "--epsilon must be a number, got 'much'"),
        (["design", EXAMPLE, "--total", 9], "needs one of --epsilon, --zcdp and --gdp"),
        (
            ["design", EXAMPLE, "--epsilon", 1, "--total", 9, "--mechanism", "magic"],
            "gaussian, best, got 'magic'",
        ),
        (["design", "--epsilon", 1, "--total", 9], "missing argument"),
        (["nonsense"], "no such command"),
    ],
)
def test_bad_input_gets_a_clear_message_and_status_2(tmp_path, arguments, words):
    result = run(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert words in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_all_problems_of_a_file_at_once(tmp_path):
    path = tmp_path / "strata.csv"
    path.write_text("stratum,size,sd\na,-1,0.1\na,10,0.9\nb,x,\n")
    result = run("design", path, "--epsilon", 1, "--total", 9)
    assert result.returncode == 2
    for place in (
        "line 2, column 'size'",
        "line 3, column 'stratum'",
        "line 3, column 'sd'",
        "line 4, column 'size'",
    ):
        assert place in result.stderr


def test_warnings_go_to_standard_error(tmp_path):
    path = tmp_path / "strata.csv"
    path.write_text("stratum,size,sd,costs\na,10,0.1,1\nb,10,0.2,1\n")
    result = run("design", path, "--epsilon", 1, "--total", 9, "--json")
    assert result.returncode == 0
    assert "Warning: " in result.stderr
    assert "did you mean 'cost'?" in result.stderr
    json.loads(result.stdout)


def test_markup_in_names_is_shown_as_it_is(tmp_path):
    path = tmp_path / "strata.csv"
    path.write_text("stratum,size,sd\n[red]north[/red],10,0.1\n=1+1,10,0.2\n")
    result = run("design", path, "--epsilon", 1, "--total", 9)
    assert "[red]north[/red]" in result.stdout


def test_an_unexpected_fault_shows_no_traceback(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(
        "import dpstrata.planning.design\ndef broken(*a, **k): raise RuntimeError('secret detail')\n"
        "dpstrata.planning.design.design = broken\n"
    )
    import os

    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    result = run("design", EXAMPLE, "--epsilon", 1, "--total", 9, env=environment)
    assert result.returncode == 1
    assert "failed unexpectedly (RuntimeError)" in result.stderr
    assert "Traceback" not in result.stderr
    assert "secret detail" not in result.stderr


def test_help_and_version():
    assert "design" in run("--help").stdout
    assert "--total" in run("design", "--help").stdout
    assert run("--version").stdout.strip() == f"dpstrata {dps.__version__}"


REGIONS = EXAMPLE.with_name("regions.csv")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--budget", 20_000], "The budget of 20,000 buys 1,772 invitations at a cost of 20,000"),
        (["--target-se", 0.02], "at a cost of 11,127"),
        (["--target-cv", 0.05, "--expected-mean", 0.4], "standard error of 0.02"),
        (
            ["--total", 900, "--local-epsilon-cap", 3, "--full"],
            "The cap of 3 on one noised answer is binding in",
        ),
        (
            ["--target-se", 0.02, "--domains", "region=0.04", "--domains", "age:young=0.03"],
            "2 of them are binding: all, region west",
        ),
        (["--total", 900, "--domains", "region"], "region: west"),
        (["--at-most", 900], "about 555 of 900 people would answer"),
    ],
)
def test_planners_questions(arguments, words):
    result = run("design", REGIONS, "--epsilon", 1, *LAPLACE, *arguments)
    assert result.returncode == 0, result.stderr
    assert words in " ".join(result.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--budget", 5], "budget must cover the minimums, which cost 89, got --budget 5"),
        (
            ["--target-se", 0.001],
            "--target-se 0.001 is out of reach: the best that can be planned under this privacy is",
        ),
        (["--target-se", 0.02, "--budget", 100], "costs 11,127, more than --budget 100"),
        (["--total", 50_000], "people who would answer allow (40,000), got --total 50,000"),
        (["--target-se", 0.02, "--domains", "region:nowhere=0.1"], "has no group 'nowhere'"),
        (
            ["--target-se", 0.02, "--domains", "region=much"],
            "such as 15%cv, 0.02se or 0.03margin, got 'much' for region.",
        ),
        (
            ["--domains", "region=0.15"],
            "must say what it is: 0.15cv, 0.15se or 0.15margin, got 0.15 for region.",
        ),
        (
            ["--target-cv", 0.02],
            "--target-cv and --expected-mean, the mean it is relative to, must be given together",
        ),
        (
            ["--domains", "region:north=0.04", "--domains", "region=0.05"],
            "one target for all groups or one for each, got both",
        ),
        (
            ["--domains", "region=0.05", "--domains", "region:north=0.04"],
            "one target for all groups or one for each, got both",
        ),
        (["--target-se", "1e200"], "--target-se must be at most 1e100, got --target-se 1e+200"),
        (["--total", 90, "--min-per-stratum", 40], "at least the sum of the minimums (240), got --total 90"),
        (
            ["--total", 90, "--plot", "chart.gif"],
            "a chart file must end in .svg, .png, .pdf or .json, got 'chart.gif'",
        ),
    ],
)
def test_contradictions_get_one_sentence_and_status_2(arguments, words):
    result = run("design", REGIONS, "--epsilon", 1, *LAPLACE, *arguments)
    assert result.returncode == 2
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
    assert result.stdout == ""


@pytest.mark.slow
def test_evaluate(tmp_path):
    chart, table = tmp_path / "chart.svg", tmp_path / "table.csv"
    given = ("evaluate", EXAMPLE, "--epsilon", 1, *LAPLACE, "--sample-sizes", "50,50,50,50")
    result = run(*given, "--plot", chart, "--out", table)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Your allocation has a standard error of 0.0197")
    assert "1.015 times that of the best" in " ".join(result.stdout.split())
    assert "Not optimal: moving one person would lower the objective by" in " ".join(result.stdout.split())
    assert chart.read_text().startswith("<svg")
    assert (
        table.read_text().splitlines()[0]
        == "stratum,size,sample_size,best_sample_size,local_epsilon,noise_sd"
    )
    plain = json.loads(run(*given, "--json").stdout)
    assert plain["best_sample_sizes"] == [62, 43, 45, 50]
    # the table that design wrote can be scored as it is
    run("design", EXAMPLE, "--epsilon", 1, "--total", 200, "--out", tmp_path / "best.csv")
    again = json.loads(run("evaluate", tmp_path / "best.csv", "--epsilon", 1, "--json").stdout)
    assert again["ratio"] == 1.0
    for arguments, words in (
        ([], "evaluate needs --sample-sizes"),
        (["--sample-sizes", "1,2"], "4 whole numbers"),
        (["--sample-sizes", "1,2,x,4"], "must be whole numbers"),
    ):
        wrong = run("evaluate", EXAMPLE, "--epsilon", 1, *arguments)
        assert (wrong.returncode, words in wrong.stderr) == (2, True)


@pytest.mark.slow
def test_sweep(tmp_path):
    chart, table = tmp_path / "chart.svg", tmp_path / "table.csv"
    options = ["--epsilon", "0.1,1", "--total", "100:500:100", "--mechanism", "laplace,tulap"]
    result = run("sweep", EXAMPLE, *options, "--plot", chart, "--out", table)
    assert result.returncode == 0, result.stderr
    assert "20 designs" in result.stdout
    assert re.search(r"│ +\d+\.\d% │", result.stdout)
    lines = table.read_text().splitlines()
    assert lines[0] == "epsilon,total,mechanism,noise,variance,standard_error,privacy_share,problem"
    assert len(lines) == 21
    assert chart.read_text().startswith("<svg")
    caps = ("--epsilon", 1, "--total", "200", *LAPLACE, "--local-epsilon-cap", "3,9", "--json")
    rows = json.loads(run("sweep", EXAMPLE, *caps).stdout)
    assert [row["local_epsilon_cap"] for row in rows] == [3, 9]
    assert rows[1]["sample_sizes"] == [62, 43, 45, 50]
    for arguments, words in (
        (["--epsilon", "a", "--total", 9], "--epsilon must be numbers, got 'a'"),
        (["--epsilon", 1, "--total", "9:1:1"], "start:stop:step"),
        (["--epsilon", 1], "a design needs one of"),
        (["--epsilon", "0:inf:1", "--total", 9], "start:stop:step"),
        (["--epsilon", 1, "--total", 9, "--mechanism", "x,laplace"], "mechanism must be one of"),
    ):
        wrong = run("sweep", EXAMPLE, *arguments)
        assert (wrong.returncode, words in wrong.stderr) == (2, True), wrong.stderr


@pytest.mark.slow
def test_sensitivity(tmp_path):
    run("design", EXAMPLE, "--epsilon", 1, "--total", 200, "--out", tmp_path / "d.json")
    result = run("sensitivity", tmp_path / "d.json", "--factor", 2, "--out", tmp_path / "s.csv")
    assert result.returncode == 0, result.stderr
    assert "all larger" in result.stdout
    assert (tmp_path / "s.csv").read_text().startswith("stratum,share_of_variance")
    plain = json.loads(run("sensitivity", tmp_path / "d.json", "--json").stdout)
    assert plain["scenarios"][0]["ratio"] >= 1
    wrong = run("sensitivity", tmp_path / "d.json", "--factor", 0.5)
    assert (wrong.returncode, "factor must be a number above 1" in wrong.stderr) == (2, True)


@pytest.mark.slow
def test_plot_writes_a_chart(tmp_path):
    result = run("design", EXAMPLE, "--epsilon", 1, "--total", 200, "--plot", tmp_path / "a.png")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_one_value_for_all_strata(tmp_path):
    (tmp_path / "bare.csv").write_text("stratum,size\nA,7000\nB,8000\n")
    told = "stratum,size,proportion,response_rate\nA,7000,0.08,0.6\nB,8000,0.08,0.6\n"
    (tmp_path / "told.csv").write_text(told)
    options = ("--epsilon", 1, "--questions", "yes_no")
    both = ("--response-rate", 0.6, "--proportion", 0.08)
    for command in (
        ("design", "--total", 300, "--json"),
        ("compare", "--total", 300, "--json"),
        ("evaluate", "--sample-sizes", "100,200", "--json"),
        ("pilot", "--total", 300, "--pilot-total", 50, "--pilot-epsilon", 0.3, "--json"),
    ):
        filled = run(command[0], "bare.csv", *command[1:], *options, *both, cwd=tmp_path)
        assert filled.stderr == ""
        assert filled.stdout == run(command[0], "told.csv", *command[1:], *options, cwd=tmp_path).stdout
    swept = run(
        "sweep",
        "bare.csv",
        *options,
        "--total",
        300,
        "--response-rate",
        "0.5,0.6",
        "--proportion",
        0.08,
        cwd=tmp_path,
    )
    assert swept.returncode == 0
    assert "response rate" in swept.stdout
    twice = run("design", "told.csv", *options, "--total", 300, "--response-rate", 0.6, cwd=tmp_path)
    assert twice.stderr == (
        "Error: the strata already have response rates; remove that column, or leave --response-rate out.\n"
    )
    (tmp_path / "wrong.csv").write_text(told.replace("0.6", "6"))
    wrong = run("design", "wrong.csv", *options, "--total", 300, cwd=tmp_path)
    assert (
        "column 'response_rate', lines 2 and 3: response_rate must be at least 1e-12 and at most 1, got 6."
        in wrong.stderr
    )
