"""What several releases of one sample lose together, against enumeration of tiny populations."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.fielding.keys import commitment
from dpstrata.fielding.ledger import Entry, Recognition, keyed_digest
from dpstrata.fielding.losses import joint_shares, loss_of_repeats, planned_shares
from dpstrata.privacy.promises import Spent

KEY = b"k" * 32


def released(bits, keep):
    """Distribution of the number of ones among randomized bits."""
    chances = {0: 1.0}
    for bit in bits:
        one = keep if bit else 1 - keep
        chances = Counter(
            {
                ones: chances.get(ones, 0) * (1 - one) + chances.get(ones - 1, 0) * one
                for ones in range(len(chances) + 1)
            }
        )
    return chances


def true_loss(N, n, willing, keep):
    """Enumerate samples: each release shows how many answered and how many said yes; person 0 changes."""
    worst = 0.0
    for others in itertools.product((0, 1), repeat=N - 1):
        worlds = []
        for first in (0, 1):
            people, seen = (first, *others), Counter()
            for sample in itertools.combinations(range(N), n):
                parts = [released([people[i] for i in sample if i in who], keep) for who in willing]
                sizes = tuple(sum(i in who for i in sample) for who in willing)
                for outcome in itertools.product(*(part.items() for part in parts)):
                    chance = math.prod(chance for _, chance in outcome)
                    seen[sizes, tuple(ones for ones, _ in outcome)] += chance
            worlds.append(seen)
        p, q = worlds
        worst = max(worst, *(abs(math.log(p[key] / q[key])) for key in p if p[key] > 0))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize(("N", "n", "epsilon", "rate"), [(8, 2, 0.1, 0.8), (10, 2, 0.1, 0.8)])
@pytest.mark.filterwarnings("ignore:Counts are invitations", "ignore:total=.* (is more than helps|exceeds)")
def test_two_releases_lose_what_is_counted(N, n, epsilon, rate, same):
    """Someone who answers one time and not the other shows that they were drawn."""
    strata = dps.Strata([N], [0.4], response_rates=[rate])
    plan = dps.design(strata, epsilon=epsilon, total=n, questions="yes_no", mechanism="randomized_response")
    e = float(plan.local_epsilons[0])
    keep = math.exp(e) / (1 + math.exp(e))
    everyone = frozenset(range(N))
    willing = [everyone, everyone if same else everyone - {0}]
    loss = true_loss(N, n, willing, keep)
    shares = planned_shares(plan) if same else np.ones(1)
    assert loss <= loss_of_repeats(plan, 2, shares) * (1 + 1e-9)
    assert (loss <= loss_of_repeats(plan, 2)) == same


def entry_of(people, *, shares=()):
    return Entry(
        design_digest="d",
        key_commitment="c",
        output="o",
        output_digest="x",
        status="released",
        spent=Spent(epsilon=1.0),
        people=tuple(sorted(keyed_digest(KEY, person) for person in people)),
        recognition=commitment(KEY),
        questions=("q",),
        shares=shares,
    )


def test_where_others_answered_before_the_sample_hides_nobody():
    plan = dps.design(dps.Strata([50, 60, 70], [0.3] * 3, names=["a", "b", "c"]), epsilon=1, total=9)
    sample = {f"{name}{i}": name for name, n in zip("abc", plan.sample_sizes, strict=True) for i in range(n)}
    planned = planned_shares(plan)

    def joint(before, now, **options):
        return joint_shares(
            plan,
            planned,
            [entry_of(before, **options)],
            sampled=Recognition(list(sample), KEY),
            strata=list(sample.values()),
            answered=frozenset(now),
        )

    everyone = list(sample)
    assert np.array_equal(joint(everyone, everyone), planned)
    assert joint(everyone, everyone[1:]).tolist() == [1.0, *planned[1:]]
    assert joint(everyone[:-1], everyone).tolist() == [*planned[:-1], 1.0]
    assert joint(everyone, everyone, shares=(0.9, 0.0, 0.0)).tolist() == [0.9, *planned[1:]]
    stranger = entry_of([*everyone, "who was not drawn"])
    sampled = Recognition(everyone, KEY)
    for entries, who in (
        ([stranger], sampled),
        ([entry_of(everyone)], Recognition(everyone, b"o" * 32)),
    ):
        shares = joint_shares(
            plan, planned, entries, sampled=who, strata=list(sample.values()), answered=frozenset(everyone)
        )
        assert shares.tolist() == [1.0, 1.0, 1.0]
