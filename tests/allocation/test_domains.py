"""Groups of strata, by a column of the file."""

import pytest

import dpstrata as dps


def test_a_group_that_is_not_there_is_named_beside_those_that_are():
    names = list("ABCDEF")
    for given, listed in ((names[:3], "A, B, C."), (names, r"A, B, C, D, E, \.\.\.")):
        strata = dps.Strata([500] * len(given), [0.2] * len(given), names=given)
        with pytest.raises(dps.InputError, match=rf"column 'stratum' has no group 'Sud'; it has {listed}"):
            dps.design(strata, epsilon=1, domains={"stratum": {"Sud": "0.1se"}})
