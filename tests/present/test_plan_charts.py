import json
import re
from itertools import pairwise

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.planning.curves import epsilon_rows, precision_rows
from dpstrata.present.charts.allocations import allocations
from dpstrata.present.charts.plan import budgets_chart, epsilon_chart, parts_chart, precision_chart

pytestmark = pytest.mark.slow

FOUR = dps.Strata([7000, 8000, 9000, 10000], [0.283, 0.08, 0.0226, 0.0064], names=["D", "C", "B", "A"])
CURVE = [
    {"total": n, "standard_error": e, "variance": e * e, "design": design}
    for design, lift in (("this design", 1.0), ("Neyman", 1.2))
    for n, e in ((100, 0.035 * lift), (400, 0.03 * lift), (1000, 0.029 * lift), (9000, 0.05 * lift))
]


def layers(chart, kind):
    return [layer for layer in chart.spec["layer"] if layer["mark"]["type"] == kind]


def texts(chart):
    return re.findall(r"<text[^>]*>([^<]*)</text>", chart.svg())


def many(k, **options):
    draw = np.random.default_rng(1)
    strata = dps.Strata(draw.lognormal(7, 1, k).astype(int) + 50, draw.uniform(0.05, 0.5, k))
    return dps.design(strata, epsilon=1, total=20 * k, **options)


def test_precision_marks_the_best_number_and_where_more_hurt():
    chart = precision_chart(CURVE, best=1000, total=400)
    (shade,) = layers(chart, "rect")
    assert shade["data"]["values"] == [{"total": 1000, "end": 9000}]
    (point,) = layers(chart, "point")
    assert point["data"]["values"][0]["value"] == 0.03
    shown = texts(chart)
    assert "best: 1,000" in shown
    assert "more interviews hurt" in shown
    (line,) = layers(chart, "line")
    assert line["encoding"]["x"]["scale"] == {"type": "log", "nice": False}
    assert line["encoding"]["color"]["scale"]["domain"] == ["this design", "Neyman"]
    assert line["encoding"]["strokeDash"]["sort"] is None
    assert "interviews" in shown
    assert "standard error" in shown


@pytest.mark.parametrize("best", [None, 9000, 20_000])
def test_nothing_is_shaded_where_more_do_not_hurt(best):
    chart = precision_chart(CURVE, best=best, total=400)
    assert not layers(chart, "rect")
    assert not layers(chart, "rule")
    assert "hurt" not in chart.svg()


def test_a_narrow_shade_has_its_note_in_the_subtitle_alone():
    chart = precision_chart(CURVE, best=8000, total=400)
    assert "more interviews hurt" not in texts(chart)
    assert (
        "Beyond 8,000 interviews, more of them reduce precision (shaded)." in chart.spec["title"]["subtitle"]
    )


def test_other_objectives_are_drawn_by_their_value():
    rows = [{**row, "standard_error": None} for row in CURVE]
    chart = precision_chart(rows, best=1000, total=100)
    assert "objective" in texts(chart)
    assert layers(chart, "point")[0]["data"]["values"][0]["value"] == pytest.approx(0.035**2)


def test_the_line_of_the_plan_is_the_first_whatever_the_order_of_totals():
    rows = [{**CURVE[1]}, {**CURVE[2]}, {**CURVE[4]}]  # Neyman's has the smallest total
    (line,) = layers(precision_chart(rows, best=None, total=400), "line")
    assert line["encoding"]["color"]["scale"]["domain"] == ["this design", "Neyman"]


def test_the_own_point_must_be_on_the_line():
    with pytest.raises(dps.InputError, match="must hold the plan's own total, got none with total=401"):
        precision_chart(CURVE, best=1000, total=401)
    with pytest.raises(dps.InputError, match="at least one row"):
        epsilon_chart([], epsilon=1)


def test_a_plan_made_for_its_cost_may_lie_above_the_line():
    chart = precision_chart(CURVE, best=1000, total=401, value=0.04)
    assert layers(chart, "point")[0]["data"]["values"] == [
        {"total": 401, "value": 0.04, "design": "this design"}
    ]


def test_control_characters_in_names_do_not_abort_the_process():
    strata = dps.Strata([700, 900], [0.3, 0.1], names=["a\x01b", "c\ufffe"])
    assert "a\ufffdb" in dps.plot(dps.design(strata, epsilon=1, total=40)).svg()


def test_epsilon_is_on_a_log_axis_with_the_plan_marked():
    rows = [{"epsilon": e, "standard_error": 0.02 / e**0.3} for e in (0.1, 0.5, 1.0, 10.0)]
    chart = epsilon_chart(rows, epsilon=0.5)
    (line,), (rule,), (point,) = (layers(chart, kind) for kind in ("line", "rule", "point"))
    assert line["encoding"]["x"]["scale"]["type"] == "log"
    assert rule["data"]["values"][0]["epsilon"] == point["data"]["values"][0]["epsilon"] == 0.5
    assert "this design" not in texts(chart)  # one line needs no legend


def test_parts_are_in_one_unit_and_add_up_to_the_error_of_every_rival():
    plan = dps.design(FOUR, epsilon=1, total=200, mechanism="laplace")
    chart = parts_chart(plan)
    bars = chart.spec["layer"][0]
    sums = {}
    for row in bars["data"]["values"]:
        sums[row["allocation"]] = sums.get(row["allocation"], 0.0) + row["part"]
    assert list(sums.values()) == pytest.approx([row.standard_error for row in plan.compare()])
    assert bars["encoding"]["x"]["title"] == "standard error of the estimated mean"
    share = plan.variance_parts.privacy / plan.variance
    assert bars["data"]["values"][1]["part"] == pytest.approx(share * plan.standard_error)
    assert {"0.0196", "0.0295"} <= set(texts(chart))
    other = parts_chart(dps.design(FOUR, epsilon=1, total=200, objective="trace"))
    ends = layers(other, "text")[0]["data"]["values"]
    assert [float(row["label"]) for row in ends] == pytest.approx([row["part"] for row in ends], rel=0.01)
    assert other.spec["layer"][0]["encoding"]["x"]["title"] == "objective"
    questions = dps.Questionnaire([dps.Question("a", "yes_no"), dps.Question("b", "scale", lower=1, upper=5)])
    several = dps.design(FOUR, questions=questions, epsilon=1, device_epsilon=3, release="sums", total=200)
    bars = parts_chart(several).spec["layer"][0]
    assert bars["encoding"]["x"]["title"] == "typical standard error, as a share of the range"
    first = sum(row["part"] for row in bars["data"]["values"][:2])
    assert first == pytest.approx(several.standard_error)


def test_scales_do_not_jump_while_a_slider_moves():
    """Ends of axes are round numbers: over small steps of epsilon and of the total they change rarely."""
    ends = {"parts": [], "budgets": [], "allocation": [], "precision": [], "first": [], "epsilon": []}
    steps = range(30)
    for i in steps:
        plan = dps.design(FOUR, epsilon=1.01**i, total=200 + 2 * i, mechanism="laplace")
        rows, best = precision_rows(plan, points=4)
        precise = precision_chart(rows, best=best, total=plan.total, value=plan.precision)
        curve = epsilon_chart(epsilon_rows(plan, points=4), epsilon=1.01**i, value=plan.precision)
        (line,) = layers(precise, "line")
        ends["parts"].append(parts_chart(plan).spec["layer"][0]["encoding"]["x"]["scale"]["domain"][1])
        ends["budgets"].append(budgets_chart(plan).spec["layer"][0]["encoding"]["y"]["scale"]["domain"][1])
        ends["allocation"].append(dps.plot(plan).spec["encoding"]["y"]["scale"]["domain"][1])
        ends["precision"].append(tuple(line["encoding"]["y"]["scale"]["domain"]))
        ends["first"].append(rows[0]["total"])
        ends["epsilon"].append(tuple(layers(curve, "line")[0]["encoding"]["y"]["scale"]["domain"]))
    for name, seen in ends.items():
        jumps = sum(one != other for one, other in pairwise(seen))
        assert jumps <= 2, (name, seen)


def test_one_colour_has_one_meaning():
    """What a series is called decides its colour, on every chart; no colour has two meanings."""
    plan = dps.design(FOUR, epsilon=1, total=200)
    rows, best = precision_rows(plan, points=3)
    questions = dps.Questionnaire([dps.Question("smokes", "yes_no"), dps.Question("votes", "yes_no")])
    asked = dps.design(FOUR, questions=questions, epsilon=1, device_epsilon=4, release="sums", at_most=900)
    charts = [
        dps.plot(plan),
        parts_chart(plan),
        precision_chart(rows, best=best, total=200),
        allocations(plan, {"held plan": plan.sample_sizes, "this plan": plan.sample_sizes}, "Two"),
        dps.plot(asked),
    ]
    colours, meanings = {}, {}
    for chart in charts:
        for layer in chart.spec.get("layer", [chart.spec]):
            scale = layer["encoding"].get("color", {}).get("scale")
            for name, colour in zip(scale["domain"], scale["range"], strict=True) if scale else ():
                meaning = "this design" if name == "this plan" else name
                assert colours.setdefault(meaning, colour) == colour
                assert meanings.setdefault(colour, meaning) == meaning
    assert len(colours) == 8


@pytest.mark.parametrize("k", [13, 40, 41, 401])
def test_beyond_twelve_strata_the_allocation_is_a_multiple_of_neymans(k):
    plan = many(k)
    chart = dps.plot(plan)
    (points,) = layers(chart, "point")
    rows = points["data"]["values"]
    neyman = plan.compare()[1].sample_sizes
    if k <= 400:
        assert [row["ratio"] for row in rows] == pytest.approx(plan.sample_sizes / neyman)
    else:
        assert sum(row["strata"] for row in rows) == k
        assert sum(row["people"] * row["strata"] for row in rows) == pytest.approx(plan.total)
        assert sum(row["beside"] * row["strata"] for row in rows) == pytest.approx(neyman.sum())
    low, high = points["encoding"]["x" if k <= 40 else "y"]["scale"]["domain"]
    assert low * high == pytest.approx(1)  # once as many stands in the middle
    assert low <= min(row["ratio"] for row in rows)
    assert max(row["ratio"] for row in rows) <= high
    assert "as a multiple of Neyman" in chart.spec["description"]
    assert chart.svg().startswith("<svg")


def test_every_chart_says_in_words_what_it_shows():
    plan = dps.design(FOUR, epsilon=1, total=200, local_epsilon_cap=5)
    assert dps.plot(plan).spec["description"].startswith("People invited in every stratum. D: this design ")
    assert "% from privacy; Neyman" in parts_chart(plan).spec["description"]
    assert budgets_chart(plan).spec["description"].endswith("with a cap of 5.")
    precise = precision_chart(CURVE, best=1000, total=400).spec["description"]
    assert precise == (
        "Standard error, from 0.035 at 100 interviews to 0.05 at 9,000 interviews. This plan has 0.03 "
        "with 400 interviews. Beyond 1,000 interviews, more of them reduce precision (shaded)."
    )


def test_budgets_are_those_of_one_answer_with_the_cap():
    plan = dps.design(FOUR, epsilon=1, total=200, local_epsilon_cap=2)
    chart = budgets_chart(plan)
    drawn = [row["budget"] for row in chart.spec["layer"][0]["data"]["values"]]
    assert drawn == pytest.approx(plan.columns()["local_epsilon"])
    assert max(drawn) <= 2
    assert layers(chart, "rule")[0]["data"]["values"] == [{"budget": 2.0}]
    assert "cap 2" in texts(chart)
    assert chart.spec["layer"][0]["encoding"]["x"]["sort"] is None
    assert not layers(budgets_chart(dps.design(FOUR, epsilon=1, total=200)), "rule")


@pytest.mark.parametrize("strata", [12, 60])
def test_the_cap_is_named_inside_the_picture(strata):
    chart = budgets_chart(many(strata, local_epsilon_cap=5))
    note = layers(chart, "text")[0]  # at the right end of its axis, where nothing follows
    assert note["mark"]["text"] == "cap 5"
    assert (note["mark"]["align"], note["mark"]["dx"]) == ("right", -6)


def test_a_promise_without_local_budgets_has_no_such_chart():
    plan = dps.design(FOUR, zcdp=0.5, mechanism="gaussian", total=200)
    with pytest.raises(dps.InputError, match="requires a promise of epsilon"):
        budgets_chart(plan)


def test_many_strata_are_counted_not_drawn_one_by_one():
    plan = many(3000, local_epsilon_cap=5)
    chart = budgets_chart(plan)
    rows = chart.spec["layer"][0]["data"]["values"]
    assert len(rows) <= 30
    assert sum(row["strata"] for row in rows) == 3000
    assert len(layers(dps.plot(plan), "point")[0]["data"]["values"]) <= 30
    assert len(chart.svg()) + len(dps.plot(plan).svg()) + len(parts_chart(plan).svg()) < 150_000


def test_equal_budgets_and_equal_sizes_are_drawn_too():
    plan = dps.design(dps.Strata([700] * 500, [0.3] * 500), epsilon=1, total=5000)
    assert budgets_chart(plan).svg().startswith("<svg")
    assert dps.plot(plan).svg().startswith("<svg")


def test_charts_are_plain_data_and_ask_nothing_of_the_network():
    plan = dps.design(FOUR, epsilon=1, total=200, local_epsilon_cap=5)
    charts = [
        precision_chart(CURVE, best=1000, total=400),
        epsilon_chart([{"epsilon": e, "standard_error": 1 / e} for e in (0.5, 1.0)], epsilon=1),
        parts_chart(plan),
        budgets_chart(plan),
    ]
    for chart in charts:
        json.dumps(chart.spec, allow_nan=False)
        assert "url" not in json.dumps({name: part for name, part in chart.spec.items() if name != "$schema"})
        assert not re.search(r'(href|src)="http', chart.svg())
        assert chart.png().startswith(b"\x89PNG")
