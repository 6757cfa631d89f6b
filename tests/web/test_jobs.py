"""Requests of the right shape with any values: an answer or a clear refusal, never a fault."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpstrata.privacy.mechanisms import MECHANISMS
from dpstrata.web.workers import work
from extent import few

NUMBERS = (
    "epsilon",
    "total",
    "at_most",
    "target_se",
    "budget",
    "delta",
    "local_epsilon_cap",
    "zcdp",
)

odd_cells = st.sampled_from(
    [0, -1, 10**12, 10**400, 1e308, 5e-324, "1e5", "1,5", "", None, "=A1", "nan", "\u0661", 0.5, 2, "A"]
)
odd_numbers = st.sampled_from([1e-9, 1e-6, 0.01, 0.5, 1, 3, 100, 1e9, 0, -1, 1e308, 2**62])
questions = st.one_of(
    st.fixed_dictionaries({"total": st.integers(6, 3000)}),
    st.fixed_dictionaries({"at_most": st.integers(6, 10**9)}),
    st.fixed_dictionaries({"target_se": st.floats(1e-3, 1)}),
    st.fixed_dictionaries({"target_margin": st.floats(1e-3, 1), "confidence": st.floats(0.5, 0.999)}),
)
more = st.fixed_dictionaries(
    {"epsilon": st.floats(0.01, 20)},
    optional={
        "mechanism": st.sampled_from([*MECHANISMS, "best"]),
        "objective": st.sampled_from(["mean", "trace", "unit_free"]),
        "questions": st.sampled_from(
            ["yes_no", "0:1", "0:100:1", "rent|own|other", [0, 1], [0, 1, 0.5], [-5, 5]]
        ),
        "release": st.sampled_from(["microdata", "sums"]),
        "device_epsilon": st.floats(0.1, 20),
        "local_epsilon_cap": st.floats(0.1, 20),
    },
)
columns = {
    "sd": st.floats(0, 0.4),
    "cost": st.floats(0.5, 20),
    "min": st.integers(0, 3),
    "max": st.integers(4, 9),
    "response_rate": st.floats(0.2, 1),
}


@st.composite
def requests(draw):
    """A request that makes sense, and then up to two changes that may not."""
    rows = draw(st.integers(1, 6))
    strata = {
        "stratum": [str(i) for i in range(rows)],
        "size": draw(st.lists(st.integers(20, 9000), min_size=rows, max_size=rows)),
    }
    for name in draw(st.sets(st.sampled_from(sorted(columns)), max_size=2)):
        strata[name] = draw(st.lists(columns[name], min_size=rows, max_size=rows))
    options = {**draw(more), **draw(questions)}
    for _ in range(draw(st.integers(0, 2))):
        if draw(st.booleans()):
            strata[draw(st.sampled_from(sorted(strata)))][draw(st.integers(0, rows - 1))] = draw(odd_cells)
        else:
            options[draw(st.sampled_from(NUMBERS))] = draw(odd_numbers)
    return {"strata": strata, "options": options}


@pytest.mark.slow
@pytest.mark.parametrize("job", ["design", "precision", "epsilon", "offers", "document", "csv"])
@settings(max_examples=few(25, of=3000), deadline=None, suppress_health_check=list(HealthCheck))
@given(request=requests())
def test_any_values_are_answered_or_refused(job, request):
    reply = work(job, {}, json.dumps(request).encode())
    assert reply.status in (200, 400, 422), reply.content
    if reply.kind == "application/json":
        answer = json.loads(reply.content, parse_constant=pytest.fail)
        assert reply.status == 200 or answer["error"]["message"]
