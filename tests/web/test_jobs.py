"""Requests of the right shape with any values: an answer or a clear refusal, never a fault."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpstrata.privacy.registry import MECHANISMS
from dpstrata.web.worker import work

numbers = st.one_of(
    st.integers(1, 20_000),
    st.floats(0, 1),
    st.sampled_from([0, -1, 10**12, 10**400, 1e308, 5e-324, "1e5", "1,5", "", None, "=A1", "nan", "\u0661"]),
)
names = st.one_of(st.integers(0, 9), st.text(max_size=5), st.none())
sometimes = st.sampled_from([1e-9, 1e-6, 0.01, 0.5, 1, 3, 100, 1e9, 0, -1, 1e308])
options = st.fixed_dictionaries(
    {"epsilon": sometimes},
    optional={
        "total": st.one_of(st.integers(-1, 30_000), st.sampled_from([2**62, 2**63])),
        "at_most": st.integers(1, 10**9),
        "target_se": sometimes,
        "target_margin": sometimes,
        "budget": sometimes,
        "mechanism": st.sampled_from([*MECHANISMS, "best", "none"]),
        "objective": st.sampled_from(["mean", "trace", "unit_free", "custom"]),
        "answers": st.sampled_from(
            ["binary", "0:1", "0:100:1", [0, 1], [0, 1, 0.5], [1, 0], [-1e308, 1e308], "x"]
        ),
        "trust": st.sampled_from(["local", "curator"]),
        "local_epsilon_cap": sometimes,
        "questions": st.integers(-1, 20),
        "delta": st.sampled_from([0.0, 1e-6, 0.5]),
    },
)


@st.composite
def requests(draw):
    rows = draw(st.integers(1, 6))
    column = st.lists(numbers, min_size=rows, max_size=rows)
    strata = {
        "stratum": draw(st.lists(names, min_size=rows, max_size=rows)),
        "size": draw(st.one_of(st.lists(st.integers(2, 9000), min_size=rows, max_size=rows), column)),
    }
    for name in draw(
        st.sets(st.sampled_from(["sd", "variance", "proportion", "cost", "min", "max", "response_rate"]))
    ):
        strata[name] = draw(st.one_of(st.lists(st.floats(0.01, 0.4), min_size=rows, max_size=rows), column))
    return {"strata": strata, "options": draw(options)}


@pytest.mark.parametrize("job", ["design", "precision", "epsilon", "document", "csv"])
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(request=requests())
def test_any_values_are_answered_or_refused(job, request):
    reply = work(job, {}, json.dumps(request).encode())
    assert reply.status in (200, 400, 422), reply.content
    if reply.kind == "application/json":
        answer = json.loads(reply.content, parse_constant=pytest.fail)
        assert reply.status == 200 or answer["error"]["message"]
