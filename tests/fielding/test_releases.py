"""Every form of release in the field: what is published can be read back, and estimates what it should."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.fielding.answer_files import STRATUM
from dpstrata.fielding.releases import fielding_of
from dpstrata.files.writing import table_content, write_atomically
from dpstrata.privacy.mechanisms import get_mechanism
from dpstrata.survey.questionnaires.questionnaire import read_shorthand
from dpstrata.survey.releases import OPTION, RELEASES, kind_of
from problems import CASES
from surveys import collected_of, reports_of

FORMS = [*((name, None) for name in RELEASES), ("sums", 2.5), ("mean", 2.5)]


def cases():
    for name, device in FORMS:
        for mechanism, answers, delta in CASES:
            noise = get_mechanism(mechanism, read_shorthand(answers)[0].space)
            asked = SimpleNamespace(
                device_epsilon=device, mechanism=mechanism, space=read_shorthand(answers)[0].space
            )
            if kind_of(name).asked_for(asked).misfit(noise) is None and not (device and delta):
                yield name, device, mechanism, answers, delta


def publish(plan, given, done):
    """What is published of answers, from devices to the office."""
    fielding, release = fielding_of(plan), plan.inputs.release_form
    if release.device is not None:
        given = {name: reports_of(plan, name, each).tolist() for name, each in given.items()}
    collected = collected_of(plan, given, from_devices=release.device is not None)
    collected.require_sound(plan)
    if release.name == "microdata":
        return fielding.published(plan, collected, done)
    noise = fielding.draw_office_noise(plan, collected.counts(plan))
    return fielding.published(plan, collected, noise, done)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "device", "mechanism", "answers", "delta"), list(cases()))
def test_what_is_published_is_read_back(name, device, mechanism, answers, delta, tmp_path):
    """The noise of 30 surveys in which everyone answers: no bias, and the spread that the design states."""
    strata = dps.Strata([300, 500], [0.3, 0.2], names=["a", "b"])
    options = {"epsilon": 2, "delta": delta, "mechanism": mechanism, "questions": answers, OPTION: name}
    plan = dps.design(strata, total=100, device_epsilon=device, **options)
    given = {
        stratum: np.tile([0.0, 1.0], n)[:n].tolist()
        for stratum, n in zip("ab", plan.sample_sizes, strict=True)
    }
    truth = sum(size / 800 * np.mean(given[stratum]) for stratum, size in (("a", 300), ("b", 500)))
    errors = []
    for survey in range(30):
        done: list[int] = []
        table = publish(plan, given, done.append)
        assert sum(done) == plan.total
        assert {"a", "b"} <= set(table[STRATUM if STRATUM in table else "group"])
        path = tmp_path / f"{survey}.csv"
        write_atomically(path, table_content(table, path))
        result = dps.estimate(plan, path)
        assert result.whole[0].answered == plan.total
        errors.append(result.whole[0].estimate - truth)
    noise = math.sqrt(plan.variance_parts.privacy)
    # False alarms less than once in a million runs; a scale off by a factor of 3 is noticed.
    assert abs(np.mean(errors)) < 6.5 * noise / math.sqrt(30)
    assert np.std(errors) < 3 * noise
    if not plan.mechanism.worst_case:
        assert np.std(errors) > noise / 4


def test_noised_sums_are_divided_by_their_numbers_of_answers(tmp_path):
    plan = dps.design(dps.Strata([300, 500], [0.3, 0.2]), epsilon=2, total=100, release="sums")
    (tmp_path / "sums.csv").write_text("stratum,sum,answers\n1,10,40\n2,15,30\n")
    assert dps.estimate(plan, tmp_path / "sums.csv").whole[0].estimate == pytest.approx(
        300 / 800 * 0.25 + 500 / 800 * 0.5
    )


def test_single_answers_are_not_noised_where_the_office_sees_raw_ones():
    plan = dps.design(dps.Strata([300, 500], [0.3, 0.2]), epsilon=2, total=100, release="sums")
    with pytest.raises(dps.InputError, match="noises what it publishes, not single answers") as refused:
        dps.randomize(plan, "1", 0.4321)
    assert "4321" not in str(refused.value)
    assert refused.value.argument == OPTION
    with pytest.raises(
        dps.InputError, match="from single answers need release='microdata', got release='sums'"
    ):
        dps.estimate_means(plan, ["1", "2"], [0.4, 0.5])
