"""The options that ask for a promise, and what each asks for. Loading this module loads no promise."""

# Annotations of options are read as types, so they are not postponed.

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

from dpstrata.errors import InputError, option
from dpstrata.words.numbers import six_digits_up

if TYPE_CHECKING:
    from dpstrata.privacy.promises.base import Promise


def _asks_for(kind: str, default: float | None, sentence: str) -> Any:
    """State an option of ``design`` that asks for a class in a module beside this one."""
    return field(default=default, metadata={"kind": kind, "sentence": sentence, "group": "privacy"})


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class PromiseOptions:
    """The options of a design that ask for a promise; delta comes with epsilon, each other one alone.

    Their numbers are bounded by the promise.
    """

    epsilon: float | None = _asks_for(
        "epsilon.PureEpsilon", None, "Central privacy budget of every person, from 1e-6 to 100."
    )
    delta: float = _asks_for(
        "epsilon.ApproximateEpsilon",
        0.0,
        "Amount by which a probability may differ beyond the factor that `epsilon` allows; must be above 0 "
        "for Gaussian noise, and 0 for any other.",
    )
    zcdp: float | None = _asks_for(
        "gaussian_noise.ZeroConcentrated",
        None,
        "Rho of zero-concentrated privacy, instead of `epsilon`; requires Gaussian noise; a secret sample "
        "does not strengthen it.",
    )
    gdp: float | None = _asks_for(
        "gaussian_noise.GaussianPrivacy",
        None,
        "Mu of Gaussian privacy, instead of `epsilon`; requires Gaussian noise; a secret sample "
        "does not strengthen it.",
    )


PROMISES: dict[str, str] = {part.name: part.metadata["kind"] for part in fields(PromiseOptions)}
OTHER_THAN_EPSILON = tuple(name for name in PROMISES if name != "epsilon")


@dataclass(frozen=True, slots=True)
class Spent:
    """What releases have spent on everyone in a frame, each kind of promise added up by itself.

    Attributes
    ----------
    epsilon, delta : float
        Sums over the releases with such a promise.
    zcdp : float
        Sum of the rho of zCDP.
    gdp : float
        The mu of Gaussian DP of all of them together, the root of the sum of squares.
    """

    epsilon: float = 0.0
    delta: float = 0.0
    zcdp: float = 0.0
    gdp: float = 0.0

    @classmethod
    def added(cls, parts: Iterable[Self]) -> Self:
        """Add up what several releases have spent, by the rule of each kind."""
        known = list(parts)
        names = [part.name for part in fields(cls)]
        return cls(**{name: kind_of(name).added(getattr(part, name) for part in known) for name in names})

    @property
    def in_words(self) -> str:
        """All that is not zero, in a few words."""
        named = [(kind_of(name).symbols[name], value) for name, value in asdict(self).items() if value]
        return ", ".join(f"{symbol} = {six_digits_up(value)}" for symbol, value in named) or "nothing"


def kind_of(name: str) -> type["Promise"]:
    """Return the kind of promise that an option of ``design`` asks for."""
    module, kind_name = PROMISES[name].split(".")
    kind: type[Promise] = getattr(import_module(f"dpstrata.privacy.promises.{module}"), kind_name)
    return kind


def promise_of(options: Any) -> "Promise":
    """Return what is promised by someone's options, an attribute each.

    Raises
    ------
    InputError
        If not exactly one promise is asked for, or it is out of range.
    """
    alone = [name for name in PROMISES if name != "delta"]
    given = [name for name in alone if getattr(options, name) is not None]
    if len(given) != 1:
        raise InputError(
            f"a design needs one of {', '.join(map(option, alone[:-1]))} and {option(alone[-1])}, "
            f"got {' and '.join(map(option, given)) or 'none of them'}."
        )
    kind = kind_of("delta" if given == ["epsilon"] and options.delta != 0 else given[0])
    return kind(**{name: getattr(options, name) for name in kind.symbols})


def never_amplified() -> str:
    """Name the kinds that a secret sample does not strengthen."""
    return " or ".join(kind.title for kind in map(kind_of, PROMISES) if not kind.amplified)
