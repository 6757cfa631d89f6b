"""Every form of release: nothing is missing, its variance is the textbook's, and simulations agree."""

import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import get_args

import mpmath
import numpy as np
import pytest

import dpstrata as dps
from dpstrata.allocation.response import expected_inverse
from dpstrata.allocation.variances import stratum_variances
from dpstrata.errors import Sentence
from dpstrata.fielding.estimate import READERS
from dpstrata.fielding.releases import FIELDINGS
from dpstrata.present.report.tables import options_table
from dpstrata.present.report.words import noise_in_words
from dpstrata.survey import releases
from dpstrata.survey.releases import OPTION, RELEASES, ReleaseName, kind_of
from dpstrata.survey.releases.base import Release
from dpstrata.survey.releases.sums import Sums
from problems import MECHANISMS, RELEASED, is_additive, make_problem, plain_term

WORDS = [name for name, kind in inspect.get_annotations(Release).items() if kind == "ClassVar[str]"]
OPTIONS_PAGE = Path(__file__).parents[2] / "docs" / "reference" / "options.md"


def forgotten(name: str) -> list[str]:
    """What a form of release still lacks; ``Add a release`` in CONTRIBUTING.md says where each belongs."""
    kind = kind_of(name)
    missing = [f"{kind.__name__}.{part} (it is abstract)" for part in sorted(kind.__abstractmethods__)]
    stated = (*WORDS, "noise_power", "shows_spread")
    missing += [f"{kind.__name__}.{part}" for part in stated if not hasattr(kind, part)]
    if getattr(kind, "name", None) != name:
        missing.append(f"{kind.__name__}.name = {name!r}")
    offers = kind.alternatives.__func__ is not Release.alternatives.__func__
    if offers and kind.suggestion is Release.suggestion:
        missing.append(f"{kind.__name__}.suggestion")
    missing += [
        f"{name!r} in {place}"
        for place, known in (
            ("ReleaseName", get_args(ReleaseName)),
            ("the docstring of design", dps.design.__doc__ or ""),
            ("docs/reference/options.md", OPTIONS_PAGE.read_text()),
            ("FIELDINGS of fielding/releases.py", FIELDINGS),
            ("READERS of fielding/estimate.py", READERS),
            ("RELEASED of tests/problems.py", RELEASED),
        )
        if name not in known
    ]
    return missing


@pytest.mark.parametrize("name", RELEASES)
def test_nothing_was_forgotten(name):
    missing = forgotten(name)
    assert not missing, f"{name} lacks {', '.join(missing)}; see 'Add a release' in CONTRIBUTING.md"
    assert sorted(get_args(ReleaseName)) == sorted(RELEASES)


def test_what_was_forgotten_is_named(monkeypatch):
    module = ModuleType("dpstrata.survey.releases.half")
    module.Half = type("Half", (Release,), {"alternatives": classmethod(lambda cls, plan: [])})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(releases.RELEASES, "half", ("half.Half", "half of the people"))
    named = ", ".join(forgotten("half"))
    for what in (
        *(f"Half.{word}" for word in ("against_the_office", "seen_in_words", "cautions", "suggestion")),
        *(
            "Half.noise_power",
            "Half.shows_spread",
            "Half.name = 'half'",
            "'half' in FIELDINGS of fielding/releases.py",
            "'half' in READERS of fielding/estimate.py",
        ),
        *(f"Half.{word}" for word in ("who_noises", "noise_goes_to", "assumption")),
        *(f"Half.{word}" for word in ("noise_sd_of", "published", "published_one", "to_know")),
        *("in ReleaseName", "docstring of design", "options.md", "RELEASED"),
    ):
        assert what in named
    assert "Half.in_title" not in named  # it has a default


# --- mathematics ----------------------------------------------------------------------------------


# release and device budget; where one goes with the other, every mechanism that fits
FORMS = [("microdata", None), ("sums", None), ("sums", 3.0), ("sums", 0.2)]
ONCE = [("mean", None), ("mean", 3.0)]  # no noise in the terms: see allocation/solvers/test_single_mean.py


def fits(release, device, mechanism, steps):
    if device is not None:
        return mechanism != "category_response"
    return release == "microdata" or is_additive(mechanism, steps)


def cases():
    for release, device in FORMS:
        for mechanism, steps in MECHANISMS:
            if fits(release, device, mechanism, steps):
                yield release, device, mechanism, steps


def problem_of(release, device, mechanism, steps, **more):
    options = {"epsilon": 0.7, "total": 60, "objective": "custom", "coefficients": [1.0, -2.0, 0.5]}
    return make_problem(
        [70, 800, 10_000],
        [0.28, 0.0, 0.3],
        mechanism=mechanism,
        steps=steps,
        release=release,
        device_epsilon=device,
        **options | more,
    )


@pytest.mark.parametrize("rates", [None, [0.3, 0.6, 1.0]])
@pytest.mark.parametrize(("release", "device", "mechanism", "steps"), list(cases()))
def test_the_term_is_the_textbooks(release, device, mechanism, steps, rates):
    """Values, gains, their bound and both derivatives, in double precision and exactly."""
    problem = problem_of(release, device, mechanism, steps, response_rates=rates)
    terms = problem.terms
    n = np.array([9.0, 40.0, 700.0])
    gains, errors, values = terms.gain(n), terms.gain_error(terms.gain(n)), terms.values(n)
    W, H = terms.curve(n)
    tilts = terms.tilts if terms.tilts is not None else np.zeros(3)
    with mpmath.workdps(120):
        for i in range(3):
            m = int(n[i])
            f = [plain_term(problem, i, mpmath.mpf(m + j)) for j in (0, 1)]
            assert abs(terms.exact_value(i, m) - f[0]) <= f[0] * mpmath.mpf(10) ** -90
            assert values[i] == pytest.approx(float(f[0]), rel=1e-12)
            origin = mpmath.mpf(terms.origin)
            assert abs(gains[i] - (f[0] - f[1] + origin)) <= errors[i] + 1e-13 * terms.origin
            slope, bend = (mpmath.diff(lambda x, i=i: plain_term(problem, i, x), m, k) for k in (1, 2))
            assert terms.scale[i] * W[i] / m**2 - tilts[i] == pytest.approx(float(-slope), rel=1e-9)
            assert terms.scale[i] * H[i] / m**3 == pytest.approx(float(bend), rel=1e-9)


@pytest.mark.parametrize("rates", [None, [0.3, 0.6, 1.0]])
@pytest.mark.parametrize(("release", "device"), FORMS)
def test_reported_variances_are_those_of_the_term(release, device, rates):
    problem = problem_of(release, device, "laplace", None, response_rates=rates)
    sizes, a = np.array([9, 40, 700]), problem.terms.coefficients
    sampling, privacy = stratum_variances(problem, sizes, finite_population=False, planned=True)
    assert (a**2 * (sampling + privacy)).sum() == pytest.approx(problem.objective(sizes), rel=1e-12)
    _, privacy = stratum_variances(problem, sizes, finite_population=False)
    answers = 1.0 if release == "sums" else sizes
    if release == "microdata" and rates is not None:
        answers = 1 / expected_inverse(problem.terms.sizes, np.array(rates), sizes, squared=False)
    released = problem.forms.released_variances(problem.terms, sizes.astype(float))
    assert released == pytest.approx(privacy * answers)


@pytest.mark.parametrize(("release", "device"), FORMS)
@pytest.mark.parametrize("seed", range(20))
def test_designs_are_the_best_there_are(release, device, seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, 12, 3)
    names = [(name, steps) for name, steps in MECHANISMS if fits(release, device, name, steps)]
    mechanism, steps = names[rng.integers(len(names))]
    problem = make_problem(
        sizes,
        rng.uniform(0, 0.5, 3),
        epsilon=float(10 ** rng.uniform(-2, 1)),
        total=int(rng.integers(3, sizes.sum())),
        mechanism=mechanism,
        steps=steps,
        release=release,
        device_epsilon=device,
        objective=str(rng.choice(["mean", "trace"])),
        response_rates=None if seed % 2 else rng.uniform(0.3, 1.0, 3),
    )
    exact, exhaustive = (dps.solve(problem, method=method) for method in ("exact", "exhaustive"))
    assert problem.objective(exact.sizes) == pytest.approx(problem.objective(exhaustive.sizes), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [None, 0.6])
@pytest.mark.parametrize(("release", "device"), FORMS + ONCE)
def test_simulations_cost_what_was_planned(release, device, rate):
    rates = None if rate is None else [rate] * 2
    strata = dps.Strata([600, 900], [0.3, 0.1], response_rates=rates)
    mechanism = "laplace" if (release, device) == ("mean", None) else "staircase"
    plan = dps.design(
        strata, epsilon=1, total=60, mechanism=mechanism, release=release, device_epsilon=device
    )
    result = dps.simulate(plan, dps.synthetic_population(plan), replications=8000, seed=2)
    assert abs(result.bias) <= 4 * result.bias_error
    assert abs(result.variance_z) <= 4
    assert abs(result.variance - 1.1 * plan.variance) > 4 * result.variance_error  # 10% would be noticed


# --- words and JSON -------------------------------------------------------------------------------


PURE = {"epsilon": 1, "mechanism": "laplace"}
APPROXIMATE = {"epsilon": 1, "delta": 1e-6, "mechanism": "gaussian"}
CONSTANT = {"gdp": 1, "mechanism": "gaussian"}


@pytest.mark.parametrize(
    ("name", "device", "promise"),
    [(*form, PURE) for form in (*FORMS, *ONCE)]
    + [(name, None, promise) for name in ("microdata", "sums") for promise in (APPROXIMATE, CONSTANT)],
)
def test_a_design_says_what_is_released(name, device, promise, tmp_path):
    plan = dps.design(
        dps.Strata([700, 900], [0.3, 0.1]),
        total=60,
        device_epsilon=device,
        **promise,
        **{OPTION: name},
    )
    release, privacy = plan.inputs.release_form, plan.privacy
    assert type(release) is kind_of(name)
    assert release.facts.items() <= privacy.items()
    assert release.assumption in privacy["assumptions"]
    said = release.always_against_the_office()
    if plan.inputs.promise.amplified:
        said = release.against_the_office(float(plan.local_epsilons.max()))
    assert len(privacy["sentences"]) == 3
    assert tuple(privacy["sentences"][1:]) == said
    assert all(words in privacy["in_words"] for words in said)
    assert ("who noises", release.who_noises) in options_table(plan).rows
    assert f"noise sd is that of {release.noise_sd_of}." in noise_in_words(plan)
    assert release.noise_goes_to in noise_in_words(plan)
    assert f"noise{release.in_title}\n" in str(plan)
    for words in (*said, *release.cautions(plan.local_epsilons)):
        assert words[0].isupper()
        assert "None" not in words
    plan.save(tmp_path / "design.json")
    again = dps.load_design(tmp_path / "design.json")
    assert (again.inputs.release_form.name, again.digest) == (name, plan.digest)
    assert again.inputs.device_epsilon == device


def test_a_suggestion_mentions_its_options():
    words = {"gives": "the standard error 1 instead of 2", "noise": " with Laplace noise"}
    for release, mentioned in (
        (Sums(), ["release='sums'"]),
        (Sums(4.5, "laplace"), ["release='sums'", "device_epsilon=4.5"]),
    ):
        before, after = (release.suggestion(too_late=late, **words) for late in (False, True))
        assert isinstance(before, Sentence)
        assert [str(mention) for mention in before.mentions] == mentioned
        for sentence in (before, after):
            assert words["gives"] in sentence
            assert words["noise"] in sentence


def test_options_that_do_not_go_with_a_release_are_left_out_when_it_is_suggested():
    plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=60, local_epsilon_cap=3)
    offered = [
        (each.release, each.device_epsilon, each.local_epsilon_cap) for each in Sums.alternatives(plan)
    ]
    assert offered == [("sums", 3.0, None), ("sums", None, None)]
