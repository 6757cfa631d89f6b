"""Installs a wheel into an empty environment and tries every command there: ``make release``.

A new virtual environment, an empty home, an empty folder, no repository: first the plain wheel, whose
commands work or name the extra they need, then the wheel with all extras, with a survey from the frame to the
results whose respondents answer over HTTP.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PEOPLE = "person,region,yes\n" + "".join(
    f"p{i:04},{'north' if i % 3 else 'south'},{i % 2}\n" for i in range(600)
)
COLUMNS = "--id person --stratum region"
PLAIN = [
    "--version",
    "--help",
    "design strata.csv --epsilon 1 --total 60 --questions yes_no --out design.json",
    "design strata.csv --epsilon 1 --total 60 --mechanism laplace --out numbers.json",
    "design strata.csv --epsilon 1 --total 60 --questions yes_no --release sums --out sums.json",
    "compare strata.csv --epsilon 1 --total 60",
    "evaluate strata.csv --epsilon 1 --sample-sizes 30,30",
    "sweep strata.csv --epsilon 0.5,1,2 --total 60 --out sweep.csv",
    "sensitivity design.json",
    "compare-releases design.json",
    "solve-epsilon strata.csv --at-most 60 --questions yes_no --target-se 0.2",
    "choose-range lognormal:8:0.6 --sample-size 200 --local-epsilon 2",
    "consent design.json",
    "pilot strata.csv --epsilon 1 --pilot-epsilon 0.3 --total 90 --pilot-total 8 --min-per-stratum 4 "
    "--out pilot.json",
    "estimate design.json first.csv",
    "kit design.json --out kit.json --text Smoking?",
    "main-design pilot.json first.csv --out main.json",
]
NEED_EXTRAS = {
    f"frame people.csv {COLUMNS} --out s.csv": "survey",
    f"draw design.json people.csv {COLUMNS} --out x.csv": "survey",
    "privatize numbers.json --stratum-value north": "survey",
    "design strata.csv --epsilon 1 --total 60 --plot allocation.svg": "charts",
    "design strata.csv --epsilon 1 --total 60 --out design.parquet": "files",
    "paper --quick --out paper": "charts",
    "report design.json --out report.html": "charts",
    "report design.json --out report.pdf": "pdf",
    "serve --no-browser": "web",
    "respond design.json --no-browser --text Smoking?": "web",
    f"invite sums.json people.csv {COLUMNS} --address https://survey.example.org --text Smoking?": "survey",
}
FULL = [
    f"frame people.csv {COLUMNS} --out counted.csv",
    f"draw design.json people.csv {COLUMNS} --out sample.csv",
    f"draw design.json people.csv {COLUMNS} --out sample.csv --verify",
    f"privatize design.json answers.csv --sample sample.csv {COLUMNS} --answer yes --out noised.csv",
    "estimate design.json noised.csv --plot estimates.svg",
    "report design.json --out report.html",
    "design strata.csv --epsilon 1 --total 60 --out design.parquet",
    "design strata.csv --epsilon 1 --total 60 --plot allocation.png",
    "paper --quick --out paper",
]
SUMS = [
    "design strata.csv --epsilon 1 --total 60 --questions yes_no --release sums --out design.json",
    f"draw design.json people.csv {COLUMNS} --out sample.csv",
    f"publish design.json answers.csv --sample sample.csv {COLUMNS} --answer yes --out published.csv",
    "estimate design.json published.csv --report results.html",
]
QUESTIONS = """question,kind,text,categories
smoker,yes_no,Do you smoke?,
home,category,Where do you live?,rent|own|other
"""
ADDRESS = "http://127.0.0.1:8798"
SURVEY = [
    "design strata.csv --questions questions.csv --epsilon 1 --device-epsilon 4 --release sums "
    "--total 300 --out design.json",
    "report design.json --out design.pdf",
    "consent design.json",
    "kit design.json --out questions.json",
    f"invite design.json people.csv {COLUMNS} --address {ADDRESS} --letters letters.pdf",
]
OVERSEEING = [
    "collect status survey",
    f"collect remind survey {COLUMNS} --address {ADDRESS} --out reminders.csv",
    "collect backup survey --out copy.sqlite",
    "collect restore survey copy.sqlite",
    f"collect close survey {COLUMNS} --report results.html",
]
# Everyone in the sample says yes or takes the first category; their devices randomise it.
DEVICES = """
import csv, json, urllib.request
import dpstrata as dps

plan = dps.load_design("design.json")
with open("sample.csv") as sample, open("invitations.csv") as invitations:
    links = {row["person"]: row["link"].partition("#") for row in csv.DictReader(invitations)}
    for row in csv.DictReader(sample):
        form = int(row["form"])
        said = {name: {"smoker": "yes", "home": "rent"}[name] for name in plan.forms[form - 1].questions}
        cell = dps.noise_row(plan, row["region"], form, said).cell
        body = json.dumps({"token": links[row["person"]][2], "cell": cell}).ljust(128).encode()
        request = urllib.request.Request("ADDRESS/send", body, {"content-type": "application/json"})
        assert json.load(urllib.request.urlopen(request, timeout=30))["state"] == "counted"
""".replace("ADDRESS", ADDRESS)


class Environment:
    """A new virtual environment with an empty home."""

    def __init__(self, folder: Path) -> None:
        self.folder = self.work = folder
        venv.create(folder / "venv", with_pip=True)
        (folder / "home").mkdir()
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "LANG", "LC_"))}
        path = f"{folder / 'venv' / 'bin'}:/usr/bin:/bin"
        self.variables = kept | {"HOME": str(folder / "home"), "PATH": path, "COLUMNS": "100"}

    def begin(self, name: str) -> None:
        """Go to a new folder with what the commands read."""
        self.work = self.folder / name
        self.work.mkdir()
        write_inputs(self.work)

    def run(self, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command in the empty folder."""
        return subprocess.run(
            command,
            cwd=self.work,
            env=self.variables,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=600,
        )

    def install(self, wheel: Path, extras: str, constraints: Path) -> None:
        """Install the wheel."""
        wanted = f"dpstrata{extras} @ {wheel.resolve().as_uri()}"
        options = ["-qq", "--disable-pip-version-check", "-c", str(constraints.resolve())]
        done = self.run("python", "-m", "pip", "install", *options, wanted)
        if done.returncode:
            sys.exit(f"the wheel cannot be installed:\n{done.stderr}")

    def try_commands(self, commands: list[str]) -> None:
        """Require that commands work; whoever is drawn answers."""
        for command in commands:
            self.try_command(command)
            if command.startswith("draw"):
                answer_for_everyone(self.work)

    def try_command(self, command: str, stdin: str = "") -> str:
        """Require that a command works, and return what it says."""
        done = self.run("dpstrata", *command.split(), stdin=stdin)
        if done.returncode:
            sys.exit(f"dpstrata {command} failed:\n{done.stdout}\n{done.stderr}")
        print(f"  dpstrata {command}")
        return done.stdout


def write_inputs(work: Path) -> None:
    """Write what the commands read."""
    (work / "people.csv").write_text(PEOPLE)
    (work / "first.csv").write_text("stratum,answer\n" + "north,0.4\nnorth,1.2\nsouth,-0.3\nsouth,0.1\n" * 2)
    (work / "strata.csv").write_text("stratum,size,proportion\nnorth,400,0.5\nsouth,200,0.2\n")
    (work / "questions.csv").write_text(QUESTIONS)


def answer_for_everyone(work: Path) -> None:
    """Write the answers of those who were drawn."""
    answers = dict(line.rsplit(",", 1) for line in PEOPLE.splitlines()[1:])
    drawn = (work / "sample.csv").read_text().splitlines()[1:]
    (work / "answers.csv").write_text(
        "person,region,yes\n" + "".join(f"{row},{answers[row]}\n" for row in drawn)
    )


@contextmanager
def serving(environment: Environment, command: str) -> Iterator[str]:
    """Start a server, and give its address."""
    words = ["dpstrata", *command.split()]
    place = {"cwd": environment.work, "env": environment.variables}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **place) as server:
        try:
            yield next(at[0] for line in server.stdout if (at := re.search(r"http://127\S+/", line)))
        finally:
            server.terminate()
    print(f"  dpstrata {command}")


def try_planning(environment: Environment) -> None:
    """Ask the planner whether it is well."""
    with serving(environment, "serve --no-browser --port 8799") as address:
        time.sleep(1)
        with urllib.request.urlopen(address, timeout=60) as page:
            assert b"planner" in page.read()
        with urllib.request.urlopen(f"{address}api/openapi.json", timeout=60) as answer:
            assert json.load(answer)["openapi"].startswith("3.")


def try_survey(environment: Environment) -> None:
    """Carry out a survey, from its design to its results."""
    environment.begin("survey of devices")
    environment.try_commands(SURVEY)
    with serving(environment, "respond design.json --no-browser --port 8797") as address:
        time.sleep(1)
        with urllib.request.urlopen(address, timeout=60) as page:
            assert page.status == 200
    with serving(environment, "collect survey --port 8798"):
        devices = environment.run("python", "-c", DEVICES)
        assert devices.returncode == 0, devices.stderr
    for command in OVERSEEING:
        said = environment.try_command(command)
    assert "300 of 300 people answered." in said, said


def untried(environment: Environment) -> set[str]:
    """Return the commands that are not tried here."""
    listed = re.findall(r"^│ ([a-z][a-z-]+) {2,}", environment.run("dpstrata", "--help").stdout, re.MULTILINE)
    servers = ["serve", "respond"]
    tried = [command.split()[0] for command in PLAIN + FULL + SUMS + SURVEY + OVERSEEING + servers]
    return set(listed) - set(tried)


def main() -> None:
    """Try the wheel that is named, with the constraints that are named."""
    wheel, constraints = Path(sys.argv[1]), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        environment = Environment(Path(name))
        print("The plain wheel:")
        environment.install(wheel, "", constraints)
        environment.begin("plain")
        environment.try_commands(PLAIN)
        for command, extra in NEED_EXTRAS.items():
            done = environment.run("dpstrata", *command.split(), stdin="1\n")
            if done.returncode != 2 or f"dpstrata[{extra}]" not in done.stderr or "Trace" in done.stderr:
                sys.exit(f"dpstrata {command} does not name its extra {extra}:\n{done.stdout}\n{done.stderr}")
            print(f"  dpstrata {command.split()[0]}: names its extra")
        print("With all extras:")
        environment.install(wheel, "[all]", constraints)
        environment.try_commands(FULL)
        noised = environment.try_command("privatize design.json --stratum-value north", stdin="1\n0\n")
        assert len(noised.split()) == 2
        try_planning(environment)
        environment.begin("sums")
        environment.try_commands(SUMS)
        try_survey(environment)
        left_out = untried(environment)
        assert not left_out, f"commands that are not tried: {sorted(left_out)}"
        on_spark = f"frame people.csv {COLUMNS} --engine spark --out s.csv"
        spark = environment.run("dpstrata", *on_spark.split())
        assert "dpstrata[spark]" in spark.stderr, spark.stderr
        # a shell that is named is not looked for
        environment.variables["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"
        completion = environment.run("dpstrata", "--show-completion", "bash")
        assert "_DPSTRATA_COMPLETE" in completion.stdout, completion.stderr
        left = sorted(path.name for path in (environment.folder / "home").iterdir() if path.name != ".cache")
        assert not left, f"something was left in the home folder: {left}"
    print("Every command works from the wheel alone.")


if __name__ == "__main__":
    main()
