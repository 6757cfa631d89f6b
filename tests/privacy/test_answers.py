"""Every kind of answers: nothing is missing, it survives being written, and its figures hold for real people."""

import copy
import dataclasses
import inspect
import json
import pickle
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from mpmath import mp

import dpstrata as dps
from dpstrata.designs.document import design_digest, design_document
from dpstrata.errors import InputError
from dpstrata.privacy.answers import base as registry
from dpstrata.privacy.answers.base import KINDS, Answers, parse_answers
from dpstrata.privacy.answers.grid import Grid
from dpstrata.privacy.answers.yes_no import YesNo
from dpstrata.privacy.mechanisms.registry import MECHANISMS, get_mechanism, mechanism_class
from dpstrata.simulation.survey import check_population
from dpstrata.survey.strata_checks import LARGEST_SIZE

# kind: what asks for such answers, answers that are allowed, and some that are not; no two kinds have the same
EXAMPLES = {
    "yes_no": (["binary", (0, 1, 1)], [0, 1, 1], [0.5, 2, -1, np.nan, "yes"]),
    "interval": (["0:1", (-3.5, 7.25), "1e-3:2e9"], None, [np.inf, np.nan, "much", 1e10, None, 1j]),
    "grid": (["0:100:1", (2, 5, 3), (0, 0.7, 0.1), (10, 20, 2.5)], None, [np.nan, "much", 200, -40, 3.3333]),
}
NAMED = {"category": ["rent|own|other", ["yes", "no"], "1|2|3", ("a, b", "c: d", "Ä.")]}
EXAMPLES |= {kind: (every, None, None) for kind, every in NAMED.items()}
EXAMPLE = [(kind, asked) for kind, (every, _, _) in EXAMPLES.items() for asked in every]
NUMBERS = [(kind, asked) for kind, asked in EXAMPLE if kind not in NAMED]


def forgotten(module: str) -> list[str]:
    """What a kind of answers still lacks; ``Add a kind of answer`` in CONTRIBUTING.md says where each belongs."""
    kind = next(each for name, each in zip(KINDS, registry.kinds(), strict=True) if name == module)
    left_open = [
        name
        for name, member in vars(Answers).items()
        if "raise NotImplementedError" in source_of(member) and inspect.getattr_static(kind, name) is member
    ]
    missing = [f"{kind.__name__}.{name}" for name in left_open]
    missing += [f"{kind.__name__}.form"] if not hasattr(kind, "form") else []
    missing += (
        [f"@dataclass(frozen=True) of {kind.__name__}"] if "__dataclass_fields__" not in vars(kind) else []
    )
    missing += [f"{kind.__name__} as a subclass of Answers"] if not issubclass(kind, Answers) else []
    missing += [f"the example in tests/privacy/test_answers.py of {module}"] if module not in EXAMPLES else []
    return missing


def source_of(member: object) -> str:
    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
    return inspect.getsource(function) if inspect.isfunction(function) else ""


@pytest.mark.parametrize("module", KINDS)
def test_nothing_was_forgotten(module):
    missing = forgotten(module)
    assert not missing, f"{module} lacks {', '.join(missing)}; see 'Add a kind of answer' in CONTRIBUTING.md"


def test_what_was_forgotten_is_named(monkeypatch):
    class Ages(Answers):
        pass

    known = list(registry.kinds())
    monkeypatch.setitem(KINDS, "ages", "Ages")
    monkeypatch.setattr(registry, "kinds", lambda: [*known, Ages])
    missing = " ".join(forgotten("ages"))
    for name in (
        "values",
        "described",
        "checked",
        "largest_sd",
        "population",
        "read",
        "text",
        "code",
        "__str__",
    ):
        assert f"Ages.{name} " in missing
    assert "example in tests" in missing


@dataclasses.dataclass(frozen=True, slots=True)
class Colours(Answers):
    names: tuple[str, ...]


def test_a_kind_has_fields_of_its_own():
    colours = Colours(names=("red", "green"))
    assert isinstance(colours, dps.Answers)
    assert pickle.loads(pickle.dumps(colours)) == copy.copy(colours) == Colours(("red", "green"))
    assert dataclasses.asdict(colours) == {"names": ("red", "green")}


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_ask_for_no_more_than_they_may(name):
    """One that reads anything else of answers would have to know their kinds."""
    numbers = mechanism_class(name).numbers
    steps = 2 if name == "cells" else 1
    all_it_may_ask = SimpleNamespace(
        range=1.0, steps=steps, values=steps + 1, described="two or three values", numbers=numbers
    )
    mechanism = get_mechanism(name, all_it_may_ask)
    mechanism.prepare(1.0, 1e-6)
    mechanism.on_grid(1.7, mechanism.grid_steps(1.7))
    mechanism.simulated_release(np.array([0.0, 1.0]), 1.7, np.random.default_rng(0))
    assert mechanism.variance(1.7) == pytest.approx(float(mechanism.exact_variance(mp.mpf(1.7))))


@pytest.mark.parametrize(("kind", "asked"), EXAMPLE)
def test_every_way_of_writing_them_comes_back(kind, asked):
    answers = parse_answers(asked)
    assert type(answers).__name__ == KINDS[kind]
    assert isinstance(answers, dps.Answers)
    fields = dataclasses.asdict(answers)
    same = [
        parse_answers(answers),
        parse_answers(answers.text),
        parse_answers(eval(answers.code)),
        parse_answers(json.loads(json.dumps(fields))),
        eval(repr(answers), {"Answers": dps.Answers, type(answers).__name__: type(answers)}),
        pickle.loads(pickle.dumps(answers)),
        pickle.loads(pickle.dumps(answers, protocol=0)),
        copy.deepcopy(answers),
        dataclasses.replace(answers),
    ]
    assert all(each == answers and type(each) is type(answers) for each in same)
    assert {hash(each) for each in same} == {hash(answers)}
    others = [parse_answers(other) for _, other in EXAMPLE]
    assert sum(other == answers for other in others) == (2 if kind == "yes_no" else 1)


@pytest.mark.parametrize(("kind", "asked"), EXAMPLE)
def test_their_document_has_their_fields_and_brings_them_back(kind, asked, tmp_path):
    answers = parse_answers(asked)
    plan = dps.design(dps.Strata([700, 900]), epsilon=1, total=40, answers=answers, mechanism="best")
    assert design_document(plan)["inputs"]["answers"] == dataclasses.asdict(answers)
    assert dps.design(dps.Strata([700, 900]), epsilon=1, total=40, answers=asked).digest == plan.digest
    plan.save(tmp_path / "design.json")
    loaded = dps.load_design(tmp_path / "design.json")
    assert loaded.inputs.answers == answers
    assert design_digest(loaded) == design_digest(plan)


@pytest.mark.parametrize("asked", ["binary", "0:1", "0:100:1", (2, 5, 3)])
def test_kinds_of_version_1_are_written_as_it_did(asked):
    answers = parse_answers(asked)
    written = dataclasses.asdict(answers)
    assert written == {"lower": answers.lower, "upper": answers.upper, "step": answers.step}
    assert list(map(type, written.values())) == [float, float, type(None) if answers.step is None else float]


def test_whole_numbers_have_the_digest_of_their_document(tmp_path):
    plans = [
        dps.design(dps.Strata([70, 90]), epsilon=1, total=40, answers=given)
        for given in (dps.Answers(0, 100, 1), dps.Answers(np.float64(0), 100.0, np.int64(1)), "0:100:1")
    ]
    plans[0].save(tmp_path / "design.json")
    plans.append(dps.load_design(tmp_path / "design.json"))
    assert len({design_digest(plan) for plan in plans}) == 1


def test_two_values_are_yes_and_no_if_they_are_0_and_1():
    assert type(parse_answers("0:1:1")) is type(dps.Answers(0.0, 1.0, step=1.0)) is YesNo
    assert type(parse_answers((2, 5, 3))) is type(parse_answers((0, 2, 2))) is Grid
    assert [parse_answers(each).figure for each in ("binary", "0:2:2", "0:1")] == ["share", "mean", "mean"]
    assert [parse_answers(each).values for each in ("binary", "0:2:2", "0:1", "0:100:5")] == [2, 2, None, 21]
    assert [parse_answers(each).steps for each in ("binary", "0:2:2", "0:1", "0:100:5")] == [1, 1, None, 20]
    assert dps.Answers(0, 1) != dps.Answers(0, 1, 1) != dps.Answers(0, 1, 0.5)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        *((wrong, "answers must be 'binary', ") for wrong in ("0", "a:b", "", (1,), (0, 1, 2, 3), None)),
        *((wrong, "answers must be 'binary', ") for wrong in (7, {"lower": 0}, {"a": 1}, "yes", [])),
        *((wrong, "from 2 to 1,000 categories, got") for wrong in (["rent"], [f"c{i}" for i in range(1001)])),
        *((wrong, "must be text without") for wrong in ("a|", "a||b", ["a|b", "c"], [" a", "b"])),
        *((wrong, "must differ in more than upper and lower case") for wrong in ("a|b|a", ["Rent", "rent"])),
        *((wrong, "lower < upper") for wrong in ((1, 0), (0, 0), (0, np.inf), (np.nan, 1), "2:1:1")),
        *((wrong, "must span at least") for wrong in ((0, 1e-40), (-1e30, 1e30), (0, 1e-31, 1e-31))),
        *(
            (wrong, "step of answers must be positive, got")
            for wrong in ((0, 1, 0), (0, 1, -1), (0, 1, np.nan))
        ),
        *((wrong, "must be a whole number of steps") for wrong in ((0, 1, 0.3), (0, 1, 3), (0, 1, 1e-10))),
    ],
)
def test_answers_that_do_not_exist(wrong, words):
    with pytest.raises(InputError, match=words) as caught:
        parse_answers(wrong)
    assert caught.value.argument == "answers"
    if isinstance(wrong, tuple) and len(wrong) in (2, 3):
        with pytest.raises(InputError, match=words):
            dps.Answers(*wrong)


def test_no_kind_becomes_another_by_replacing_a_field():
    with pytest.raises(InputError, match="an interval has no step"):
        dataclasses.replace(dps.Answers(0, 1), step=1)
    with pytest.raises(InputError, match="yes and no must be 0 and 1 in steps of 1, got"):
        dataclasses.replace(dps.Answers(0, 1, 1), upper=5)


def test_the_registry_loads_no_kind():
    code = "import sys; import dpstrata.privacy.answers.base; print([m for m in sys.modules if '.answers.' in m])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "['dpstrata.privacy.answers.base']\n"
    )


def some_values(answers: Answers) -> np.ndarray:
    if answers.names:
        return np.array(answers.names, dtype=object)
    if answers.steps is None:
        return answers.at_shares(np.array([0.0, 0.37, 0.5, 1.0]))
    return answers.at_shares(np.array([0, answers.steps, answers.steps // 3]) / answers.steps)


@pytest.mark.parametrize(("kind", "asked"), NUMBERS)
def test_allowed_answers_pass_and_others_are_refused_without_being_shown(kind, asked):
    answers = parse_answers(asked)
    _, allowed, refused = EXAMPLES[kind]
    values = some_values(answers) if allowed is None else np.array(allowed, dtype=float)
    assert np.array_equal(answers.checked(values.tolist()), values)
    np.testing.assert_allclose(answers.at_shares(answers.shares(values)), values, atol=1e-12 * answers.range)
    ends = np.array([answers.lower, answers.upper])
    off = ends + np.array([-1, 1]) * 1e-11 * answers.range
    assert np.array_equal(answers.checked(off), ends)  # the rounding of a sum is nobody's mistake
    assert np.array_equal(answers.shares(ends), [0.0, 1.0])
    for wrong in refused:
        with pytest.raises(InputError) as caught:
            answers.checked([*values.tolist(), wrong], where="stratum 'north'")
        assert "stratum 'north'" in str(caught.value)
        assert caught.value.where == "stratum 'north'"
        assert f"{wrong}" not in str(caught.value) or len(f"{wrong}") < 3
        assert caught.value.__context__ is None
    for shape in (values.reshape(1, -1), 0.0):
        with pytest.raises(InputError, match="every answer must be a number"):
            answers.checked(shape)


@pytest.mark.parametrize(("kind", "asked"), NUMBERS)
def test_answers_are_clipped_where_they_can_be(kind, asked):
    answers = parse_answers(asked)
    beyond = [answers.lower - 3 * answers.range, answers.upper + 2 * answers.range, answers.lower]
    with pytest.raises(InputError, match="2 of 3 outside") as caught:
        answers.checked(beyond)
    assert ("clip" in [mention.name for mention in caught.value.sentence.mentions]) == answers.can_clip
    ends = [answers.lower, answers.upper, answers.lower]
    assert answers.checked(beyond, clip=True).tolist() == ends
    strata, options = dps.Strata([3, 3]), {"epsilon": 1, "total": 4, "answers": answers}
    with pytest.raises(InputError, match="outside in stratum '1'"):
        check_population(dps.design(strata, **options), [beyond, beyond])
    if answers.can_clip:
        plan = dps.design(strata, **options, clip=True)
        assert [values.tolist() for values in check_population(plan, [beyond, beyond])] == [ends, ends]
    else:
        with pytest.raises(InputError, match="clip requires answers in an interval"):
            dps.design(strata, **options, clip=True)


@pytest.mark.parametrize(("kind", "asked"), EXAMPLE)
def test_the_largest_spread_is_that_of_a_population_and_no_population_has_more(kind, asked):
    answers = parse_answers(asked)
    sizes = np.array([1, 2, 3, 10, 501])
    rng = np.random.default_rng(1)
    for size, most in zip(sizes.tolist(), answers.largest_sd(sizes).tolist(), strict=True):
        values = answers.population(size, most)
        assert len(values) == size
        assert len(answers.checked(values)) == size
        sd = answers.sd_of(values) if size > 1 else 0.0
        assert sd == pytest.approx(most, rel=1e-9)
        for _ in range(20 if size > 1 else 0):
            assert answers.sd_of(rng.choice(some_values(answers), size)) <= most * (1 + 1e-9)
    assert np.all(
        answers.largest_sd(sizes[1:]) >= answers.largest_sd(np.array([LARGEST_SIZE]))
    )  # as checks use


@pytest.mark.parametrize(("kind", "asked"), EXAMPLE)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.43, 0.5])
def test_made_up_people_have_the_wanted_spread(kind, asked, share):
    answers = parse_answers(asked)
    values = answers.population(20_000, share * answers.range)
    assert len(answers.checked(values)) == 20_000
    near = 2e-3 if answers.names else 1e-3  # one person of 200 more or less is 1 in 400 of the spread
    assert answers.sd_of(values) == pytest.approx(share * answers.range, rel=near, abs=1e-9 * answers.range)


def test_the_spread_of_two_values_tells_their_shares():
    for asked in ("binary", (2, 5, 3)):
        answers = parse_answers(asked)
        values = answers.at_shares(np.repeat([0.0, 1.0], [300, 100]))
        (share,) = answers.proportions_of(np.array([values.std(ddof=1)]), np.array([400]))
        assert share == pytest.approx(0.25)
    for asked in ((0, 2, 1), (0, 1)):
        assert parse_answers(asked).proportions_of(np.array([0.2]), np.array([400])) is None


@pytest.mark.parametrize(("kind", "asked"), EXAMPLE)
def test_some_mechanism_protects_them_and_refusals_say_what_to_do(kind, asked):
    answers = parse_answers(asked)
    protected = [name for name in MECHANISMS if is_protected_by(name, answers)]
    assert protected
    for name in protected:
        mechanism = get_mechanism(name, answers)
        assert mechanism.answers is answers
        assert str(answers) in repr(mechanism)
    for name in set(MECHANISMS) - set(protected):
        with pytest.raises(InputError, match=f"got {answers.described}") as caught:
            get_mechanism(name, answers)
        assert caught.value.argument == "answers"
        assert "--" not in str(caught.value)


def is_protected_by(name: str, answers: Answers) -> bool:
    try:
        get_mechanism(name, answers)
    except InputError:
        return False
    return True


def test_their_words():
    words = {each: parse_answers(each) for each in ("binary", "2:5:3", "0:100:1", "-3.5:7.25")}
    assert [str(each) for each in words.values()] == [
        "[0, 1] in steps of 1",
        "[2, 5] in steps of 3",
        "[0, 100] in steps of 1",
        "[-3.5, 7.25]",
    ]
    assert [each.described for each in words.values()] == [
        "two values",
        "two values",
        "101 values",
        "any number in a range",
    ]
    assert [each.text for each in words.values()] == list(words)
    assert [each.code for each in words.values()] == ['"binary"', "(2, 5, 3)", "(0, 100, 1)", "(-3.5, 7.25)"]
    assert [words["binary"].shown(share) for share in (0.0, 0.004, 0.27, 1.0)] == [
        "0%",
        "0.4%",
        "27%",
        "100%",
    ]
    assert [words["0:100:1"].shown(mean) for mean in (0.0, 12.345, 123456.7)] == ["0", "12.3", "123,457"]


# --- categories -------------------------------------------------------------------------------


def test_names_are_read_as_people_write_them_and_others_are_refused_without_being_shown():
    answers = parse_answers(["Rent", "own", "2"])
    assert answers.checked([" rent", "OWN", 2, 2.0, np.str_("2"), "2.0"]).tolist() == [0, 1, 2, 2, 2, 2]
    assert answers.checked(np.array(["own", "Rent"])).tolist() == [1, 0]
    for wrong in (["castle"], ["own", None], [np.nan], [3], "own", 1, [["own"]]):
        with pytest.raises(
            InputError, match="every answer must be one of Rent, own, 2, got something"
        ) as caught:
            answers.checked(wrong, where="stratum 'north'")
        assert caught.value.where == "stratum 'north'"
        assert "castle" not in str(caught.value)
        assert caught.value.__context__ is None


def test_numbers_in_quotes_stay_a_range_unless_there_are_bars():
    assert type(parse_answers(["0", "1"])).__name__ == "Interval"
    assert parse_answers("0|1").names == ("0", "1")
    assert parse_answers("0|1").code == "'0|1'"
    assert parse_answers(["a", "1"]).code == "['a', '1']"


def test_the_spread_of_categories_is_half_the_sum_of_those_of_their_indicators():
    answers = parse_answers("a|b|c")
    given = ["a"] * 5 + ["b"] * 2 + ["c"]
    indicators = [[float(each == name) for each in given] for name in "abc"]
    assert answers.sd_of(given) ** 2 == pytest.approx(np.var(indicators, axis=1, ddof=1).sum() / 2)
    assert answers.largest_sd(np.array([10**12]))[0] ** 2 == pytest.approx((1 - 1 / 3) / 2)


def test_two_categories_vary_as_yes_and_no_do():
    two, yes_no = parse_answers("no|yes"), parse_answers("binary")
    sizes = np.array([1, 2, 3, 10, 501, 10**12])
    np.testing.assert_allclose(two.largest_sd(sizes), yes_no.largest_sd(sizes), rtol=1e-14)
    assert two.sd_of(["yes"] * 3 + ["no"] * 8) == pytest.approx(yes_no.sd_of([1] * 3 + [0] * 8))


def test_their_words_name_them():
    answers = parse_answers("rent|own|other")
    assert (answers.described, str(answers), answers.text) == (
        "3 categories",
        "rent, own, other",
        "rent|own|other",
    )
    assert answers.code == "['rent', 'own', 'other']"
    assert str(parse_answers([f"c{i}" for i in range(30)])).endswith("c19 and 10 more")
