"""The range of an amount: the checkpoint, both aims by brute force, and results that say what they estimate."""

import csv
import json

import mpmath as mp
import numpy as np
import pytest

import commands
import dpstrata as dps
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms import get_mechanism
from surveys import microdata

STAIRCASE = {"mechanism": "staircase", "local_epsilon": 3}


def test_the_checkpoint():
    """Lognormal(0, 1), staircase, 1,000 answers at 3: the optimality condition solved in mpmath."""
    found = dps.choose_range("lognormal:0:1", sample_size=1000, aim="least_error", **STAIRCASE)
    with mp.workdps(30):
        c = get_mechanism("staircase", AnswerSpace()).exact_variance(mp.mpf(3))
        Phi, mean = mp.ncdf, mp.exp(mp.mpf(1) / 2)

        def condition(U):
            above = 1 - Phi(mp.log(U))
            B = mean * (1 - Phi(mp.log(U) - 1)) - U * above
            return 1000 * B * above - above * (U - (mean - B)) - c * U

        upper = mp.findroot(condition, (4, 12), solver="anderson")
        bias = (mean * (1 - Phi(mp.log(upper) - 1)) - upper * (1 - Phi(mp.log(upper)))) / mean
    assert found.upper == pytest.approx(float(upper), rel=1e-10)
    assert round(found.upper, 3) == 8.195
    assert found.chosen.relative_bias == pytest.approx(float(bias), rel=1e-9)
    assert round(100 * found.chosen.relative_bias, 1) == 4.7
    assert 0.6 < found.chosen.bias_in_errors < 0.7


@pytest.mark.parametrize("prior", ["lognormal:0:1", "lognormal:7.5:0.8", "gamma:2:1500", "values"])
@pytest.mark.parametrize(("sample_size", "local_epsilon"), [(30, 1.0), (1000, 3.0), (100_000, 8.0)])
def test_both_aims_are_the_best_of_a_grid(prior, sample_size, local_epsilon):
    reference = np.random.default_rng(7).gamma(1.5, 40.0, 500) + 3.0
    given = reference if prior == "values" else prior
    options = {"sample_size": sample_size, "local_epsilon": local_epsilon}
    trusted, least = (dps.choose_range(given, aim=aim, **options) for aim in ("trusted", "least_error"))
    assert trusted.chosen == least.other
    assert trusted.other == least.chosen
    ends = least.upper * np.exp(np.linspace(-3, 3, 3001))
    errors = [least.at(upper).root_mean_square_error for upper in ends]
    assert least.chosen.root_mean_square_error <= min(errors) * (1 + 1e-12)
    assert trusted.chosen.bias_in_errors <= 0.25
    assert trusted.at(trusted.upper * (1 - 1e-9)).bias_in_errors > 0.25 - 1e-6
    wider = [trusted.at(upper).bias_in_errors for upper in trusted.upper * np.linspace(1, 20, 200)]
    assert max(wider) <= 0.25 + 1e-9


def test_bias_and_error_are_what_a_survey_would_have():
    """Simulated: clip, noise, average. The chance of a false alarm is that of 6 standard errors."""
    found = dps.choose_range("lognormal:0:1", sample_size=400, **STAIRCASE)
    generator, repeats = np.random.default_rng(19), 4000
    amounts = np.exp(generator.normal(size=(repeats, 400)))
    shares = np.minimum(amounts, found.upper) / found.upper
    noise = get_mechanism("staircase", AnswerSpace())
    means = found.upper * np.array([noise.simulated_release(row, 3.0, generator).mean() for row in shares])
    error = found.chosen.standard_error
    assert abs(means.mean() - found.chosen.clipped_mean) < 6 * error / np.sqrt(repeats)
    assert abs(means.std() / error - 1) < 6 / np.sqrt(2 * repeats) * 1.2
    truth = np.exp(0.5)
    held = np.mean(np.abs(means - truth) <= 1.96 * error)
    assert held > 0.943 - 6 * np.sqrt(0.943 * 0.057 / repeats)


@pytest.mark.parametrize(
    "prior",
    ["lognormal:200:10", "lognormal:-200:0.001", "gamma:0.001:1e80", "gamma:1000000:1e-80", [-5.0, 3.0, 1e6]],
)
@pytest.mark.parametrize(("sample_size", "local_epsilon"), [(1, 1e-6), (2**62, 100.0)])
def test_nothing_overflows(prior, sample_size, local_epsilon):
    options = {"sample_size": sample_size, "local_epsilon": local_epsilon, "lower": -5}
    found = dps.choose_range(prior, **options)
    assert -5 < found.upper < np.inf
    assert -5 < found.other.upper < np.inf
    assert found.chosen.bias_in_errors <= 0.25 + 1e-9
    assert "clipped to" in repr(found)


def test_units_scale_the_range():
    euro, cent = (
        dps.choose_range(f"gamma:2:{scale}", sample_size=500, local_epsilon=2) for scale in (1500, 150_000)
    )
    assert cent.upper == pytest.approx(100 * euro.upper, rel=1e-9)
    assert cent.chosen.bias_in_errors == pytest.approx(euro.chosen.bias_in_errors)


def test_the_best_noise_is_the_least():
    found = dps.choose_range("lognormal:0:1", sample_size=1000, local_epsilon=3)
    for name in ("laplace", "staircase", "piecewise", "tulap"):
        other = dps.choose_range("lognormal:0:1", sample_size=1000, local_epsilon=3, mechanism=name)
        assert found.at(8.0).standard_error <= other.at(8.0).standard_error * (1 + 1e-12)


def test_the_lower_end_counts():
    wide = dps.choose_range("lognormal:0:1", sample_size=1000, lower=-50, **STAIRCASE)
    narrow = dps.choose_range("lognormal:0:1", sample_size=1000, **STAIRCASE)
    assert wide.lower == -50
    assert wide.chosen.standard_error > 2 * narrow.chosen.standard_error


@pytest.mark.parametrize("release", [{}, {"release": "sums"}, {"release": "mean", "device_epsilon": 4.0}])
@pytest.mark.parametrize("rate", [None, 0.6])
def test_a_first_design_gives_answers_and_noise(release, rate):
    """One stratum with the prior's own spread: the standard error is that of the design with the range."""
    reference = np.random.default_rng(2).gamma(2.0, 1500.0, 5000)
    sd = float(reference.std())

    def plan(upper):
        people = dps.Strata(sizes=[10**7], sds=[sd])
        options = {"epsilon": 1.0, "total": 900, "questions": (0, upper), "mechanism": "laplace"}
        return dps.design(people, **options, **release, response_rate=rate)

    found = dps.choose_range(reference, plan=plan(20_000.0))
    assert found.sample_size == (900 if rate is None else 540)
    beyond = float(reference.max()) * 1.5
    assert found.at(beyond).standard_error == pytest.approx(plan(beyond).standard_error, rel=0.003)
    again = dps.choose_range(reference, plan=plan(found.upper))
    assert again.upper == pytest.approx(found.upper, rel=1e-4)


def test_a_design_says_it_all_or_nothing_does():
    plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40, questions=(0, 1))
    for given in ({"sample_size": 9}, {"local_epsilon": 1.0}, {"mechanism": "laplace"}):
        with pytest.raises(
            dps.InputError, match=f"^{next(iter(given))} follows from plan and cannot be given"
        ):
            dps.choose_range("gamma:2:1", plan=plan, **given)
    for given in ({}, {"sample_size": 9}, {"local_epsilon": 1.0}):
        with pytest.raises(
            dps.InputError, match=r"^choose_range needs sample_size and local_epsilon, or plan"
        ):
            dps.choose_range("gamma:2:1", **given)
    trace = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40, objective="trace")
    for bad in (trace, dps.design(dps.Strata([700], [0.3]), epsilon=1, total=40, questions=["a", "b", "c"])):
        with pytest.raises(dps.InputError, match=r"^plan must estimate the population mean of one number"):
            dps.choose_range("gamma:2:1", plan=bad)
    with pytest.raises(dps.InputError, match=r"^plan must be a Design, got plan='str'"):
        dps.choose_range("gamma:2:1", plan="design.json")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_size": 0}, "sample_size must be at least 1, got sample_size=0."),
        ({"sample_size": 1.5}, "sample_size must be a whole number, got sample_size=1.5."),
        ({"local_epsilon": 0}, "local_epsilon must be from 1e-6 to 100, got local_epsilon=0."),
        ({"local_epsilon": np.nan}, "local_epsilon must be from 1e-6 to 100, got local_epsilon=nan."),
        ({"lower": 5}, "lower must be at most 0, the smallest amount that is expected, got lower=5."),
        ({"aim": "both"}, "aim must be one of trusted, least_error, got aim='both'."),
        ({"column": "income"}, "column needs a file of reference values."),
        ({"mechanism": "gauss"}, "mechanism must be one of sine, "),
        ({"prior": "excess:3"}, "prior must say how amounts are distributed "),
        (
            {"prior": "uniform:0:1"},
            "prior must be lognormal:MU:SIGMA, gamma:SHAPE:SCALE or a file of reference values, got",
        ),
    ],
)
def test_what_cannot_be_used_is_refused(options, message):
    given = {"prior": "lognormal:0:1", "sample_size": 100, "local_epsilon": 3.0, **options}
    with pytest.raises(dps.InputError) as refused:
        dps.choose_range(given.pop("prior"), **given)
    assert str(refused.value).startswith(message)
    with pytest.raises(dps.InputError, match=r"^upper must be above 0, got upper=0"):
        dps.choose_range("lognormal:0:1", sample_size=10, local_epsilon=1).at(0)


def test_a_file_of_reference_values(tmp_path):
    path = tmp_path / "incomes.csv"
    path.write_text("region,income\nnorth,1200\nsouth,\nsouth,3400.5\nnorth,900\n")
    found = dps.choose_range(path, sample_size=50, local_epsilon=3, column="income")
    same = dps.choose_range([1200, 3400.5, 900], sample_size=50, local_epsilon=3)
    assert found.upper == same.upper
    assert found.stated_prior(2000) == f"excess:{1400.5 / 3:.6g}"
    with pytest.raises(dps.InputError, match=r"^column must name .* got incomes.csv with region, income\.$"):
        dps.choose_range(str(path), sample_size=50, local_epsilon=3)
    with pytest.raises(dps.InputError, match="has no column 'wage'; it has 'region', 'income'"):
        dps.choose_range(path, sample_size=50, local_epsilon=3, column="wage")
    with pytest.raises(dps.InputError, match=r"incomes.csv, line 2: column 'region' must hold numbers\.$"):
        dps.choose_range(path, sample_size=50, local_epsilon=3, column="region")


@pytest.mark.slow
def test_the_command_writes_what_the_library_finds(tmp_path):
    flags = ("choose-range", "lognormal:7.5:0.8", "--sample-size", 1000, "--local-epsilon", 4)
    found = dps.choose_range("lognormal:7.5:0.8", sample_size=1000, local_epsilon=4)
    result = commands.run(tmp_path, *flags, "--json", "--out", "ranges.csv")
    assert json.loads(result.stdout) == found.to_dict()
    with (tmp_path / "ranges.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["aim"] for row in rows] == ["trusted", "least_error"]
    assert float(rows[0]["upper"]) == found.upper
    shown = " ".join(commands.run(tmp_path, *flags).stdout.split())
    assert "the mean of unlimited answers is expected to be 25.9 higher." in shown
    refused = commands.run(tmp_path, *flags, "--lower", 5)
    assert refused.returncode == 2
    assert refused.stderr == (
        "Error: --lower must be at most 0, the smallest amount that is expected, got --lower 5.\n"
    )


# --- the prior of a design --------------------------------------------------------------------------

STRATA = dps.Strata(sizes=[7000, 8000], sds=[2000.0, 2500.0])
CLIPPED = {"epsilon": 1.0, "total": 200, "questions": (0, 12_000), "clip": True}
SAID = (
    "Under a lognormal prior with median 1,808 and mean 2,490, the mean of unlimited answers is 38.2 higher "
    "than the mean of answers clipped to 0–12,000."
)


def test_every_result_says_how_much_higher_the_unlimited_mean_is(tmp_path):
    plan = dps.design(STRATA, **CLIPPED, prior="lognormal:7.5:0.8")
    z = (mp.log(12_000) - 7.5) / 0.8
    beyond = mp.exp(7.5 + 0.32) * mp.ncdf(0.8 - z) - 12_000 * mp.ncdf(-z)
    assert f"{float(beyond):.1f}" == "38.2"
    assert SAID in repr(plan)
    assert SAID in dps.report_html(plan)
    plan.save(tmp_path / "design.json")
    assert dps.load_design(tmp_path / "design.json") == plan
    names = [name for name, n in zip(plan.strata.names, plan.sample_sizes, strict=True) for _ in range(n)]
    answers = np.random.default_rng(3).uniform(0, 9000, plan.total)
    result = dps.estimate_means(plan, names, answers)
    assert SAID in result.notes
    assert SAID in repr(result)


def test_a_prior_changes_no_number():
    with_prior, without = (
        dps.design(STRATA, **CLIPPED, **stated) for stated in ({"prior": "gamma:2:1500"}, {})
    )
    assert with_prior.sample_sizes.tolist() == without.sample_sizes.tolist()
    assert with_prior.variance == without.variance
    assert without.to_dict()["inputs"]["prior"] is None
    assert without.inputs.unlimited_in_words is None


def test_a_stated_excess_is_repeated():
    plan = dps.design(STRATA, **CLIPPED, prior="excess:41.2")
    assert plan.inputs.unlimited_in_words == (
        "Under the reference used for planning, the mean of unlimited answers is 41.2 higher than the mean of "
        "answers clipped to 0–12,000."
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clip": False}, r"^prior requires clip\.$"),
        (
            {"questions": (500, 9000)},
            r"^questions must start at 0 or below where prior is gamma:2:1500, got 500 to 9,000",
        ),
        ({"prior": "gamma"}, "^prior must be lognormal:MU:SIGMA"),
    ],
)
def test_a_prior_must_fit(options, message):
    with pytest.raises(dps.InputError, match=message):
        dps.design(STRATA, **{**CLIPPED, "prior": "gamma:2:1500", **options})


def test_both_waves_of_a_pilot_say_it_once():
    options = {**CLIPPED, "total": 400, "pilot_epsilon": 0.4, "pilot_total": 100}
    first = dps.pilot(STRATA, **options, prior="lognormal:7.5:0.8")
    rng = np.random.default_rng(5)

    def field(plan):
        names = [name for name, n in zip(plan.strata.names, plan.sample_sizes, strict=True) for _ in range(n)]
        return names, rng.uniform(0, 9000, plan.total)

    answers = field(first)
    main = dps.main_design(first, microdata(*answers))
    estimates = dps.estimate_means(first, *answers), dps.estimate_means(main, *field(main))
    both = dps.combine_waves(first, main, *estimates)
    assert both.notes.count(SAID) == 1


@pytest.mark.slow
def test_the_command_names_its_prior_as_its_help_does(tmp_path):
    done = commands.run(tmp_path, "choose-range", "lognormal:0", "--sample-size", 1000, "--local-epsilon", 4)
    assert (done.returncode, done.stderr) == (
        2,
        "Error: PRIOR must be lognormal:MU:SIGMA, gamma:SHAPE:SCALE or a file of reference values, got "
        "'lognormal:0'.\n",
    )
    done = commands.run(tmp_path, "choose-range", "lognormal:0:1", "--sample-size", 0, "--local-epsilon", 4)
    assert done.stderr.startswith("Error: --sample-size must be at least 1")
