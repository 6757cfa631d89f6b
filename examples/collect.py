"""A survey collected from respondents' devices, compared with the truth; ``make demo`` ends with it.

Fair (1978): 6,366 people, stratified by occupation. Those in a secret sample get a link, their devices
randomise what they answer, a real server on this machine counts it, and the office closes the survey.
"""

import csv
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import dpstrata as dps

FILE = Path(dps.__file__).parent / "examples" / "fair1978.csv"
QUESTIONS = dps.Questionnaire(
    [
        dps.Question("affair", "yes_no", blank=False, text="Have you had an affair?"),
        dps.Question("religious", "yes_no", blank=False, text="Would you call yourself religious?"),
    ]
)


def read(path: Path) -> list[dict[str, str]]:
    """Read a table."""
    with open(path, newline="", encoding="utf-8") as rows:
        return list(csv.DictReader(rows))


def truth() -> dict[str, dict[str, str]]:
    """Return what everyone would answer."""
    said = ("no", "yes")
    return {
        row["person"]: {
            "affair": said[float(row["had_affair"]) > 0],
            "religious": said[float(row["religious"]) > 2],
        }
        for row in read(FILE)
    }


def respond(port: int, link: str, cell: int) -> None:
    """Send what a device has drawn."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    body = json.dumps({"token": link.partition("#")[2], "cell": cell}).ljust(128)
    connection.request("POST", "/send", body, {"content-type": "application/json"})
    state = json.loads(connection.getresponse().read())["state"]
    connection.close()
    assert state == "counted", state


def main() -> None:
    """Carry out every step once, in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        frame = dps.open_frame(FILE, id="person", stratum="occupation")
        plan = dps.design(
            dps.frame_strata(frame),
            questions=QUESTIONS,
            epsilon=1,
            device_epsilon=4,
            release="sums",
            total=900,
        )
        plan.save(folder / "design.json")
        dps.draw(folder / "design.json", frame, out=folder / "sample.csv", key_file=folder / "draw.key")
        office = {
            "sample": folder / "sample.csv", "key_file": folder / "draw.key", "id": "person",
            "stratum": "occupation", "office_key": folder / "office.key",
        }  # fmt: skip
        dps.invite(
            folder / "design.json", survey=folder / "survey", address="http://127.0.0.1",
            out=folder / "invitations.csv", **office,
        )  # fmt: skip
        collected(plan, folder)
        dps.close_survey(
            folder / "survey", design=folder / "design.json", out=folder / "published.csv", **office
        )
        show(dps.estimate(folder / "design.json", folder / "published.csv"), plan)


def collected(plan: dps.Design, folder: Path) -> None:
    """Start a collector, and let everyone answer."""
    links = {row["person"]: row["link"] for row in read(folder / "invitations.csv")}
    people, answers = read(folder / "sample.csv"), truth()
    command = [sys.executable, "-m", "dpstrata", "collect", str(folder / "survey"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = next(
                int(at[1]) for line in server.stdout if (at := re.search(r"127\.0\.0\.1:(\d+)/", line))
            )

            def answer(row: dict[str, str]) -> None:
                form, given = int(row["form"]), answers[row["person"]]
                asked = {name: given[name] for name in plan.forms[form - 1].questions}
                cell = dps.randomize(plan, row["occupation"], asked, form).value
                respond(port, links[row["person"]], cell)

            with ThreadPoolExecutor(32) as devices:
                list(devices.map(answer, people))
        finally:
            server.terminate()


def show(result: dps.Results, plan: dps.Design) -> None:
    """Print estimates beside the truth."""
    answers = truth()
    print(f"Collected from {plan.total} devices at E = 4, published as sums with epsilon = 1:")
    for row in result.whole:
        if row.level == "yes":
            true = sum(each[row.question] == "yes" for each in answers.values()) / len(answers)
            interval = f"95% interval {row.lower:.3f} to {row.upper:.3f}"
            print(f"  {row.question}: {row.estimate:.3f}, {interval}; true share {true:.3f}.")


if __name__ == "__main__":
    main()
