"""What a report of a questionnaire says, read back and compared; the code it shows is run."""

from dataclasses import replace

import pytest

import dpstrata as dps
from commands import run_line
from dpstrata.files.writing import write_table
from dpstrata.present.report.code import command_line, python_code, python_code_with_strata, strata_columns
from questionnaires import QUESTIONS, small_plan, spreads, strata
from report_reader import Reader, require_closed, require_document

pytestmark = pytest.mark.slow

TARGETS = dps.Questionnaire(
    [replace(QUESTIONS[0], target_se=0.04), replace(QUESTIONS[1], target_margin=0.12), *QUESTIONS[2:]]
)
EVERYONE = dps.Questionnaire(
    [
        replace(QUESTIONS[0], everyone=True),
        *(replace(question, together="life") for question in QUESTIONS[1:3]),
        *QUESTIONS[3:],
    ]
)
PLANS = {
    "sums": {},
    "rows": {"release": "microdata", "device_epsilon": None},
    "one form": {"forms": "one", "device_epsilon": 6},
    "targets": {"questions": TARGETS, "at_most": None},
    "everyone and together": {"questions": EVERYONE},
    "not everyone answers": {"strata": strata(response_rates=[0.8, 0.9, 0.7], costs=[2, 3, 2])},
}


@pytest.fixture(params=PLANS, scope="module")
def plan(request):
    return small_plan(**PLANS[request.param])


@pytest.fixture(scope="module")
def page(plan):
    return dps.report_html(plan, title="Health & <income> 2031")


def test_the_page_is_whole_and_asks_for_nothing(page):
    require_closed(page)
    Reader(page)


def test_every_question_and_form_is_in_the_report(plan, page):
    report = Reader(page)
    asked = report.table("What is asked")
    assert [row["text"] for row in asked] == [question.text for question in plan.inputs.questions]
    precision = report.table("Precision of the questions")
    assert [row["question"] for row in precision] == list(plan.inputs.questions.names)
    forms = report.table("Forms:")
    assert [int(row["people"]) for row in forms] == [int(form.sample_sizes.sum()) for form in plan.forms]
    causes = report.table("Where the variance of every question")
    assert all(abs(sum(float(cell[:-1]) for cell in list(row.values())[1:]) - 100) <= 1 for row in causes)
    invited = report.table("The strata, and the people invited")
    assert [int(row["invited"]) for row in invited[:-1]] == plan.sample_sizes.tolist()


def test_what_the_office_publishes_of_each_form_uses_all_of_its_budget(plan, page):
    report = Reader(page)
    if plan.inputs.device_epsilon is None:
        assert "What the office publishes" not in report.text
        assert "All rows are published." in report.text
        return
    rows = report.table("What the office publishes of each form")
    for number in range(1, len(plan.forms) + 1):
        shares = [
            float(row["share of the office's budget"][:-1]) for row in rows if row["form"] == str(number)
        ]
        assert sum(shares) == pytest.approx(100, abs=len(shares))


def test_both_proofs_are_in_the_report(plan, page):
    report = Reader(page)
    figures = {row["figure"]: row["value"] for row in report.table("Figures of the proof about forms")}
    people = plan.inputs.asks_by_question
    what = "people before the office's noise" if people else "variance for one interview"
    assert float(figures[f"{what}, with these forms"]) == pytest.approx(plan.forms_bound.value)
    assert float(figures[f"{what}, that no forms can beat"]) == pytest.approx(plan.forms_bound.lower_bound)
    assert ("number of people that the targets need" in report.text) == people
    assert plan.certificate.in_words in report.text


def test_nothing_of_a_single_question_is_left(page):
    report = Reader(page)
    headers = {cell for table in report.tables for cell in table["rows"][0]}
    assert not headers & {"sd", "sd from", "noise sd of the mean", "as precise as"}
    for words in ("Each answer is kept or flipped", "answers lie in", "noised sum", "questions per person"):
        assert words not in report.text


def test_what_is_known_is_listed_by_question():
    report = Reader(dps.report_html(small_plan()))
    known = {row["question"]: row["known"] for row in report.table("What is known of the answers")}
    assert known["smokes"] == "shares in all strata"
    assert known["trust"] == "standard deviations in all strata and means in all strata"
    assert known["income"] == "nothing; the worst case is used"


def written(plan, folder):
    """Write the files that the code of a report reads."""
    plan.inputs.questions.to_file(folder / "questions.csv")
    if plan.inputs.spreads is not None:
        plan.spreads.to_file(folder / "spreads.csv")
    write_table(strata_columns(plan), folder / "strata.csv")


@pytest.mark.filterwarnings("ignore:.*no spread column")
def test_the_python_of_a_report_gives_the_same_design(plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(plan, tmp_path)
    for code in (python_code_with_strata(plan), python_code(plan)):
        space = {}
        exec(code, space)
        assert space["plan"].digest == plan.digest
        require_document(tmp_path / "design.json", plan)


def test_the_command_of_a_report_gives_the_same_design(plan, tmp_path):
    written(plan, tmp_path)
    done = run_line(tmp_path, command_line(plan))
    assert done.returncode == 0, done.stderr
    require_document(tmp_path / "design.json", plan)


def test_spreads_are_written_as_they_are_read(tmp_path):
    population = strata()
    known = spreads(population)
    known.to_file(tmp_path / "spreads.csv")
    again = dps.Spreads.from_file(tmp_path / "spreads.csv", population, QUESTIONS)
    assert again.variances.tolist() == known.variances.tolist()
    assert again.table() == known.table()
