"""Results as a table: its parts, and what they are passed on as."""

import json

import numpy as np
import pytest

import dpstrata as dps
from questionnaires import estimated_tables

STRATA = dps.Strata([700, 500, 900], names=["a", "b", "c"], extra={"side": ["east", "east", "west"]})


@pytest.fixture(scope="module")
def numbers():
    plan = dps.design(STRATA, questions=(0, 8000), epsilon=1, total=90, domains=["side"], clip=True)
    names = np.repeat(STRATA.names, plan.sample_sizes).tolist()
    return dps.estimate_means(plan, names, np.random.default_rng(1).normal(2000, 900, len(names)))


@pytest.fixture(scope="module")
def forms():
    return estimated_tables()


def test_a_single_question_is_a_table_of_one(numbers, forms):
    places = [("all", "all"), ("total", "all"), ("side", "east"), ("side", "west")]
    places += [("stratum", name) for name in STRATA.names]
    assert [(row.column, row.group) for row in numbers] == places
    assert {(row.question, row.level) for row in numbers} == {("answer", "")}
    assert set(forms.columns.question) == {each.name for each in forms.design.inputs.questions}
    for name in set(forms.columns.question):
        levels = len(set(forms.question(name).columns.level))
        assert len(forms.question(name)) == levels * (2 + len(forms.design.strata))


def test_parts_are_tables_with_the_covariances_of_their_rows(numbers, forms):
    for result in (numbers, forms):
        strata = result.by("stratum")
        assert [row.column for row in strata] == ["stratum"] * len(strata)
        rows = result.columns.column == "stratum"
        whole = result.covariance.matrix[np.ix_(rows, rows)]
        np.testing.assert_array_equal(strata.covariance.matrix, whole)
    assert list(numbers[2:4]) == list(numbers.by("side"))
    assert numbers[-1] == numbers.by("stratum")[-1]
    with pytest.raises(dps.InputError, match=r"question must be one of 'smokes', .*, got 'weight'"):
        forms.question("weight")


def test_a_total_is_the_mean_of_all_people(numbers, forms):
    for result in (numbers, forms):
        people = result.design.strata.population
        for whole, total in zip(result.whole, result.by("total"), strict=True):
            figures = ("estimate", "standard_error", "lower", "upper", "largest_bias")
            assert [getattr(total, name) for name in figures] == pytest.approx(
                [people * getattr(whole, name) for name in figures]
            )
            assert (total.question, total.level, total.answered) == (
                whole.question,
                whole.level,
                whole.answered,
            )


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_data_frame_has_a_row_for_each_estimate(forms, library):
    frame = forms.to_frame(library)
    assert list(getattr(frame, "column_names", frame.columns)) == list(forms.columns._fields)
    assert np.asarray(frame["estimate"], dtype=float).tolist() == forms.columns.estimate.tolist()


def test_json_has_every_row_and_sentence(numbers):
    found = json.loads(numbers.to_json())
    assert found["notes"] == numbers.sentences
    assert [row["group"] for row in found["estimates"]] == [row.group for row in numbers]
    first = found["estimates"][0]
    assert (first["estimate"], first["safe_lower"]) == (numbers[0].estimate, None)
    assert "clipped to 0–8,000" in first["notes"]


def test_ratios_are_joined_behind_the_estimates(forms):
    ratio = forms.ratio(("home", ["own", "other"]), ("home", "rent"))
    joined = forms.with_ratios([ratio])
    assert list(joined) == [*forms, *ratio]
    assert joined.covariance.labels[-1].startswith("home / home=own + other / rent, ")
    assert joined.notes == (*forms.notes, *ratio.notes)
    assert [row.question for row in joined.shown] == [row.question for row in (*forms.whole, *ratio.whole)]
