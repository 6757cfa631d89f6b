"""Strata as a notebook shows them; designs are shown in the documentation, whose output is compared."""

import pytest

import dpstrata as dps
from dpstrata.words.survey import no_such_stratum, population_table


def test_strata_show_the_columns_that_they_have():
    strata = dps.Strata(
        [7000, 800000],
        [0.283, 12345.678],
        ["north", "south"],
        costs=[10, 12.5],
        maxs=[5000, 6000],
        extra={"region": ["N", "S"]},
    )
    table = population_table(strata)
    assert table.title == "2 strata"
    assert table.header == ("stratum", "size", "sd", "cost", "max", "region")
    assert table.rows == [
        ("north", "7,000", "0.283", "10", "5,000", "N"),
        ("south", "800,000", "12,345.7", "12.50", "6,000", "S"),
        ("all", "807,000", "", "", "", ""),
    ]


def test_spreads_from_proportions_name_their_unit():
    table = population_table(dps.Strata([50]).filled(proportion=0.5))
    assert table.title == "1 stratum"
    assert table.header[2] == "sd, in answer ranges"


def test_a_notebook_shows_strata_as_a_table_with_all_text_escaped():
    strata = dps.Strata([5, 6], None, ["<b>", "x"], extra={"<i>": ["<u>", "y"]})
    html = strata._repr_html_()
    assert html.startswith("<div><table>")
    for bare in ("<b>", "<i>", "<u>"):
        assert bare not in html
    assert "&lt;b&gt;" in html
    assert "&lt;i&gt;" in html
    assert "&lt;u&gt;" in html


def test_many_strata_are_counted_not_listed():
    table = population_table(dps.Strata([5] * 45))
    assert len(table.rows) == 41
    assert table.note == "5 more strata are not shown."


def test_strata_are_printed_as_a_table_and_many_in_short():
    assert repr(dps.Strata([5, 6], [0.1, 0.2], ["north", "south"])).splitlines() == [
        "2 strata",
        "  stratum  size   sd",
        "  north       5  0.1",
        "  south       6  0.2",
        "  all        11     ",
    ]
    lines = repr(dps.Strata([5] * 45)).splitlines()
    assert len(lines) == 14
    assert lines[-1] == "  35 more strata are not shown."


def test_a_notebook_shows_evaluations_and_sensitivities():
    strata = dps.Strata([50, 60], [0.1, 0.2], ["<b>", "x"])
    scored = dps.evaluate(strata, [10, 10], epsilon=1)
    doubted = dps.sensitivity(dps.design(strata, epsilon=1, total=20))
    for html in (scored._repr_html_(), doubted._repr_html_()):
        assert html.startswith("<div><table>")
        assert "&lt;b&gt;" in html
        assert "<b>" not in html


def test_an_unknown_option_comes_with_one_that_is_known():
    with pytest.raises(dps.InputError, match=r"a design has no option 'totl'\. Did you mean 'total'\?$"):
        dps.evaluate(dps.Strata([50, 60], [0.1, 0.2]), [10, 10], epsilon=1, totl=20)


def test_an_unknown_stratum_comes_with_the_first_five():
    strata = dps.Strata([50] * 7, names=list("abcdefg"))
    said = no_such_stratum(strata, "z")
    assert said == "the design has no stratum 'z'; it has 'a', 'b', 'c', 'd', 'e' and 2 more."
