"""The package as a whole: what it exports, and how little it loads."""

import inspect
import json
import pydoc
import subprocess
import sys
from importlib import resources

import pytest

import dpstrata as dps

ENGINES = {"scipy", "pandas", "polars", "pyarrow", "python_calamine", "openpyxl", "mpmath", "narwhals"}


def modules_after(code):
    script = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    return {name.partition(".")[0] for name in json.loads(result.stderr.splitlines()[-1])}


def test_importing_is_light():
    loaded = modules_after("import dpstrata")
    assert not loaded & (ENGINES | {"numpy", "pydantic", "typer", "rich"})


def test_help_is_light():
    loaded = modules_after(
        "sys.argv = ['dpstrata', '--help']\nfrom dpstrata.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass"
    )
    assert not loaded & (ENGINES | {"numpy", "pydantic"})


def test_designing_loads_no_extra():
    loaded = modules_after(
        "import dpstrata as dps\ndps.design(dps.Strata([50, 60], [0.1, 0.2]), epsilon=1, total=20)"
    )
    assert not loaded & (ENGINES | {"pydantic", "typer", "rich"})


def test_everything_exported_exists_and_nothing_else_is_public():
    assert dps.__all__ == [
        "CV",
        "SE",
        "Bound",
        "Certificate",
        "Design",
        "DpstrataError",
        "DpstrataWarning",
        "Frame",
        "InfeasibleError",
        "InputError",
        "Kit",
        "Letters",
        "Margin",
        "MissingExtraError",
        "NotAvailableError",
        "PrecisionError",
        "Problem",
        "Published",
        "Question",
        "Questionnaire",
        "QuestionnaireError",
        "Results",
        "Spreads",
        "Strata",
        "StrataError",
        "Translation",
        "__version__",
        "back_up",
        "central_epsilon",
        "certify",
        "choose_range",
        "close_survey",
        "collect_survey",
        "combine_waves",
        "compare_releases",
        "design",
        "draw",
        "draw_sample",
        "estimate",
        "estimate_means",
        "evaluate",
        "find_published",
        "frame_strata",
        "invite",
        "load_design",
        "local_epsilon",
        "main_design",
        "open_frame",
        "pilot",
        "plot",
        "privatize",
        "publish",
        "randomize",
        "remind",
        "report_html",
        "respondent_kit",
        "restore",
        "results_html",
        "sensitivity",
        "simulate",
        "simulate_pilot",
        "solve",
        "solve_epsilon",
        "survey_status",
        "sweep",
        "synthetic_population",
        "verify_draw",
        "write_report",
        "write_results",
    ]
    for name in dps.__all__:
        assert getattr(dps, name) is not None
        assert name in dir(dps)


def test_completion_offers_what_is_public_and_nothing_else():
    for name in dps.__all__:
        getattr(dps, name)  # loads the modules behind it
    assert "dpstrata.fielding.frames" in sys.modules
    offered = {name for name in dir(dps) if not name.startswith("__")}
    assert offered == set(dps.__all__) - {"__version__"}


def public_callables():
    for name in dps.__all__:
        thing = getattr(dps, name)
        if callable(thing):
            yield name, thing
        if inspect.isclass(thing):
            for method, function in inspect.getmembers(thing, inspect.isroutine):
                if not method.startswith("_") and getattr(function, "__module__", "") == thing.__module__:
                    yield f"{name}.{method}", function


def test_help_opens_with_a_readable_signature():
    seen = dict(public_callables())
    assert {"central_epsilon", "design", "Strata", "Strata.from_file", "Design.save"} <= set(seen)
    for name, thing in seen.items():
        for parameter in inspect.signature(thing).parameters.values():
            assert len(str(parameter)) <= 150, f"{name}: {parameter}"
        shown = pydoc.render_doc(thing, renderer=pydoc.plaintext).splitlines()[2]
        assert not any(inner in shown for inner in ("_typing", "<factory>", "<object")), f"{name}: {shown}"


def test_unknown_names_fail_as_python_does():
    with pytest.raises(AttributeError, match="nonsense"):
        dps.nonsense  # noqa: B018


def test_errors_are_also_the_builtins_people_expect():
    assert issubclass(dps.InputError, ValueError)
    assert issubclass(dps.StrataError, dps.InputError)
    assert issubclass(dps.QuestionnaireError, dps.InputError)
    assert issubclass(dps.NotAvailableError, NotImplementedError)
    assert issubclass(dps.MissingExtraError, ImportError)
    assert all(
        issubclass(error, dps.DpstrataError)
        for error in (dps.InputError, dps.NotAvailableError, dps.MissingExtraError, dps.PrecisionError)
    )


def test_a_missing_extra_names_its_install_command(monkeypatch, tmp_path):
    for blocked, ending in (("pyarrow", "parquet"), ("python_calamine", "xlsx")):
        monkeypatch.setitem(sys.modules, blocked, None)
        (tmp_path / f"s.{ending}").write_bytes(b"")
        with pytest.raises(dps.MissingExtraError, match=r"need an extra: pip install 'dpstrata\[files\]'."):
            dps.Strata.from_file(tmp_path / f"s.{ending}")


def test_the_package_is_typed_and_ships_its_example():
    assert resources.files("dpstrata").joinpath("py.typed").is_file()
    assert resources.files("dpstrata").joinpath("examples/four-strata.csv").is_file()
