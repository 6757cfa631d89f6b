"""Known answers through devices, a collector, closing and the office's noise: estimated without bias."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np

import dpstrata as dps
from collecting import collecting, invited, send_all
from dpstrata.collect.closing import close_survey
from extent import few

ANSWERS = ({"smokes": "yes", "home": "rent", "trust": 5}, {"smokes": "no", "home": "own", "trust": 2})


def test_estimates_have_no_bias_and_the_ledger_adds_up(tmp_path):
    """Everyone in the sample stays the same, so that nothing is left to chance but devices and office."""
    made = invited(tmp_path)
    plan, links, people = made.folder.plan, made.links, made.people
    given = {person: ANSWERS[place % 3 > 0] for place, person in enumerate(people)}
    weights = dict(zip(plan.strata.names, plan.strata.sizes / plan.strata.sizes.sum(), strict=True))
    truth = sum(
        weight
        * np.mean(
            [given[person]["smokes"] == "yes" for person, (name, _) in people.items() if name == stratum]
        )
        for stratum, weight in weights.items()
    )
    start, errors = (made.survey / "collected.sqlite").read_bytes(), []
    repeats, spent = few(4, of=100), [0.0]
    for turn in range(repeats):
        (made.survey / "collected.sqlite").write_bytes(start)
        cells = []
        for person, (stratum, form) in people.items():
            asked = {name: given[person][name] for name in plan.forms[form - 1].questions}
            cells.append((links[person], dps.noise_row(plan, stratum, form, asked).cell))
        with collecting(made) as collector:
            assert set(send_all(collector, cells, at_once=100)) == {"counted"}
        out = tmp_path / f"results-{turn}.csv"
        released = close_survey(
            made.survey,
            design=made.design,
            **made.office,
            office_key=tmp_path / "office.key",
            out=out,
            again=turn > 0,
        )
        spent.append(released.spent.epsilon)
        row = next(
            row
            for row in dps.estimate(made.design, out).rows
            if (row.question, row.group) == ("smokes", "all")
        )
        errors.append((row.estimate - truth) / row.standard_error)
    assert abs(spent[1] - 1) < 1e-9
    assert spent == sorted(set(spent))
    # Standard errors count the draw too, so these are narrower than normal; five of them is once in two million.
    assert abs(np.mean(errors)) < 5 / math.sqrt(repeats)


def test_the_example_ends_with_estimates_beside_the_truth():
    script = Path(__file__).parents[2] / "examples" / "collect.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("; true share 0.") == 2
