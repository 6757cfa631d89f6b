"""The architecture page's diagram and module tables, from the imports and docstrings of the code itself."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from itertools import combinations, islice, pairwise, permutations
from pathlib import Path

import grimp
from md_table import table

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "dpstrata"
BASE = "base"  # numerics, errors and version in one box: nearly everything uses them
ROW, BOX, GAP = 66, 34, 22

Edges = dict[str, set[str]]


@cache
def layers() -> list[list[str]]:
    """Read the layers, top to bottom, from the contract that ``make check`` enforces.

    Examples
    --------
    >>> layers()[0], layers()[-1]
    (['cli'], ['base'])
    """
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    contract = next(each for each in settings["contracts"] if each["type"] == "layers")
    rows = [[name.strip().removeprefix("dpstrata.") for name in row.split(":")] for row in contract["layers"]]
    shared = {"numerics", "errors", "version"}
    return [row for row in rows if not shared & set(row)] + [[BASE]]


@cache
def imports() -> Edges:
    """Find which part of the package imports which other part, directly."""
    graph = grimp.build_graph("dpstrata", exclude_type_checking_imports=True, cache_dir=None)
    named = {name for row in layers() for name in row}
    edges: Edges = {name: set() for name in named}
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            above, below = _part(module, named), _part(imported, named)
            if above and below and above != below:
                edges[above].add(below)
    return edges


def _part(module: str, named: set[str]) -> str | None:
    name = module.partition(".")[2].partition(".")[0]
    if name in {"", "__main__"}:
        return None
    return name if name in named else BASE


def reduced(edges: Mapping[str, set[str]]) -> Edges:
    """Leave out an arrow where a path of others says the same.

    Examples
    --------
    >>> reduced({"a": {"b", "c"}, "b": {"c"}, "c": set()})
    {'a': {'b'}, 'b': {'c'}, 'c': set()}
    """

    def reach(name: str) -> set[str]:
        return set().union(edges[name], *(reach(below) for below in edges[name]))

    return {
        name: {each for each in below if not any(each in reach(other) for other in below - {each})}
        for name, below in edges.items()
    }


def draw_import_graph() -> str:
    """Draw the parts in their layers as SVG, arrows pointing to what is imported."""
    edges = reduced(imports())
    rows, paths = _with_passages(layers(), edges)
    _order(rows, paths)
    across = _settle(rows, paths)
    middle = {name: (across[name], ROW * (depth + 0.5)) for depth, row in enumerate(rows) for name in row}
    height = ROW * len(rows)
    width = max(across[name] + _width(name) / 2 for name in across) + GAP
    parts = [_arrow([middle[name] for name in path]) for path in paths]
    parts += [_box(name, *middle[name]) for row in layers() for name in row]
    words = "; ".join(f"{a} uses {', '.join(sorted(b))}" for a, b in sorted(edges.items()) if b)
    return (
        '<figure class="import-graph">'
        f'<svg viewBox="0 0 {width:g} {height}" style="max-width:{width:g}px" role="img" '
        f'aria-label="{escape(words)}">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M0,0 L8,4 L0,8 z"/></marker></defs>'
        f"{''.join(parts)}</svg></figure>"
    )


def _with_passages(given: Sequence[Sequence[str]], edges: Edges) -> tuple[list[list[str]], list[list[str]]]:
    """Give a long arrow a place of its own in every row that it passes."""
    rows = [list(row) for row in given]
    depth = {name: place for place, row in enumerate(rows) for name in row}
    paths = []
    for above in sorted(edges):
        for below in sorted(edges[above]):
            passed = [f"{above}>{below}@{place}" for place in range(depth[above] + 1, depth[below])]
            for place, name in enumerate(passed, depth[above] + 1):
                rows[place].append(name)
            paths.append([above, *passed, below])
    return rows, paths


def _order(rows: list[list[str]], paths: Sequence[Sequence[str]]) -> None:
    """Order each row so that few arrows cross: try every order of a row while that helps."""
    links = [link for path in paths for link in pairwise(path)]

    def crossings() -> int:
        at = {name: place for row in rows for place, name in enumerate(row)}
        depth = {name: place for place, row in enumerate(rows) for name in row}
        return sum(
            (at[a] - at[c]) * (at[b] - at[d]) < 0
            for (a, b), (c, d) in combinations(links, 2)
            if depth[a] == depth[c]
        )

    fewest, better = crossings(), True
    while better:
        better = False
        for row in rows:
            best = list(row)
            for order in islice(permutations(sorted(row)), 5040):
                row[:] = order
                if (found := crossings()) < fewest:
                    fewest, best, better = found, list(order), True
            row[:] = best


def _settle(rows: Sequence[Sequence[str]], paths: Sequence[Sequence[str]]) -> dict[str, float]:
    """Place everything near what it is linked to, without touching its neighbours in the row."""
    beside: dict[str, list[str]] = {}
    for path in paths:
        for above, below in pairwise(path):
            beside.setdefault(above, []).append(below)
            beside.setdefault(below, []).append(above)
    across = {name: 500 * (place + 1) / (len(row) + 1) for row in rows for place, name in enumerate(row)}
    for _ in range(200):
        for row in rows:
            for name in row:
                links = beside.get(name, [name])
                across[name] += 0.5 * (sum(across[each] for each in links) / len(links) - across[name])
        _keep_apart(rows, across)
    low = min(across[name] - _width(name) / 2 for name in across) - GAP
    return {name: round(x - low, 1) for name, x in across.items()}


def _keep_apart(rows: Sequence[Sequence[str]], across: dict[str, float]) -> None:
    """Push apart whatever touches."""
    for row in rows:
        for _ in range(40 * len(row)):
            for left, right in pairwise(row):
                short = (_width(left) + _width(right)) / 2 + GAP - (across[right] - across[left])
                if short > 0:
                    across[left] -= short / 2
                    across[right] += short / 2


def _width(name: str) -> float:
    return 0 if "@" in name else 9 * len(_title(name)) + 36


def _title(name: str) -> str:
    return "errors, numerics, version" if name == BASE else name


def _box(name: str, x: float, y: float) -> str:
    width = _width(name)
    return (
        f'<g><rect x="{x - width / 2:g}" y="{y - BOX / 2:g}" width="{width:g}" height="{BOX}" rx="6"/>'
        f'<text x="{x:g}" y="{y + 5:g}">{escape(_title(name))}</text></g>'
    )


def _arrow(points: Sequence[tuple[float, float]]) -> str:
    (x, y), (end_x, end_y) = points[0], points[-1]
    stops = [(x, y + BOX / 2), *points[1:-1], (end_x, end_y - BOX / 2)]
    path = f"M{stops[0][0]:g},{stops[0][1]:g}"
    for (from_x, from_y), (to_x, to_y) in pairwise(stops):
        bend = (to_y - from_y) / 2
        path += f" C{from_x:g},{from_y + bend:g} {to_x:g},{to_y - bend:g} {to_x:g},{to_y:g}"
    return f'<path class="arrow" d="{path}" marker-end="url(#tip)"/>'


def module_tables() -> str:
    """List every module with the first line of its docstring, in the order of the layers."""
    parts = []
    for row in layers():
        for name in row:
            modules = _modules(name)
            parts.append(f"### {_title(name)}\n\n" + table(["module", "purpose"], modules))
    return "\n\n".join(parts)


def _modules(name: str) -> list[list[str]]:
    if name == BASE:
        files = [SOURCE / f"{each}.py" for each in ("__init__", "errors", "version")]
        files += sorted((SOURCE / "numerics").glob("*.py"))
    else:
        folder = SOURCE / name
        files = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    return [[f"`{_shown(file)}`", line] for file in files if (line := _first_line(file))]


def _shown(file: Path) -> str:
    return str(file.relative_to(SOURCE))


def _first_line(file: Path) -> str:
    """Read the first line of a module's docstring, its literals as code."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].replace("``", "`")
