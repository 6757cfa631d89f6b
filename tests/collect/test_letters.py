"""Letters of invitation: a page for everyone, in every language, with their own address, link and code."""

import csv
import re
import stat
import sys
import zlib
from datetime import date, timedelta
from functools import cache
from html import unescape

import numpy as np
import pytest
import weasyprint
from PIL import Image
from typer.testing import CliRunner

import dpstrata as dps
from collecting import drawn, invited, read_code
from dpstrata.cli import app
from dpstrata.collect import letters as module
from dpstrata.collect.letters import Letters, code_in_page
from dpstrata.words.consent import texts

pytestmark = pytest.mark.slow

CLOSES = date(2099, 12, 3)


@pytest.fixture
def printed(monkeypatch):
    """The HTML of everything that is printed."""
    pages, real = [], module.print_page

    def printing(page, **more):
        pages.append(page)
        return real(page, **more)

    monkeypatch.setattr(module, "print_page", printing)
    return pages


@cache
def plan_in(*languages):
    questions = [
        dps.Question(
            "smokes", "yes_no", text="Do you smoke?",
            translations=[dps.Translation(each, text=f"? {each}") for each in languages[1:]],
        )
    ]  # fmt: skip
    return dps.design(
        dps.Strata([300, 700], names=["north", "south"]),
        questions=dps.Questionnaire(questions, language=languages[0]),
        epsilon=1, device_epsilon=3, release="sums", total=10,
    )  # fmt: skip


def with_addresses(made):
    """Write the frame again, with names and streets that mean something in HTML."""
    path = made.base / "people.csv"
    with open(made.base / "frame.csv", newline="") as file, open(path, "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["id", "name", "extra", "street"])
        for row in csv.DictReader(file):
            writer.writerow([row["id"], f"<b>{row['id']}</b>", "", f"Main & {row['id']}"])
    return path


def sections(pages):
    return [part for page in pages for part in page.split("<section>")[1:]]


def streams_of(path):
    """What a PDF has in its compressed parts."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", path.read_bytes(), re.DOTALL)
    return [zlib.decompressobj().decompress(each) for each in streams if each[:1] == b"x"]


def count_of_pages(path):
    """How many pages a PDF has, as its tree of pages says."""
    return max(int(number) for number in re.findall(rb"/Count (\d+)", b"".join(streams_of(path))))


def modules_of(path):
    """The squares of a code in a picture, without the white border."""
    pixels = np.asarray(Image.open(path).convert("L"))[6::12, 6::12] < 128
    assert not pixels[:4].any()
    assert not pixels[:, :4].any()
    return pixels[4:-4, 4:-4]


def modules_drawn(page):
    """The squares of a code that a page of a PDF draws, line by line."""
    drawn = re.findall(rb"^([\d.]+) ([\d.]+) m\n([\d.]+) [\d.]+ l$", page, re.MULTILINE)
    lines = np.array([[float(number) for number in each] for each in drawn])
    size = int(lines[:, 2].max()) - 4
    modules = np.zeros((size, size), dtype=bool)
    for start, height, end in lines:
        modules[int(height) - 4, int(start) - 4 : int(end) - 4] = True
    return modules


def test_everyone_has_a_page_with_their_own_address_link_and_code(tmp_path, printed, monkeypatch):
    monkeypatch.setattr(module, "_TOGETHER", 4)
    made = drawn(tmp_path, plan_in(""))
    lines, told = ["name", "extra", "street"], []
    made.invite(
        letters=Letters(tmp_path / "letters", with_addresses(made), lines, CLOSES), progress=told.append
    )
    files = sorted((tmp_path / "letters").iterdir())
    assert [path.name for path in files] == ["letters-01-04.pdf", "letters-05-08.pdf", "letters-09-10.pdf"]
    assert told == [count_of_pages(path) for path in files] == [4, 4, 2]
    found = sections(printed)
    assert len(found) == len(made.links) == 10
    for (person, token), section in zip(made.links.items(), found, strict=True):
        link = f"https://survey.example.org/#{token}"
        assert f"&lt;b&gt;{person}&lt;/b&gt;<br>Main &amp; {person}</address>" in section
        assert f"<code>{link}</code>" in section
        assert code_in_page(link) in section
        assert made.folder.kit.digest in section
        assert "Please answer by 3 December 2099." in section
        assert "<h1" in section
        assert ">Health</h1>" in section


def test_a_line_of_an_address_may_have_several_columns(tmp_path, printed):
    made = drawn(tmp_path, plan_in(""))
    lines = ["{name} ({id})", "{extra} {extra}", "{extra} {street}", "street"]
    made.invite(letters=Letters(tmp_path / "letters", with_addresses(made), lines))
    for person, section in zip(made.links, sections(printed), strict=True):
        first = f"&lt;b&gt;{person}&lt;/b&gt; ({person})"
        street = f"Main &amp; {person}"
        assert f">{first}<br>{street}<br>{street}</address>" in section
    with pytest.raises(dps.InputError, match="town"):
        made.invite(letters=Letters(tmp_path / "more", with_addresses(made), ["{name} {town}"]))


def test_the_digest_is_at_the_foot_of_every_page(tmp_path, printed):
    made = drawn(tmp_path, plan_in(""))
    digest = made.invite(letters=Letters(tmp_path / "letters")).digest
    pages = weasyprint.HTML(string=printed[0]).render().pages
    for page in pages:
        said = "".join(words(page._page_box))
        assert said.count(f"SHA-256 {digest}") == 1
    assert len(pages) == 10


def words(box):
    """What is written in a box of a page."""
    yield getattr(box, "text", "")
    for inner in getattr(box, "children", ()):
        yield from words(inner)


def test_letters_are_for_their_owner_alone_and_never_in_the_folder_of_the_collector(tmp_path):
    made = drawn(tmp_path, plan_in(""))
    for name in ("letters", "codes"):
        folder = made.survey / "secret"
        given = Letters(folder) if name == "letters" else folder
        with pytest.raises(dps.InputError, match="the collector must not know it"):
            made.invite(**{name: given})
        assert not made.survey.exists()
    made.invite(letters=Letters(tmp_path / "letters"))
    assert stat.S_IMODE((tmp_path / "letters").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "letters").iterdir()} == {0o600}


def test_every_language_of_the_questionnaire_has_its_text(tmp_path, printed):
    made = drawn(tmp_path, plan_in("English (en)", "Deutsch (de)", "العربية (ar)", "fr", "es"))
    made.invite(letters=Letters(tmp_path / "letters", closes=CLOSES))
    for section in sections(printed):
        assert re.findall(r'<article lang="(\w+)"', section) == ["en", "de", "ar", "fr", "es"]
        assert "bis zum 3. Dezember 2099" in section
        assert "3 ديسمبر 2099" in section
        assert "You have been chosen at random" in section
        assert "Please do not tell others" in section
    assert len(sections(printed)) == 10


def test_where_everyone_is_asked_nobody_was_chosen_or_has_to_keep_it_secret(tmp_path, printed):
    some = plan_in("English (en)", "Deutsch (de)", "ar", "fr", "es")
    plan = dps.design(
        dps.Strata([4, 6], names=["north", "south"]), questions=some.inputs.questions,
        epsilon=1, device_epsilon=3, release="sums", total=10,
    )  # fmt: skip
    drawn(tmp_path, plan).invite(letters=Letters(tmp_path / "letters"))
    for section in sections(printed):
        assert "Everyone this survey is about is invited to take part." in section
        assert "sind zur Teilnahme eingeladen" in section
        for code in ("en", "de", "ar", "fr", "es"):
            text = texts()[code]
            assert text["letter"]["everyone"] in unescape(section)
            assert text["letter"]["invited"] not in unescape(section)
            assert text["sentences"]["office_changed"] in unescape(section)
            assert text["sentences"]["secret"] not in unescape(section)
    assert len(sections(printed)) == 10


def test_letters_in_arabic_are_set_from_right_to_left(tmp_path, printed):
    """In the file that is printed: last lines, which are short, end where a line ends in that language."""
    made = drawn(tmp_path, plan_in("English (en)", "العربية (ar)"))
    made.invite(letters=Letters(tmp_path / "letters", closes=CLOSES), title="2026: صحة")
    assert '<h1 dir="rtl">2026: صحة</h1>' in printed[0]
    assert '<address dir="ltr">' in printed[0]
    (page, *_) = weasyprint.HTML(string=printed[0]).render().pages
    sides = [
        (box.element_tag, *side_of(box)) for box in boxes(page._page_box) if box.element_tag in ("h1", "p")
    ]
    heading, *paragraphs = [(tag, side) for tag, side, short in sides if short]
    assert heading == ("h1", "right")
    assert {side for _, side in paragraphs} == {"left", "right"}
    assert [side for _, side in paragraphs] == sorted(side for _, side in paragraphs)  # English first


def boxes(box):
    """All boxes of a page that are blocks with lines."""
    inner = getattr(box, "children", ())
    if inner and type(inner[0]).__name__ == "LineBox":
        yield box
    for each in inner:
        yield from boxes(each)


def side_of(block):
    """On which side the last line of a block begins, and whether it is short enough to tell."""
    line = block.children[-1]
    start = min(each.position_x for each in line.children)
    end = max(each.position_x + each.width for each in line.children)
    left, right = start - block.position_x, block.position_x + block.width - end
    return ("left" if left < right else "right"), left + right > 20


def test_texts_of_ones_own_take_the_place_of_others_and_serve_other_languages(tmp_path, printed):
    made = drawn(tmp_path, plan_in("English (en)", "Elvish"))
    with pytest.raises(
        dps.InputError, match="letters need a text in 'Elvish', a language of the questionnaire"
    ):
        made.invite(letters=Letters(tmp_path / "letters"))
    assert not made.survey.exists()
    texts = {"Elvish": "Mae <govannen>,\nmellon.\n\n{title} {date}"}
    made.invite(letters=Letters(tmp_path / "letters", closes=CLOSES, letter_text=texts))
    assert "<p>Mae &lt;govannen&gt;, mellon.</p><p>Health 2099-12-03</p>" in sections(printed)[0]
    assert "Taking part is voluntary." in sections(printed)[0]
    with pytest.raises(
        dps.InputError, match=r"letter_text must be in a language of the questionnaire \(.+\), got"
    ):
        made.invite(letters=Letters(tmp_path / "letters", letter_text=texts | {"de": "Hallo"}))
    with pytest.raises(dps.InputError, match=r"mentions \{date\}, so closes must be given"):
        made.invite(letters=Letters(tmp_path / "letters", letter_text=texts))


def test_a_letter_of_two_pages_is_refused(tmp_path):
    made = drawn(tmp_path, plan_in(""))
    with pytest.raises(
        dps.InputError, match="letters of invitation must have 10 pages, got 20; shorten the text"
    ):
        made.invite(letters=Letters(tmp_path / "letters", letter_text={"en": "word " * 900}))


def test_addresses_that_are_missing_or_twice_are_counted_and_not_named(tmp_path):
    made = drawn(tmp_path, plan_in(""))
    path = with_addresses(made)
    rows = path.read_text().splitlines()
    path.write_text(
        "\n".join([rows[0], *(row for row in rows[1:] if row.partition(",")[0] not in list(made.people)[:3])])
    )
    with pytest.raises(dps.InputError, match="must have everyone in the sample, got all but 3 people"):
        made.invite(letters=Letters(tmp_path / "letters", path, ["name"]))
    path.write_text("\n".join([*rows, rows[-1]]))
    with pytest.raises(dps.InputError, match="must have everyone once, got an id twice") as caught:
        made.invite(letters=Letters(tmp_path / "letters", path, ["name"]))
    assert "south" not in str(caught.value)
    with pytest.raises(dps.InputError, match="has no column 'town'"):
        made.invite(letters=Letters(tmp_path / "letters", path, ["town"]))
    with pytest.raises(dps.InputError, match="addresses and address_line must be given together"):
        Letters(tmp_path / "letters", path)
    assert not made.survey.exists()


def test_a_last_day_that_is_over_is_refused_before_anything_is_made(tmp_path):
    made = drawn(tmp_path, plan_in(""))
    yesterday = date.today() - timedelta(days=1)
    with pytest.raises(
        dps.InputError, match=f"closes must be today or a later day, got closes='{yesterday}'"
    ):
        made.invite(letters=Letters(tmp_path / "letters", closes=yesterday))
    assert not made.survey.exists()
    made.invite(letters=Letters(tmp_path / "letters", closes=date.today()))


def test_codes_as_png(tmp_path):
    """Read as a phone reads them: dark and light squares, and what they say."""
    made = invited(tmp_path, plan_in(""), codes=tmp_path / "codes", code_format="png")
    files = sorted((tmp_path / "codes").iterdir())
    assert len(files) == 10
    for path, token in zip(files, made.links.values(), strict=True):
        assert read_code(modules_of(path)) == f"https://survey.example.org/#{token}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(dps.InputError, match="code_format must be one of svg, png, got"):
        made.invite(codes=tmp_path / "codes", code_format="gif")


def test_on_the_command_line(tmp_path, printed):
    made = drawn(tmp_path, plan_in(""))
    (tmp_path / "text.txt").write_text("Come and answer.")
    words = [
        "invite", made.design, "--sample", tmp_path / "sample.csv", "--key-file", tmp_path / "draw.key", "--survey",
        made.survey, "--office-key", tmp_path / "office.key", "--address", "https://survey.example.org",
        "--out", tmp_path / "invitations.csv", "--title", "Health",
    ]  # fmt: skip
    more = [
        "--addresses", with_addresses(made), "--address-line", "name", "--address-line", "street", "--closes",
        "2099-12-03", "--letter-text", f"en:{tmp_path / 'text.txt'}",
    ]  # fmt: skip
    result = CliRunner().invoke(app, [str(word) for word in (*words, *more)])
    assert "lines of addresses, a last day and texts are for letters; give letters too" in str(
        result.exception
    )
    done = CliRunner().invoke(app, [str(word) for word in (*words, "--letters", tmp_path / "letters", *more)])
    assert done.exit_code == 0, done.output
    assert f"Letters: {tmp_path / 'letters'}" in done.output
    assert "<p>Come and answer.</p>" in sections(printed)[0]
    wrong = CliRunner().invoke(
        app, [str(word) for word in (*words, "--letters", tmp_path / "l", "--letter-text", "x.txt")]
    )
    assert "letter_text must be a language and a file, like de:letter-de.txt, got" in str(wrong.exception)


def test_the_codes_in_the_letters_say_the_links(tmp_path):
    """In the file that is printed, on every page."""
    made = drawn(tmp_path, plan_in(""))
    made.invite(letters=Letters(tmp_path / "letters"))
    (path,) = (tmp_path / "letters").iterdir()
    found = [read_code(modules_drawn(each)) for each in streams_of(path) if each.count(b" l\n") > 100]
    assert found == [f"https://survey.example.org/#{token}" for token in made.links.values()]


def test_what_letters_lack_is_said_before_anything_is_made(tmp_path, monkeypatch):
    made = drawn(tmp_path, plan_in(""))
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(
        dps.MissingExtraError, match=r"letters of invitation need an extra: pip install 'dpstrata\[pdf\]'"
    ):
        made.invite(letters=Letters(tmp_path / "letters"))
    assert not made.survey.exists()
    assert not (tmp_path / "office.key").exists()
