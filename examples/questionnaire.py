"""A questionnaire from the workbook to a table of results and a chart, beside the truth of a made-up town.

Run it with ``python examples/questionnaire.py``. Everything happens in a folder that is removed afterwards;
``python examples/questionnaire.py results`` writes the table and the chart to the folder ``results``.
"""

import csv
import random
import sys
import tempfile
import warnings
from pathlib import Path

import dpstrata as dps

SIZES = {"centre": 2400, "harbour": 1300, "hills": 3100}
LOW = {"centre": 0.8, "harbour": 1.1, "hills": 0.6}  # how often people feel bad, on average


def make_people() -> dict[str, dict[str, str]]:
    """Make up everyone's true answers, by id."""
    random.seed(2026)
    people = {}
    for district, size in SIZES.items():
        for i in range(size):
            feelings = {
                name: str(min(3, int(random.expovariate(1 / LOW[district]))))
                for name in ("nervous", "worry", "interest", "down")
            }
            people[f"{district}-{i:04}"] = {
                **feelings,
                "smokes": "yes" if random.random() < 0.25 else "no",
                "help": random.choices(["nobody", "family", "professional"], [0.2, 0.7, 0.1])[0],
                "sleep": str(round(min(12, max(0, random.gauss(7, 1.3))))),
            }
    return people


def write(path: Path, header: list[str], rows: list[list[object]]) -> None:
    """Write a CSV file."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def carry_out(people: dict[str, dict[str, str]], folder: Path) -> tuple[dps.Design, dps.Results]:
    """Design, draw, randomise on devices, publish, estimate."""
    questionnaire = dps.Questionnaire.from_xlsform(
        Path(dps.__file__).parent / "examples" / "how-are-you.xlsx"
    )
    write(folder / "town.csv", ["id", "district"], [[who, who.rpartition("-")[0]] for who in people])
    frame = dps.open_frame(folder / "town.csv", id="id", stratum="district")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dps.DpstrataWarning)  # no spread is known: the worst case is planned
        strata = dps.frame_strata(frame)
    plan = dps.design(
        strata, questions=questionnaire, epsilon=1, device_epsilon=3, release="sums", total=1500
    )
    plan.save(folder / "design.json")
    dps.draw(folder / "design.json", frame, out=folder / "sample.csv", key_file=folder / "draw.key")
    rows = []
    with open(folder / "sample.csv", newline="", encoding="utf-8") as file:
        for drawn in csv.DictReader(file):
            form = int(drawn["form"])
            answers = {each: people[drawn["id"]][each] for each in plan.forms[form - 1].questions}
            sent = dps.randomize(plan, drawn["district"], answers, form)  # on the respondent's device
            rows.append([drawn["id"], drawn["district"], sent.value])
    write(folder / "rows.csv", ["id", "district", "cell"], rows)
    dps.publish(
        folder / "design.json",
        folder / "rows.csv",
        sample=folder / "sample.csv",
        id="id",
        stratum="district",
        out=folder / "published.csv",
        key_file=folder / "draw.key",
    )
    return plan, dps.estimate(folder / "design.json", folder / "published.csv")


def write_results(result: dps.Results, folder: Path) -> None:
    """Write a table of all figures, those of districts too, and a chart of the shares in the town."""
    folder.mkdir(parents=True, exist_ok=True)
    header = ["question", "level", "column", "group", "estimate", "standard_error", "lower", "upper"]
    rows = [[getattr(row, name) for name in header] for row in result]
    write(folder / "results.csv", header, rows)
    dps.plot(result).save(folder / "results.svg")
    print(f"Written to {folder / 'results.csv'} and {folder / 'results.svg'}")


def main() -> None:
    """Carry it out, and show the results beside the truth."""
    people = make_people()
    with tempfile.TemporaryDirectory() as name:
        plan, result = carry_out(people, Path(name))
        write_results(result, Path(sys.argv[1] if len(sys.argv) > 1 else name))
    print(
        f"{plan.total:,} of {len(people):,} people on {len(plan.forms)} forms, devices at 3, published at 1"
    )
    print(f"{'question':10} {'answer':13} {'estimate':>9} {'error':>7} {'truth':>7}")
    for row in result.whole:
        given = [answers[row.question] for answers in people.values()]
        truth = given.count(row.level) / len(given) if row.level else sum(map(float, given)) / len(given)
        figures = f"{row.estimate:9.3f} {row.standard_error:7.3f} {truth:7.3f}"
        print(f"{row.question:10} {row.level or 'mean':13} {figures}")


if __name__ == "__main__":
    main()
