"""Every option is stated once, and everything made from it is there; what was forgotten is named."""

import inspect
import re
from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.cli.options import takes_options
from dpstrata.designs.document_shape import InputsPart, options_json
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.options import OF_STRATA, OPTIONS, RECORDED, Option
from dpstrata.web.requests import Options

ROOT = Path(__file__).parents[2]
ASKED = {"epsilon": 1.0, "total": 200}
OF_QUESTIONNAIRES = ("spreads", "forms")


def forgotten(option: Option) -> list[str]:
    """What an option still lacks; ``Add an option`` in CONTRIBUTING.md says where each belongs."""
    argument = inspect.signature(dps.design).parameters.get(option.name)
    described = re.findall(
        r"^    (\w[\w, ]*) : ", inspect.getdoc(dps.design).replace("\n", "\n    "), re.MULTILINE
    )
    missing = []
    if argument is None:
        missing.append(f"the argument of design called {option.name}")
    elif argument.default != option.default:
        missing.append(f"the default {option.default!r} in the signature of design")
    if option.name not in {name for names in described for name in names.split(", ")}:
        missing.append(f"{option.name} in the docstring of design")
    if not option.sentence.endswith("."):
        missing.append(f"a sentence about {option.name}")
    if option.kind is object and option.take is None:
        missing.append(f"a function that takes what is given for {option.name}")
    return missing


@pytest.mark.parametrize("option", OPTIONS.values(), ids=OPTIONS)
def test_nothing_was_forgotten(option):
    missing = forgotten(option)
    assert not missing, f"{option.name} lacks {', '.join(missing)}; see 'Add an option' in CONTRIBUTING.md"


def test_what_was_forgotten_is_named():
    half = OPTIONS["total"]._replace(name="half", sentence="Half", kind=object)
    named = " ".join(forgotten(half))
    for what in (
        "design called half",
        "half in the docstring",
        "a sentence about half",
        "takes what is given",
    ):
        assert what in named
    assert forgotten(OPTIONS["confidence"]._replace(default=0.9)) == [
        "the default 0.9 in the signature of design"
    ]


def test_the_signature_has_no_other_and_the_same_order():
    names = list(inspect.signature(dps.design).parameters)
    assert [name for name in names if name not in OF_QUESTIONNAIRES] == ["strata", *OPTIONS]
    assert set(OF_QUESTIONNAIRES) <= set(names)


def test_all_that_is_made_from_them_has_them():
    @takes_options()
    def command(strata, options):
        """Take every option."""

    flags = inspect.signature(command).parameters
    of_files = ("strata", "sheet", "leave_out")
    assert [name for name in flags if name not in of_files] == [*OPTIONS, *OF_QUESTIONNAIRES]
    assert list(Options.model_fields) == list(OPTIONS)
    recorded = {*RECORDED, *OF_QUESTIONNAIRES, "default_questions"}
    assert {*InputsPart.model_fields} == recorded
    assert {part.name for part in fields(Inputs) if part.init} == recorded
    assert set(OF_STRATA) == {"response_rate", "proportion", "classes"}


def test_what_the_page_reads_is_current():
    assert (ROOT / "web" / "src" / "options.json").read_text() == options_json(), "run make web and commit"


@pytest.mark.parametrize("option", OPTIONS.values(), ids=OPTIONS)
def test_a_sentence_names_options_that_there_are(option):
    """In backticks: the command line writes them as flags."""
    assert set(re.findall(r"`(\w+)`", option.sentence)) <= set(OPTIONS)
    assert "--" not in option.sentence


BOUNDED = [each for each in OPTIONS.values() if each.number]


@pytest.mark.parametrize("option", BOUNDED, ids=lambda each: each.name)
def test_numbers_are_numbers(option):
    good = option.most or 3
    for given in (good, np.float64(good), Fraction(good), *([np.int64(3)] if good >= 3 else [])):
        taken = option.read(given)
        assert taken == given
        assert type(taken) is option.kind
    for bad in (True, np.True_, "1", [1], 1j, *([] if option.optional else [None])):
        with pytest.raises(
            dps.InputError, match=f"^{option.name} must be a (whole )?number, got {option.name}="
        ):
            option.read(bad)
    with pytest.raises(dps.InputError, match=f"{option.name} must be a number of moderate size"):
        option.read(10**5000)
    if option.whole:
        for bad in (1.5, np.inf, np.nan):
            with pytest.raises(dps.InputError, match=f"{option.name} must be a whole number"):
                option.read(bad)


@pytest.mark.parametrize("option", BOUNDED, ids=lambda each: each.name)
def test_bounds_hold_and_errors_say_which(option):
    step = (
        (lambda bound, by: bound + by)
        if option.whole
        else (lambda bound, by: np.nextafter(bound, by * np.inf))
    )
    for bound, by, words in ((option.least, -1, "be at least|be positive"), (option.most, 1, "be at most")):
        if bound is not None:
            assert option.read(bound) == bound
            outside = step(bound, by)
            with pytest.raises(dps.InputError, match=f"^{option.name} must ({words})") as caught:
                option.read(outside)
            assert (caught.value.argument, caught.value.value) == (option.name, outside)
    if option.above is not None:
        with pytest.raises(dps.InputError, match=f"{option.name} must be above"):
            option.read(option.above)
    if option.least is not None and not option.whole:
        with pytest.raises(dps.InputError):
            option.read(np.nan)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"total": 0}, "total must be at least 1, got total=0."),
        ({"total": 2**62 + 1}, "total must be at most 2^62, got total=4,611,686,018,427,387,905."),
        ({"total": None, "target_se": 0}, "target_se must be positive, got target_se=0."),
        ({"total": None, "target_se": 1e-101}, "target_se must be at least 1e-100, got target_se=1e-101."),
        ({"confidence": 1}, "confidence must be at most 0.999999999, got confidence=1."),
        ({"max_fraction": 0}, "max_fraction must be above 0, got max_fraction=0."),
        ({"release": "x"}, "release must be one of microdata, sums, mean, got release='x'."),
        ({"objective": 3}, "objective must be one of mean, trace, unit_free, custom, got objective=3."),
        ({"clip": 1}, "clip must be True or False, got clip=1."),
        (
            {"domains": {"a": "x"}},
            "a target of domains must be a number with its kind, such as 15%cv, 0.02se or 0.03margin, got "
            "'x' for a.",
        ),
        ({"domains": {"a": {"b": 0}}}, "a target of domains must be positive, got 0 for a=b."),
        (
            {"domains": {"a": 10**400}},
            "a target of domains must be a number of moderate size, got one for a that is not.",
        ),
        (
            {"domains": 3},
            "domains must be column names, or a mapping of column names to targets, got domains=3.",
        ),
        (
            {"min_fraction": 0.5, "max_fraction": 0.1},
            "min_fraction must be at most max_fraction=0.1, got min_fraction=0.5.",
        ),
    ],
)
def test_errors_in_full(change, words):
    with pytest.raises(dps.InputError) as caught:
        Inputs(**{**ASKED, **change})
    assert str(caught.value) == words
    assert caught.value.argument in change


def test_what_is_left_out_has_its_default():
    inputs = Inputs(**ASKED)
    for name, option in RECORDED.items():
        if name not in (*ASKED, "questions"):
            assert getattr(inputs, name) == option.default
    assert inputs.default_questions
    assert inputs.questions == Inputs(**ASKED, questions=(0, 1)).questions
    assert not Inputs(**ASKED, questions=(0, 1)).default_questions


def test_domains_without_targets_can_be_names():
    for given in ("region", ["region"], ("region",), {"region": None}):
        assert Inputs(**ASKED, domains=given).domains == {"region": None}
    for given in ([], {}, None):
        assert Inputs(**ASKED, domains=given).domains is None
