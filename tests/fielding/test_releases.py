"""Every form of release in the field: what is published can be read back, and estimates what it should."""

import math

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.fielding.answer_files import STRATUM
from dpstrata.fielding.releases import fielding_of
from dpstrata.files.writing import table_content, write_atomically
from dpstrata.privacy.answers.base import parse_answers
from dpstrata.privacy.mechanisms.registry import get_mechanism
from dpstrata.survey.releases import OPTION, RELEASES, kind_of
from problems import CASES


def cases():
    for name in RELEASES:
        for mechanism, answers, delta in CASES:
            allowed = parse_answers(answers)
            noise = get_mechanism(mechanism, allowed)
            if kind_of(name)().misfit(noise) is None:
                yield name, mechanism, answers, delta


@pytest.mark.parametrize(("name", "mechanism", "answers", "delta"), list(cases()))
def test_what_is_published_is_read_back(name, mechanism, answers, delta, tmp_path):
    """The noise of 30 surveys in which everyone answers: no bias, and the spread that the design states."""
    strata = dps.Strata([300, 500], [0.3, 0.2], names=["a", "b"])
    options = {"epsilon": 2, "delta": delta, "mechanism": mechanism, "answers": answers, OPTION: name}
    plan = dps.design(strata, total=100, **options)
    fielding = fielding_of(plan)
    given = {
        stratum: np.tile([0.0, 1.0], n)[:n].tolist()
        for stratum, n in zip("ab", plan.sample_sizes, strict=True)
    }
    truth = sum(size / 800 * np.mean(given[stratum]) for stratum, size in (("a", 300), ("b", 500)))
    errors = []
    for survey in range(30):
        done: list[int] = []
        table = fielding.noised(plan, given, done.append)
        assert sum(done) == plan.total
        assert sorted(set(table[STRATUM])) == ["a", "b"]
        path = tmp_path / f"{survey}.csv"
        write_atomically(path, table_content(table, path))
        result = dps.estimate(plan, path)
        assert result.whole.answers == plan.total
        errors.append(result.whole.estimate - truth)
    noise = math.sqrt(plan.variance_parts.privacy)
    # False alarms less than once in a million runs; a scale off by a factor of 3 is noticed.
    assert abs(np.mean(errors)) < 6.5 * noise / math.sqrt(30)
    assert np.std(errors) < 3 * noise
    if not plan.mechanism.worst_case:
        assert np.std(errors) > noise / 4


def test_single_answers_are_not_noised_for_a_curator():
    plan = dps.design(dps.Strata([300, 500], [0.3, 0.2]), epsilon=2, total=100, release="sums")
    with pytest.raises(dps.InputError, match="is noised, not single answers") as refused:
        dps.noise_answer(plan, "1", 0.4321)
    assert "4321" not in str(refused.value)
    assert refused.value.argument == OPTION
    with pytest.raises(dps.InputError, match="from single answers need trust='local', got trust='curator'"):
        dps.estimate_means(plan, ["1", "2"], [0.4, 0.5])
