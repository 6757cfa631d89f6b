"""Installs a wheel into an empty environment and tries every command there: ``make release``.

A new virtual environment, an empty home, an empty folder, no repository: first the plain wheel, whose
commands work or name the extra they need, then the wheel with all extras.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from pathlib import Path

PEOPLE = "person,region,yes\n" + "".join(
    f"p{i:04},{'north' if i % 3 else 'south'},{i % 2}\n" for i in range(600)
)
COLUMNS = "--id person --stratum region"
PLAIN = [
    "--version",
    "--help",
    "design strata.csv --epsilon 1 --total 60 --answers binary --out design.json",
    "compare strata.csv --epsilon 1 --total 60",
    "evaluate strata.csv --epsilon 1 --sample-sizes 30,30",
    "sweep strata.csv --epsilon 0.5,1,2 --total 60 --out sweep.csv",
    "sensitivity design.json",
    "pilot strata.csv --epsilon 1 --pilot-epsilon 0.3 --total 90 --pilot-total 30 --out pilot.json",
    "estimate design.json first.csv",
    "kit design.json --out kit.json --text Smoking?",
    "main-design pilot.json first.csv --out main.json",
]
NEED_EXTRAS = {
    f"frame people.csv {COLUMNS} --out s.csv": "survey",
    f"draw design.json people.csv {COLUMNS} --out x.csv": "survey",
    "privatize design.json --stratum-value north": "survey",
    "design strata.csv --epsilon 1 --total 60 --plot allocation.svg": "charts",
    "design strata.csv --epsilon 1 --total 60 --out design.parquet": "files",
    "paper --quick --out paper": "charts",
    "report design.json --out report.html": "charts",
    "report design.json --out report.pdf": "pdf",
    "serve --no-browser": "web",
    "respond design.json --no-browser --text Smoking?": "web",
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


class Environment:
    """A new virtual environment with an empty home."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder / "venv", with_pip=True)
        (folder / "home").mkdir()
        (folder / "work").mkdir()
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "LANG", "LC_"))}
        path = f"{folder / 'venv' / 'bin'}:/usr/bin:/bin"
        self.variables = kept | {"HOME": str(folder / "home"), "PATH": path, "COLUMNS": "100"}

    def run(self, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command in the empty folder."""
        return subprocess.run(
            command,
            cwd=self.folder / "work",
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


def answer_for_everyone(work: Path) -> None:
    """Write the answers of those who were drawn."""
    answers = dict(line.rsplit(",", 1) for line in PEOPLE.splitlines()[1:])
    drawn = (work / "sample.csv").read_text().splitlines()[1:]
    (work / "answers.csv").write_text(
        "person,region,yes\n" + "".join(f"{row},{answers[row]}\n" for row in drawn)
    )


def try_serving(environment: Environment) -> None:
    """Start the planner and ask it whether it is well."""
    command = ["dpstrata", "serve", "--no-browser", "--port", "8799"]
    place = {"cwd": environment.folder / "work", "env": environment.variables}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **place) as server:
        try:
            line = server.stdout.readline()
            address = next(word for word in line.split() if word.startswith("http"))
            time.sleep(1)
            with urllib.request.urlopen(address, timeout=60) as page:
                assert b"planner" in page.read()
            with urllib.request.urlopen(f"{address}api/openapi.json", timeout=60) as answer:
                assert json.load(answer)["openapi"].startswith("3.")
        finally:
            server.terminate()
    print("  dpstrata serve")


def main() -> None:
    """Try the wheel that is named, with the constraints that are named."""
    wheel, constraints = Path(sys.argv[1]), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        environment = Environment(Path(name))
        work = environment.folder / "work"
        write_inputs(work)
        print("The plain wheel:")
        environment.install(wheel, "", constraints)
        for command in PLAIN:
            environment.try_command(command)
        for command, extra in NEED_EXTRAS.items():
            done = environment.run("dpstrata", *command.split(), stdin="1\n")
            if done.returncode != 2 or f"dpstrata[{extra}]" not in done.stderr or "Trace" in done.stderr:
                sys.exit(f"dpstrata {command} does not name its extra {extra}:\n{done.stderr}")
            print(f"  dpstrata {command.split()[0]}: names its extra")
        print("With all extras:")
        environment.install(wheel, "[all]", constraints)
        for command in FULL:
            environment.try_command(command)
            if command.startswith("draw"):
                answer_for_everyone(work)
        noised = environment.try_command("privatize design.json --stratum-value north", stdin="1\n0\n")
        assert len(noised.split()) == 2
        try_serving(environment)
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
