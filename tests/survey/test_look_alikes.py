"""Names of strata that may mean the same."""

import pytest

from dpstrata.survey.look_alikes import find_look_alikes


@pytest.mark.parametrize(
    "other",
    [
        "pflege",
        "Plege",  # a letter is missing
        "Pfleege",  # one is added
        "Pflebe",  # one is wrong
        "Pfelge",  # two are swapped
        "\u0420flege",  # Cyrillic
        "Pfleg\u03b5",  # Greek
        "Pflege\u200b",
        "Pflége",
    ],
)
def test_slips_and_letters_that_print_alike_are_found(other):
    assert find_look_alikes({"Pflege": 90, other: 2, "Verwaltung": 50}) == [("Pflege", other)]
    assert find_look_alikes({"Pflege": 2, other: 90}) == [(other, "Pflege")]
    assert find_look_alikes({"Station Pflege 3": 90, f"Station {other} 3": 2}) == [
        ("Station Pflege 3", f"Station {other} 3")
    ]


@pytest.mark.parametrize(
    "names",
    [
        ["North 1", "North 2", "North 11"],
        ["A", "B", "AB"],
        ["Gruppe A", "Gruppe B", "Klasse II", "Klasse III"],
        ["North", "South", "North Carolina", "South Carolina"],
        ["<18", ">18", "65", "65+", "-1", "1", "01"],
        ["Nord", "Iran", "Iraq"],
        ["Север", "Юг", "Восток", "Запад"],
    ],
)
def test_names_that_are_alike_by_nature_are_left_alone(names):
    assert find_look_alikes(dict.fromkeys(names, 10)) == []


def test_in_long_lists_only_rare_names_are_slips():
    others = {f"place {number}": 10 for number in range(100)}
    assert find_look_alikes({**others, "Neuburg": 500, "Neuberg": 400}) == []
    assert find_look_alikes({**others, "Neuburg": 500, "Neuberg": 4}) == [("Neuburg", "Neuberg")]
