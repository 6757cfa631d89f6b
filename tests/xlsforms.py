"""XLSForms made for tests."""

from pathlib import Path

import openpyxl


def write_form(path: Path, survey, choices=(), **sheets) -> Path:
    """Write rows of cells, the header first, as the sheets of a workbook."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in {"survey": survey, "choices": choices, **sheets}.items():
        if rows:
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(row)
    book.save(path)
    return path


YES_NO = [["list_name", "name", "label"], ["yn", "yes", "Yes"], ["yn", "no", "No"]]
COLOURS = [["c", "red", "Red"], ["c", "green", "Green"], ["c", "blue", "Blue"]]

FORMS = {
    "every kind": {
        "survey": [
            ["type", "name", "label", "constraint", "parameters", "required", "hint", "calculation"],
            ["note", "hello", "Welcome"],
            ["select_one yn", "smokes", "Do you smoke?", None, None, "yes", "Any tobacco"],
            ["select_one c", "colour", "Which colour?"],
            ["select_multiple c", "colours", "Which colours?"],
            ["range", "trust", "How much trust?", None, "start=1 end=5 step=1"],
            ["integer", "age", "How old are you?", ". >= 0 and . <= 120"],
            ["decimal", "height", "How tall are you?", ". > 0.5 and . < 2.5"],
            ["calculate", "sum", None, None, None, None, None, "1 + 1"],
            ["hidden", "version", None],
        ],
        "choices": [*YES_NO, *COLOURS],
    },
    "languages": {
        "survey": [
            [
                "type",
                "name",
                "label::English (en)",
                "label::Deutsch (de)",
                "label::العربية (ar)",
                "hint::English (en)",
            ],
            ["select_one yn", "smokes", "Do you smoke?", "Rauchen Sie?", "هل تدخن؟", "Any"],
            ["select_one c", "colour", "Which colour?", None, "أي لون؟"],
            ["select_multiple c", "colours", "Which colours?", "Welche Farben?"],
            ["range", "trust", "Trust?", "Vertrauen?"],
        ],
        "choices": [
            ["list_name", "name", "label::English (en)", "label::Deutsch (de)", "label::العربية (ar)"],
            ["yn", "yes", "Yes", "Ja", "نعم"],
            ["yn", "no", "No", "Nein", "لا"],
            ["c", "red", "Red", "Rot", None],
            ["c", "blue", "Blue", None, "أزرق"],
        ],
        "settings": [["form_id", "default_language"], ["f", "Deutsch (de)"]],
    },
    "a plain label and a translation": {
        "survey": [
            ["type", "name", "label", "label::French (fr)"],
            ["select_one yn", "q", "Well?", "Ça va ?"],
        ],
        "choices": [
            ["list_name", "name", "label", "label::French (fr)"],
            ["yn", 1, "Yes", "Oui"],
            ["yn", 0, "No"],
        ],
    },
    "a plain label in the default language": {
        "survey": [["type", "name", "label", "label::fr"], ["select_one c", "q", "Well?", "Ça va ?"]],
        "choices": [
            ["list_name", "name", "label", "label::fr"],
            ["c", "a", "A", "Ah"],
            ["c", "b", "B", "Bé"],
        ],
        "settings": [["default_language"], ["en"]],
    },
    "old spellings": {
        "survey": [
            ["Type", "Name", "Label:English", "bind:constraint"],
            ["begin group", "g", "Group"],
            ["select one from yn", "q", "Well?"],
            ["select all that apply from c", "r", "Which?"],
            ["int", "n", "How many?", ".>=0 and .<10"],
            ["end group"],
        ],
        "choices": [["list name", "value", "Label:English"], *YES_NO[1:], *COLOURS],
    },
    "groups": {
        "survey": [
            ["type", "name", "label", "relevant", "appearance"],
            ["begin_group", "outer", "Outer", "true()", "field-list"],
            ["begin group", "inner", "Inner"],
            ["select_one yn", "a", "A?"],
            ["end group", "inner"],
            ["select_one yn", "b", "B?"],
            ["end_group"],
            ["select_one yn", "c", "C?"],
        ],
        "choices": YES_NO,
    },
    "ranges": {
        "survey": [
            ["type", "name", "label", "parameters"],
            ["range", "a", "A?"],
            ["range", "b", "B?", "start=0; end=1; step=0.25"],
            ["range", "c", "C?", "end=0,start=-2"],
            ["range", "d", "D?", "start=0 end=100 step=1"],
        ],
    },
    "numbers": {
        "survey": [
            ["type", "name", "label", "constraint", "dp_lower", "dp_upper"],
            ["integer", "a", "A?", "(. > 0) and (. < 10)"],
            ["integer", "b", "B?", "0 <= . and 99.5 >= ."],
            ["decimal", "c", "C?", ". >= -1.5 and . < 2"],
            ["decimal", "d", "D?", None, 0, 2.5],
            ["integer", "e", "E?", ". >= 5", None, 30],
            ["integer", "f", "F?", "regex(., '^[0-9]+$')", 0, 9],
        ],
    },
    "rows and columns that say nothing": {
        "survey": [
            ["remarks", "type", "name", "label", "disabled", None, "media::image"],
            ["ask this first", "select_one yn", "a", "A?", None, "a remark"],
            [],
            ["only a remark"],
            [None, "text", "old", "Old?", "yes"],
            [None, "select_one yn", "b", "B?", "no", None, "b.jpg"],
        ],
        "choices": [*YES_NO, [], ["unused", "same", "S"]],
        "notes": [["anything"], ["at all"]],
    },
    "what only dpstrata knows": {
        "survey": [
            ["type", "name", "label", "dp_importance", "dp_target", "dp_everyone", "dp_together"],
            ["select_one yn", "a", "A?", 2, 0.05, None, "pair"],
            ["select_one c", "b", "B?", 0.5, None, None, "pair"],
            ["select_multiple c", "m", "M?", None, None, "yes"],
            ["select_one yn", "e", "E?", None, None, "yes"],
        ],
        "choices": [*YES_NO, *COLOURS],
    },
    "numbers as names": {
        "survey": [["type", "name", "label"], ["select_one n", "q", 12], ["select_one sex", "sex", "Sex?"]],
        "choices": [
            ["list_name", "name", "label"],
            *(["n", 1, 10], ["n", 2, 20.5], ["n", 3, None]),
            *(["sex", 1, "Man"], ["sex", 0, "Woman"]),
        ],
    },
    "without choices": {
        "survey": [["type", "name", "label"], ["range", "a", "A?"], ["select_multiple one", "b", "B?"]],
        "choices": [["list_name", "name", "label"], ["one", "only", "Only"]],
    },
}
