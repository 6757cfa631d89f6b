"""The design document: JSON that every later step reads, with its schema."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dpstrata.errors import DpstrataError, InputError
from dpstrata.model.answers import Answers
from dpstrata.model.design_record import Design
from dpstrata.model.inputs import Inputs
from dpstrata.model.outcome import Outcome
from dpstrata.model.output import plain_cell
from dpstrata.model.strata import Strata
from dpstrata.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = "dpstrata.design"
VERSION = 1

Count = Annotated[int, Field(ge=1)]
Real = Annotated[float, Field(allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class AnswersPart(_Part):
    """The answers the survey allows."""

    lower: Real
    upper: Real
    step: Real | None


class InputsPart(_Part):
    """Every argument of the design as given."""

    epsilon: Real
    delta: Real
    total: Count | None
    at_most: Count | None
    budget: Real | None
    target_se: Real | None
    target_margin: Real | None
    target_cv: Real | None
    mechanism: str
    objective: Literal["mean", "trace", "unit_free", "custom"]
    answers: AnswersPart
    questions: Count
    trust: Literal["local", "curator"]
    local_epsilon_cap: Real | None
    min_per_stratum: Count
    min_fraction: Real
    max_fraction: Real
    domains: list[str] | None
    confidence: Real
    finite_population: bool


class StratumPart(_Part):
    """One stratum: what is known of it and what was designed for it."""

    stratum: str
    size: Count
    sd: Real
    sd_source: Literal["public", "prior", "bound", "private_pilot"]
    sample_size: Count
    relaxed_size: Real
    local_epsilon: Real
    noise_sd: Real
    coefficient: Real | None = None
    cost: Real | None = None
    min: int | None = None
    max: Count | None = None
    response_rate: Real | None = None
    extra: dict[str, str | int | float | bool | None] = {}


class CertificatePart(_Part):
    """The exchange inequality."""

    optimal: bool
    largest_gain: Real | None
    smallest_loss: Real | None
    margin: Real | None
    tie: Literal["none", "equal", "open"]


class ComparisonPart(_Part):
    """An allocation scored under the same privacy."""

    design: str
    sample_sizes: list[Count]
    variance: Real
    ratio: Real
    variance_without_privacy: Real
    effective_sample_size: Real | None


class VariancePart(_Part):
    """The variance by its cause."""

    sampling: Real
    privacy: Real


class OutcomePart(_Part):
    """How the total came about, where it was not simply given."""

    best_total: Count
    best_variance: Real
    limit: Count | None
    variance_at_limit: Real | None
    target_variance: Real | None
    variance_with_one_fewer: Real | None


class DesignDocument(_Part):
    """A design, with everything needed to check it and to carry out the survey."""

    format: Literal["dpstrata.design"]
    version: Literal[1]
    created_with: str
    inputs: InputsPart
    strata: Annotated[list[StratumPart], Field(min_length=1)]
    total: Count
    variance: Real
    standard_error: Real | None
    variance_parts: VariancePart
    certificate: CertificatePart
    outcome: OutcomePart | None
    comparison: list[ComparisonPart]
    privacy: dict[str, Any]


def design_document(plan: Design) -> dict[str, Any]:
    """Write a design as plain data that JSON can hold."""
    inputs = asdict(plan.inputs)
    inputs["domains"] = None if plan.inputs.domains is None else list(plan.inputs.domains)
    parts = plan.variance_parts
    columns = plan.columns()
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    for name, cells in plan.strata.extra.items():
        for row, cell in zip(rows, cells, strict=True):
            row.setdefault("extra", {})[name] = plain_cell(cell)
    return {
        "format": FORMAT,
        "version": VERSION,
        "created_with": __version__,
        "inputs": inputs,
        "strata": rows,
        "total": plan.total,
        "variance": parts.total,
        "standard_error": plan.standard_error,
        "variance_parts": asdict(parts),
        "certificate": asdict(plan.certificate),
        "outcome": None if plan.outcome is None else asdict(plan.outcome),
        "comparison": [
            {
                "design": row.design,
                "sample_sizes": row.sample_sizes.tolist(),
                "variance": row.variance,
                "ratio": row.ratio,
                "variance_without_privacy": row.variance_without_privacy,
                "effective_sample_size": row.effective_sample_size,
            }
            for row in plan.compare()
        ],
        "privacy": dict(plan.privacy),
    }


def load_design(path: str | Path) -> Design:
    """Read a design document and check its proof again.

    Parameters
    ----------
    path : path
        A file written by :meth:`Design.save` or ``dpstrata design --out``.

    Returns
    -------
    Design
        Equal to the one that was saved.

    Raises
    ------
    InputError
        If the file is not a design document, is of a newer version, or does not agree with itself.
    """
    path = Path(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path} does not exist.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise InputError(f"{path} is not a JSON file.") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f'{path} is not a design document: it must be an object with "format": "{FORMAT}".')
    if data.get("version") != VERSION:
        raise InputError(
            f"{path} must be a design document of version {VERSION}, got version {data.get('version')!r}."
        )
    try:
        document = DesignDocument.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{path} is not a valid design document: {place}: {first['msg']}.") from None
    return _rebuild(document, path)


def _rebuild(document: DesignDocument, path: Path) -> Design:
    """Pose the problem again from the document and check that its sizes solve it."""
    rows = document.strata

    def optional(name: str) -> list[Any] | None:
        cells = [getattr(row, name) for row in rows]
        return None if any(cell is None for cell in cells) else cells

    try:
        strata = Strata(
            sizes=[row.size for row in rows],
            sds=[row.sd for row in rows],
            names=[row.stratum for row in rows],
            coefficients=optional("coefficient"),
            costs=optional("cost"),
            mins=optional("min"),
            maxs=optional("max"),
            response_rates=optional("response_rate"),
            sd_sources=[row.sd_source for row in rows],
            extra={name: [row.extra.get(name) for row in rows] for name in rows[0].extra},
        )
        inputs = _inputs(document.inputs.model_dump())
        problem = inputs.problem(strata, document.total)
        outcome = None if document.outcome is None else Outcome(**document.outcome.model_dump())
        plan = Design.certified(
            strata,
            inputs,
            problem,
            np.array([row.sample_size for row in rows], dtype=np.int64),
            np.array([row.relaxed_size for row in rows], dtype=float),
            outcome,
        )
    except DpstrataError as error:
        raise InputError(f"{path} does not describe a possible design: {error}") from None
    if plan.total != problem.total:
        raise InputError(
            f"{path}: the sample sizes must add up to the total, got {plan.total:,} and {problem.total:,}."
        )
    if not plan.certificate.optimal:
        raise InputError(f"{path}: the certificate does not hold for the sample sizes; the file was changed.")
    relaxed = plan.relaxed_sizes
    inside = (relaxed >= problem.lower - 1e-6) & (relaxed <= problem.upper + 1e-6)
    if not inside.all() or abs(relaxed.sum() - problem.total) > 1e-6 * problem.total:
        raise InputError(
            f"{path}: the relaxed sizes do not fit the bounds and the total; the file was changed."
        )
    difference = _first_difference(document.model_dump(exclude_unset=True), plan.to_dict())
    if difference:
        raise InputError(f"{path} contradicts itself at {difference}; the file was changed.")
    return plan


def _first_difference(written: Any, computed: Any, place: str = "") -> str | None:
    """Return the place of the first value that does not follow from the inputs."""
    if place == "created_with":
        return None
    if isinstance(written, dict) and isinstance(computed, dict) and set(written) == set(computed):
        pairs = [(f"{place}.{key}" if place else key, written[key], computed[key]) for key in computed]
    elif isinstance(written, list) and isinstance(computed, list) and len(written) == len(computed):
        pairs = [(f"{place}.{i}", *pair) for i, pair in enumerate(zip(written, computed, strict=True))]
    elif isinstance(written, float) and isinstance(computed, float):
        # another machine may round the last digits of a logarithm differently
        close = abs(written - computed) <= 1e-9 * max(abs(written), abs(computed))
        return None if close else place
    else:
        return None if written == computed else place
    return next((found for pair in pairs if (found := _first_difference(pair[1], pair[2], pair[0]))), None)


def _inputs(data: Mapping[str, Any]) -> Inputs:
    known = {field.name for field in fields(Inputs)}
    values = {name: value for name, value in data.items() if name in known}
    values["answers"] = Answers(**values["answers"])
    if values["domains"] is not None:
        values["domains"] = tuple(values["domains"])
    return Inputs(**values)
