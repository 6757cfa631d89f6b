import csv
import inspect
import warnings
from pathlib import Path

import numpy as np
import pytest

import dpstrata as dps
from problems import PAPER_SDS, PAPER_SIZES

REFERENCE = Path(__file__).parent.parent / "reference"
PAPER = dps.Strata(sizes=PAPER_SIZES, sds=PAPER_SDS, names=["A", "B", "C", "D"])


def table_1():
    lines = [
        line
        for line in (REFERENCE / "paper-table-1.csv").read_text().splitlines()
        if not line.startswith("#")
    ]
    return [(row["mechanism"], float(row["log10_epsilon"]), row["ratio"]) for row in csv.DictReader(lines)]


@pytest.mark.parametrize(("mechanism", "exponent", "printed"), table_1())
def test_table_1_of_the_paper_to_every_printed_digit(mechanism, exponent, printed):
    plan = dps.design(PAPER, epsilon=10**exponent, total=200, mechanism=mechanism, finite_population=False)
    neyman = next(row for row in plan.compare() if row.design == "neyman")
    digits = len(printed.partition(".")[2])
    assert round(neyman.ratio, digits) == float(printed)


def test_the_design_of_the_readme():
    strata = dps.Strata(
        sizes=[7000, 8000, 9000, 10000], sds=[0.283, 0.08, 0.0226, 0.0064], names=["A", "B", "C", "D"]
    )
    plan = dps.design(strata, epsilon=1.0, total=200, mechanism="laplace")
    assert plan.sample_sizes.tolist() == [62, 43, 45, 50]
    assert plan.total == 200
    assert plan.standard_error == pytest.approx(0.0196, abs=5e-5)
    assert plan.variance == pytest.approx(plan.standard_error**2)
    assert plan.mechanism.name == "laplace"
    assert plan.certificate.optimal
    assert plan.local_epsilons == pytest.approx(
        [
            dps.local_epsilon(1.0, sample_size=n, stratum_size=N)
            for n, N in zip([62, 43, 45, 50], strata.sizes, strict=True)
        ]
    )
    assert plan.noise_sds == pytest.approx(np.sqrt(2) / plan.local_epsilons)
    assert plan.relaxed_sizes.sum() == pytest.approx(200)
    assert np.all(np.abs(plan.relaxed_sizes - plan.sample_sizes) < 1)


def test_variance_is_the_textbook_one():
    """Recomputed from the design's own columns with the textbook formula of stratified sampling."""
    for corrected in (True, False):
        plan = dps.design(PAPER, epsilon=0.5, total=3000, finite_population=corrected)
        n, N, S = plan.sample_sizes, PAPER.sizes, plan.sds
        W = N / N.sum()
        sampling = np.sum(W**2 * S**2 / n * ((1 - n / N) if corrected else 1))
        privacy = np.sum(W**2 * plan.noise_sds**2 / n)
        assert plan.variance_parts.sampling == pytest.approx(sampling)
        assert plan.variance_parts.privacy == pytest.approx(privacy)
        assert plan.variance == pytest.approx(sampling + privacy)
    uncorrected = dps.design(PAPER, epsilon=0.5, total=3000, finite_population=False)
    assert uncorrected.sample_sizes.tolist() == plan.sample_sizes.tolist()


@pytest.mark.filterwarnings("ignore:total=34,000 exceeds the best total")
def test_a_census_without_correction_has_only_privacy_variance():
    plan = dps.design(PAPER, epsilon=1, total=PAPER.population)
    assert plan.variance_parts.sampling == 0
    assert plan.local_epsilons == pytest.approx(1.0)


def test_compare():
    rows = {row.design: row for row in dps.design(PAPER, epsilon=1, total=200).compare()}
    assert list(rows) == ["this_design", "neyman", "proportional", "equal"]
    assert rows["this_design"].ratio == 1
    assert all(row.ratio > 1 for name, row in rows.items() if name != "this_design")
    assert all(row.variance_without_privacy < row.variance for row in rows.values())
    flat = dps.Strata([100, 200], [0, 0])
    assert dps.design(flat, epsilon=1, total=20).compare()[0].standard_error_without_privacy == 0


@pytest.mark.parametrize("objective", ["trace", "unit_free", "custom"])
def test_other_objectives_have_no_standard_error(objective):
    strata = dps.Strata(PAPER_SIZES, PAPER_SDS, coefficients=[1, 2, 0, -1])
    plan = dps.design(strata, epsilon=1, total=200, objective=objective)
    assert plan.standard_error is None
    assert "objective" in repr(plan)
    a = {"trace": 1, "unit_free": 1 / strata.sds, "custom": strata.coefficients}[objective]
    n = plan.sample_sizes
    expected = np.sum(a**2 * (strata.sds**2 * (1 - n / strata.sizes) + plan.noise_sds**2) / n)
    assert plan.variance == pytest.approx(expected)


def test_bounds_from_every_source():
    strata = dps.Strata([10, 2, 1000, 30], [0.5, 0, 0.01, 0.1], mins=[0, 0, 7, 0], maxs=[10, 1, 1000, 12])
    plan = dps.design(strata, epsilon=1, total=319, min_fraction=0.3, max_fraction=0.9)
    assert plan.problem.lower.tolist() == [3, 1, 300, 9]
    assert plan.problem.upper.tolist() == [9, 1, 900, 12]
    low = dps.design(dps.Strata([10, 1, 30], mins=[0, 0, 7]), epsilon=1, total=20, min_per_stratum=2)
    assert low.problem.lower.tolist() == [2, 1, 7]  # a stratum of one person is taken whole


def test_fractions_are_taken_as_written():
    strata = dps.Strata([30, 70], [0.1, 0.1])
    plan = dps.design(strata, epsilon=1, total=20, min_fraction=0.1, max_fraction=0.3)
    assert plan.problem.lower.tolist() == [3, 7]
    assert plan.problem.upper.tolist() == [9, 21]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"total": 3}, dps.InfeasibleError, r"at least the sum of the minimums \(4\), got total=3"),
        (
            {"total": 40_000},
            dps.InfeasibleError,
            r"at most the population \(34,000\), got total=40,000",
        ),
        (
            {},
            dps.InputError,
            "a design needs one of total, at_most, budget, target_se, target_margin, target_cv, got none of them",
        ),
        ({"total": 10.5}, dps.InputError, "total must be a whole number, got total=10.5"),
        ({"total": 0}, dps.InputError, "total must be at least 1, got total=0"),
        (
            {"total": 200, "epsilon": 0},
            dps.InputError,
            "epsilon must lie between 1e-06 and 100, got epsilon=0",
        ),
        ({"total": 200, "epsilon": float("nan")}, dps.InputError, "epsilon must lie between"),
        ({"total": 200, "epsilon": "one"}, dps.InputError, "epsilon must be a number, got epsilon='one'"),
        ({"total": "many"}, dps.InputError, "total must be a whole number, got total='many'"),
        ({"total": 200, "mechanism": "magic"}, dps.InputError, "mechanism must be one of sine"),
        ({"total": 200, "mechanism": "discrete_laplace"}, dps.InputError, "protects answers on a grid"),
        ({"total": 200, "objective": "median"}, dps.InputError, "objective must be one of mean, trace"),
        ({"total": 200, "objective": "custom"}, dps.InputError, "needs a coefficient for every stratum"),
        ({"total": 200, "questions": (1, 0)}, dps.InputError, "lower must be below upper"),
        ({"total": 200, "min_per_stratum": 0}, dps.InputError, "min_per_stratum must be at least 1"),
        (
            {"total": 200, "min_fraction": 0.5, "max_fraction": 0.1},
            dps.InputError,
            "min_fraction must be at most max_fraction=",
        ),
        (
            {"total": 200, "min_per_stratum": 50, "max_fraction": 0.005},
            dps.InfeasibleError,
            "maximum 35 in stratum 'A'",
        ),
        (
            {"total": 200, "max_fraction": 0.0001},
            dps.InfeasibleError,
            "minimum 1 and maximum 0 in stratum 'A'",
        ),
        ({"total": 10**400}, dps.InputError, "total must be at most 2"),
        ({"total": 1e400}, dps.InputError, "total must be a whole number"),
        ({"total": 200, "release": "none"}, dps.InputError, "release must be one of microdata, sums"),
        (
            {"total": 200, "device_epsilon": 3},
            dps.InputError,
            "device_epsilon needs release='sums', got release='microdata'",
        ),
        ({"total": 200, "release": "sums", "device_epsilon": 0}, dps.InputError, "device_epsilon must be at"),
        (
            {"total": 200, "release": "sums", "mechanism": "piecewise"},
            dps.InputError,
            "needs additive noise, got mechanism='piecewise'",
        ),
        (
            {"total": 200, "release": "sums", "device_epsilon": 3, "delta": 1e-6, "mechanism": "gaussian"},
            dps.InputError,
            "device_epsilon supports pure epsilon only, because .* got a promise of",
        ),
        ({"total": 200, "confidence": 1}, dps.InputError, "confidence must be at most 0.999999999"),
        ({"total": 200, "at_most": 300}, dps.InputError, "got total and at_most"),
        ({"budget": 300}, dps.InputError, "budget requires the cost of one invitation in every stratum"),
        ({"budget": 300, "target_se": 0.05}, dps.InputError, "budget requires the cost of one invitation"),
        ({"budget": -1}, dps.InputError, "budget must be positive, got budget=-1"),
        ({"budget": 10, "total": 10}, dps.InputError, "got total and budget"),
        (
            {"at_most": 3},
            dps.InfeasibleError,
            r"at_most must be at least the sum of the minimums \(4\), got at_most=3",
        ),
        ({"target_se": -1}, dps.InputError, "target_se must be positive, got target_se=-1"),
        ({"target_se": 1, "objective": "trace"}, dps.InputError, "target_se requires objective='mean'"),
        (
            {"target_cv": 0.1},
            dps.InputError,
            "target_cv and expected_mean.*must be given together.*got target_cv alone",
        ),
        ({"total": 9, "expected_mean": 0.1}, dps.InputError, "got expected_mean alone"),
        ({"target_cv": 0.1, "expected_mean": 0}, dps.InputError, "not be 0, got expected_mean=0"),
        ({"target_cv": 0.1, "expected_mean": 2}, dps.InputError, "must lie in the range of the answers"),
        ({"target_se": 0.1, "target_cv": 0.1}, dps.InputError, "got target_se and target_cv"),
        (
            {"total": 200, "delta": 1e-6, "mechanism": "laplace"},
            dps.InputError,
            "delta=1e-06 does not go with mechanism='laplace'",
        ),
        (
            {"total": 200, "mechanism": "gaussian"},
            dps.InputError,
            "mechanism='gaussian' needs delta above 0",
        ),
        (
            {"total": 200, "mechanism": "gaussian", "delta": 0.5},
            dps.InputError,
            "delta of at least 1e-50 and below 0.01, got delta=0.5",
        ),
        (
            {"total": 200, "mechanism": "gaussian", "delta": 0.009, "epsilon": 0.1},
            dps.InputError,
            "delta=0.009 is too large for Gaussian noise at epsilon=0.1",
        ),
        (
            {"total": 200, "mechanism": "gaussian", "delta": 0.001},
            dps.InfeasibleError,
            r"minimums \(3,400\), because delta=0.001 requires 0.1 of every stratum, got total=200",
        ),
        ({"target_se": 1e200}, dps.InputError, "target_se must be at most 1e100"),
        (
            {"target_margin": 0.1, "confidence": 1 - 1e-16},
            dps.InputError,
            "confidence must be at most 0.999999999",
        ),
        (
            {"total": 9, "domains": 5},
            dps.InputError,
            "domains must be column names, or a mapping .*, got domains=5",
        ),
        ({"total": 9, "mechanism": ["laplace"]}, dps.InputError, "mechanism must be one of sine"),
        ({"total": 9, "finite_population": "no"}, dps.InputError, "finite_population must be True or False"),
        ({"domains": {"stratum": {}}}, dps.InputError, "a design needs one of"),
        (
            {"total": 200, "release": "sums", "mechanism": "piecewise"},
            dps.InputError,
            "release='sums' without device_epsilon needs additive noise, got mechanism='piecewise'",
        ),
        (
            {"total": 200, "release": "sums", "local_epsilon_cap": 3},
            dps.InputError,
            "local_epsilon_cap limits what a published answer may spend, and with release='sums' no answer",
        ),
        ({"total": 200, "local_epsilon_cap": 0}, dps.InputError, "local_epsilon_cap must be at least 1e-6"),
        (
            {"total": 200, "domains": ["region"]},
            dps.InputError,
            "columns of the strata .'stratum'., got 'region'",
        ),
        (
            {"total": 200, "domains": {"stratum": 0.1}},
            dps.InputError,
            "how many people are invited, so total cannot be given",
        ),
        (
            {"domains": {"stratum": -1}},
            dps.InputError,
            "a target of domains must be positive, got -1 for stratum",
        ),
        (
            {"domains": {"stratum": {"Z": "1se"}}},
            dps.InputError,
            "column 'stratum' has no group 'Z'; it has A, B, C, D",
        ),
        (
            {"domains": {"stratum": 1}, "objective": "trace"},
            dps.InputError,
            "domains requires objective='mean'",
        ),
        (
            {"domains": {"stratum": 0.1}, "target_cv": 0.1, "expected_mean": 0.5},
            dps.InputError,
            "must have a column 'expected_mean' or 'proportion', got neither",
        ),
    ],
)
def test_what_cannot_be_used_gets_one_sentence(options, error, words):
    with pytest.raises(error, match=words) as caught:
        dps.design(PAPER, **{"epsilon": 1.0, **options})
    assert "\n" not in str(caught.value)


def test_unit_free_needs_spread():
    with pytest.raises(dps.InputError, match="divides by sd, which must be above 0, got 0 in stratum '2'"):
        dps.design(dps.Strata([10, 10], [0.1, 0]), epsilon=1, total=5, objective="unit_free")
    with pytest.raises(dps.InputError, match="strata must be a Strata, got list"):
        dps.design([1, 2], epsilon=1, total=5)


def test_the_signature_is_pinned():
    parameters = inspect.signature(dps.design).parameters
    assert list(parameters) == [
        "strata",
        "epsilon",
        "delta",
        "zcdp",
        "gdp",
        "total",
        "at_most",
        "budget",
        "target_se",
        "target_margin",
        "target_cv",
        "expected_mean",
        "mechanism",
        "objective",
        "questions",
        "spreads",
        "forms",
        "release",
        "device_epsilon",
        "local_epsilon_cap",
        "min_per_stratum",
        "min_fraction",
        "max_fraction",
        "domains",
        "confidence",
        "finite_population",
        "clip",
        "prior",
        "response_rate",
        "proportion",
        "classes",
    ]
    options = [each for name, each in parameters.items() if name != "strata"]
    assert all(each.kind is each.KEYWORD_ONLY for each in options)


def test_numpy_numbers_are_numbers():
    plan = dps.design(PAPER, epsilon=np.float64(1), total=np.int64(200), min_per_stratum=np.int32(2))
    assert plan.to_dict()["inputs"]["total"] == 200
    assert dps.design(PAPER, epsilon=1, total=200.0).total == 200
    with pytest.raises(dps.InputError, match="total must be a whole number, got total=True"):
        dps.design(PAPER, epsilon=1, total=True)


def test_whole_numbers_keep_every_digit():
    with pytest.raises(dps.InfeasibleError, match="got total=9,007,199,254,740,993"):
        dps.design(PAPER, epsilon=1, total=2**53 + 1)


@pytest.mark.filterwarnings("ignore:total=999,999,999 exceeds the best total")
def test_near_a_census_the_correction_keeps_its_digits():
    plan = dps.design(dps.Strata([10**9], [0.3]), epsilon=1, total=10**9 - 1)
    n, N = 10**9 - 1, 10**9
    assert plan.variance_parts.sampling == pytest.approx(0.09 / n / N, rel=1e-14)


def test_evaluate_scores_an_allocation():
    given = dps.evaluate(PAPER, [137, 44, 14, 5], epsilon=1, finite_population=False, mechanism="laplace")
    assert round(given.ratio, 3) == 2.269
    assert not given.certificate.optimal
    assert given.best.total == 200
    best = dps.evaluate(
        PAPER, given.best.sample_sizes, epsilon=1, finite_population=False, mechanism="laplace"
    )
    assert best.ratio == 1
    assert best.certificate.optimal
    assert best.standard_error == best.best.standard_error
    assert (
        dps.evaluate(PAPER, [50] * 4, epsilon=1, objective="trace", mechanism="laplace").standard_error
        is None
    )


@pytest.mark.parametrize(
    ("sizes", "options", "words"),
    [
        ([1, 2], {}, "must be 4 whole numbers"),
        ([1.5, 2, 3, 4], {}, "must be whole numbers from 1 to"),
        ([0, 2, 3, 4], {}, "must be whole numbers from 1 to"),
        (["a", "b", "c", "d"], {}, "must be 4 whole numbers"),
        (
            [5, 5, 5, 1],
            {"min_per_stratum": 3},
            "sample_sizes must lie between 3 and 10,000, got 1 in stratum 'D'",
        ),
        ([5, 5, 5, 5], {"total": 20}, "evaluate takes the total from sample_sizes, got total too"),
    ],
)
def test_evaluate_refuses_what_does_not_fit(sizes, options, words):
    with pytest.raises(dps.InputError, match=words):
        dps.evaluate(PAPER, sizes, epsilon=1, **options)


def test_a_sweep_has_the_default_minimums_of_every_total():
    strata = dps.Strata([700, 900, 50], [0.3, 0.1, 0.2], response_rates=[0.5, 0.4, 0.3])
    totals = [40, 80, 160]
    rows = dps.sweep(strata, epsilon=1, total=totals)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dps.DpstrataWarning)
        alone = [dps.design(strata, epsilon=1, total=total).sample_sizes.tolist() for total in totals]
    assert [row["sample_sizes"] for row in rows] == alone


def test_sweep_is_the_same_as_single_designs():
    rows = dps.sweep(
        PAPER, epsilon=[0.1, 1.0], total=[200, 20_000], mechanism=["laplace", "tulap"], min_per_stratum=2
    )
    assert len(rows) == 8
    for row in rows[::3]:
        if row["total"] == 200:
            plan = dps.design(
                PAPER, epsilon=row["epsilon"], total=200, mechanism=row["mechanism"], min_per_stratum=2
            )
            assert row["sample_sizes"] == plan.sample_sizes.tolist()
            assert row["standard_error"] == plan.standard_error
    assert [
        row["total"] for row in dps.sweep(PAPER, epsilon=[0.1], at_most=[500, 2000], mechanism="laplace")
    ] == [500, 972]
