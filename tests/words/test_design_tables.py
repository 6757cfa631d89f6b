"""A questionnaire's design as people see it: the result, questions, forms, strata and the promise."""

import math
from html import escape

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.fielding.releases import SumsFielding
from dpstrata.present.report.words import row_in_words
from dpstrata.words.design_tables import comparison_table, forms_table, precision_table, strata_table, tables
from dpstrata.words.designs import result_in_words
from questionnaires import QUESTIONS, small_plan, strata


@pytest.fixture(scope="module")
def plan():
    return small_plan()


@pytest.fixture(scope="module")
def rows():
    return small_plan(release="microdata", device_epsilon=None)


def column(table, name):
    return [row[table.header.index(name)] for row in table.rows]


def test_the_result_comes_first_beside_no_privacy_and_a_split_budget(plan):
    ranges = np.array([question.range for question in QUESTIONS])
    weights = np.array([question.importance for question in QUESTIONS])

    def typical(name):
        errors = np.array([getattr(question, name) for question in plan.questions]) / ranges
        return f"{100 * math.sqrt((weights * errors**2).sum() / weights.sum()):.1f}%"

    first = repr(plan).splitlines()[0]
    assert first.startswith(
        f"600 interviews on 2 forms give a typical standard error of {typical('standard_error')} of a "
        f"question's range. Without privacy it would be {typical('standard_error_without_privacy')}, and "
        f"{typical('if_split')} if the budget were split over the questions; privacy accounts for "
    )
    assert plan._repr_html_().startswith(f"<div><p>{escape(first)}</p><table>")
    assert repr(plan).count(first) == 1


def test_nothing_above_the_whole_range_is_given_a_figure():
    assert "and more than 100% if the budget were split" in result_in_words(
        small_plan(at_most=12, epsilon=0.2)
    )


def test_every_question_says_its_precision_in_its_own_units_and_of_its_range(plan):
    table = precision_table(plan)
    assert column(table, "question") == list(QUESTIONS.names)
    assert column(table, "kind") == ["yes/no", "yes/no", "category", "scale", "number"]
    form = {name: str(i) for i, each in enumerate(plan.forms, 1) for name in each.questions}
    assert column(table, "form") == [form[name] for name in QUESTIONS.names]
    income = plan.questions[-1]
    assert column(table, "margin")[-1] == f"{income.margin:,.4g}"
    assert column(table, "margin, % of range")[-1] == f"{100 * income.margin / 8000:.2g}%"
    assert "root of half the sum" in table.note
    assert "target" not in table.header
    assert table.columns_of_text == 2


def test_targets_and_whether_they_are_met_have_columns_of_their_own():
    questions = dps.Questionnaire(
        [
            dps.Question("smokes", "yes_no", blank=False, target_se=0.05),
            dps.Question("drinks", "yes_no", blank=False, everyone=True),
        ]
    )
    plan = small_plan(questions=questions, at_most=None)
    table = precision_table(plan)
    assert column(table, "target") == ["0.05", ""]
    assert column(table, "met") == ["yes", ""]
    assert column(table, "form") == ["1", "all"]
    assert "root of half" not in table.note
    said = result_in_words(plan)
    assert said.startswith(f"{plan.total} interviews meet the target and give a typical standard error")


def test_forms_say_who_is_asked_what_and_how_often_a_row_is_replaced(plan):
    table = forms_table(plan)
    assert column(table, "questions") == ["smokes, home, income (2 levels)", "drinks, trust"]
    cells = [12, 10]
    assert column(table, "possible rows") == [str(each) for each in cells]
    replaced = [round(100 * each / (math.expm1(4.0) + each)) for each in cells]
    assert column(table, "replaced, of 100 rows") == [str(each) for each in replaced]
    assert sum(map(int, column(table, "people"))) == 600
    assert table.note == ""


def test_published_rows_are_replaced_by_stratum(rows):
    table = forms_table(rows)
    budgets = np.expm1(rows.local_epsilons)
    first = rows.forms[0].cells
    least, most = (round(100 * float(first / (first + odds))) for odds in (budgets.max(), budgets.min()))
    assert least < most
    assert column(table, "replaced, of 100 rows")[0] == f"{least} to {most}"
    assert table.note == "How many rows are replaced depends on the stratum."


def test_strata_show_people_per_form_and_nothing_that_means_nothing(plan):
    table = strata_table(plan)
    assert table.header == ("stratum", "size", "sample size", "rate", "form 1", "form 2", "epsilon of a form")
    for row, size in zip(table.rows, plan.sample_sizes, strict=False):
        assert int(row[4]) + int(row[5]) == size
    assert table.rows[-1][2:6] == ("600", "", *[str(int(form.sample_sizes.sum())) for form in plan.forms])
    assert "budget of what is published of a form; it may exceed the promise (epsilon = 1)" in table.note
    assert not {"sd", "noise sd"} & {name for each in tables(plan) for name in each.header}


def test_many_forms_are_summed_up_by_stratum():
    questions = dps.Questionnaire([dps.Question(f"q{i}", "scale", lower=0, upper=9) for i in range(7)])
    plan = small_plan(questions=questions, forms=[[f"q{i}"] for i in range(7)], epsilon=2.0)
    table = strata_table(plan)
    people = [int(form.sample_sizes[2]) for form in plan.forms]
    shown = f"{min(people)}" if min(people) == max(people) else f"{min(people)} to {max(people)}"
    assert column(table, "people per form")[2] == shown


def test_other_allocations_have_no_empty_column(plan):
    table = comparison_table(plan)
    assert "as precise as" not in table.header
    assert "planned variance" in table.note


def test_printed_variances_have_the_printed_ratio(plan):
    table = comparison_table(plan)
    assert "variance" not in table.header  # the one expected, which the ratio is not of
    own, *others = (float(cell) for cell in column(table, "planned variance"))
    ratios = [float(cell.removesuffix(" times")) for cell in column(table, "variance ratio")[1:]]
    assert [other / own for other in others] == pytest.approx(ratios, abs=2e-3)
    single = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    assert "variance" in comparison_table(single).header


def test_a_large_error_of_a_stratum_is_said_unless_all_are_shown():
    strata = dps.Strata([4000, 2000, 30], names=["north", "south", "isle"])
    options = {"strata": strata, "at_most": 600}
    plan = small_plan(**options)
    shown = small_plan(**options, domains=["stratum"])
    by_stratum = [each.standard_error for each in shown.domains[1:]]
    assert plan.stratum_errors.tolist() == pytest.approx(by_stratum, rel=1e-9)
    worst = "more than 100%" if by_stratum[2] > 1 else f"{100 * by_stratum[2]:.0f}%"
    said = f"is {worst} of a question's range in 'isle' and above 20% in 1 of 3 strata; domains=['stratum']"
    assert said in repr(plan)
    assert "Single strata" not in repr(shown)
    assert "Single strata" not in repr(small_plan(epsilon=8.0, device_epsilon=8.0))


def test_forms_that_are_far_from_the_best_say_so():
    plan = small_plan(forms="one", device_epsilon=2)
    times = plan.forms_bound.value / plan.forms_bound.lower_bound
    assert times > 2
    assert f"may be {times:,.2g} times smaller" in repr(plan)
    assert "by more than" not in repr(plan)


def test_the_promise_speaks_of_rows_and_forms(plan, rows):
    world, office, leak = plan.privacy["sentences"]
    assert "a person's answers, all of them together, by a factor of at most 2.72" in world
    assert "row of answers is randomised on their own device" in office
    assert "factor of at most 54.60 (device epsilon = 4), however many questions the form has" in office
    assert leak == "If the office's file leaks, protection is limited to a factor of 54.60 for the whole row."
    largest = float(rows.local_epsilons.max())
    assert f"local epsilon at most {math.ceil(100 * largest) / 100:.2f}" in rows.privacy["sentences"][1]
    for each in (plan, rows):
        assert any(
            "dealt at random as part of the secret draw" in said for said in each.privacy["assumptions"]
        )
        assert any("leaving one blank" in said for said in each.privacy["assumptions"])
        assert "who got which form" in each.privacy["secret"]
        assert not any(";" in said for said in each.privacy["assumptions"][-4:-1])
        assert "noised answer" not in each.privacy["in_words"]


def test_questions_whose_result_would_be_useless_are_named():
    said = result_in_words(small_plan(at_most=45))
    assert "Too imprecise at 95% confidence for " in said
    assert "'drinks' (margin of error 0." in said
    assert "Too imprecise" not in result_in_words(small_plan())


def test_a_share_that_reaches_nobody_is_too_imprecise():
    questions = dps.Questionnaire(
        [dps.Question("uses", "yes_no", blank=False), dps.Question("drinks", "yes_no", blank=False)]
    )
    population = strata()
    known = dps.Spreads(population, questions, proportions={"uses": 0.02, "drinks": 0.5})
    plan = small_plan(strata=population, questions=questions, spreads=known, at_most=300)
    uses, drinks = plan.questions
    assert uses.expected == pytest.approx(0.02)
    assert 0.02 < uses.margin < 0.25
    said = result_in_words(plan)
    assert f"1 of 2 questions: 'uses' (2% could not be told from 0% or {2 + 100 * uses.margin:.0f}%)." in said
    assert drinks.expected == pytest.approx(0.5)


def test_a_mean_is_expected_only_where_every_stratum_has_one(plan):
    by_name = {question.name: question.expected for question in plan.questions}
    sizes = np.array([400, 900, 1700])
    assert by_name["trust"] == pytest.approx((sizes * [2.5, 3.0, 3.5]).sum() / 3000)
    assert by_name["drinks"] is None
    assert by_name["home"] is None
    assert by_name["income"] is None


@pytest.mark.parametrize(("device_epsilon", "noised"), [(6.0, True), (0.5, False)])
def test_the_office_is_said_to_add_noise_where_it_does(device_epsilon, noised):
    """In the title of the table and in the report, as the noise is drawn."""
    plan = small_plan(device_epsilon=device_epsilon)
    drawn = SumsFielding().draw_office_noise(plan, plan.sample_sizes)
    assert any(drawn.values()) is noised
    assert ("tables noised by the office" in strata_table(plan).title) is noised
    assert ("no further noise in the tables" in strata_table(plan).title) is not noised
    assert ("publishes the tables below with noise of its own" in row_in_words(plan)) is noised
    assert ("publishes the tables below without further noise" in row_in_words(plan)) is not noised
