"""Making a report, and reading it back with a parser."""

import re
from html.parser import HTMLParser

import dpstrata as dps

VOID = {"meta", "br", "img", "hr", "input", "link"}


def require_document(path, plan):
    """Require that a file is what a design is saved as."""
    plan.save(path.with_name("own.json"))
    assert path.read_bytes() == path.with_name("own.json").read_bytes()
    assert dps.load_design(path) == plan


class Reader(HTMLParser):
    """Collects tables, headings, texts and attributes, and requires that every tag is closed in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.headings, self.tables, self.words = [], [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append({"caption": "", "rows": []})
        if tag == "tr":
            self.tables[-1]["rows"].append([])
        if tag in ("td", "th"):
            self.tables[-1]["rows"][-1].append("")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append((int(tag[1]), ""))

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.words.append(data)
        if "caption" in self.open:
            self.tables[-1]["caption"] += data
        elif {"td", "th"} & set(self.open):
            self.tables[-1]["rows"][-1][-1] += data
        elif self.open and re.fullmatch("h[1-6]", self.open[-1]):
            self.headings[-1] = (self.headings[-1][0], self.headings[-1][1] + data)

    @property
    def text(self):
        return " ".join(self.words)

    def table(self, caption):
        (found,) = [table["rows"] for table in self.tables if table["caption"].startswith(caption)]
        header, *rows = found
        return [dict(zip(header, row, strict=True)) for row in rows]


def require_closed(page):
    """Require that a page asks nothing of anyone and runs nothing."""
    reader = Reader(page)
    for tag, attributes in reader.tags:
        assert tag not in (
            "script",
            "link",
            "img",
            "iframe",
            "object",
            "embed",
            "base",
            "form",
            "foreignobject",
        )
        assert not {name for name in attributes if name.startswith("on") or name in ("src", "href", "style")}
    assert "@import" not in page
    assert "url(" not in page
    outside = set(re.findall(r"\w+://[^\s\"'<>]*", page))
    assert outside <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
