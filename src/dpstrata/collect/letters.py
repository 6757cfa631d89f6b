"""What invitations are sent with: columns of contacts, QR codes, and letters as PDF.

A letter is a page for everyone, with their address, link and QR code.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from html import escape
from pathlib import Path
from typing import Any, Literal, get_args

from dpstrata.collect.kit import Kit
from dpstrata.collect.languages import direction_in, direction_of, tag_of
from dpstrata.errors import InputError, MissingExtraError, option
from dpstrata.files.cells import text_of
from dpstrata.files.headers import require_columns
from dpstrata.files.printing import print_page, require_printer
from dpstrata.files.tables import Table, read_table
from dpstrata.files.writing import make_private_folder, write_atomically
from dpstrata.words.consent import ENGLISH, has_texts, letter_text, written_date
from dpstrata.words.numbers import counted

CodeFormat = Literal["svg", "png"]
_PIXELS = {"svg": 4, "png": 12}  # a module of a PNG is a millimetre at 300 dots an inch
_COLUMN = re.compile(r"\{([^{}]+)\}")  # in a line of an address
_TOGETHER = 200  # letters in a file, and in memory
_WHAT = "letters of invitation"
_POINTS = (10.0, 10.0, 9.0, 7.5, 6.5)  # of the text, for one language, two and so on
_STYLE = """
@page { size: A4; margin: 20mm 25mm 22mm 25mm;
        @bottom-left { content: "SHA-256 " string(digest); font: 6.5pt monospace; } }
body { font: 10pt/1.3 sans-serif; margin: 0; }
section { break-before: page; }
.digest { string-set: digest content(); visibility: hidden; height: 0; overflow: hidden; font-size: 1pt; }
address { font-style: normal; min-height: 27mm; padding-top: 25mm; margin-bottom: 8mm; }
h1 { font-size: 15pt; margin: 0 0 5mm; }
p { margin: 0 0 0.5em; }
article { margin-bottom: 1.2em; }
.link { margin-bottom: 5mm; }
.link svg { width: 34mm; height: 34mm; margin-right: 6mm; vertical-align: middle; }
.link code { display: inline-block; width: 118mm; vertical-align: middle; overflow-wrap: anywhere; }
"""


def require_contacts(table: str | Path, *, id: str, columns: Sequence[str]) -> None:
    """Require that a table has these columns."""
    _with_columns(table, id, columns)


def _with_columns(table: str | Path, id: str, columns: Sequence[str]) -> tuple[Table, tuple[str, ...]]:
    read = read_table(Path(table), about_people=True)
    needed = tuple(dict.fromkeys((id, *columns)))
    require_columns(read.source, read.columns, *needed, sheets=read.sheets, about_people=True)
    return read, needed


def read_contacts(
    table: str | Path, *, id: str, people: Sequence[str], columns: Sequence[str]
) -> list[dict[str, str]]:
    """Return these columns of a table as text, for everyone in the order of the ids.

    Raises
    ------
    InputError
        If a column or someone is missing, or someone is there twice; nobody is named.
    """
    read, needed = _with_columns(table, id, columns)
    ids = [text_of(cell) for cell in read.columns[id]]
    place = {person: row for row, person in enumerate(ids)}
    missing = sum(person not in place for person in people)
    if missing:
        raise InputError(
            f"{read.source} must have everyone in the sample, got all but {counted(missing, 'person')}.",
            where=read.source,
        )
    if len(place) < len(ids):
        raise InputError(f"{read.source} must have everyone once, got an id twice.", where=read.source)
    return [{name: text_of(read.columns[name][place[person]]) for name in needed} for person in people]


def check_code_format(given: str) -> None:
    """Refuse a kind of file that codes are not drawn as."""
    if given not in get_args(CodeFormat):
        raise InputError.must("code_format", "be one of svg, png", given)


def draw_codes(
    folder: Path, links: Sequence[str], kind: CodeFormat, *, progress: Callable[[int], None]
) -> None:
    """Draw a QR code of every link, in files that only their owner may read."""
    make_private_folder(folder)
    digits = len(str(len(links)))
    for number, link in enumerate(links, start=1):
        drawn = io.BytesIO()
        _code(link).save(drawn, kind=kind, scale=_PIXELS[kind])
        write_atomically(folder / f"{number:0{digits}}.{kind}", drawn.getvalue(), private=True)
        progress(1)


def code_in_page(link: str) -> str:
    """Draw the QR code of a link as a piece of HTML."""
    return str(_code(link).svg_inline(omitsize=True))


def require_codes() -> Any:
    """Return what draws codes.

    Raises
    ------
    MissingExtraError
        Without the extra ``collect``.
    """
    try:
        import segno
    except ImportError:
        raise MissingExtraError("QR codes need", "collect") from None
    return segno


def _code(link: str) -> Any:
    return require_codes().make(link, error="m", micro=False)


@dataclass(frozen=True, slots=True)
class Letters:
    """Letters of invitation to write.

    Attributes
    ----------
    folder : path
        Folder for the files, each with up to 200 letters of a page, in the order of the invitations. Whoever
        has a letter can answer in that person's place: only their owner may read them.
    addresses : path, optional
        A table with the addresses, such as the frame; it has everyone in the sample, by the column of ids.
    address_line : sequence of str
        The lines of an address: each the name of a column of ``addresses``, or a text such as
        ``"{first name} {last name}"`` in which columns in braces are filled in. A line whose columns are all
        empty is left out.
    closes : date, optional
        The last day on which people can answer, today or later.
    letter_text : mapping of str to str
        Texts of your own by language of the questionnaire, paragraphs apart by empty lines, in which
        ``{title}`` and ``{date}`` are filled in. There are texts in Arabic, English, French, German and
        Spanish; other languages need one.

    Examples
    --------
    >>> import dpstrata as dps
    >>> letters = dps.Letters("letters", addresses="people.xlsx", address_line=["name", "street"])
    >>> letters.closes is None  # so no last day is named; write them with dps.invite(..., letters=letters)
    True
    """

    folder: str | Path
    addresses: str | Path | None = None
    address_line: Sequence[str] = ()
    closes: date | None = None
    letter_text: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.addresses is None) != (not self.address_line):
            raise InputError(
                f"{option('addresses')} and {option('address_line')} must be given together: a table, and "
                "its columns that are lines of an address."
            )


def read_texts(given: Sequence[str]) -> dict[str, str]:
    """Read texts from files that are given as ``de:letter-de.txt``, by language."""
    found = {}
    for each in given:
        language, colon, path = each.partition(":")
        if not language.strip() or not colon:
            raise InputError.must("letter_text", "be a language and a file, like de:letter-de.txt", each)
        try:
            found[language.strip()] = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}.", where=path) from None
        except UnicodeDecodeError:
            raise InputError(f"{path} must be text in UTF-8, got something else.", where=path) from None
    return found


class Writer:
    """Letters of a survey, checked before anything is made.

    Parameters
    ----------
    letters : Letters
        What is asked for.
    kit : Kit
        Of the survey: its title, languages and digest.
    id : str
        Column of the ids.
    people : sequence of str
        Ids of everyone who is invited.
    everyone : bool
        Whether that is the whole population, which letters then say.

    Raises
    ------
    InputError
        If someone has no address, a language no text, or the last day to answer is over.
    MissingExtraError
        Without the extras ``collect`` and ``pdf``.
    """

    def __init__(self, letters: Letters, kit: Kit, *, id: str, people: Sequence[str], everyone: bool) -> None:
        require_codes()
        require_printer(_WHAT)
        if letters.closes is not None and letters.closes < date.today():
            raise InputError.must("closes", "be today or a later day", letters.closes.isoformat())
        told = kit.to_dict()
        self._folder, self._title, self._digest = Path(letters.folder), kit.title, kit.digest
        texts = _texts(letters, self._title, [each["name"] for each in told["languages"]], everyone=everyone)
        self._texts, self._points = "".join(texts), _POINTS[min(len(texts), len(_POINTS)) - 1]
        self._lines = _addresses(letters, id, people)

    def write(self, links: Sequence[str], *, progress: Callable[[int], None]) -> None:
        """Write a letter for everyone, in the order of the people."""
        make_private_folder(self._folder)
        digits = len(str(len(links)))
        for start in range(0, len(links), _TOGETHER):
            some = range(start, min(start + _TOGETHER, len(links)))
            page = self.page([(self._lines[i], links[i]) for i in some])
            name = f"letters-{some[0] + 1:0{digits}}-{some[-1] + 1:0{digits}}.pdf"
            content = print_page(page, what=_WHAT, pages=len(some))
            write_atomically(self._folder / name, content, private=True)
            progress(len(some))

    def page(self, people: Sequence[tuple[Sequence[str], str]]) -> str:
        """Return letters as HTML, for people with the lines of their address and their link."""
        return (
            f'<!DOCTYPE html><html lang=""><head><meta charset="utf-8"><title>{escape(self._title)}</title>'
            f"<style>{_STYLE}article {{ font-size: {self._points}pt; }}</style></head><body>"
            + "".join(self._letter(lines, link) for lines, link in people)
            + "</body></html>"
        )

    def _letter(self, lines: Sequence[str], link: str) -> str:
        address = "<br>".join(escape(line) for line in lines)
        return (
            # WeasyPrint takes dir="auto" for left to right.
            f'<section><div class="digest">{self._digest}</div>'
            f'<address dir="{direction_of(" ".join(lines))}">{address}</address>'
            f'<h1 dir="{direction_of(self._title)}">{escape(self._title)}</h1>'
            f'<div class="link" dir="ltr">{code_in_page(link)}<code>{escape(link)}</code></div>'
            f"{self._texts}</section>"
        )


def _texts(letters: Letters, title: str, languages: Sequence[str], *, everyone: bool) -> list[str]:
    """Return the text in every language of the questionnaire as HTML."""
    own = {_known(name): text for name, text in letters.letter_text.items()}
    named = [name for name in languages if name] or list(letters.letter_text) or [ENGLISH]
    strange = [name for name in letters.letter_text if _known(name) not in map(_known, named)]
    if strange:
        raise InputError.must(
            "letter_text", f"be in a language of the questionnaire ({', '.join(named)})", strange[0]
        )
    missing = [name for name in named if _known(name) not in own and not has_texts(name)]
    if missing:
        raise InputError(
            f"letters need a text in {missing[0]!r}, a language of the questionnaire; give one with "
            f"{option('letter_text')}."
        )
    found = []
    for name in named:
        given = own.get(_known(name))
        paragraphs = (
            letter_text(name, letters.closes, everyone=everyone)
            if given is None
            else _own(given, title, name, letters.closes)
        )
        body = "".join(f"<p>{escape(each)}</p>" for each in paragraphs)
        direction = direction_in(name, " ".join(paragraphs))
        found.append(f'<article lang="{escape(tag_of(name))}" dir="{direction}">{body}</article>')
    return found


def _own(text: str, title: str, language: str, closes: date | None) -> list[str]:
    """Return the paragraphs of a text that was given, filled in."""
    if "{date}" in text and closes is None:
        raise InputError(f"a text of letters mentions {{date}}, so {option('closes')} must be given.")
    day = written_date(closes, language) if closes else ""
    filled = text.replace("{title}", title).replace("{date}", day)
    return [" ".join(each.split()) for each in filled.split("\n\n") if each.strip()]


def _known(language: str) -> str:
    """Return what a language is known by, however it is named."""
    return (tag_of(language) or language.strip()).casefold()


def _addresses(letters: Letters, id: str, people: Sequence[str]) -> list[list[str]]:
    """Return the lines of everyone's address, without those that are empty."""
    if letters.addresses is None:
        return [[] for _ in people]
    columns = [name for line in letters.address_line for name in _columns_in(line)]
    rows = read_contacts(letters.addresses, id=id, people=people, columns=columns)
    found = [[_filled(line, row) for line in letters.address_line] for row in rows]
    return [[line for line in lines if line] for lines in found]


def _columns_in(line: str) -> list[str]:
    """Return the columns that a line of an address is made of: those in braces, or the one that it names."""
    return _COLUMN.findall(line) or [line]


def _filled(line: str, row: Mapping[str, str]) -> str:
    """Fill in a line of an address; it is empty where all its columns are."""
    columns = _columns_in(line)
    if not any(row[name] for name in columns):
        return ""
    return row[line] if columns == [line] else " ".join(_COLUMN.sub(lambda at: row[at[1]], line).split())
