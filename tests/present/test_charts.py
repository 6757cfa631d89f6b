import json

import pytest

import dpstrata as dps
from dpstrata.present.charts.chart import Chart, lines
from dpstrata.present.charts.plot import noise_chart


def make_plan(k=4):
    names = [f"{chr(90 - i % 26)}{i}" for i in range(k)]  # not in alphabetical order
    return dps.design(
        dps.Strata([700 + 10 * i for i in range(k)], [0.3] * k, names=names), epsilon=1, total=20 * k
    )


def test_strata_keep_their_order():
    spec = dps.plot(make_plan()).spec
    assert spec["encoding"]["x"]["sort"] is None
    first = [row["stratum"] for row in spec["data"]["values"]][:4]
    assert first == list(make_plan().strata.names)
    svg = dps.plot(make_plan()).svg()
    places = [svg.index(f">{name}<") for name in first]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("ending", "start"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("json", b"{")]
)
def test_export_without_a_browser(tmp_path, ending, start):
    path = tmp_path / f"chart.{ending}"
    dps.plot(make_plan()).save(path)
    assert path.read_bytes().startswith(start)
    with pytest.raises(dps.InputError, match="a chart file must end in"):
        dps.plot(make_plan()).save(tmp_path / "chart.bmp")


def test_a_notebook_gets_a_picture_and_the_definition():
    bundle = dps.plot(make_plan())._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<svg")
    assert json.dumps(bundle["application/vnd.vegalite.v6+json"])


def test_log_axes_are_not_padded_and_mark_powers_of_ten():
    rows = [{"x": x, "y": y, "s": s} for s in ("b", "a") for x, y in ((0.02, 3), (70, 4))]
    spec = lines(rows, x=("x", "x"), y=("y", "y"), series=("s", "s"), title="t").spec
    x = spec["encoding"]["x"]
    assert x["scale"] == {"type": "log", "nice": False}
    assert x["axis"]["values"] == [0.1, 1.0, 10.0]
    assert spec["encoding"]["color"]["scale"]["domain"] == ["b", "a"]
    # told apart without colour too
    assert len({str(dash) for dash in spec["encoding"]["strokeDash"]["scale"]["range"]}) == 2


def test_a_mechanism_looks_the_same_on_every_chart_of_noise():
    seen = {}
    for answers in ((0, 1), "yes_no", (0, 10, 1)):
        encoding = noise_chart(answers).spec["encoding"]
        colours, dashes = (encoding[channel]["scale"] for channel in ("color", "strokeDash"))
        assert colours["domain"] == dashes["domain"]
        for title, *look in zip(colours["domain"], colours["range"], dashes["range"], strict=True):
            assert seen.setdefault(title, look) == look
    assert len(seen) >= 6
    assert len({str(look) for look in seen.values()}) == len(seen)


def test_names_cannot_break_out_of_the_picture():
    strata = dps.Strata([700, 900], [0.3, 0.1], names=["<script>alert(1)</script>", "b & c"])
    svg = dps.plot(dps.design(strata, epsilon=1, total=40)).svg()
    assert "<script" not in svg


def test_a_missing_extra_names_its_install_command(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(
        dps.MissingExtraError, match=r"charts need an extra: pip install 'dpstrata\[charts\]'"
    ):
        Chart({}).svg()


def test_long_names_get_room():
    names = [f"a rather long name of stratum number {i}" for i in range(5)]
    chart = dps.plot(dps.design(dps.Strata([700] * 5, [0.3] * 5, names=names), epsilon=1, total=100))
    assert chart.spec["encoding"]["y"]["field"] == "stratum"
    svg = chart.svg()
    assert all(name in svg for name in names)


@pytest.mark.parametrize(
    ("low", "high", "marks"),
    [
        (121, 2916, [200, 500, 1000, 2000]),
        (0.5, 10, [0.5, 1, 2, 5, 10]),
        (100, 10_000, [100, 1000, 10_000]),
        (0.001, 0.003, []),
    ],
)
def test_a_log_axis_of_few_decades_has_marks_that_do_not_touch(low, high, marks):
    rows = [{"x": x, "y": x, "s": "a"} for x in (low, high)]
    spec = lines(rows, x=("x", "x"), y=("y", "y"), series=("s", "s"), title="t").spec
    assert spec["encoding"]["x"].get("axis", {"values": []})["values"] == marks


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(dps.InputError, match="log axis needs positive numbers"):
        lines([{"x": 0, "y": 1, "s": "a"}], x=("x", "x"), y=("y", "y"), series=("s", "s"), title="t")
    with pytest.raises(dps.InputError, match="at least one row"):
        lines([], x=("x", "x"), y=("y", "y"), series=("s", "s"), title="t")
