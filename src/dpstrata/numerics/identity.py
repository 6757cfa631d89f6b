"""Keys by identity, for what is worked out once for things that cannot be compared, or not cheaply."""

from __future__ import annotations


class Same:
    """A key that is equal to one of the very same things, and keeps them.

    Parameters
    ----------
    *things : object
        What it stands for.

    Examples
    --------
    >>> one, other = [1], [1]
    >>> Same(one) == Same(one), Same(one) == Same(other)
    (True, False)
    """

    __slots__ = ("things",)

    def __init__(self, *things: object) -> None:
        self.things = things

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Same)
            and len(other.things) == len(self.things)
            and all(mine is theirs for mine, theirs in zip(self.things, other.things, strict=True))
        )

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.things)))
