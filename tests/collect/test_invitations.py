"""Invitations: secret links from the key of the draw, and a folder that knows nobody."""

import csv
import hashlib
import re
import sqlite3
import stat
import warnings

import pytest
import segno

import dpstrata as dps
from collecting import drawn, invited, plan_for
from dpstrata.collect.store import TOKEN
from dpstrata.fielding.keys import read_key


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return invited(tmp_path_factory.mktemp("survey"))


def rows(made):
    with sqlite3.connect(made.survey / "collected.sqlite") as connection:
        found = connection.execute("SELECT hash, stratum, form, used FROM tokens").fetchall()
    connection.close()
    return {hashed: (stratum, form, used) for hashed, stratum, form, used in found}


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
        hashlib.sha256(made.links[person].encode()).digest(): (names.index(stratum), form - 1, 0)
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
    assert not set(invited(tmp_path).links.values()) & set(made.links.values())


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


@pytest.mark.parametrize(
    "address", ["survey.example.org", "ftp://x.org", "https://x.org/#a", "https://x.org/?a=1", ""]
)
def test_an_address_that_no_link_could_begin_with(tmp_path, address):
    made = drawn(tmp_path, plan_for())
    with pytest.raises(dps.InputError, match=r"address must be like https://survey\.example\.org, got"):
        made.invite(address=address)


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
    other = invited(tmp_path)
    with pytest.raises(dps.InputError, match=r"is not the sample that draw\.json records"):
        made.invite(key_file=other.base / "draw.key", survey=tmp_path / "new")


def test_a_key_that_others_may_read_warns_of_what_it_opens(tmp_path):
    made = invited(tmp_path)
    (tmp_path / "office.key").chmod(0o644)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made.invite()
    assert any("can open the answers that are sealed" in str(each.message) for each in caught)


def test_single_questions_are_told_to_become_a_questionnaire(tmp_path):
    plan = dps.design(
        dps.Strata([300, 700]), epsilon=1, answers="binary", mechanism="randomized_response", total=100
    )
    with pytest.raises(dps.InputError, match="a collector needs a design with a questionnaire"):
        drawn(tmp_path, plan).invite()


def test_a_database_that_cannot_be_reached_is_named_without_its_password(tmp_path):
    made = drawn(tmp_path, plan_for())
    with pytest.raises(dps.InputError, match="must be reachable and let you make a schema") as caught:
        made.invite(database="postgresql://someone:hunter2@127.0.0.1:1/none")
    assert "hunter2" not in str(caught.value)


def test_a_database_that_is_no_database(tmp_path):
    made = invited(tmp_path)
    (made.survey / "collected.sqlite").write_bytes(b"something else" * 1000)
    with pytest.raises(dps.InputError, match="is not the database of a survey"):
        made.folder.tables()
