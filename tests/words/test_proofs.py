"""What was proven, said so that no two outcomes sound alike."""

from itertools import product

import dpstrata as dps
from dpstrata.allocation.proof.bound import Bound
from dpstrata.allocation.proof.certificate import Certificate
from dpstrata.words.proofs import proof_in_words

CERTIFICATES = [
    Certificate(True, None, None, None, "none"),
    *(Certificate(True, 0.25, 0.5, 0.25, tie) for tie in ("none", "equal", "open")),
    Certificate(False, 0.5, 0.25, -0.25, "none"),
]
BOUNDS = [
    Bound(True, "variance", 2.0, 2.0, False, (1.0,)),
    Bound(True, "variance", 2.0, 1.5, True, (1.0,)),
    Bound(False, "variance", 2.0, 1.5, False, (1.0,)),
]


def test_only_what_is_optimal_is_called_so():
    for proof in (*CERTIFICATES, *BOUNDS):
        assert proof.in_words.startswith("Proven optimal") == proof.optimal


def test_no_two_outcomes_are_said_alike():
    proofs = [*CERTIFICATES, *BOUNDS]
    assert all(a is b or a.in_words != b.in_words for a, b in product(proofs, proofs))


def test_a_gap_is_said_with_what_it_is_of():
    words = Bound(False, "planned_variance", 2.0, 1.5, False, (1.0,)).in_words
    assert all(part in words for part in ("25%", "planned variance", "2", "1.5"))


def test_the_short_form_leaves_out_the_gain_and_the_loss():
    proof = Certificate(True, 0.25, 0.5, 0.25, "none")
    assert proof.in_short == "Proven optimal: no other allocation of the same total is as precise."
    assert proof.in_words.startswith(f"{proof.in_short} Adding one person")
    assert BOUNDS[0].in_short == BOUNDS[0].in_words


def test_a_gap_is_a_percentage():
    words = Bound(False, "variance", 1.0, 0.9959, False, (1.0,)).in_words
    assert words.startswith("Proven within 0.41% of the best: ")


def test_what_needs_no_convexity_does_not_mention_it():
    strata = dps.Strata([800, 1200], [0.1, 0.2])
    asked = {"epsilon": 1, "delta": 1e-6}
    best = dps.design(strata, total=100, **asked)
    assert "convexity" in proof_in_words(best, best.certificate)
    worse = dps.evaluate(strata, [90, 10], **asked)
    assert "convexity" not in proof_in_words(worse.best, worse.certificate)
