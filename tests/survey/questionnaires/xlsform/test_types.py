"""Bounds from constraints: compared with trying every answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpstrata.survey.questionnaires.xlsform.types import bounds_of

SIGNS = {"<": float.__lt__, "<=": float.__le__, ">": float.__gt__, ">=": float.__ge__}
comparisons = st.tuples(
    st.sampled_from(sorted(SIGNS)), st.integers(-40, 40).map(lambda n: n / 4), st.booleans()
)


def written(sign, number, turned):
    mirror = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
    return f"({number:g} {mirror[sign]} .)" if turned else f".{sign}{number:g}"


@given(st.lists(comparisons, min_size=1, max_size=4))
def test_the_same_answers_are_allowed(parts):
    text = " and ".join(written(*part) for part in parts)
    for whole, step in ((True, 4), (False, 1)):
        bounds = bounds_of(text, whole=whole)
        for quarter in range(-60, 61, step):
            answer = quarter / 4
            allowed = all(SIGNS[sign](answer, float(number)) for sign, number, _ in parts)
            inside = (bounds.lower is None or answer >= bounds.lower) and (
                bounds.upper is None or answer <= bounds.upper
            )
            at_end = answer in (bounds.lower, bounds.upper)  # an open end of a decimal counts as allowed
            assert inside == allowed or (not whole and inside and at_end)


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", ". = 3", ". != 3", ". > 1 or . < 5", ". > ${age}", "regex(., '[0-9]')", "0 < . < 5"),
        *(
            "(. > 1",
            ". > 1 and",
            "not(. > 1)",
            ". > today()",
            ". >= 1,5",
            "string-length(.) < 5",
            ". < 1e400",
            ". > 1 and . mod 2 = 0",
        ),
    ],
)
def test_what_is_not_simple_is_left_alone(text):
    assert bounds_of(text, whole=True) is None
