"""The variance by cause: noise as the textbook has it, at the number of answers that came."""

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.fielding.randomizers import randomizer_of
from dpstrata.fielding.results.form_figures import count_rows
from dpstrata.fielding.results.forms import estimate_questions
from dpstrata.fielding.results.microdata import Moments, estimate_from_moments, estimate_shares
from dpstrata.fielding.results.sums import estimate_from_means
from dpstrata.present.report.results import error_by_cause
from report_reader import Reader

N = np.array([700, 900])
W = N / N.sum()
STRATA = dps.Strata(N, [0.3, 0.1], names=["a", "b"])


def test_single_answers_with_noise():
    plan = dps.design(STRATA, epsilon=1, total=60, mechanism="laplace")
    m = plan.sample_sizes - np.array([3, 9])
    result = estimate_from_moments(plan, Moments(m, np.array([0.4, 0.2]), np.array([400.0, 300.0])))
    assert result.questions["answer"].causes.device == pytest.approx(W**2 @ (2 / plan.local_epsilons**2 / m))
    assert result.questions["answer"].causes.office == 0
    assert sum(result.questions["answer"].causes) == pytest.approx(result.whole[0].standard_error ** 2)


def test_sums_noised_twice():
    options = {"release": "sums", "device_epsilon": 3, "questions": "yes_no"}
    plan = dps.design(STRATA, epsilon=0.2, total=60, **options)
    m = plan.sample_sizes - np.array([3, 9])
    result = estimate_from_means(plan, STRATA.names, np.array([0.4, 0.2]), m)
    flip = 1 / (1 + np.exp(3))
    credited = 2 * np.arctanh(np.tanh(plan.local_epsilons / 2) / np.tanh(1.5))
    office = 1 / (2 * np.sinh(credited / 2) ** 2) / (1 - 2 * flip) ** 2
    assert result.questions["answer"].causes.device == pytest.approx(
        W**2 @ (flip * (1 - flip) / (1 - 2 * flip) ** 2 / m)
    )
    assert result.questions["answer"].causes.office == pytest.approx(W**2 @ (office / m**2), rel=1e-6)
    assert sum(result.questions["answer"].causes) == pytest.approx(result.whole[0].standard_error ** 2)


def test_categories_are_half_the_sum_of_their_shares():
    plan = dps.design(dps.Strata(N), epsilon=1, total=80, questions=["x", "y", "z"])
    m = plan.sample_sizes - 4
    counts = np.stack([m // 2, m // 3, m - m // 2 - m // 3], axis=1)
    x = np.exp(plan.local_epsilons)
    trace = 2 * (2 * x + 1) / (x - 1) ** 2  # (k − 1)(2x + k − 2)/(x − 1)²
    assert estimate_shares(plan, counts).questions["answer"].causes.device == pytest.approx(
        W**2 @ (trace / m) / 2
    )


def random_counts(plan):
    """Rows of three people fewer than were invited, on every form and in every stratum."""
    rng, rows = np.random.default_rng(3), []
    for i, name in enumerate(plan.strata.names):
        for t, form in enumerate(plan.forms, start=1):
            most = randomizer_of(plan, t).cells_in(i)
            cells = rng.integers(0, most, int(form.sample_sizes[i]) - 3)
            rows += [(name, str(t), str(cell)) for cell in cells]
    return count_rows(plan, *zip(*rows, strict=True))


def test_questions_on_forms():
    questions = dps.Questionnaire(
        [
            dps.Question("home", "category", categories=["rent", "own", "other"], blank=False),
            dps.Question("smokes", "yes_no", blank=False),
            dps.Question("mood", "scale", blank=False, lower=1, upper=5),
        ]
    )
    forms = [["home"], ["smokes", "mood"]]
    plan = dps.design(dps.Strata(N), questions=questions, epsilon=2, total=300, forms=forms)
    result = estimate_questions(plan, random_counts(plan))
    (first, second), y = plan.forms, np.expm1(plan.local_epsilons)
    m, r = first.sample_sizes - 3, first.cells / y
    home, smokes, mood = (result.questions[name].causes for name in ("home", "smokes", "mood"))
    assert home.device == pytest.approx(W**2 @ (2 / 3 * r * (2 + r) / 2 / m), rel=1e-6)
    assert (home.office, smokes.office, mood.office) == (0, 0, 0)
    m, r = second.sample_sizes - 3, second.cells / y
    assert smokes.device == pytest.approx(W**2 @ (r * (2 + r) / 4 / m), rel=1e-6)
    least = 16 * W**2 @ (0.125 * r * (1 + r) / m)  # μ₂ = 1/8 on five levels
    assert least < mood.device < least + 16 * W**2 @ (r / 4 / m)
    for name, about in result.questions.items():
        errors = [row.standard_error for row in result.whole if row.question == name]
        factor = 0.5 if len(errors) > 1 else 1.0
        assert sum(about.causes) == pytest.approx(factor * np.square(errors).sum())


def test_another_objective_has_the_planned_error_of_what_is_estimated():
    plan = dps.design(STRATA, epsilon=1, total=60, objective="trace", mechanism="laplace")
    m = plan.sample_sizes
    result = estimate_from_moments(plan, Moments(m, np.array([0.4, 0.2]), np.array([400.0, 300.0])))
    planned, estimated = Reader(error_by_cause(plan, result)).table("Standard errors")
    assert plan.standard_error is None
    assert float(planned["standard error"]) == pytest.approx(plan.questions[0].standard_error, rel=0.05)
    assert float(estimated["standard error"]) > 0


def test_what_shows_no_spread_of_its_own_has_no_estimated_causes():
    """Numbers rounded to two levels vary as much as their mean says, however little people differ."""
    questions = dps.Questionnaire(
        [dps.Question("income", "number", lower=0, upper=100), dps.Question("smokes", "yes_no")]
    )
    plan = dps.design(dps.Strata(N), questions=questions, epsilon=2, total=300)
    page = error_by_cause(plan, estimate_questions(plan, random_counts(plan)))
    shown = [(row["estimate"], row["variance"]) for row in Reader(page).table("Standard errors")]
    assert shown == [("income", "planned"), ("smokes", "planned"), ("smokes", "estimated")]
    assert "rounding cannot be told from who is asked" in page


def test_sums_of_numbers_have_no_estimated_causes():
    plan = dps.design(STRATA, epsilon=1, total=60, questions=(0, 10), release="sums")
    result = estimate_from_means(plan, STRATA.names, np.array([4.0, 2.0]), plan.sample_sizes)
    assert result.questions["answer"].causes is None
    (planned,) = Reader(error_by_cause(plan, result)).table("Standard errors")
    assert planned["variance"] == "planned"
