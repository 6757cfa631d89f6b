"""How many answered a batch: what is refused, accepted and counted, and who left the answer blank."""

import json
import math

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.fielding.answer_files import open_answers, read_people
from dpstrata.fielding.frames import frame_strata, open_frame
from dpstrata.fielding.ledger import loss_of_repeats
from dpstrata.fielding.losses import central_losses, fewest_willing
from surveys import field_instead, release


def fewest(m, n, size):
    return fewest_willing(np.array([m]), sample_sizes=np.array([n]), stratum_sizes=np.array([size]))[0]


def keep(folder, number, out="few.csv"):
    lines = (folder / "answers.csv").read_text().splitlines()
    (folder / out).write_text("\n".join(lines[: number + 1]) + "\n")
    return out


def test_a_response_that_contradicts_the_design_is_refused_before_anything_is_spent(fielded):
    """Everyone was to answer; 31 of 40 did. What holds is on the ledger, if it is accepted."""
    folder, plan = fielded
    few = keep(folder, 31)
    with pytest.raises(
        dps.InputError, match=r"Up to epsilon = \d\.\d+ may be lost instead of 1.*accept_response=True"
    ):
        release(folder, answers=few)
    assert not (folder / "ledger.json").exists()
    result = release(folder, answers=few, accept_response=True)
    counts = np.array(
        [
            read_people(open_answers(folder / few), "person", ("region",))[1].count(n)
            for n in plan.strata.names
        ]
    )
    losses = [
        math.log1p(m / fewest(m, n, N) * math.expm1(e))
        for m, n, N, e in zip(counts, plan.sample_sizes, plan.strata.sizes, plan.local_epsilons, strict=True)
        if m < n
    ]
    assert result.spent.epsilon == result.response.epsilon == pytest.approx(max(losses))
    assert f"epsilon = {math.ceil(max(losses) * 1000) / 1000:.3f}" in result.notes[0]
    entry = json.loads((folder / "ledger.json").read_text())["entries"][0]
    assert entry["spent"]["epsilon"] == pytest.approx(max(losses))


def test_losses_of_few_answers_add_up_over_repeats_and_questions(fielded):
    """What all releases of a sample lose together, with the shares that the fewest answers leave credible."""
    folder, plan = fielded
    few = keep(folder, 31)
    first = release(folder, answers=few, out="a.csv", accept_response=True)
    both = release(folder, answers=few, out="b.csv", accept_response=True, again=True)
    twice = central_losses(first.response.shares, 2 * plan.local_epsilons).max()
    assert both.spent.epsilon == pytest.approx(twice)
    assert twice > loss_of_repeats(plan, 2)


def test_a_poor_response_is_not_forgotten_in_the_next_round(fielded):
    folder, plan = fielded
    first = release(folder, answers=keep(folder, 31), out="a.csv", accept_response=True)
    both = release(folder, out="b.csv", again=True)
    joint = np.maximum(first.response.shares, both.response.shares)
    at_least = central_losses(joint, 2 * plan.local_epsilons).max()
    assert both.spent.epsilon >= at_least * (1 - 1e-12)
    assert both.spent.epsilon == pytest.approx(2 * plan.local_epsilons.max())  # others answered now


def test_a_promise_that_still_holds_is_said_and_counts_as_promised(fielded):
    folder, _ = fielded
    frame = open_frame(folder / "people.csv", id="person", stratum="region")
    counted = frame_strata(frame)
    strata = dps.Strata(counted.sizes, names=counted.names, response_rates=[0.7, 0.7])
    plan = dps.design(strata, epsilon=1, total=450, questions=(0, 100_000))
    field_instead(folder, frame, plan, {"answer": 43210})
    header, *rows = (folder / "answers.csv").read_text().splitlines()
    some = [row for name in plan.strata.names for row in [r for r in rows if f",{name}," in r][:80]]
    (folder / "some.csv").write_text("\n".join([header, *some]) + "\n")
    result = release(folder, answers="some.csv")
    assert result.response.fewer == 2
    assert "the promise of epsilon = 1 still holds" in result.notes[0]
    assert result.spent.epsilon == 1.0


def test_a_stratum_without_an_answer_takes_the_result_of_its_neighbour(fielded):
    folder, _ = fielded
    lines = (folder / "answers.csv").read_text().splitlines()
    (folder / "north.csv").write_text("\n".join(line for line in lines if "south" not in line) + "\n")
    done = release(folder, answers="north.csv")
    assert done.response.over == 0  # nobody there loses anything
    assert done.spent.epsilon == 1.0
    result = dps.estimate(folder / "design.json", folder / "noised.csv")
    north, south = sorted(result.by("stratum"), key=lambda row: row.group)
    assert (south.answered, south.taken_from, north.taken_from) == (0, "north", "")
    assert (south.estimate, south.standard_error) == (north.estimate, north.standard_error)
    assert result.whole[0].estimate == pytest.approx(north.estimate)
    assert result.whole[0].standard_error == pytest.approx(north.standard_error)
    assert result[0].largest_bias == pytest.approx(100_000 / 3)
    assert "south (as north)" in repr(result)
    assert "This can shift the estimate for the population by at most 33,330." in repr(result)


def test_no_answer_at_all_is_found_before_anything_is_spent(fielded):
    folder, _ = fielded
    (folder / "none.csv").write_text("person,region,answer\n")
    with pytest.raises(dps.InputError, match="there must be at least one answer, got none"):
        release(folder, answers="none.csv", accept_response=True)
    assert not (folder / "ledger.json").exists()


def test_who_leaves_the_answer_blank_is_somebody_who_did_not_answer(fielded):
    """Everything that counts who answered sees the same as without those rows."""
    folder, _ = fielded
    few, blanks = keep(folder, 31), "blanks.csv"
    header, *rows = (folder / "answers.csv").read_text().splitlines()
    kept = set((folder / few).read_text().splitlines())
    cut = [row if row in kept else row.rpartition(",")[0] + ", " for row in rows]
    (folder / blanks).write_text("\n".join([header, *cut]) + "\n")
    with pytest.raises(dps.InputError, match=r"may be lost instead of 1.*accept_response=True"):
        release(folder, answers=blanks)
    assert not (folder / "ledger.json").exists()
    left = release(folder, answers=blanks, accept_response=True)
    entry = json.loads((folder / "ledger.json").read_text())["entries"][0]
    (folder / "ledger.json").write_text('{"format": "dpstrata.ledger", "version": 4, "entries": []}')
    without = release(folder, answers=few, out="without.csv", accept_response=True)
    same = json.loads((folder / "ledger.json").read_text())["entries"][0]
    assert (left.answers, left.blank, without.blank) == (31, 9, 0)
    assert left.response.epsilon == without.response.epsilon
    np.testing.assert_array_equal(left.response.shares, without.response.shares)
    assert (entry["people"], entry["spent"]) == (same["people"], same["spent"])
    strata = [
        [line.partition(",")[0] for line in (folder / name).read_text().splitlines()]
        for name in ("noised.csv", "without.csv")
    ]
    assert strata[0] == strata[1]
    words = "9 answers were blank and are left out; those people count as people who did not answer."
    assert left.notes == (words, *without.notes)


def test_other_people_may_not_come_in_with_a_blank(fielded):
    folder, _ = fielded
    text = (folder / "answers.csv").read_text()
    for row, words in (
        ("stranger,north,", "got 1 from people who were not and 0 with"),
        (text.splitlines()[1].rpartition(",")[0] + ",", "got two answers from the same person"),
    ):
        (folder / "wrong.csv").write_text(f"{text}{row}\n")
        with pytest.raises(dps.InputError, match=words):
            release(folder, answers="wrong.csv")
    assert not (folder / "ledger.json").exists()
