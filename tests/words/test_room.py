"""The room of words is below all that it speaks of: it loads nothing of them."""

import ast
from pathlib import Path

import pytest

import dpstrata

ROOM = Path(dpstrata.__file__).parent / "words"
ALLOWED = {"words", "files", "numerics", "errors"}


def is_for_types_only(node):
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def rooms_loaded(node):
    """Rooms that are imported anywhere below a node, inside functions too, except for types only."""
    if is_for_types_only(node):
        return {room for other in node.orelse for room in rooms_loaded(other)}
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.level:
        return {"a relative import"}
    elif isinstance(node, ast.ImportFrom) and node.module == "dpstrata":
        names = [f"dpstrata.{alias.name}" for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [node.module]
    else:
        return {room for child in ast.iter_child_nodes(node) for room in rooms_loaded(child)}
    split = [name.split(".") for name in names]
    return {".".join(parts[1:2]) for parts in split if parts[0] == "dpstrata"}


@pytest.mark.parametrize("path", sorted(ROOM.rglob("*.py")), ids=lambda path: path.name)
def test_words_load_no_room_that_they_speak_of(path):
    assert rooms_loaded(ast.parse(path.read_text(encoding="utf-8"))) <= ALLOWED


@pytest.mark.parametrize(
    ("source", "rooms"),
    [
        ("from dpstrata.designs.record import Design", {"designs"}),
        ("from dpstrata import designs", {"designs"}),
        ("import dpstrata", {""}),
        ("import dpstrata.planning.design as made", {"planning"}),
        ("def say():\n    from dpstrata.survey.strata import Strata", {"survey"}),
        ("if TYPE_CHECKING:\n    from dpstrata.designs.record import Design", set()),
        ("if TYPE_CHECKING:\n    pass\nelse:\n    import dpstrata.web", {"web"}),
        ("from ..survey import strata", {"a relative import"}),
        ("import numpy\nfrom dpstrata.errors import option", {"errors"}),
    ],
)
def test_what_is_loaded_is_found(source, rooms):
    assert rooms_loaded(ast.parse(source)) == rooms
