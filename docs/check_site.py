"""Check a built site: nothing comes from elsewhere, no link is dead, no option lost its hyphens.

``python docs/check_site.py FOLDER`` says what is wrong.

Addresses elsewhere are only read, never visited: they must be well formed.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes by which a page loads something without being asked.
_LOADED = {
    "script": "src",
    "img": "src",
    "source": "src",
    "iframe": "src",
    "embed": "src",
    "audio": "src",
    "video": "src",
    "track": "src",
    "object": "data",
    "use": "href",
    "image": "href",
    "input": "src",
}
_PASSIVE = {"search", "index", "next", "prev", "canonical", "author", "copyright"}
_IN_STYLES = re.compile(r"""url\(\s*['"]?([^'")]+)|@import\s+['"]([^'"]+)""")
_DASHED = re.compile("\u2013[a-z][a-z-]*")  # an en dash, which the site makes of two hyphens outside code
_COMMENTS = re.compile(r"/\*.*?\*/", re.DOTALL)


class Page(HTMLParser):
    """What a page loads, links to and can be linked at, and its options that are not written as code."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.dashed: list[str] = []
        self._in_style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag loads, links to or names."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag in _LOADED and _LOADED[tag] in given:
            self.loads.append(given[_LOADED[tag]])
        self.loads += [part.split()[0] for part in given.get("srcset", "").split(",") if part.split()]
        self.loads += in_styles(given.get("style", ""))
        if tag == "link" and "href" in given:
            passive = set(given.get("rel", "").split()) <= _PASSIVE
            (self.links if passive else self.loads).append(given["href"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        self._in_style = tag == "style"

    def handle_data(self, data: str) -> None:
        """Note what a style in the page loads, and dashes where an option has hyphens."""
        if self._in_style:
            self.loads += in_styles(data)
        self.dashed += _DASHED.findall(data)


def in_styles(text: str) -> list[str]:
    """Find what a style sheet loads.

    Examples
    --------
    >>> in_styles("a { background: url('x.png') } @import 'y.css'; /* url(z.png) */")
    ['x.png', 'y.css']
    """
    return [first or second for first, second in _IN_STYLES.findall(_COMMENTS.sub("", text))]


def problems(site: Path) -> list[str]:
    """List everything that a site loads from elsewhere, every dead link and every dashed option."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    if not pages:
        return [f"{site} holds no page."]
    found = []
    for path, page in pages.items():
        found += [f"{path.relative_to(site)}: {words}" for words in _loading(page.loads, path)]
        found += [f"{path.relative_to(site)}: {words}" for words in _linking(page.links, path, pages)]
        found += [f"{path.relative_to(site)}: shows {words}, an option not in code." for words in page.dashed]
    for path in sorted(site.rglob("*.css")):
        loads = in_styles(path.read_text(encoding="utf-8"))
        found += [f"{path.relative_to(site)}: {words}" for words in _loading(loads, path)]
    return found


def _loading(addresses: list[str], place: Path) -> list[str]:
    found = []
    for address in addresses:
        parts = urlsplit(address)
        if parts.scheme == "data" or (not parts.path and not parts.netloc):
            continue
        if parts.scheme or parts.netloc:
            found.append(f"loads {address} from elsewhere.")
        elif not (place.parent / unquote(parts.path)).exists():
            found.append(f"loads {address}, which does not exist.")
    return found


def _linking(addresses: list[str], place: Path, pages: dict[Path, Page]) -> list[str]:
    found = []
    for address in addresses:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            if parts.scheme not in {"http", "https"} or "." not in parts.netloc or " " in address:
                found.append(f"links to {address}, which is not well formed.")
            continue
        target = (place.parent / unquote(parts.path)).resolve() if parts.path else place.resolve()
        if not target.is_file():
            found.append(f"links to {address}, which does not exist.")
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
            found.append(f"links to {address}, where there is no such place.")
    return found


if __name__ == "__main__":
    all_found = problems(Path(sys.argv[1]).resolve())
    sys.stdout.write("".join(f"{line}\n" for line in all_found))
    sys.exit(1 if all_found else 0)
