"""The mean that a design expects."""

import pytest

import dpstrata as dps

SIZES = [700, 900]


@pytest.mark.parametrize(
    ("strata", "options", "mean"),
    [
        (dps.Strata(SIZES, [0.1, 0.1]), {"target_cv": 0.2, "expected_mean": 0.3}, 0.3),
        (
            dps.Strata(SIZES, extra={"expected_mean": [0.1, 0.2]}),
            {"total": 90},
            (700 * 0.1 + 900 * 0.2) / 1600,
        ),
        (dps.Strata(SIZES), {"total": 90, "proportion": 0.08}, 0.08),
        (dps.Strata(SIZES, [0.3, 0.3]), {"total": 90, "answers": "binary"}, 0.1),  # p(1 − p) = 0.09
        (dps.Strata(SIZES, [0.3, 0.3]), {"total": 90}, None),  # any answers may spread so
        (dps.Strata(SIZES, [0.1, 0.5]), {"total": 90, "answers": "binary"}, None),  # shares too different
        (dps.Strata(SIZES, [0.3, 0.3], sd_sources="bound"), {"total": 90, "answers": "binary"}, None),
        (dps.Strata(SIZES, extra={"expected_mean": ["?", ""]}), {"total": 90}, None),
        (dps.Strata(SIZES, extra={"expected_mean": [2, 3]}), {"total": 90}, None),  # outside the answers
    ],
)
@pytest.mark.filterwarnings("ignore:total=.* exceeds the best")
def test_the_mean_that_someone_told_or_implied_is_expected(strata, options, mean):
    found = dps.design(strata, epsilon=0.5, **options).expected_mean
    assert found is None if mean is None else found == pytest.approx(mean, abs=2e-4)
