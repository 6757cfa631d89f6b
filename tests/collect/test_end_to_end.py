"""Known answers through devices, a collector, closing and the office's noise: estimated without bias."""

import asyncio
import csv
import json
import math
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import dpstrata as dps
from collecting import collecting, invited, opened, post, send_all, send_over, sent, served
from dpstrata.collect.closing import close_survey
from extent import few

ANSWERS = ({"smokes": "yes", "home": "rent", "trust": 5}, {"smokes": "no", "home": "own", "trust": 2})


@pytest.mark.slow
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
            cells.append((links[person], dps.randomize(plan, stratum, asked, form).value))
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
            row for row in dps.estimate(made.design, out) if (row.question, row.group) == ("smokes", "all")
        )
        errors.append((row.estimate - truth) / row.standard_error)
    assert abs(spent[1] - 1) < 1e-9
    assert spent == sorted(set(spent))
    # Standard errors count the draw too, so these are narrower than normal; five of them is once in two million.
    assert abs(np.mean(errors)) < 5 / math.sqrt(repeats)


STRATA, SIZE, INVITED, EPSILON, DEVICE = 50, 60, 4, 0.1, 3.0
ONE = dps.Questionnaire([dps.Question("smokes", "yes_no", blank=False, text="Do you smoke?")])


def budget_of_the_office():
    """What is left for the office's noise after what devices give, from the definition alone."""
    u, y = math.expm1(EPSILON) * SIZE / INVITED, math.expm1(DEVICE)
    return math.log1p(u), math.log1p(u * (1 + 2 / y) / (1 - u / y))


def fit(noise, b):
    """How well noise fits the discrete Laplace law of base b: a p-value of chi-square, tails in one cell each."""
    edge = next(z for z in range(1, 50) if len(noise) * b ** (z + 1) / (1 + b) < 8)
    middle = [(1 - b) / (1 + b) * b ** abs(z) for z in range(1 - edge, edge)]
    expected = len(noise) * np.array([b**edge / (1 + b), *middle, b**edge / (1 + b)])
    observed = np.bincount(np.clip(noise, -edge, edge) + edge, minlength=2 * edge + 1)
    return stats.chisquare(observed, expected).pvalue


def collected_over_http(made, cells):
    """What everyone's device sends to a server of its own, which is then asked to close."""
    with served(made) as server:
        acknowledged, others = asyncio.run(send_over(server, cells))
        assert (len(acknowledged), others) == (len(cells), [])
        status, reply = asyncio.run(
            post(server.port, "/send", dict(zip(("token", "cell"), cells[0], strict=True)))
        )
        assert (status, json.loads(reply)) == (200, {"state": "used"})


@pytest.mark.slow
def test_over_http_nothing_is_biased_and_the_noise_is_of_its_law(tmp_path):
    """Small surveys, one after the other: requests, counters, ledger, noise and estimates."""
    plan = dps.design(
        dps.Strata([SIZE] * STRATA), questions=ONE, forms="one", epsilon=EPSILON, device_epsilon=DEVICE, release="sums",
        total=STRATA * INVITED,
    )  # fmt: skip
    made, repeats = invited(tmp_path, plan), few(3, of=40)
    people, links = made.people, made.links
    start = (made.survey / "collected.sqlite").read_bytes()
    noise, errors, whole = [], [], []
    e, credited = budget_of_the_office()
    for turn in range(repeats):
        (made.survey / "collected.sqlite").write_bytes(start)
        cells = [
            (links[person], dps.randomize(plan, stratum, {"smokes": ("no", "yes")[place % 2]}, form).value)
            for place, (person, (stratum, form)) in enumerate(people.items())
        ]
        collected_over_http(made, cells)
        with made.folder.connected() as tables:
            counted = opened(made, tables)
            assert counted == sent(made, cells)
        out = tmp_path / f"results-{turn}.csv"
        office = {**made.office, "office_key": tmp_path / "office.key", "out": out}
        released = close_survey(made.survey, design=made.design, **office, again=turn > 0)
        whole.append(released.spent.epsilon)
        with open(out, newline="") as file:
            for row in csv.DictReader(file):
                place = plan.strata.names.index(row["stratum"])
                assert int(row["answers"]) == INVITED
                noise.append(int(row["count"]) - counted[(place, 0, 0), 1])
        estimate = next(row for row in dps.estimate(made.design, out).whole)
        errors.append(estimate.estimate - 0.5)
    assert len(noise) == STRATA * repeats
    b = math.exp(-credited)
    # In five million simulated runs the smallest was 2e-8, and a scale three times as large was always found.
    assert fit(noise, b) > 1e-9
    assert fit(noise, b ** (1 / 3)) < 1e-6
    entries = json.loads((tmp_path / "ledger.json").read_text())["entries"]
    assert [each["status"] for each in entries] == ["released"] * repeats
    for releases, spent in enumerate(whole[:3], start=1):  # their budgets add up before the sample hides them
        assert spent == pytest.approx(math.log1p(INVITED / SIZE * math.expm1(releases * e)))
    # Half of the people say yes, so of devices and office alone:
    q = 1 / (math.exp(DEVICE) + 1)
    variance = (INVITED * q * (1 - q) + 2 * b / (1 - b) ** 2) / (INVITED * (1 - 2 * q)) ** 2 / STRATA
    assert abs(np.mean(errors)) < 5.5 * math.sqrt(variance / repeats)


@pytest.mark.slow
def test_the_example_ends_with_estimates_beside_the_truth():
    script = Path(__file__).parents[2] / "examples" / "collect.py"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)  # of the server, too
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 20
    assert done.stdout.count("; true share 0.") == 2
