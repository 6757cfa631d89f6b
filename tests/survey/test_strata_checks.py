"""Spreads that are too large: one by one, or all at once because the range is wrong."""

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.cli.refusals import in_flags
from dpstrata.survey.questionnaires.questionnaire import read_shorthand
from dpstrata.survey.strata_checks import find_large_spreads

UNIT = read_shorthand((0, 1))[0]


def spreads(sds, sizes=None, question=UNIT):
    sds = np.array(sds, dtype=float)
    return find_large_spreads(sds, np.array([100] * len(sds) if sizes is None else sizes), question)


def test_a_range_that_was_not_given_is_one_sentence():
    strata = dps.Strata([500] * 24, [4500.0] * 24)
    with pytest.raises(dps.StrataError) as caught:
        dps.design(strata, epsilon=1, total=100)
    assert str(caught.value) == (
        "the strata: 24 standard deviations are too large for answers from 0 to 1; give the range of the "
        "answers, for example questions=(0, 20000)."
    )
    assert "for example --questions 0:20000." in in_flags(caught.value.sentence)
    assert caught.value.argument == "questions"
    dps.design(strata, epsilon=1, total=100, questions=(0, 20000))


def test_a_file_says_it_once_too_beside_its_other_mistakes(tmp_path):
    path = tmp_path / "strata.csv"
    path.write_text("stratum,size,variance\na,100,1e6\nb,200,4e6\nb,300,9e6\n")
    with pytest.raises(dps.StrataError) as caught:
        dps.Strata.from_file(path, questions=(0, 1))
    assert caught.value.mistakes == (
        "column 'variance': 3 standard deviations are too large for answers from 0 to 1; give the range of the "
        "answers, for example questions=(0, 20000).",
        "line 4, column 'stratum': stratum names must be unique, got 'b' again.",
    )
    assert [cell.column for cell in caught.value.cells] == ["stratum"]


def test_single_cells_that_are_wrong_keep_their_place():
    assert [finding.row for finding in spreads([0.1, 0.9, 0.2, 0.8])] == [1, 3]
    assert [finding.row for finding in spreads([0.9])] == [0]
    assert [finding.row for finding in spreads([9.0] * 8 + [0.1] * 2)] == list(range(8))


def test_nearly_all_are_enough_and_spreads_of_zero_do_not_count():
    assert [finding.row for finding in spreads([9.0] * 9 + [0.1])] == [None]
    assert [finding.row for finding in spreads([9.0, 9.0, 0.0, 0.0])] == [None]


def test_a_person_alone_does_not_vary_whatever_the_range():
    assert [finding.row for finding in spreads([9.0, 9.0, 0.3], sizes=[50, 50, 1])] == [None, 2]


@pytest.mark.parametrize(
    ("sd", "answers", "advice"),
    [
        (
            9000,
            (0, 10000),
            "from 0 to 10,000; give the range of the answers, for example questions=(0, 50000).",
        ),
        (0.6, (0, 1), "from 0 to 1; give the range of the answers, for example questions=(0, 5)."),
        (0.02, (0, 0.01), "from 0 to 0.01; give the range of the answers, for example questions=(0, 0.1)."),
        (30, (-1, 1), "from -1 to 1; give the range of the answers, for example questions=(-200, 200)."),
        (1e300, (0, 1), "from 0 to 1; give the range of the answers with questions."),
    ],
)
def test_the_range_that_is_advised_holds_the_spreads(sd, answers, advice):
    strata = dps.Strata([100, 100], [sd, sd])
    with pytest.raises(dps.StrataError) as caught:
        dps.design(strata, epsilon=1, total=20, questions=answers)
    assert str(caught.value).endswith(advice)
