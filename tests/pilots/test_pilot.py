"""Two waves: what they spend together, on paper and on the ledger; and what they estimate."""

import csv
import json
import math
import secrets
import warnings
from collections import defaultdict
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import commands
import dpstrata as dps
from dpstrata.fielding.answer_files import open_answers, read_noised
from dpstrata.fielding.draw import draw
from dpstrata.fielding.frames import frame_strata, open_frame
from dpstrata.fielding.keys import survey_key
from dpstrata.fielding.ledger import loss_of_repeats
from dpstrata.fielding.publish import privatize
from dpstrata.fielding.results.microdata import estimate_means
from dpstrata.fielding.sample import draw_sample
from dpstrata.pilots.pilot import pilot_weights
from dpstrata.words.results import FLOORED
from extent import few, may_cover, mean_limit, variance_limits
from report_reader import Reader, require_closed
from surveys import Listed, microdata, reports_of

OPTIONS = {"epsilon": 1.0, "pilot_epsilon": 0.3, "total": 400, "pilot_total": 120}
COLUMNS = {"id": "person", "stratum": "region"}
SHARES = {"north": 0.5, "south": 0.04}


@pytest.fixture
def survey(tmp_path):
    """A frame in which some people are asked twice, and the design of its first wave."""
    people = [(f"canary-{i:04}", "north" if i % 2 else "south") for i in range(3000)]
    (tmp_path / "people.csv").write_text("person,region\n" + "".join(f"{p},{r}\n" for p, r in people))
    frame = open_frame(tmp_path / "people.csv", id="person", stratum="region")
    first = dps.pilot(frame_strata(frame), **OPTIONS, questions="yes_no", mechanism="randomized_response")
    first.save(tmp_path / "pilot.json")
    return tmp_path, frame, first


def field(folder, frame, design, wave, **more):
    """Draw a wave, answer it and release it."""
    (folder / wave).mkdir(exist_ok=True)
    sample, key = folder / wave / "sample.csv", folder / "draw.key"
    if not sample.exists():
        draw(folder / design, frame, out=sample, key_file=key)
    with open(sample, newline="") as file:
        rows = list(csv.DictReader(file))
    with open(folder / wave / "answers.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "region", "answer"])
        writer.writerows(
            [row["person"], row["region"], int(int(row["person"][-4:]) % 100 < 100 * SHARES[row["region"]])]
            for row in rows
        )
    out = folder / wave / more.pop("out", "noised.csv")
    release = privatize(
        folder / design,
        folder / wave / "answers.csv",
        sample=sample,
        out=out,
        key_file=key,
        **COLUMNS,
        **more,
    )
    return release, {row["person"] for row in rows}, read_noised(open_answers(out), "stratum", "answer")


def test_from_the_frame_to_one_estimate_of_two_waves(survey):
    folder, frame, first = survey
    before, asked, noised = field(folder, frame, "pilot.json", "first")
    assert (before.known_before, before.spent.epsilon) == (0, 0.3)
    main = dps.main_design(first, microdata(*noised))
    main.save(folder / "design.json")
    assert dps.load_design(folder / "design.json") == main
    assert dps.load_design(folder / "pilot.json") == first
    after, again, second = field(folder, frame, "design.json", "second")
    twice = len(asked & again)
    assert twice > 0
    assert (after.known_before, after.spent.epsilon) == (twice, 1.0)
    both = dps.combine_waves(first, main, estimate_means(first, *noised), estimate_means(main, *second))
    assert (both.whole[0].answered, both.whole[0].invited) == (400, 400)
    matrix = both.covariance.matrix
    assert np.diag(matrix) == pytest.approx([row.standard_error**2 for row in both])
    assert matrix[0, 2] == pytest.approx(0.5 * matrix[2, 2])
    assert matrix[2, 3] == 0
    ledger = json.loads((folder / "ledger.json").read_text())
    assert [(entry["status"], entry["spent"]["epsilon"]) for entry in ledger["entries"]] == [
        ("released", 0.3),
        ("released", 0.7),
    ]
    for file in ("ledger.json", "design.json", "pilot.json"):
        assert "canary" not in (folder / file).read_text()


def test_the_samples_of_the_waves_are_drawn_apart(survey):
    """One key file, two designs: who is in one sample says nothing of who is in the other."""
    _, _, first = survey
    main = dps.main_design(first, microdata(*answered(first)))
    assert first.digest != main.digest
    people = list(range(3000))
    frame = Listed(people, ["north" if i % 2 else "south" for i in people])
    drawn = []
    for _ in range(60):
        key = secrets.token_bytes(32)
        samples = [set(draw_sample(p, frame, survey_key(key, p.digest)).ids) for p in (first, main)]
        drawn.append(len(samples[0] & samples[1]))
    rates = first.sample_sizes * main.sample_sizes / first.strata.sizes
    spread = math.sqrt(float((rates * (1 - first.sample_sizes / first.strata.sizes)).sum()) / 60)
    assert abs(np.mean(drawn) - rates.sum()) < 6 * spread


def test_only_one_release_of_the_pilot_was_announced(survey):
    folder, frame, first = survey
    _, _, noised = field(folder, frame, "pilot.json", "first")
    field(folder, frame, "pilot.json", "first", again=True, out="more.csv")
    dps.main_design(first, microdata(*noised)).save(folder / "design.json")
    with pytest.raises(dps.InputError, match=r"has already spent epsilon = .*, most recently in more\.csv"):
        field(folder, frame, "design.json", "second")
    release, _, _ = field(folder, frame, "design.json", "second", again=True)
    assert release.spent.epsilon == pytest.approx(0.7 + loss_of_repeats(first, 2))


def test_another_survey_of_the_same_people_is_still_refused(survey):
    folder, frame, first = survey
    other = dps.design(first.strata, epsilon=0.3, total=120, questions="yes_no")
    other.save(folder / "other.json")
    field(folder, frame, "other.json", "zeroth")
    _, _, noised = field(folder, frame, "pilot.json", "first", again=True)
    dps.main_design(first, microdata(*noised)).save(folder / "design.json")
    with pytest.raises(dps.InputError, match="Pass again=True"):
        field(folder, frame, "design.json", "second")


def answered(first, value=0.5):
    names = [name for name, n in zip(first.strata.names, first.sample_sizes, strict=True) for _ in range(n)]
    return names, np.full(len(names), value)


@pytest.mark.parametrize(("epsilon", "pilot_epsilon"), [(1.0, 0.3), (1.0, 0.9), (0.3, 0.1), (2, 1 / 3)])
def test_the_documents_state_the_sum(epsilon, pilot_epsilon, tmp_path):
    strata = dps.Strata([5000, 6000], names=["a", "b"], extra={"zone": ["x", "y"]})
    budgets = {**OPTIONS, "epsilon": epsilon, "pilot_epsilon": pilot_epsilon}
    first = dps.pilot(strata, **budgets, domains=["zone"], mechanism="laplace")
    main = dps.main_design(first, microdata(*answered(first)))
    assert first.inputs.epsilon == pilot_epsilon
    assert main.inputs.epsilon == pytest.approx(epsilon - pilot_epsilon)
    assert main.strata.sd_sources == "private_pilot"
    assert main.table()["sd_epsilon"] == [pilot_epsilon] * 2
    assert main.strata.extra == first.strata.extra
    for plan in (first, main):
        in_all = plan.privacy["central_in_all"]
        assert in_all["epsilon"] == pytest.approx(epsilon, rel=1e-15)
        assert in_all["epsilon"] <= epsilon
        assert f"the two together spend at most {epsilon:g};" in plan.privacy["in_words"]
        assert any("drawn independently" in assumption for assumption in plan.privacy["assumptions"])
    assert main.privacy["spent_on_deviations"] == pilot_epsilon
    assert main.waves.pilot_digest == first.digest
    assert main.total == 280
    main.save(tmp_path / "design.json")
    data = json.loads((tmp_path / "design.json").read_text())
    for change in (
        {"epsilon": epsilon * 0.9},
        {"epsilon": epsilon * 1.1},
        {"total": 100},
        {"pilot_digest": None},
        {"pilot_digest": "anything"},
    ):
        changed = {**data, "waves": {**data["waves"], **change}}
        (tmp_path / "changed.json").write_text(json.dumps(changed))
        with pytest.raises(dps.InputError):
            dps.load_design(tmp_path / "changed.json")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pilot_epsilon": 1.0}, "pilot_epsilon must be above 0 and below epsilon"),
        ({"pilot_epsilon": 1.5}, "below epsilon=1, so that .* got pilot_epsilon=1.5"),
        ({"pilot_total": 400}, "pilot_total must be below total"),
        ({"pilot_total": 399}, "total must be at least the sum of the minimums"),
        ({"pilot_total": 1}, "total must be at least the sum of the minimums"),
        ({"at_most": 100}, "supports only a total and a promise of epsilon, got at_most"),
        ({"delta": 1e-6, "mechanism": "gaussian"}, "promise of epsilon, got delta"),
        ({"release": "sums"}, "the answers to 'answer' differ, because the sum of numbers shows no spread"),
        ({"release": "mean"}, "because one noised figure shows no spread"),
        ({"objective": "unit_free"}, "objectives mean, trace and custom"),
        ({"nonsense": 1}, "a design has no option 'nonsense'"),
        ({"epsilon": "much"}, "epsilon must be a number"),
    ],
)
def test_refusals_of_a_pilot(change, words):
    with pytest.raises(dps.DpstrataError, match=words):
        dps.pilot(dps.Strata([5000, 6000]), **{**OPTIONS, **change})


def test_refusals_of_a_main_design():
    strata = dps.Strata([5000, 6000], [0.2, 0.2], sd_sources="confidential", sd_epsilons=[0.1, 0.1])
    with pytest.raises(dps.InputError, match="standard deviations that cost no budget"):
        dps.pilot(strata, **OPTIONS)
    first = dps.pilot(dps.Strata([5000, 6000], names=["a", "b"]), **OPTIONS)
    names, noised = answered(first)
    for given, values, words in (
        (names[:5], noised[:5], "no answer in 'b'"),
        ([*names, "z"], [*noised, 0.1], "has no stratum 'z'"),
        (names * 2, [*noised] * 2, "more answers than invitations"),
        (names, ["secret-4321"] * len(names), "rows 1 to 120: not a number"),
    ):
        with pytest.raises(dps.InputError, match=words) as caught:
            dps.main_design(first, microdata(given, values))
        assert "4321" not in str(caught.value)
    main = dps.main_design(first, microdata(names, noised))
    plain = dps.design(first.strata, epsilon=1, total=100)
    for wrong in (main, plain, None):
        with pytest.raises(dps.InputError, match="must follow the design of a pilot"):
            dps.main_design(wrong, microdata(names, noised))
    result = estimate_means(first, names, noised)
    with pytest.raises(dps.InputError, match="must be the one that follows this pilot"):
        dps.combine_waves(first, plain, result, result)


@pytest.mark.filterwarnings("ignore:Counts are invitations")
def test_one_answer_in_a_stratum_is_enough():
    strata = dps.Strata([5000, 6000], names=["a", "b"], response_rates=[0.03, 0.03])
    first = dps.pilot(strata, **OPTIONS)
    main = dps.main_design(first, microdata(["a", "b"], [0.4, 0.6]))
    assert np.all(main.sds > 0.1)
    assert main.total == 280


def test_a_pilot_that_hardly_anyone_answered_announces_no_main_wave():
    """It would state a sum that the first wave has exceeded."""
    first = dps.pilot(dps.Strata([5000, 6000], names=["a", "b"]), **OPTIONS)
    with pytest.raises(
        dps.InputError, match=r"Up to epsilon = 3\.506 may be lost instead of 0\.3.*sd_epsilon"
    ):
        dps.main_design(first, microdata(["a", "b"], [0.4, 0.6]))


def test_a_main_wave_beyond_the_best_is_warned_about():
    strata = dps.Strata([5000, 6000], names=["a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = dps.pilot(strata, epsilon=0.1, pilot_epsilon=0.01, total=1000, pilot_total=2)
    with pytest.warns(dps.DpstrataWarning, match="total=998 exceeds the best total"):
        dps.main_design(first, microdata(["a", "b"], [0.5, 0.5]))


def test_strata_may_come_in_any_order():
    sizes, names = [5000, 9000, 700], ["a", "b", "c"]
    first = dps.pilot(dps.Strata(sizes, names=names), **OPTIONS)
    turned = dps.pilot(dps.Strata(sizes[::-1], names=names[::-1]), **OPTIONS)
    generator = np.random.default_rng(1)
    given, _ = answered(first)
    values = generator.normal(0.5, 0.4, len(given))
    order = generator.permutation(len(given))
    one = dps.main_design(first, microdata(given, values))
    two = dps.main_design(turned, microdata([given[i] for i in order], values[order]))
    assert two.sds[::-1] == pytest.approx(one.sds, rel=1e-9)
    assert np.abs(two.sample_sizes[::-1] - one.sample_sizes).max() <= 1


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["randomized_response", "piecewise"])
def test_two_waves_are_unbiased_and_their_intervals_cover(mechanism):
    """Real draws and real noise: the design of each depends on its own pilot."""
    sizes = {"a": 900, "b": 1200, "c": 400}
    strata = [name for name, size in sizes.items() for _ in range(size)]
    generator = np.random.default_rng(11)
    share = {"a": 0.5, "b": 0.06, "c": 0.3}
    answers = np.array([float(generator.random() < share[name]) for name in strata])
    truth = float(answers.mean())
    frame = Listed(list(range(len(strata))), strata)
    kind = (0, 1) if mechanism == "piecewise" else "yes_no"
    first = dps.pilot(
        dps.Strata(list(sizes.values()), names=list(sizes)),
        epsilon=1.5,
        pilot_epsilon=0.5,
        total=400,
        pilot_total=90,
        min_per_stratum=5,
        questions=kind,
        mechanism=mechanism,
    )

    def field(plan):
        sample = draw_sample(plan, frame, secrets.token_bytes(32))
        by_stratum = defaultdict(list)
        for person, name in zip(sample.ids, sample.strata, strict=True):
            by_stratum[name].append(answers[person])
        names = [name for name, values in by_stratum.items() for _ in values]
        noised = [reports_of(plan, name, values) for name, values in by_stratum.items()]
        return names, np.concatenate(noised)

    repeats, errors, variances, covered = few(60, of=400), [], [], 0
    for _ in range(repeats):
        one = field(first)
        main = dps.main_design(first, microdata(*one))
        two = field(main)
        both = dps.combine_waves(first, main, estimate_means(first, *one), estimate_means(main, *two)).whole[
            0
        ]
        errors.append(both.estimate - truth)
        variances.append(both.standard_error**2)
        covered += both.lower <= truth <= both.upper
    assert abs(np.mean(errors)) < mean_limit(errors)
    assert may_cover(covered, repeats, least=0.94, most=0.96)
    least, most = variance_limits(repeats)
    assert least < np.var(errors, ddof=1) / np.mean(variances) < most


def test_the_weight_is_fixed_before_any_answer():
    first = dps.pilot(dps.Strata([5000, 6000], names=["a", "b"]), **OPTIONS, questions="yes_no")
    low, high = (dps.main_design(first, microdata(*answered(first, value))) for value in (0.01, 0.5))
    assert low.sds.max() < high.sds.min()
    weight = pilot_weights(first)["answer"]
    assert 0 < weight < 1
    results = [estimate_means(plan, *answered(plan, value)) for plan, value in ((first, 0.2), (low, 0.6))]
    both = dps.combine_waves(first, low, *results)
    assert both.whole[0].estimate == pytest.approx(weight * 0.2 + (1 - weight) * 0.6)
    assert [row.estimate for row in both.by("stratum")] == pytest.approx([both.whole[0].estimate] * 2)
    assert both.questions["answer"].doubts[FLOORED] == ("a", "b")


@pytest.mark.slow
def test_the_commands(survey):
    folder, frame, _ = survey

    run = partial(commands.run, folder)
    (folder / "strata.csv").write_text("stratum,size\nnorth,1500\nsouth,1500\n")
    budgets = ["--epsilon", "1", "--pilot-epsilon", "0.3", "--total", "400", "--pilot-total", "120"]
    kind = ["--questions", "yes_no", "--mechanism", "randomized_response"]
    made = run("pilot", "strata.csv", *budgets, *kind, "--out", "pilot.json")
    assert made.returncode == 0, made.stderr
    shown = " ".join(made.stdout.split())
    assert shown.startswith("120 interviews give a standard error of")
    assert "epsilon = 0.3 for everyone in this wave, 1 in both waves together; --full" in shown
    full = run("pilot", "strata.csv", *budgets, *kind, "--full")
    assert "This is the first of two waves" in " ".join(full.stdout.split())
    field(folder, frame, "pilot.json", "first")
    main = run("main-design", "pilot.json", "first/noised.csv", "--out", "design.json")
    assert main.returncode == 0, main.stderr
    assert "the two together" not in " ".join(main.stdout.split())
    full = run("main-design", "pilot.json", "first/noised.csv", "--full")
    assert "the two together spend at most 1;" in " ".join(full.stdout.split())
    shown = run("main-design", "pilot.json", "first/noised.csv", "--json")
    assert json.loads(shown.stdout) == json.loads((folder / "design.json").read_text())
    field(folder, frame, "design.json", "second")
    waves = ["--pilot", "pilot.json", "--pilot-answers", "first/noised.csv"]
    both = run("estimate", "design.json", "second/noised.csv", *waves, "--json")
    assert both.returncode == 0, both.stderr
    assert json.loads(both.stdout)["estimates"][0]["answered"] == 400
    written = run("estimate", "design.json", "second/noised.csv", *waves, "--report", "results.html")
    assert written.returncode == 0, written.stderr
    require_report_of_two_waves((folder / "results.html").read_text())
    for arguments, words in (
        (["pilot", "strata.csv", *budgets[2:]], "needs --epsilon and --total"),
        (
            ["pilot", "strata.csv", *budgets, "--pilot-epsilon", "2"],
            "--pilot-epsilon must be above 0 and below",
        ),
        (["main-design", "design.json", "first/noised.csv"], "must follow the design of a pilot"),
        (["estimate", "design.json", "second/noised.csv", *waves[:2]], "give both --pilot and"),
    ):
        wrong = run(*arguments)
        assert (wrong.returncode, words in wrong.stderr) == (2, True), wrong.stderr


def require_report_of_two_waves(page):
    """Require that a report of results says what each wave was, and that both kept one promise."""
    require_closed(page)
    report = Reader(page)
    text = " ".join(report.text.split())
    assert "two waves, epsilon = 1 in both together" in text
    assert "from 400 answers from 400 invitations in two waves" in text
    assert "There were two waves" in text
    assert "More was spent" not in text
    assert (
        "First wave: The ledger lists noised.csv, unchanged, as released under this design; it added" in text
    )
    assert "Second wave: The ledger lists noised.csv, unchanged" in text
    assert "by a factor of at most 2.72 (epsilon = 1), beyond" in text
    assert "both waves together, which spend epsilon = 0.3 and 0.7." in text
    assert "nothing protects them against the office" in text  # a batch at the office, in both waves
    assert "local epsilon at most" not in text
    waves = report.table("The two waves")
    assert [(wave["promise"], wave["invited"]) for wave in waves] == [
        ("epsilon = 0.3", "120"),
        ("epsilon = 0.7", "280"),
    ]
    *_, everyone = report.table("People, invitations and answers")
    assert (everyone["invited"], everyone["answered"]) == ("400", "400")
    again = "estimate design.json second/noised.csv --pilot pilot.json --pilot-answers first/noised.csv"
    assert f"dpstrata {again} --report results.html" in text
    planned, estimated = report.table("Standard errors")
    assert (planned["variance"], estimated["variance"]) == ("planned", "estimated")
    assert float(planned["standard error"]) == pytest.approx(float(estimated["standard error"]), rel=0.5)


def test_a_pilot_has_one_main_wave_and_is_what_it_says(survey):
    """Two main designs from one pilot, or a main design that calls an ordinary survey its pilot, are refused."""
    folder, frame, first = survey
    _, _, (names, noised) = field(folder, frame, "pilot.json", "first")
    dps.main_design(first, microdata(names, noised)).save(folder / "design.json")
    assert field(folder, frame, "design.json", "second")[0].spent.epsilon == 1.0
    dps.main_design(first, microdata(names, [value / 2 for value in noised])).save(folder / "other.json")
    with pytest.raises(dps.InputError, match="Pass again=True"):
        field(folder, frame, "other.json", "third")


def test_an_ordinary_survey_cannot_be_announced_as_a_pilot(survey):
    folder, frame, first = survey
    ordinary = dps.design(first.strata, epsilon=0.3, total=120, questions="yes_no")
    ordinary.save(folder / "pilot.json")
    field(folder, frame, "pilot.json", "first")
    main = dps.main_design(first, microdata(*answered(first)))
    forged = replace(main, waves=replace(main.waves, pilot_digest=ordinary.digest))
    forged.save(folder / "design.json")
    with pytest.raises(dps.InputError, match="Pass again=True"):
        field(folder, frame, "design.json", "second")
