"""Estimates as the terminal and a notebook show them."""

from dataclasses import replace

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.words.results import FEW, FLOORED, estimates_table, results_in_words
from questionnaires import estimated_tables, small_plan


def estimation(questions="yes_no", scale=1.0, names=("north", "south"), **options):
    strata = dps.Strata([400, 600], None, names)
    plan = dps.design(strata, epsilon=1, total=100, questions=questions, **options)
    told = [name for name, n in zip(names, plan.sample_sizes, strict=True) for _ in range(n)]
    noised = np.random.default_rng(1).normal(0.3, 0.6, len(told)) * scale
    return dps.estimate_means(plan, told, noised)


def with_figures(result, estimate, error):
    columns = {
        name: getattr(result.columns, name).copy()
        for name in ("estimate", "standard_error", "lower", "upper")
    }
    for row, factor in ((0, 1.0), (1, float(result.design.strata.population))):  # the whole, and the total
        for values, figure in zip(
            columns.values(), (estimate, error, estimate - 2 * error, estimate + 2 * error), strict=True
        ):
            values[row] = factor * figure
    return replace(result, columns=result.columns._replace(**columns))


def test_means_are_rounded_to_their_error_and_intervals_with_them():
    result = with_figures(estimation(), 0.324123, 0.021123)
    table = estimates_table(result)
    assert table.header == ("for", "estimate", "95% interval", "standard error", "answers", "invited")
    assert table.rows[0] == ("all", "0.324", "0.282 to 0.366", "0.021", "100", "100")
    assert [row[0] for row in table.rows] == ["all", "north", "south"]


def test_incomes_have_no_exponent_and_no_false_digits():
    result = with_figures(estimation(questions=(0, 120000), scale=120000), 35673.2, 1498.2)
    assert estimates_table(result).rows[0][1:4] == ("35,700", "32,700 to 38,700", "1,500")
    assert results_in_words(result)[0] == (
        "The population total is 35,700,000 (95% interval: 32,700,000 to 38,700,000)."
    )
    assert "e+" not in repr(result)


def test_a_total_of_people_is_a_whole_number():
    shares = with_figures(estimation(), 0.0123456, 0.0031)
    assert results_in_words(shares)[0] == "The population total is 12 (95% interval: 6 to 19)."
    hours = with_figures(estimation(questions=(0, 1)), 0.0123456, 0.0031)
    assert results_in_words(hours)[0] == "The population total is 12.3 (95% interval: 6.1 to 18.5)."


@pytest.mark.parametrize(("confidence", "level"), [(0.9, "90% interval"), (0.995, "99.5% interval")])
def test_the_level_is_that_of_the_design(confidence, level):
    result = estimation(confidence=confidence)
    assert estimates_table(result).header[2] == level
    assert level in repr(result)


def test_clipped_answers_strata_to_be_careful_with_and_notes_are_told():
    found = estimation(questions=(0, 8000), scale=8000, clip=True)
    about = replace(found.questions["answer"], doubts={FLOORED: ("north",), FEW: tuple("abcdefg")})
    result = replace(found, questions={"answer": about}, notes=("Fewer answered.",))
    total, floored, few, note = results_in_words(result)
    assert total.startswith("The population total of answers clipped to 0–8,000 is ")
    assert floored.startswith("In 1 stratum, the reports vary less")
    assert few.startswith("In 7 strata, there are fewer than 10 answers")
    assert few.endswith(": a, b, c, d, e and 2 more.")
    assert note == "Fewer answered."


def test_a_notebook_shows_tables_with_all_text_escaped():
    result = estimation(names=("<script>", "a & b"))
    for shown in (result, result.by("stratum")):
        html = shown._repr_html_()
        assert html.count("<table>") == 1
        assert "&lt;script&gt;" in html
        assert "<script>" not in html
    assert "a &amp; b" in result._repr_html_()
    assert "The population total is" in result._repr_html_()


def test_many_strata_are_counted_not_listed():
    count = 200
    plan = dps.design(dps.Strata([50] * count), epsilon=1, total=2 * count, questions="yes_no")
    told = [str(i + 1) for i in range(count) for _ in range(plan.sample_sizes[i])]
    result = dps.estimate_means(plan, told, np.full(len(told), 0.5))
    table = estimates_table(result)
    assert len(table.rows) == 160
    assert table.note == "41 more estimates are not shown."
    assert "40 more estimates are not shown." in result.by("stratum")._repr_html_()


def test_of_several_questions_the_whole_is_shown_and_named_by_question_and_answer():
    result = estimated_tables()
    table = estimates_table(result)
    assert table.header[:3] == ("question", "answer", "estimate")
    assert [row[:2] for row in table.rows] == [(row.question, row.level or "mean") for row in result.whole]
    zero = [row for row in result.whole if row.lower == 0]
    assert zero
    (said,) = [each for each in results_in_words(result) if "cannot be told from zero" in each]
    assert f"{zero[0].question} = {zero[0].level or 'mean'}" in said
    alone = estimates_table(result.question("home"))
    assert alone.header[:2] == ("for", "answer")
    assert [row[0] for row in alone.rows] == [
        name for name in ("all", *result.design.strata.names) for _ in range(3)
    ]


def test_few_answers_are_said_with_their_stratum_and_questions():
    assert not any(FEW in each for each in results_in_words(estimated_tables()))
    plan = small_plan()
    asked = plan.forms[0].questions
    result = estimated_tables(few={1: 9})
    (said,) = [each for each in results_in_words(result) if FEW in each]
    assert said.startswith(f"In 1 stratum, {FEW}: north (")
    for name in asked:
        assert name in said
        assert {row.notes for row in result.question(name).by("stratum") if row.group == "north"} == {FEW}
        assert {row.notes for row in result.question(name).by("stratum") if row.group == "south"} == {""}
