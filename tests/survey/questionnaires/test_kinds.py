"""Every kind of question: answers are read, checked and made up, and its figures hold for real people."""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest
from mpmath import mp

import dpstrata as dps
from dpstrata.designs.document import design_digest
from dpstrata.errors import InputError
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms import MECHANISMS, get_mechanism, mechanism_class
from dpstrata.simulation.survey import check_population
from dpstrata.survey.questionnaires.kinds.base import KINDS, OR_BLANK, QuestionKind, kind_named
from dpstrata.survey.questionnaires.questionnaire import read_shorthand
from dpstrata.survey.strata_checks import LARGEST_SIZE

# shorthand, and answers that are not allowed
NUMBERS = {
    "yes_no": [0.5, 2, -1, np.nan, "maybe"],
    "0:1": [np.inf, np.nan, "much", 1e10, None, 1j],
    "-3.5:7.25": [np.inf, np.nan, "much", 1e10, None, 1j],
    "0.001:2e9": [np.inf, np.nan, "much", 1e10, None, 1j],
    "0:100:1": [np.nan, "much", 200, -40, 3.3333],
    "2:5:3": [np.nan, "much", 200, -40, 3.3333],
    "0:0.7:0.1": [np.nan, "much", 200, -40, 3.3333],
    "10:20:2.5": [np.nan, "much", 200, -40, 3.3333],
}
NAMES = ("rent|own|other", "yes|no", "1|2|3", "a, b|c: d|Ä.")
ALL = (*NUMBERS, *NAMES)


def question_of(shorthand):
    return read_shorthand(shorthand)[0]


def some_values(question):
    if question.names:
        return np.array(question.names, dtype=object)
    space = question.space
    if space.steps is None:
        return space.at_shares(np.array([0.0, 0.37, 0.5, 1.0]))
    return space.at_shares(np.array([0, space.steps, space.steps // 3]) / space.steps)


@pytest.mark.parametrize(
    ("name", "blank"), [*((name, False) for name in KINDS), *((name, True) for name in OR_BLANK)]
)
def test_nothing_was_forgotten(name, blank):
    kind = kind_named(name, blank=blank)
    missing = [
        name
        for name, member in vars(QuestionKind).items()
        if inspect.isfunction(member)
        and "raise NotImplementedError" in inspect.getsource(member)
        and inspect.getattr_static(type(kind), name) is member
    ]
    assert not missing, f"{name} lacks {', '.join(missing)}"


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_ask_for_no_more_than_they_may(name):
    """One that reads anything else would have to know questions."""
    numbers, steps = mechanism_class(name).numbers, 2 if name == "cells" else 1
    all_it_may_ask = SimpleNamespace(
        range=1.0, steps=steps, values=steps + 1, described="two or three values", numbers=numbers
    )
    mechanism = get_mechanism(name, all_it_may_ask)
    mechanism.prepare(1.0, 1e-6)
    mechanism.on_grid(1.7, mechanism.grid_steps(1.7))
    mechanism.simulated_release(np.array([0.0, 1.0]), 1.7, np.random.default_rng(0))
    assert mechanism.variance(1.7) == pytest.approx(float(mechanism.exact_variance(mp.mpf(1.7))))


@pytest.mark.parametrize("shorthand", ALL)
def test_a_design_and_its_document_hold_the_question(shorthand, tmp_path):
    question = question_of(shorthand)
    plan = dps.design(dps.Strata([700, 900]), epsilon=1, total=40, questions=shorthand)
    assert list(plan.inputs.questions) == [question] == [plan.inputs.question]
    assert plan.inputs.space == question.space
    same = dps.design(dps.Strata([700, 900]), epsilon=1, total=40, questions=[question])
    assert same.digest == plan.digest
    plan.save(tmp_path / "design.json")
    loaded = dps.load_design(tmp_path / "design.json")
    assert loaded.inputs == plan.inputs
    assert design_digest(loaded) == design_digest(plan)


def test_the_space_of_a_question():
    spaces = [question_of(each).space for each in ("yes_no", "0:2:2", "0:1", "0:100:5", "a|b|c")]
    assert [each.values for each in spaces] == [2, 2, None, 21, 3]
    assert [each.steps for each in spaces] == [1, 1, None, 20, None]
    assert [str(each) for each in spaces] == [
        "[0, 1] in steps of 1",
        "[0, 2] in steps of 2",
        "[0, 1]",
        "[0, 100] in steps of 5",
        "3 categories",
    ]
    assert [question_of(each).of_kind.figure for each in ("yes_no", "0:2:2", "0:1", "a|b")] == [
        "share",
        "mean",
        "mean",
        "share",
    ]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        *((wrong, "lower < upper") for wrong in ((1, 0), (0, 0), (0, np.inf), (np.nan, 1))),
        *((wrong, "must span at least") for wrong in ((0, 1e-40), (-1e30, 1e30))),
        *((wrong, "a whole number of steps") for wrong in ((0, 1, 0), (0, 1, 0.3), (0, 1, 3), (0, 1, 1e-10))),
    ],
)
def test_spaces_that_do_not_exist(wrong, words):
    with pytest.raises(InputError, match=words):
        AnswerSpace(*wrong)


@pytest.mark.parametrize("shorthand", NUMBERS)
def test_allowed_answers_pass_and_others_are_refused_without_being_shown(shorthand):
    question = question_of(shorthand)
    kind, space, values = question.of_kind, question.space, some_values(question)
    assert np.array_equal(kind.checked(question, values.tolist()), values)
    np.testing.assert_allclose(space.at_shares(space.shares(values)), values, atol=1e-12 * space.range)
    ends = np.array([space.lower, space.upper])
    assert np.array_equal(space.shares(ends), [0.0, 1.0])
    if shorthand != "yes_no":
        off = ends + np.array([-1, 1]) * 1e-11 * space.range
        assert np.array_equal(kind.checked(question, off), ends)  # the rounding of a sum is nobody's mistake
    for wrong in NUMBERS[shorthand]:
        with pytest.raises(InputError) as caught:
            kind.checked(question, [*values.tolist(), wrong], where="stratum 'north'")
        assert "stratum 'north'" in str(caught.value)
        assert caught.value.where == "stratum 'north'"
        assert f"{wrong}" not in str(caught.value) or len(f"{wrong}") < 3
        assert caught.value.__context__ is None
    for shape in (values.reshape(1, -1), 0.0):
        with pytest.raises(InputError, match="every answer must be"):
            kind.checked(question, shape)


@pytest.mark.parametrize("shorthand", [each for each in NUMBERS if each != "yes_no"])
def test_answers_are_clipped_where_they_can_be(shorthand):
    question = question_of(shorthand)
    kind, space = question.of_kind, question.space
    beyond = [space.lower - 3 * space.range, space.upper + 2 * space.range, space.lower]
    with pytest.raises(InputError, match="2 of 3 outside") as caught:
        kind.checked(question, beyond)
    assert ("clip" in [mention.name for mention in caught.value.sentence.mentions]) == kind.can_clip
    ends = [space.lower, space.upper, space.lower]
    strata, options = dps.Strata([3, 3]), {"epsilon": 1, "total": 4, "questions": question}
    with pytest.raises(InputError, match="outside in stratum '1'"):
        check_population(dps.design(strata, **options), [beyond, beyond])
    if kind.can_clip:
        assert kind.checked(question, beyond, clip=True).tolist() == ends
        plan = dps.design(strata, **options, clip=True)
        shares = [list(each[question.name]) for each in check_population(plan, [beyond, beyond])]
        assert shares == [[0.0, 1.0, 0.0]] * 2
    else:
        with pytest.raises(InputError, match="clip requires questions to be a range"):
            dps.design(strata, **options, clip=True)


@pytest.mark.parametrize("shorthand", ALL)
def test_the_largest_spread_is_that_of_a_population_and_no_population_has_more(shorthand):
    question = question_of(shorthand)
    kind, sizes, rng = question.of_kind, np.array([1, 2, 3, 10, 501]), np.random.default_rng(1)
    for size, most in zip(sizes.tolist(), kind.largest_sd(question, sizes).tolist(), strict=True):
        values = kind.made_up_with_sd(question, size, most)
        assert len(values) == len(kind.checked(question, values)) == size
        sd = kind.sd_of(question, values) if size > 1 else 0.0
        assert sd == pytest.approx(most, rel=1e-9)
        for _ in range(20 if size > 1 else 0):
            others = rng.choice(some_values(question), size)
            assert kind.sd_of(question, others) <= most * (1 + 1e-9)
    least = kind.largest_sd(question, np.array([LARGEST_SIZE]))
    assert np.all(kind.largest_sd(question, sizes[1:]) >= least)  # as checks use


@pytest.mark.parametrize("shorthand", ALL)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.43, 0.5])
def test_made_up_people_have_the_wanted_spread(shorthand, share):
    question = question_of(shorthand)
    kind, wanted = question.of_kind, share * question.range
    values = kind.made_up_with_sd(question, 20_000, wanted)
    assert len(kind.checked(question, values)) == 20_000
    near = 2e-3 if question.names else 1e-3  # one person of 200 more or less is 1 in 400 of the spread
    assert kind.sd_of(question, values) == pytest.approx(wanted, rel=near, abs=1e-9 * question.range)


def test_the_spread_of_two_values_tells_their_shares():
    for shorthand in ("yes_no", "2:5:3"):
        question = question_of(shorthand)
        values = question.space.at_shares(np.repeat([0.0, 1.0], [300, 100]))
        sds = np.array([values.std(ddof=1)])
        assert question.of_kind.proportions_of(question, sds, np.array([400])) == pytest.approx([0.25])
    for shorthand in ("0:2:1", "0:1", "a|b"):
        question = question_of(shorthand)
        assert question.of_kind.proportions_of(question, np.array([0.2]), np.array([400])) is None


@pytest.mark.parametrize("shorthand", ALL)
def test_some_mechanism_protects_them_and_refusals_say_what_to_do(shorthand):
    space = question_of(shorthand).space
    protected = [name for name in MECHANISMS if is_protected_by(name, space)]
    assert protected
    for name in set(MECHANISMS) - set(protected):
        with pytest.raises(InputError, match=f"got {space.described}") as caught:
            get_mechanism(name, space)
        assert caught.value.argument == "questions"
        assert "--" not in str(caught.value)
    for name in protected:
        assert str(space) in repr(get_mechanism(name, space))


def is_protected_by(name, space):
    try:
        get_mechanism(name, space)
    except InputError:
        return False
    return True


def test_estimates_are_written_as_people_read_them():
    shown = question_of("yes_no").of_kind.shown
    assert [shown(share) for share in (0.0, 0.004, 0.27, 1.0)] == ["0%", "0.4%", "27%", "100%"]
    shown = question_of("0:100:1").of_kind.shown
    assert [shown(mean) for mean in (0.0, 12.345, 123456.7)] == ["0", "12.3", "123,457"]


def test_names_are_read_as_people_write_them_and_others_are_refused_without_being_shown():
    question = question_of(["Rent", "own", "2"])
    kind = question.of_kind
    given = [" rent", "OWN", 2, 2.0, np.str_("2"), "2.0"]
    assert kind.checked(question, given).tolist() == [0, 1, 2, 2, 2, 2]
    assert kind.checked(question, np.array(["own", "Rent"])).tolist() == [1, 0]
    for wrong in (["castle"], ["own", None], [np.nan], [3], "own", 1, [["own"]]):
        with pytest.raises(InputError, match="every answer must be one of Rent, own, 2") as caught:
            kind.checked(question, wrong, where="stratum 'north'")
        assert caught.value.where == "stratum 'north'"
        assert "castle" not in str(caught.value)
        assert caught.value.__context__ is None


def test_the_spread_of_categories_is_half_the_sum_of_those_of_their_indicators():
    question = question_of("a|b|c")
    given = ["a"] * 5 + ["b"] * 2 + ["c"]
    indicators = [[float(each == name) for each in given] for name in "abc"]
    spread = question.of_kind.sd_of(question, given) ** 2
    assert spread == pytest.approx(np.var(indicators, axis=1, ddof=1).sum() / 2)
    (largest,) = question.of_kind.largest_sd(question, np.array([10**12]))
    assert largest**2 == pytest.approx((1 - 1 / 3) / 2)


def test_two_categories_vary_as_yes_and_no_do():
    two, yes_no = question_of("no|yes"), question_of("yes_no")
    sizes = np.array([1, 2, 3, 10, 501, 10**12])
    np.testing.assert_allclose(
        two.of_kind.largest_sd(two, sizes), yes_no.of_kind.largest_sd(yes_no, sizes), rtol=1e-14
    )
    said = yes_no.of_kind.sd_of(yes_no, [1] * 3 + [0] * 8)
    assert two.of_kind.sd_of(two, ["yes"] * 3 + ["no"] * 8) == pytest.approx(said)


def test_the_only_question_may_have_a_target():
    """It is the survey's own, stated once."""
    question = dps.Question("smokes", "yes_no", blank=False, target_se=0.03)
    strata = dps.Strata([700, 900])
    plan = dps.design(strata, epsilon=1, questions=question)
    assert plan.inputs.target_se == 0.03
    same = dps.design(
        strata, epsilon=1, questions=dps.Question("smokes", "yes_no", blank=False), target_se=0.03
    )
    assert plan == same
    with pytest.raises(InputError, match="remove one of them"):
        dps.design(strata, epsilon=1, questions=question, target_se=0.02)
    with pytest.raises(InputError, match="a design needs one of"):
        dps.design(strata, epsilon=1, questions=question, total=90)
