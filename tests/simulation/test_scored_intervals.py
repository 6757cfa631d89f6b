"""Simulated surveys are scored by the intervals that an estimate prints."""

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.fielding.estimate import reader_of
from dpstrata.fielding.results.mean import estimate_from_figures, limits_of_means_in_surveys
from dpstrata.fielding.results.reader import Surveys
from dpstrata.fielding.results.sums import estimate_from_means

SURVEYS = 20
OPTIONS = {
    "yes/no": {"questions": "yes_no"},
    "yes/no on devices": {"questions": "yes_no", "device_epsilon": 4},
    "numbers": {"questions": (0, 10)},
}


def planned(release, options):
    spread = 1 if options["questions"] == "yes_no" else 10
    strata = dps.Strata([700, 900, 400], spread * np.array([0.4, 0.3, 0.1]), response_rates=[0.6, 0.8, 0.7])
    return dps.design(strata, epsilon=2, total=150, release=release, **options)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_of_one_number(options):
    plan, rng = planned("mean", options), np.random.default_rng(1)
    counts = rng.binomial(plan.sample_sizes, 0.7, (SURVEYS, 3))
    means = plan.inputs.space.range * rng.normal(0.3, 0.1, SURVEYS)
    columns, groups = ["all", *["stratum"] * 3], ["all", *plan.strata.names]
    estimations = [
        estimate_from_figures(plan, columns, groups, [mean, *[None] * 3], [m.sum(), *m])
        for mean, m in zip(means, counts, strict=True)
    ]
    noise = np.array([float((each.questions["answer"].errors[1].variances).sum()) for each in estimations])
    scored = limits_of_means_in_surveys(plan, counts, means, noise)
    assert scored.lower == pytest.approx([each.whole[0].lower for each in estimations])
    assert scored.upper == pytest.approx([each.whole[0].upper for each in estimations])


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("release", ["microdata", "sums"])
def test_of_all_strata(release, options):
    if release == "microdata":
        options = {"questions": options["questions"]}
    plan, rng = planned(release, options), np.random.default_rng(2)
    counts = rng.binomial(plan.sample_sizes, 0.7, (SURVEYS, 3))
    answers = [[plan.inputs.space.range * rng.random(m) for m in row] for row in counts]
    means = np.array([[each.mean() for each in row] for row in answers])
    squares = np.array([[((each - each.mean()) ** 2).sum() for each in row] for row in answers])
    scored = reader_of(plan).limits_in_surveys(Surveys(counts, means, squares))
    for i, row in enumerate(answers):
        names = np.repeat(plan.strata.names, counts[i])
        printed = (
            dps.estimate_means(plan, names, np.concatenate(row))
            if release == "microdata"
            else estimate_from_means(plan, plan.strata.names, means[i], counts[i])
        ).whole[0]
        assert (scored.lower[i], scored.upper[i]) == pytest.approx((printed.lower, printed.upper))
