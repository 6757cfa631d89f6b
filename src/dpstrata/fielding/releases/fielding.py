"""What a form of release must do at the office."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from dpstrata.fielding.releasing import Batch, Publication, Released


class Fielding(ABC):
    """How what is published is made of answers."""

    @abstractmethod
    def publication(self, batch: Batch, progress: Callable[[int], None]) -> Publication:
        """Say how the table that is published is made.

        Parameters
        ----------
        batch : Batch
            Answers that can all be released.
        progress : function
            Called with the number of answers that were noised or added up since the last call.
        """

    @abstractmethod
    def notes(self, batch: Batch, released: Released) -> list[str]:
        """Say what else is to be said of a release, in sentences."""
