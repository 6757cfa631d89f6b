"""Strata as a notebook shows them; designs are shown in the documentation, whose output is compared."""

import dpstrata as dps
from dpstrata.words.strata import population_table


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
