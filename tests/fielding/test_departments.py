"""Staff of departments in which nobody may answer, from the frame to the published file and its estimate."""

import csv
import warnings

import numpy as np
import pytest
from scipy import stats

import dpstrata as dps
from extent import few

SIZES = [980, 710, 660, 350, 330, 320, 270, 200, 140, 110, 110, 50]
COLUMNS = {"id": "person", "stratum": "department"}
RELEASES = {"microdata": {}, "sums": {"release": "sums", "device_epsilon": 4}}


@pytest.fixture(scope="module")
def staff(tmp_path_factory):
    """A list of everyone, what each would say, and who would answer at all."""
    rng = np.random.default_rng(6)
    people = [(f"{d:02}-{i:03}", f"{d:02}") for d, size in enumerate(SIZES) for i in range(size)]
    path = tmp_path_factory.mktemp("staff") / "staff.csv"
    path.write_text("person,department\n" + "".join(f"{a},{b}\n" for a, b in people))
    yes, willing = {}, {}
    for d, size in enumerate(SIZES):
        names = [name for name, department in people if department == f"{d:02}"]
        said = rng.permutation(size) < round(size * rng.uniform(0.04, 0.14))
        answers = rng.permutation(size) < round(0.6 * size)
        yes |= dict(zip(names, said.tolist(), strict=True))
        willing |= dict(zip(names, answers.tolist(), strict=True))
    return path, yes, willing


def carried_out(folder, plan, staff, away):
    """Draw, collect, release and estimate; nobody of one department answers, if one is named."""
    path, yes, willing = staff
    plan.save(folder / "design.json")
    files = {"sample": folder / "sample.csv", "key_file": folder / "draw.key"}
    dps.draw(
        folder / "design.json",
        dps.open_frame(path, **COLUMNS),
        out=files["sample"],
        key_file=files["key_file"],
    )
    with open(files["sample"], newline="") as file:
        came = [row for row in csv.DictReader(file) if willing[row["person"]] and row["department"] != away]
    given = [
        dps.randomize(plan, row["department"], float(yes[row["person"]])).value
        if plan.inputs.release == "sums"
        else int(yes[row["person"]])
        for row in came
    ]
    lines = [f"{row['person']},{row['department']},{said}\n" for row, said in zip(came, given, strict=True)]
    (folder / "answers.csv").write_text("person,department,answer\n" + "".join(lines))
    release = dps.privatize if plan.inputs.release == "microdata" else dps.publish
    # a large department that stays away may contradict the response rate of all: that loss is counted
    released = {"out": folder / "out.csv", "accept_response": True, **COLUMNS, **files}
    release(folder / "design.json", folder / "answers.csv", **released)
    return dps.estimate(folder / "design.json", folder / "out.csv")


@pytest.mark.slow
@pytest.mark.parametrize("kind", RELEASES)
def test_no_survey_with_an_empty_department_is_refused_and_intervals_hold(tmp_path, staff, kind):
    """200 invitations, 60% answer, one invitation at least: a small department is often empty by chance."""
    path, yes, _ = staff
    strata = dps.frame_strata(dps.open_frame(path, **COLUMNS))
    strata = dps.Strata(strata.sizes, names=strata.names, response_rates=[0.6] * 12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dps.DpstrataWarning)
        options = {"questions": "yes_no", "min_per_stratum": 1, **RELEASES[kind]}
        plan = dps.design(strata, epsilon=1, total=200, **options)
    truth, rng = np.mean(list(yes.values())), np.random.default_rng(9)
    repeats, covered, empty = few(6, of=200), 0, 0
    for place in range(repeats):
        folder = tmp_path / str(place)
        folder.mkdir()
        away = f"{rng.integers(12):02}" if place % 2 else None
        result = carried_out(folder, plan, staff, away)
        none = [row for row in result.by("stratum") if row.answered == 0]
        assert all(row.taken_from and row.largest_bias == 1.0 for row in none)
        share = sum(size for size, row in zip(SIZES, result.by("stratum"), strict=True) if row.answered == 0)
        assert result.whole[0].largest_bias == pytest.approx(share / sum(SIZES))
        empty += bool(none)
        covered += result.whole[0].lower <= truth <= result.whole[0].upper
    assert empty >= repeats // 2
    assert covered >= stats.binom.ppf(1e-6, repeats, 0.93)  # with real draws and noise, which have no seed
