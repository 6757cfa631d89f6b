"""Any cells at all in an XLSForm: it is read, or refused with the places of its mistakes."""

from hypothesis import given, settings
from hypothesis import strategies as st

import dpstrata as dps
from extent import few
from questionnaires import YES_NO, write_form

cells = {
    "type": [
        "select_one c",
        "select_multiple c",
        "select_one yn",
        "range",
        "integer",
        "note",
        "begin group",
        "end group",
    ],
    "name": ["a", "b", "c", "d e", 1, True, "x|y", "A"],
    "label": ["A?", "Ä\nö", 3.5, "a|b", "\u2028", "${a}"],
    "label::de (de)": ["Ja?", "\u2029", 0],
    "constraint": [". > 0 and . < 9", ". > 1e400 and . < 2", ". >= 1 and . <= 1", "5"],
    "parameters": ["start=0 end=1 step=0.1", "step=0", "start=nan", "start=1e308 end=-1e308", "end=inf"],
    "dp_lower": [0, -1e308, "1,5", "x"],
    "dp_upper": [1, 1e308, "inf"],
    "dp_importance": [2, 0, "nan", "1.5"],
    "dp_everyone": ["yes", "no", "x", 1],
    "dp_together": ["g", "h\ni", 7],
}
rows = st.fixed_dictionaries({name: st.sampled_from([None, None, *known]) for name, known in cells.items()})
choice_rows = st.tuples(
    st.sampled_from(["c", "yn"]),
    st.sampled_from(["a", "b", "yes", "no", 1, 0]),
    st.sampled_from([None, "Yes", "No", 2]),
)


@settings(max_examples=few(50, of=150), deadline=None)
@given(
    st.lists(rows, min_size=1, max_size=5), st.lists(choice_rows, max_size=5, unique_by=lambda row: row[:2])
)
def test_any_form_is_read_or_refused_with_its_places(tmp_path_factory, survey, choices):
    sheet = [list(cells), *([row[name] for name in cells] for row in survey)]
    path = write_form(tmp_path_factory.mktemp("any") / "form.xlsx", sheet, [YES_NO[0], *map(list, choices)])
    mistakes = ()
    try:
        questionnaire = dps.Questionnaire.from_xlsform(path)
        assert questionnaire.languages == ("", "de")[: len(questionnaire.languages)]
    except dps.QuestionnaireError as problem:
        mistakes = problem.mistakes
    assert all(mistake.startswith("sheet '") for mistake in mistakes)
