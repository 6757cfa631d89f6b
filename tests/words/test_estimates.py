"""Estimates as the terminal and a notebook show them."""

from dataclasses import replace

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.words.estimates import estimation_sentences, estimation_table


def estimation(questions="yes_no", scale=1.0, names=("north", "south"), **options):
    strata = dps.Strata([400, 600], None, names)
    plan = dps.design(strata, epsilon=1, total=100, questions=questions, **options)
    told = [name for name, n in zip(names, plan.sample_sizes, strict=True) for _ in range(n)]
    noised = np.random.default_rng(1).normal(0.3, 0.6, len(told)) * scale
    return dps.estimate_means(plan, told, noised)


def with_figures(result, estimate, error):
    reach = 2 * error
    return replace(
        result,
        whole=replace(
            result.whole,
            estimate=estimate,
            standard_error=error,
            lower=estimate - reach,
            upper=estimate + reach,
        ),
    )


def test_means_are_rounded_to_their_error_and_intervals_with_them():
    result = with_figures(estimation(), 0.324123, 0.021123)
    table = estimation_table(result)
    assert table.header == ("mean of", "estimate", "standard error", "95% interval", "answers", "invited")
    assert table.rows[0] == ("all", "0.324", "0.021", "0.282 to 0.366", "100", "100")
    assert [row[0] for row in table.rows] == ["all", "north", "south"]


def test_incomes_have_no_exponent_and_no_false_digits():
    result = with_figures(estimation(questions=(0, 120000), scale=120000), 35673.2, 1498.2)
    assert estimation_table(result).rows[0][1:4] == ("35,700", "1,500", "32,700 to 38,700")
    assert estimation_sentences(result)[0] == (
        "The population total is 35,700,000 (95% interval: 32,700,000 to 38,700,000)."
    )
    assert "e+" not in repr(result)


def test_a_total_of_people_is_a_whole_number():
    shares = with_figures(estimation(), 0.0123456, 0.0031)
    assert shares.counts_people
    assert estimation_sentences(shares)[0] == "The population total is 12 (95% interval: 6 to 19)."
    hours = with_figures(estimation(questions=(0, 1)), 0.0123456, 0.0031)
    assert not hours.counts_people
    assert estimation_sentences(hours)[0] == "The population total is 12.3 (95% interval: 6.1 to 18.5)."


@pytest.mark.parametrize(("confidence", "level"), [(0.9, "90% interval"), (0.995, "99.5% interval")])
def test_the_level_is_that_of_the_design(confidence, level):
    result = estimation(confidence=confidence)
    assert estimation_table(result).header[3] == level
    assert level in repr(result)


def test_clipped_answers_strata_to_be_careful_with_and_notes_are_told():
    result = replace(
        estimation(),
        of="mean of answers clipped to 0–8,000",
        floored=("north",),
        few=tuple("abcdefg"),
        notes=("Fewer answered.",),
    )
    assert estimation_table(result).title == "Mean of answers clipped to 0–8,000, from noised answers"
    total, floored, few, note = estimation_sentences(result)
    assert total.startswith("The population total of answers clipped to 0–8,000 is ")
    assert floored.startswith("In 1 stratum, the noised answers vary less")
    assert few.startswith("In 7 strata, there are fewer than 10 answers")
    assert few.endswith(": a, b, c, d, e and 2 more.")
    assert note == "Fewer answered."


def test_a_notebook_shows_tables_with_all_text_escaped():
    result = estimation(names=("<script>", "a & b"))
    for shown in (result, result.strata, result.strata[0]):
        html = shown._repr_html_()
        assert html.count("<table>") == 1
        assert "&lt;script&gt;" in html
        assert "<script>" not in html
    assert "a &amp; b" in result._repr_html_()
    assert "The population total is" in result._repr_html_()


def test_many_strata_are_counted_not_listed():
    count = 60
    plan = dps.design(dps.Strata([50] * count), epsilon=1, total=2 * count, questions="yes_no")
    told = [str(i + 1) for i in range(count) for _ in range(plan.sample_sizes[i])]
    result = dps.estimate_means(plan, told, np.full(len(told), 0.5))
    table = estimation_table(result)
    assert len(table.rows) == 41
    assert table.note == "20 more strata are not shown."
    assert "20 more estimates are not shown." in result.strata._repr_html_()
