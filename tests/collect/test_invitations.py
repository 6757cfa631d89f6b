"""Invitations: secret links from the key of the draw, and a folder that knows nobody."""

import csv
import hashlib
import re
import sqlite3
import stat
import warnings

import pytest
import segno
from typer.testing import CliRunner

import dpstrata as dps
from collecting import DATABASES, QUESTIONS, drawn, invited, plan_for
from dpstrata.cli import app
from dpstrata.collect.folder import open_folder
from dpstrata.collect.invitations import links_at
from dpstrata.collect.letters import Letters
from dpstrata.collect.overseeing import back_up, remind, survey_status
from dpstrata.collect.store import TOKEN
from dpstrata.fielding.keys import read_key


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return invited(tmp_path_factory.mktemp("survey"))


def rows(made):
    with sqlite3.connect(made.survey / "collected.sqlite") as connection:
        found = connection.execute("SELECT hash, stratum, part, form, used FROM tokens").fetchall()
    connection.close()
    return {hashed: tuple(row) for hashed, *row in found}


def test_everyone_gets_a_link_of_their_own_in_the_fragment(made):
    text = (made.base / "invitations.csv").read_text().splitlines()
    assert text[0] == "id,link"
    assert all(line.split(",")[1].startswith("https://survey.example.org/#") for line in text[1:])
    assert set(made.links) == set(made.people)
    assert len(set(made.links.values())) == len(made.people)
    assert all(TOKEN.fullmatch(token) for token in made.links.values())


def test_the_collector_holds_hash_stratum_and_form_alone(made):
    names = made.folder.plan.strata.names
    expected = {
        hashlib.sha256(made.links[person].encode()).digest(): (names.index(stratum), 0, form - 1, 0)
        for person, (stratum, form) in made.people.items()
    }
    assert rows(made) == expected


def test_no_id_token_or_secret_is_in_the_folder(made):
    draw, office = (read_key(made.base / name) for name in ("draw.key", "office.key"))
    content = b"".join(path.read_bytes() for path in made.survey.iterdir())
    for secret in (draw, office):
        assert secret not in content
        assert secret.hex().encode() not in content
    for person, token in made.links.items():
        assert person.encode() not in content
        assert token.encode() not in content


def test_secrets_are_for_their_owner_alone(made):
    for path in (made.base / "office.key", made.base / "invitations.csv", made.survey / "collected.sqlite"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(made.survey.stat().st_mode) == 0o700


def test_the_same_draw_makes_the_same_links_again_and_keeps_what_was_collected(tmp_path):
    made = invited(tmp_path)
    links, content = made.links, (made.survey / "collected.sqlite").read_bytes()
    (tmp_path / "invitations.csv").unlink()
    made.invite()
    assert made.links == links
    assert (made.survey / "collected.sqlite").read_bytes() == content


def test_another_draw_makes_other_links(made, tmp_path):
    assert not set(invited(tmp_path, anew=True).links.values()) & set(made.links.values())


def test_a_folder_of_another_survey_is_left_alone(made, tmp_path):
    other = drawn(tmp_path, plan_for(180))
    with pytest.raises(
        dps.InputError, match=r"must be a new folder or one of this survey, got another design\.json"
    ):
        other.invite(survey=made.survey)


@pytest.mark.parametrize("name", ["office_key", "out"])
def test_what_the_collector_must_not_know_stays_out_of_its_folder(tmp_path, name):
    made = drawn(tmp_path, plan_for())
    with pytest.raises(dps.InputError, match="the collector must not know it"):
        made.invite(**{name: made.survey / "secret.csv"})
    assert not made.survey.exists()


def test_invitations_replace_neither_the_frame_nor_the_addresses(tmp_path):
    made = drawn(tmp_path, plan_for())
    frame = tmp_path / "frame.csv"
    content = frame.read_bytes()
    letters = Letters(tmp_path / "letters", addresses=frame, address_line=["id"])
    for name in ("out", "office_key"):
        with pytest.raises(dps.InputError, match=r"frame\.csv is given for two different files"):
            made.invite(**{name: frame}, letters=letters)
    words = ["invite", made.design, frame, "--address", "https://survey.example.org", "--out", frame]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert "frame.csv is given for two different files" in str(result.exception)
    assert frame.read_bytes() == content


def test_a_key_that_was_moved_away_is_asked_for_and_not_replaced(tmp_path):
    made = invited(tmp_path)
    (tmp_path / "office.key").rename(tmp_path / "moved.key")
    with pytest.raises(
        dps.InputError, match=r"got another office\.pub\. Use the office's key that it was made with"
    ):
        made.invite()
    assert not (tmp_path / "office.key").exists()
    made.invite(office_key=tmp_path / "moved.key")


def test_a_survey_in_a_file_gets_no_second_database(tmp_path, monkeypatch):
    """Neither where the address is given nor where it is in the environment."""
    made = invited(tmp_path)
    said = (
        r"this survey is in the SQLite file .*collected\.sqlite: remove database, or unset DPSTRATA_DATABASE"
    )
    address = "postgresql://nobody@127.0.0.1:1/none"
    for refused in (
        lambda: made.invite(database=address),
        lambda: survey_status(made.survey, database=address),
    ):
        with pytest.raises(dps.InputError, match=said):
            refused()
    monkeypatch.setenv("DPSTRATA_DATABASE", address)
    result = CliRunner().invoke(app, ["collect", "status", str(made.survey)])
    assert "unset DPSTRATA_DATABASE" in str(result.exception)
    assert not (made.survey / "collected.postgresql").exists()
    back_up(made.survey, tmp_path / "copy.sqlite")
    assert (tmp_path / "copy.sqlite").stat().st_size


@pytest.mark.postgresql
def test_a_survey_in_postgresql_gets_no_second_database(tmp_path):
    made = invited(tmp_path, database="postgresql")
    said = "this survey is in a PostgreSQL database: give"
    for refused in (
        lambda: made.invite(database=None),
        lambda: survey_status(made.survey),
        lambda: back_up(made.survey, tmp_path / "copy.sqlite"),
    ):
        with pytest.raises(dps.InputError, match=said):
            refused()
    assert not (made.survey / "collected.sqlite").exists()
    content = b"".join(path.read_bytes() for path in made.survey.iterdir())
    assert made.database.encode() not in content
    (made.survey / "collected.postgresql").unlink()  # as if it was lost
    assert survey_status(made.survey, database=made.database).state == "open"
    with pytest.raises(dps.InputError, match="if the survey is in a PostgreSQL database"):
        survey_status(made.survey)
    made.invite()
    assert (made.survey / "collected.postgresql").exists()


@pytest.mark.postgresql
@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"title": "Other"}, r"kit\.json"),
        ({"office_key": "other.key"}, r"office\.pub\. Use the office's key"),
    ],
)
def test_a_second_folder_of_a_database_has_the_same_kit_and_key(tmp_path, more, name):
    """What the one seals could otherwise never be opened with what the other seals."""
    made = invited(tmp_path, database="postgresql")
    more = {key: tmp_path / value if key == "office_key" else value for key, value in more.items()}
    second = {"survey": tmp_path / "second", "out": tmp_path / "second.csv"}
    said = f"the database must be a new one or one of this survey, got another {name}"
    with pytest.raises(dps.InputError, match=said):
        made.invite(**second, **more)
    assert not any((tmp_path / each).exists() for each in ("second", "second.csv", "other.key"))
    made.invite(**second)
    assert survey_status(second["survey"], database=made.database).state == "open"
    with made.folder.connected() as tables:
        tables.execute(
            "UPDATE survey SET value = 'x' WHERE name = ?", ("kit" if "title" in more else "office",)
        )
    with pytest.raises(dps.InputError, match=said):
        made.folder.tables()


@pytest.mark.parametrize("database", DATABASES)
def test_a_database_of_another_version_is_refused_in_a_sentence(tmp_path, database):
    made = invited(tmp_path, database=database)
    with made.folder.connected() as tables:
        tables.execute("UPDATE survey SET value = '1' WHERE name = 'version'")
    for refused in (made.invite, lambda: survey_status(made.survey, database=made.database)):
        with pytest.raises(dps.InputError, match="one that this version of dpstrata made, got another"):
            refused()


@pytest.mark.parametrize(
    "address",
    [
        "survey.example.org",
        "ftp://x.org",
        "https://x.org/#a",
        "https://x.org/?a=1",
        "",
        "https://x.org/#",
        "https://x.org/?",
        "https://x .org",
        "https://x.org/a\nb",
        "https://ann:hunter2@x.org",
        "https://x.org:70000",
        "https://x.org:0",
        "https://x.org:",
        "https://:80",
        "https://...",
        "https://.",
        "https://x..org",
        "https://[abc",
        "https://abc]",
        "https://x.org\\a",
    ],
)
def test_an_address_that_no_link_could_begin_with(address):
    said = r"address must be like https://survey\.example\.org, got"
    with pytest.raises(dps.InputError, match=said) as caught:
        links_at(address)
    assert "hunter2" not in str(caught.value)


def test_an_address_is_checked_before_anything_is_written(tmp_path):
    made = drawn(tmp_path, plan_for())
    with pytest.raises(dps.InputError, match="address must be like"):
        made.invite(address="https://[abc")
    assert not made.survey.exists()


@pytest.mark.parametrize("address", ["http://survey.example.org", "http://10.0.0.7:8000"])
def test_a_network_that_can_read_along_is_warned_of(tmp_path, address):
    made = drawn(tmp_path, plan_for())
    with pytest.warns(dps.DpstrataWarning, match="begins with http, so anyone on the network .* use https"):
        made.invite(address=address)


@pytest.mark.parametrize(
    ("address", "begins"),
    [
        (" https://x.org/\n", "https://x.org/#"),
        ("https://x.org./a/", "https://x.org./a/#"),
        ("http://[::1]:8000", "http://[::1]:8000/#"),
        ("https://umfrage.müller.de", "https://umfrage.müller.de/#"),
    ],
)
def test_links_begin_with_the_address(address, begins):
    assert links_at(address) == begins


def test_codes_are_of_the_links(tmp_path):
    """In the order of the invitations, each of its own link and of no other."""
    made = invited(tmp_path, plan_for(40), codes=tmp_path / "codes")
    files = sorted((tmp_path / "codes").iterdir())
    assert [path.name for path in files] == [f"{number:02}.svg" for number in range(1, 41)]
    assert len({path.read_bytes() for path in files}) == len(made.links) == 40
    with open(made.base / "invitations.csv", newline="") as file:
        links = [row["link"] for row in csv.DictReader(file)]
    for path, link in zip(files, links, strict=True):
        (drawn,) = re.findall(r' d="([^"]+)"', path.read_text())
        expected = segno.make(link, error="m", micro=False).svg_inline()
        assert f' d="{drawn}"' in expected


def test_a_sample_of_another_key_is_refused(made, tmp_path):
    other = invited(tmp_path, anew=True)
    with pytest.raises(dps.InputError, match=r"is not the sample that draw\.json records"):
        made.invite(key_file=other.base / "draw.key", survey=tmp_path / "new")


def test_a_key_that_others_may_read_warns_of_what_it_opens(tmp_path):
    made = invited(tmp_path)
    (tmp_path / "office.key").chmod(0o644)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made.invite()
    assert any("can open the answers that are sealed" in str(each.message) for each in caught)


def test_noise_that_is_added_on_devices_cannot_be_collected(tmp_path):
    plan = dps.design(dps.Strata([300, 700]), epsilon=1, questions=(0, 100), mechanism="laplace", total=100)
    with pytest.raises(dps.InputError, match="a kit needs devices that send one of a few cells"):
        drawn(tmp_path, plan).invite()


def test_a_database_that_cannot_be_reached_is_named_without_its_password(tmp_path):
    made = drawn(tmp_path, plan_for())
    with pytest.raises(dps.InputError, match="must be reachable and let you make a schema") as caught:
        made.invite(database="postgresql://someone:hunter2@127.0.0.1:1/none")
    assert "hunter2" not in str(caught.value)


def test_a_database_that_is_no_database(tmp_path):
    made = invited(tmp_path)
    (made.survey / "collected.sqlite").write_bytes(b"something else" * 1000)
    with pytest.raises(dps.InputError, match="is damaged, or not the database of a survey"):
        made.folder.tables()


def test_a_folder_in_place_of_the_database_is_named(tmp_path):
    made = invited(tmp_path)
    (made.survey / "collected.sqlite").unlink()
    (made.survey / "collected.sqlite").mkdir()
    with pytest.raises(dps.InputError, match=r"collected\.sqlite cannot be opened: Is a directory\."):
        made.folder.tables()


def test_a_survey_of_another_account_is_named(tmp_path, monkeypatch):
    made = invited(tmp_path)
    folder = made.folder

    def refuse(*given, **more):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(dps.InputError, match=r"collected\.sqlite cannot be opened: Permission denied\."):
        folder.tables()
    with (
        pytest.raises(dps.InputError, match=r"collect\.lock cannot be written: Permission denied\."),
        folder.alone(),
    ):
        pass
    monkeypatch.undo()
    monkeypatch.setattr("pathlib.Path.stat", refuse)
    with pytest.raises(dps.InputError, match=r"survey cannot be read: Permission denied\."):
        open_folder(made.survey)


@pytest.mark.parametrize("batch", [1, 201, 10**9, True, 2.5])
def test_a_batch_whose_loss_cannot_be_worked_out_is_refused(tmp_path, batch):
    made = drawn(tmp_path, plan_for(40))
    with pytest.raises(dps.InputError, match="batch must be a whole number from 2 to 200, got"):
        made.invite(batch=batch)


@pytest.mark.parametrize(("batch", "said"), [(2, False), (100, True)])
def test_a_batch_that_never_comes_together_is_told(tmp_path, batch, said):
    made = drawn(tmp_path, plan_for(40))
    given = {
        "--survey": made.survey, "--sample": tmp_path / "sample.csv", "--key-file": tmp_path / "draw.key",
        "--office-key": tmp_path / "office.key", "--out": tmp_path / "invitations.csv", "--batch": batch,
        "--address": "https://survey.example.org",
    }  # fmt: skip
    result = CliRunner().invoke(
        app, ["invite", str(made.design), *(str(word) for each in given.items() for word in each)]
    )
    assert result.exit_code == 0
    assert (
        "A batch of 100 never comes together, since no stratum and form has more than" in result.output
    ) is said


@pytest.mark.parametrize("content", ["id,stratum\nann,north\n", "stratum,sum,answers\nnorth,3,9\n"])
def test_invitations_replace_nothing_but_invitations(tmp_path, content):
    made, there = invited(tmp_path), tmp_path / "staff.csv"
    there.write_text(content)
    with pytest.raises(dps.InputError, match=r"staff\.csv exists and holds something else"):
        made.invite(out=there)
    given = {**made.office, "address": "https://survey.example.org"}
    with pytest.raises(dps.InputError, match=r"staff\.csv exists and holds something else"):
        remind(made.survey, **given, out=there)
    assert there.read_text() == content
    assert remind(made.survey, **given, out=tmp_path / "invitations.csv") == 200


def test_nobody_is_invited_to_a_survey_that_is_closed(tmp_path):
    made = invited(tmp_path)
    with made.folder.connected() as tables:
        tables.mark_closed()
    with pytest.raises(dps.InputError, match="to a survey that is open, got one that is closed"):
        made.invite()


def contacts(made, *, without=0):
    """A table of everyone in the sample, in another order, with what the frame knows of them."""
    path = made.base / "contacts.csv"
    people = sorted(made.people, reverse=True)[without:]
    path.write_text("E-mail,id,Town\n" + "".join(f"{each}@example.org,{each},Ely\n" for each in people))
    return path


def test_columns_for_mail_merge_are_kept_and_nobody_is_named_who_is_missing(tmp_path):
    made = invited(tmp_path)
    links = made.links
    out, keep = tmp_path / "mail.csv", ["E-mail", "Town"]
    made.invite(out=out, contacts=contacts(made), keep=keep)
    with open(out, newline="") as file:
        found = list(csv.DictReader(file))
    assert list(found[0]) == ["id", *keep, "link"]
    assert {row["id"]: row["link"].partition("#")[2] for row in found} == links
    assert all(row["E-mail"] == f"{row['id']}@example.org" for row in found)
    office = made.office | {"address": "https://survey.example.org", "out": tmp_path / "again.csv"}
    assert remind(made.survey, **office, contacts=contacts(made), keep=keep) == len(links)
    assert (tmp_path / "again.csv").read_text() == out.read_text()
    for given, words in (
        ({"keep": keep}, "names columns of the frame or of addresses, got neither table"),
        ({"keep": ["Phone"], "contacts": contacts(made)}, "has no column 'Phone'; it has 'id' and 2 other"),
        ({"keep": ["link"], "contacts": contacts(made)}, "keep must name other columns than 'id' and 'link'"),
        ({"keep": keep, "contacts": contacts(made, without=2)}, "got all but 2 people"),
    ):
        with pytest.raises(dps.InputError, match=words) as caught:
            made.invite(out=tmp_path / "new.csv", **given)
        assert not any(person in str(caught.value) for person in links)
        assert not (tmp_path / "new.csv").exists()


def test_columns_are_those_of_the_draw_unless_they_are_given(tmp_path):
    made = invited(tmp_path)
    before = (tmp_path / "invitations.csv").read_text()
    made.invite(id=None, stratum=None)
    assert (tmp_path / "invitations.csv").read_text() == before
    (tmp_path / "draw.json").unlink()
    with pytest.raises(dps.InputError, match=r"draw\.json does not exist"):
        made.invite(id=None, stratum=None)


def test_an_address_that_is_none_is_refused_before_anyone_is_drawn(tmp_path):
    plan_for().save(tmp_path / "design.json")
    names = [name for name, size in (("north", 300), ("south", 700)) for _ in range(size)]
    (tmp_path / "f.csv").write_text(
        "id,stratum\n" + "".join(f"p{i},{name}\n" for i, name in enumerate(names))
    )
    words = ["invite", tmp_path / "design.json", tmp_path / "f.csv", "--address", "survey.example.org"]
    files = ["--sample", tmp_path / "sample.csv", "--key-file", tmp_path / "draw.key"]
    result = CliRunner().invoke(app, [str(each) for each in (*words, *files)])
    assert "be like https://survey.example.org" in str(result.exception)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["design.json", "f.csv"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"release": "sums"}, "a kit needs answers that are randomised on devices"),
        ({"release": "sums", "device_epsilon": 2}, "must be the question as respondents read it"),
    ],
)
def test_what_cannot_be_collected_is_refused_before_anyone_is_drawn(tmp_path, more, words):
    strata = dps.Strata([300, 700], names=["north", "south"])
    plan = dps.design(strata, epsilon=1, questions="yes_no", total=100, **more)
    plan.save(tmp_path / "design.json")
    people = "".join(f"p{i},{'north' if i < 300 else 'south'}\n" for i in range(1000))
    (tmp_path / "f.csv").write_text("id,stratum\n" + people)
    given = [
        "invite",
        tmp_path / "design.json",
        tmp_path / "f.csv",
        "--address",
        "https://survey.example.org",
    ]
    files = ["--sample", tmp_path / "sample.csv", "--key-file", tmp_path / "draw.key"]
    assert words in command(*given, *files)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["design.json", "f.csv"]


def test_another_title_is_refused_with_what_to_do(tmp_path):
    made = invited(tmp_path)
    with pytest.raises(dps.InputError, match=r"got another kit\.json\. Keep title and text as they were"):
        made.invite(title="Something else")


def command(*words):
    """Run a command in the folder of the test, and return what it says."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    return str(result.exception) if result.exception else result.output


def test_a_column_that_is_not_there_is_told_before_anyone_is_drawn(tmp_path, monkeypatch):
    made = drawn(tmp_path / "other", plan_for(180))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "design.json").write_bytes(made.design.read_bytes())
    frame = made.base / "frame.csv"
    given = ["invite", "design.json", frame, "--address", "https://survey.example.org"]
    assert "has no column 'email'" in command(*given, "--keep", "email")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["design.json", "other"]
    assert "must name other columns than 'id'" in command(*given, "--keep", "id")
    (tmp_path / "panel.csv").write_text("id,note\nA,precious\n")
    assert "holds something else" in command(*given, "--out", "panel.csv")
    assert not (tmp_path / "draw.key").exists()
    assert "180 people invited" in command(*given, "--keep", "stratum")


def test_the_status_says_how_many_answers_the_design_expects(tmp_path):
    strata = dps.Strata([300, 700], names=["north", "south"], response_rates=[0.6, 0.6])
    plan = dps.design(strata, questions=QUESTIONS, epsilon=1.0, release="sums", device_epsilon=4.0, total=200)
    made = invited(tmp_path, plan)
    assert survey_status(made.survey).expected == pytest.approx(plan.expected_answers)
    assert command("collect", "status", made.survey).startswith(
        f"The survey is open: 0 of 200 people answered; the design expects about {plan.expected_answers:.0f}.\n"
    )


def test_a_survey_is_closed_where_the_files_of_the_office_are(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = command("collect", "close", made.survey)
    assert said.startswith("design.json does not exist: close a survey where the office keeps its files")
