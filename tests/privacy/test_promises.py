"""Every kind of promise: nothing is missing, its numbers are the textbook's, and it survives being written."""

import dataclasses
import inspect
import math
import sys
from types import ModuleType

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.privacy import promises
from dpstrata.privacy.promises import PROMISES, Spent, kind_of, promise_of
from dpstrata.privacy.promises.base import Promise
from dpstrata.privacy.promises.epsilon import PureEpsilon
from dpstrata.survey.inputs import Inputs

# option: what asks for such a promise, what the document says of it, and with an epsilon of 0.3 spent before
EXAMPLES = {
    "epsilon": ({"epsilon": 0.8}, {"epsilon": 0.8, "delta": 0.0}, {"epsilon": 1.1, "delta": 0.0}),
    "delta": (
        {"epsilon": 0.8, "delta": 1e-6, "mechanism": "gaussian"},
        {"epsilon": 0.8, "delta": 1e-6},
        {"epsilon": 1.1, "delta": 1e-6},
    ),
    "zcdp": ({"zcdp": 0.5, "mechanism": "gaussian"}, {"zcdp": 0.5, "gdp": None}, {"zcdp": 0.545}),
    "gdp": ({"gdp": 2.0, "mechanism": "gaussian"}, {"zcdp": None, "gdp": 2.0}, None),
}
SIZES, SDS = [700, 800, 900], [0.3, 0.2, 0.1]


def forgotten(option: str) -> list[str]:
    """What a kind of promise still lacks; ``Add a promise`` in CONTRIBUTING.md says where each belongs."""
    kind = kind_of(option)
    missing = [f"{kind.__name__}.{name} (it is abstract)" for name in sorted(kind.__abstractmethods__)]
    missing += [
        f"{kind.__name__}.{name}" for name in ("title", "symbols", "amplified") if not hasattr(kind, name)
    ]
    named = set(getattr(kind, "symbols", ()))
    fields = {part.name for part in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
    missing += [f"{kind.__name__}.symbols[{name!r}]" for name in sorted({option, *fields} - named)]
    missing += [f"a field {name} of {kind.__name__}" for name in sorted({option, *named} - fields)]
    missing += [
        f"{place} {option}"
        for place, names in (
            ("the field of Spent called", Spent.__dataclass_fields__),
            ("the field of Inputs called", Inputs.__dataclass_fields__),
            ("the argument of design called", inspect.signature(dps.design).parameters),
            ("the example in tests/privacy/test_promises.py of", EXAMPLES),
        )
        if option not in names
    ]
    return missing


@pytest.mark.parametrize("option", PROMISES)
def test_nothing_was_forgotten(option):
    missing = forgotten(option)
    assert not missing, f"{option} lacks {', '.join(missing)}; see 'Add a promise' in CONTRIBUTING.md"


def test_what_was_forgotten_is_named(monkeypatch):
    module = ModuleType("dpstrata.privacy.promises.half")
    module.Half = type("Half", (Promise,), {"amplified": False, "symbols": {"other": "other"}})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(promises.PROMISES, "half", "half.Half")
    named = " ".join(forgotten("half"))
    for what in (
        *(
            "Half.sentences",
            "Half.odds_in_words",
            "Half.in_all ",
            "Half.central",
            "Half.fitted",
            "Half.title",
        ),
        *(
            "Half.symbols['half']",
            "a field other",
            "Spent called half",
            "Inputs called",
            "design called",
            "of half",
        ),
    ):
        assert what in named


@pytest.mark.parametrize("option", PROMISES)
def test_a_design_says_and_keeps_it(option, tmp_path):
    asked, central, in_all = EXAMPLES[option]
    strata = dps.Strata(SIZES, SDS, sd_sources=["confidential"] * 3, sd_epsilons=[0.3] * 3)
    plan = dps.design(strata, total=150, **asked)
    promise = plan.inputs.promise
    assert type(promise) is kind_of(option)
    assert plan.privacy["central"] == central
    assert plan.privacy["central_in_all"] == (in_all and pytest.approx(in_all))
    assert promise.in_words in repr(plan)
    for text in (plan.privacy["in_words"], promise.odds_in_words(in_all, both_waves=False)):
        assert text.endswith(".")
        assert "None" not in text
    assert (plan.privacy["local"] is None) == np.isnan(plan.local_epsilons).all() == (not promise.amplified)
    assert np.isnan(plan.central_epsilons).all() == math.isnan(promise.central_epsilon)
    assert np.isfinite(plan.noise_sds).all()
    plan.save(tmp_path / "design.json")
    again = dps.load_design(tmp_path / "design.json")
    assert (again.inputs.promise, again.digest) == (promise, plan.digest)


@pytest.mark.parametrize("option", PROMISES)
def test_releases_add_up(option):
    """One and nothing is one, two are more than one, at most twice as much, and all of it is said."""
    asked, _, _ = EXAMPLES[option]
    spent = Inputs(total=9, **asked).promise.spent
    assert Spent.added([]) == Spent()
    assert Spent.added([spent, Spent()]) == spent
    once, twice = getattr(spent, option), getattr(Spent.added([spent, spent]), option)
    assert once < twice <= 2 * once
    assert f"{kind_of(option).symbols[option]} = " in spent.in_words


def test_which_promise_is_meant():
    def of(**options):
        return promise_of(Inputs(total=9, **options))

    assert of(epsilon=1) == of(epsilon=1, delta=0) == PureEpsilon(1.0)
    assert of(epsilon=1, delta=1e-6, mechanism="gaussian") != PureEpsilon(1.0)
    for value in (0, 1e-7, 101, math.inf, math.nan):
        with pytest.raises(dps.InputError, match="epsilon must lie between 1e-06 and 100"):
            of(epsilon=value)
    for value in (-1e-9, 1, math.nan):
        with pytest.raises(dps.InputError, match="delta must be at least 0 and below 1"):
            of(epsilon=1, delta=value, mechanism="gaussian")


@pytest.mark.parametrize("option", [name for name in PROMISES if not kind_of(name).amplified])
def test_constant_noise_depends_on_no_epsilon(option, monkeypatch):
    """The unit in which terms are written makes no difference, to the last digit."""
    asked, _, _ = EXAMPLES[option]

    def figures():
        plan = dps.design(
            dps.Strata(SIZES, SDS, response_rates=[0.9, 0.7, 0.5]), total=150, objective="trace", **asked
        )
        return plan.sample_sizes.tolist(), plan.variance, plan.noise_sds.tolist(), plan.certificate

    before = figures()
    monkeypatch.setattr(Promise, "odds_minus_one", 7.3)
    assert figures() == before
