"""A few clients at once for a moment; ``make load`` does the same with fifty for half a minute."""

import pytest
from sliders import move_sliders

pytestmark = pytest.mark.slow


def test_no_answer_is_mixed_up_with_anothers(server):
    tally = move_sliders(server, clients=8, seconds=3)
    assert tally.faults == []
    assert tally.answers > 20
