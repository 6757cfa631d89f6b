"""What a batch of rows in no order tells: never understated, and never more than a device's budget."""

import math
from collections import Counter
from itertools import product

import pytest

from dpstrata.privacy.amplification import _delta_at, batch_epsilon


def exact_delta(loss, epsilon, cells, batch):
    """The worst of all neighbours and of all others' answers, by enumerating what a batch can look like."""
    kept = math.exp(epsilon) / (math.exp(epsilon) + cells - 1)

    def law(answers):
        seen = Counter()
        for rows in product(range(cells), repeat=batch):
            chance = math.prod(
                kept if row == answer else (1 - kept) / (cells - 1)
                for row, answer in zip(rows, answers, strict=True)
            )
            seen[tuple(sorted(rows))] += chance
        return seen

    worst = 0.0
    for others in product(range(cells), repeat=batch - 1):
        laws = [law((mine, *others)) for mine in range(cells)]
        for one, other in product(laws, repeat=2):
            worst = max(worst, sum(max(one[each] - math.exp(loss) * other[each], 0) for each in one))
    return worst


@pytest.mark.parametrize(("cells", "batch"), [(2, 1), (2, 2), (2, 4), (3, 2), (3, 3), (4, 2)])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_bound_is_never_below_what_enumerating_finds(cells, batch, epsilon):
    for share in (0.0, 0.2, 0.5, 0.8):
        bound, exact = (f(share * epsilon, epsilon, cells, batch) for f in (_delta_at, exact_delta))
        assert bound >= exact - 1e-12
        if batch == 1:
            assert bound == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    ("cells", "batch", "expected"), [(10, 20, 1.5), (10, 100, 0.8), (2, 20, 2.0), (2, 100, 1.4)]
)
def test_figures_of_a_prototype(cells, batch, expected):
    assert round(batch_epsilon(2.0, cells=cells, batch=batch), 1) == expected


def test_larger_batches_tell_less():
    losses = [batch_epsilon(3.0, cells=8, batch=batch) for batch in (1, 10, 50, 150)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == 3.0
