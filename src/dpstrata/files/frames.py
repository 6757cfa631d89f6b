"""Tables as data frames of the library that someone uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from dpstrata.errors import InputError

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

FrameLibrary = Literal["pandas", "polars", "pyarrow"]


def frame_of(columns: Mapping[str, list[Any]], library: FrameLibrary | None) -> IntoDataFrame:
    """Return columns as a data frame of some library, by default the first that is installed."""
    import importlib.util

    import narwhals as nw

    libraries: tuple[FrameLibrary, ...] = ("pandas", "polars", "pyarrow")
    chosen = library or next((name for name in libraries if importlib.util.find_spec(name)), None)
    if chosen is None or chosen not in libraries:
        got = "none of them installed" if chosen is None else repr(chosen)
        raise InputError(
            f"to_frame needs one of {', '.join(libraries)}, got {got}.", argument="library", value=library
        )
    try:
        frame: IntoDataFrame = nw.from_dict(columns, backend=chosen).to_native()
    except ModuleNotFoundError:
        raise InputError(
            f"to_frame({chosen!r}) needs {chosen}: pip install {chosen}.",
            argument="library",
            value=library,
        ) from None
    return frame
