"""Frames in a data frame of pandas, Polars, Arrow or another library that narwhals knows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpstrata.errors import InputError, MissingExtraError
from dpstrata.fielding.frames.files import DuckFrame
from dpstrata.files.tables import DATA_FRAME

if TYPE_CHECKING:
    from narwhals import DataFrame


@dataclass(frozen=True, slots=True, eq=False)
class MemoryFrame(DuckFrame):
    """A frame in a data frame.

    Attributes
    ----------
    data : narwhals.DataFrame
        Everyone, each once.
    """

    data: DataFrame[Any] = field(repr=False)

    @property
    def source(self) -> str:
        """What messages call it."""
        return DATA_FRAME

    def _attach(self, connection: Any, columns: Sequence[str], opened: ExitStack) -> None:
        """Make the columns that are needed known as ``frame``."""
        import pyarrow

        for column in columns:
            self.require_column(column, self.data.columns)
        connection.register("frame", pyarrow.table({name: self._arrow(name) for name in columns}))

    def _arrow(self, name: str) -> Any:
        """Return a column as Arrow's; its own errors can show a cell."""
        try:
            return self.data[name].to_arrow()
        except ModuleNotFoundError:
            raise MissingExtraError("frames need", "survey") from None
        except Exception:  # every library has its own
            pass
        raise InputError(f"column {name!r} of {DATA_FRAME} must hold one kind of values, got several.")
