"""The privacy promise of a design in plain words: what holds, for whom, and what does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dpstrata.words.numbers import plain_number, round_up

if TYPE_CHECKING:
    from dpstrata.designs.waves import Waves
    from dpstrata.numerics.arrays import FloatArray
    from dpstrata.survey.inputs import Inputs

PUBLIC = (
    "the strata, their sizes, and which stratum each person belongs to",
    "the number of people invited in each stratum",
    "this design: noise mechanism, budgets, standard deviations and their sources",
)
SECRET_PEOPLE = "who was invited and who answered"
SECRET = (
    "when and in what order answers arrived",
    "the answers before noise is added",
    "the key used for the draw",
)
COMPLETE_ROWS = (
    "a row counts only if every question of its form is answered, and leaving one blank is the same as not "
    "taking part: that a row is complete is as public as taking part"
)
BLANKS = "a question that may be left blank has one more answer, a blank, which is randomised like the others"
OTHER_BLANKS = (
    "a row counts only if all other questions of its form are answered, and leaving one of them blank is the "
    "same as not taking part: that a row is complete is as public as taking part"
)
EVERYONE_ANSWERS = "everyone invited answers, or whether someone answers is unrelated to who they are"
EVERYONE_MUST_ANSWER = (
    "everyone answers: the noise is set by the number of answers, so publishing is refused otherwise unless "
    "the larger loss is accepted"
)
SOME_ANSWER = (
    "in each stratum, at least the stated share of people would answer if invited, and that share is public; "
    "substitutes and reserves count as invited"
)
ANSWERING_TELLS_NOTHING = (
    "whether someone answers does not depend on what they would answer: the number of answers is published "
    "without noise"
)
ONCE = "the results are released once; any other release about the same people adds to the privacy loss"
NOT_FROM_ANSWERS = (
    "strata, sample sizes and noise are fixed before any answer is seen, and the standard deviations are not "
    "computed from the confidential answers"
)
AT_A_COST = (
    "strata, sample sizes and noise are fixed before any answer of this survey is seen, and the standard "
    "deviations computed from confidential answers were released within the budget stated for them"
)
FROM_THE_PILOT = (
    "strata, sample sizes and noise were fixed before any answer of this wave was seen, and nothing from the "
    "first wave was used for them except what it published"
)
DRAWN_APART = (
    "the samples of the two waves are drawn independently, each from the whole frame, and nobody learns who "
    "is in either"
)
SECRET_SAMPLE = (
    "within each stratum, a simple random sample is drawn without replacement, and nobody learns who is in "
    "it and who is not"
)
LISTED_ONCE = "nobody is listed twice in the frame"
NOT_PROTECTED = (
    "which stratum a person belongs to, so never stratify on the sensitive trait itself",
    "what can be inferred about a person from the population as a whole",
)
LISTED_TWICE = "a person who is listed more than once in the frame"
WILLINGNESS = "whether a person would answer if invited; only their answers are protected"


def privacy_statement(
    inputs: Inputs,
    local: FloatArray,
    *,
    central: FloatArray,
    on_deviations: float,
    everyone_answers: bool,
    most_hidden: float,
    waves: Waves | None = None,
) -> Mapping[str, Any]:
    """Put the promise of a design into a record and into words.

    Parameters
    ----------
    inputs : Inputs
        What the design was asked for.
    local : array
        Local budget in each stratum.
    central : array
        What the release spends in the strata where the cap binds.
    on_deviations : float
        What was spent on the standard deviations before.
    everyone_answers : bool
        Whether no response rate is below 1.
    most_hidden : float
        The largest ratio of stratum size to sample size.
    waves : Waves, optional
        What two waves spend together, if this is one of them.
    """
    promise, release = inputs.promise, inputs.release_form
    everyone = most_hidden == 1.0 and waves is None
    said = list(promise.sentences(largest=float(local.max()), release=release, everyone=everyone))
    tells = "" if everyone else ", or who tells others that they were invited"
    willing = () if everyone_answers else (WILLINGNESS,)
    return {
        "unit": "one person's answers",
        "neighbours": "replace one person within a stratum",
        "central": promise.central,
        "local": promise.local(local, most_hidden),
        "spent_on_deviations": on_deviations,
        "central_in_all": promise.in_all(_other_wave(inputs, waves, on_deviations)),
        **release.facts,
        "assumptions": [
            *_of_the_sample(inputs, everyone=everyone, everyone_answers=everyone_answers),
            *_assumptions(inputs, on_deviations, waves, everyone=everyone),
        ],
        "public": [*PUBLIC, *release.also_public],
        "secret": [
            *(() if everyone else (SECRET_PEOPLE,)),
            *SECRET,
            *release.also_secret(everyone=everyone),
        ],
        "not_protected": [*NOT_PROTECTED, f"{LISTED_TWICE}{tells}", *willing],
        "in_words": " ".join([*said, *_spent_besides(inputs, len(local), central, on_deviations, waves)]),
        "sentences": said,
    }


def _spent_besides(
    inputs: Inputs, strata: int, central: FloatArray, on_deviations: float, waves: Waves | None
) -> Iterator[str]:
    """Say where less is spent than promised, and what else was or will be."""
    promise = inputs.promise
    if len(central):
        yield (
            f"The cap of {plain_number(inputs.local_epsilon_cap or 0.0)} on one noised answer is binding in "
            f"{len(central):,} of {strata:,} strata, where the release spends only "
            f"{_range(float(central.min()), float(central.max()))} instead of "
            f"{plain_number(promise.central_epsilon)}."
        )
    if waves is not None:
        yield _waves_in_words(inputs, waves, on_deviations)
    elif on_deviations > 0:
        yield (
            f"The standard deviations were computed from confidential answers at a cost of epsilon = "
            f"{plain_number(on_deviations)}, so the survey spends "
            f"{promise.in_all_in_words(on_deviations)}"
        )


def _of_the_sample(inputs: Inputs, *, everyone: bool, everyone_answers: bool) -> tuple[str, ...]:
    """List what must hold of who is invited and who answers.

    Where everyone is invited, every answer or sum has noise for the whole of the promise, however many answer
    and whoever knows that; only the noise of a mean is smaller the fewer answer.
    """
    if everyone:
        must = (EVERYONE_MUST_ANSWER,) if inputs.release_form.noised_once else ()
        return *must, ANSWERING_TELLS_NOTHING
    return SECRET_SAMPLE, EVERYONE_ANSWERS if everyone_answers else SOME_ANSWER, ANSWERING_TELLS_NOTHING


def _assumptions(inputs: Inputs, on_deviations: float, waves: Waves | None, *, everyone: bool) -> list[str]:
    """List what else must hold for the promise."""
    from_answers = AT_A_COST if waves is None else FROM_THE_PILOT
    return [
        LISTED_ONCE,
        from_answers if on_deviations > 0 else NOT_FROM_ANSWERS,
        inputs.release_form.assumption,
        *inputs.release_form.also_assumed(everyone=everyone),
        *_blanks(inputs),
        ONCE,
        *(() if waves is None else (DRAWN_APART,)),
    ]


def _blanks(inputs: Inputs) -> tuple[str, ...]:
    """Say what becomes of questions that are left blank."""
    asked = inputs.questions
    blank = sum(bool(question.blank) for question in asked)
    incomplete = OTHER_BLANKS if blank else COMPLETE_ROWS
    # an only question that is left blank, and may not be, is no answer
    return (*((BLANKS,) if blank else ()), *((incomplete,) if 1 < len(asked) > blank else ()))


def _waves_in_words(inputs: Inputs, waves: Waves, spent: float) -> str:
    """Say what a wave and the other one spend together."""
    both = (
        f"so the two together spend at most {plain_number(waves.epsilon)}; a person drawn for both spends "
        "the local budgets of both."
    )
    if waves.first:
        return (
            f"This is the first of two waves. The second is designed from what it publishes and spends "
            f"{plain_number(_other_wave(inputs, waves, spent))}, {both}"
        )
    return (
        "This is the second of two waves. The standard deviations come from what the first published, which "
        f"spent {plain_number(spent)}, {both}"
    )


def _other_wave(inputs: Inputs, waves: Waves | None, spent: float) -> float:
    """Return what was spent before, or will be spent by the wave that follows."""
    if waves is None or not waves.first:
        return spent
    return waves.left_after(inputs.promise.central_epsilon)


def _range(smallest: float, largest: float) -> str:
    """Write a range of budgets, rounded upwards."""
    low, high = round_up(smallest, 3), round_up(largest, 3)
    return high if low == high else f"{low} to {high}"
