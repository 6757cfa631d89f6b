"""The design document: JSON that every later step reads, with its schema."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dpstrata.errors import DpstrataError, InputError
from dpstrata.model.choice import Choice
from dpstrata.model.design_record import Design
from dpstrata.model.domains import find_partitions
from dpstrata.model.inputs import FORMULAS, Inputs
from dpstrata.model.migrations import inputs_as_of, upgraded
from dpstrata.model.options import LARGEST_TOTAL, RECORDED
from dpstrata.model.outcome import Outcome
from dpstrata.model.output import plain_cell
from dpstrata.model.releases import OPTION
from dpstrata.model.shapes import Number, model_of
from dpstrata.model.strata import Strata
from dpstrata.model.waves import Waves
from dpstrata.privacy.answers import parse_answers
from dpstrata.version import __version__

FORMAT = "dpstrata.design"
# Version 1 is that of dpstrata 0.1.0. A document keeps its version, and with it its formulas, when it is
# loaded and saved again.
VERSIONS = tuple(range(1, FORMULAS + 1))
COMPUTED = ("relaxed_size", "local_epsilon", "noise_sd", "answer_epsilon", "capped", "central_epsilon")

_PRIVACY_FACTS = ("central", "local", "spent_on_deviations", "central_in_all", OPTION)

Count = Annotated[int, Field(ge=1, le=LARGEST_TOTAL)]
Real = Annotated[float, Field(allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class AnswersPart(_Part):
    """The answers the survey allows."""

    lower: Real
    upper: Real
    step: Real | None


class InputsBase(_Part):
    """Every argument of the design as given."""

    default_answers: bool = False


if TYPE_CHECKING:
    InputsPart = InputsBase
else:
    InputsPart = model_of(
        "InputsPart",
        InputsBase,
        RECORDED.values(),
        forms={"answers": AnswersPart, "domains": dict[str, Number | dict[str, Number] | None]},
        required=True,
    )


class StratumPart(_Part):
    """One stratum: what is known of it and what was designed for it."""

    stratum: str
    size: Count
    sd: Real
    sd_source: Literal["public", "prior", "bound", "private_pilot", "confidential"]
    sample_size: Count
    relaxed_size: Real
    local_epsilon: Real | None
    noise_sd: Real
    answer_epsilon: Real | None = None
    coefficient: Real | None = None
    cost: Real | None = None
    min: int | None = None
    max: Count | None = None
    response_rate: Real | None = None
    sd_epsilon: Real | None = None
    capped: bool | None = None
    central_epsilon: Real | None = None
    extra: dict[str, str | int | float | bool | None] = {}


class CertificatePart(_Part):
    """The exchange inequality."""

    optimal: bool
    largest_gain: Real | None
    smallest_loss: Real | None
    margin: Real | None
    tie: Literal["none", "equal", "open"]


class BoundPart(_Part):
    """What no design can beat, where exchanges prove nothing."""

    optimal: bool
    measure: Literal["variance", "planned_variance", "cost", "total"]
    value: Real
    lower_bound: Real
    searched: bool
    prices: list[Real]


class DomainPart(_Part):
    """A group of strata and the precision of its mean."""

    column: str
    group: str
    strata: Count
    population: Count
    sample_size: Count
    standard_error: Real
    target: Real | None
    shadow_price: Real | None


class ComparisonPart(_Part):
    """An allocation scored under the same privacy."""

    design: str
    sample_sizes: list[Count]
    variance: Real
    ratio: Real
    variance_without_privacy: Real
    effective_sample_size: Real | None
    cost: Real | None


class VariancePart(_Part):
    """The variance by its cause."""

    sampling: Real
    privacy: Real


class ChoicePart(_Part):
    """What one mechanism would give."""

    mechanism: str
    total: Count | None
    variance: Real | None
    cost: Real | None


class OutcomePart(_Part):
    """How the total came about, where it was not simply given."""

    best_total: Count
    best_variance: Real
    limit: Count | None
    variance_at_limit: Real | None
    target_variance: Real | None
    variance_with_one_fewer: Real | None
    budget: Real | None
    cost: Real | None
    least_cost: bool


class WavesPart(_Part):
    """What a pilot and the main wave spend and invite together."""

    epsilon: Real
    total: Count
    pilot_digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None


class DesignDocument(_Part):
    """A design, with everything needed to check it and to carry out the survey."""

    format: Literal["dpstrata.design"]
    version: Literal[1, 2]
    created_with: str
    inputs: InputsPart
    strata: Annotated[list[StratumPart], Field(min_length=1)]
    total: Count
    cost: Real | None
    variance: Real
    standard_error: Real | None
    variance_parts: VariancePart
    certificate: CertificatePart | BoundPart
    domains: list[DomainPart]
    outcome: OutcomePart | None
    choice: list[ChoicePart] | None
    comparison: list[ComparisonPart]
    privacy: dict[str, Any]
    waves: WavesPart | None = None


def design_document(plan: Design) -> dict[str, Any]:
    """Write a design as plain data that JSON can hold."""
    parts = plan.variance_parts
    proof = asdict(plan.certificate)
    if "prices" in proof:
        proof["prices"] = list(proof["prices"])
    return {
        "format": FORMAT,
        "version": plan.inputs.formulas,
        "created_with": __version__,
        "inputs": inputs_as_of(plan.inputs, plan.inputs.formulas),
        "strata": _stratum_rows(plan),
        "total": plan.total,
        "cost": plan.cost,
        "variance": parts.total,
        "standard_error": plan.standard_error,
        "variance_parts": asdict(parts),
        "certificate": proof,
        "domains": [asdict(domain) for domain in plan.domains],
        "outcome": None if plan.outcome is None else asdict(plan.outcome),
        "choice": None if plan.choice is None else [asdict(row) for row in plan.choice],
        "comparison": [
            {
                "design": row.design,
                "sample_sizes": row.sample_sizes.tolist(),
                "variance": row.variance,
                "ratio": row.ratio,
                "variance_without_privacy": row.variance_without_privacy,
                "effective_sample_size": row.effective_sample_size,
                "cost": row.cost,
            }
            for row in plan.compare()
        ],
        "privacy": dict(plan.privacy),
        **({} if plan.waves is None else {"waves": asdict(plan.waves)}),
    }


def _stratum_rows(plan: Design) -> list[dict[str, Any]]:
    columns = plan.columns()
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    for name, cells in plan.strata.extra.items():
        for row, cell in zip(rows, cells, strict=True):
            row.setdefault("extra", {})[name] = plain_cell(cell)
    return rows


def design_digest(plan: Design) -> str:
    """SHA-256 of what was asked and what was decided: inputs, strata, sample sizes, mechanism, waves.

    Everything else in the document follows from these. It is left out, so that neither the layout of the file
    nor a processor that rounds a last digit otherwise changes the digest, and with it the sample of a key.
    Nor does stating the default range of the answers, which can be made good after the draw.
    """
    content = {
        "inputs": inputs_as_of(replace(plan.inputs, default_answers=False), 1),
        "mechanism": plan.mechanism.name,
        "strata": [
            {name: cell for name, cell in row.items() if name not in COMPUTED} for row in _stratum_rows(plan)
        ],
        "waves": None if plan.waves is None else asdict(plan.waves),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_design(path: str | Path) -> Design:
    """Read a design document and check its proof again, without answering its question anew.

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
    if data.get("version") not in VERSIONS:
        raise InputError(
            f"{path} must be a design document of version {' or '.join(map(str, VERSIONS))}, got version "
            f"{data.get('version')!r}."
        )
    try:
        document = DesignDocument.model_validate(upgraded(data))
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
            sd_epsilons=optional("sd_epsilon"),
            extra={name: [row.extra.get(name) for row in rows] for name in rows[0].extra},
        )
        inputs = _inputs(document.inputs, document.version)
        problem = inputs.problem(strata, document.total)
        outcome = None if document.outcome is None else Outcome(**document.outcome.model_dump())
        bound = document.certificate if isinstance(document.certificate, BoundPart) else None
        if bound is not None:
            _check_prices(bound, strata, inputs, path)
        plan = Design.certified(
            strata,
            inputs,
            problem,
            np.array([row.sample_size for row in rows], dtype=np.int64),
            np.array([row.relaxed_size for row in rows], dtype=float),
            outcome,
            prices=None if bound is None else tuple(bound.prices),
            searched=bound is not None and bound.searched,
        )
        if document.choice is not None:
            plan = replace(plan, choice=tuple(Choice(**row.model_dump()) for row in document.choice))
        if document.waves is not None:
            plan = replace(plan, waves=_waves(document.waves, plan))
    except DpstrataError as error:
        raise InputError(f"{path} does not describe a possible design: {error}") from None
    if plan.total != problem.total:
        raise InputError(
            f"{path}: the sample sizes must add up to the total, got {plan.total:,} and {problem.total:,}."
        )
    if bound is None and not plan.certificate.optimal:
        raise InputError(f"{path}: the certificate does not hold for the sample sizes; the file was changed.")
    relaxed = plan.relaxed_sizes
    inside = (relaxed >= problem.lower - 1e-6) & (relaxed <= problem.upper + 1e-6)
    off = 0.0 if bound is not None else abs(relaxed.sum() - problem.total)
    if not inside.all() or off > 1e-6 * problem.total:
        raise InputError(
            f"{path}: the relaxed sizes do not fit the bounds and the total; the file was changed."
        )
    broken = inputs.goal.broken_by(plan)
    if broken is not None:
        raise InputError(f"{path}: {broken}; the file was changed.")
    written, computed = document.model_dump(exclude_unset=True), upgraded(plan.to_dict())
    if document.created_with != __version__:  # another version has other words for the same
        for part in (written, computed):
            part["privacy"] = {name: part["privacy"].get(name) for name in _PRIVACY_FACTS}
    difference = first_difference(written, computed)
    if difference:
        raise InputError(f"{path} contradicts itself at {difference}; the file was changed.")
    return plan


def _waves(part: WavesPart, plan: Design) -> Waves:
    """Read what two waves share, and require that this one keeps to it."""
    waves = Waves(**part.model_dump())
    epsilons = plan.strata.sd_epsilons
    waves.require(
        epsilon=plan.inputs.epsilon,
        total=plan.total,
        spent=0.0 if epsilons is None else float(epsilons.max()),
    )
    return waves


def _check_prices(bound: BoundPart, strata: Strata, inputs: Inputs, path: Path) -> None:
    """Require prices that can prove something: one for the budget or for each target, none negative."""
    needed = 1 if inputs.goal.spends_budget and strata.costs is not None else 0
    if inputs.targets:
        needed += sum(int(np.isfinite(part.limits).sum()) for part in find_partitions(strata, inputs))
    if len(bound.prices) != needed or needed == 0 or min(bound.prices) < 0:
        raise InputError(
            f"{path}: the prices of the certificate do not fit the question; the file was changed."
        )


def first_difference(written: Any, computed: Any, place: str = "") -> str | None:
    """Return the place of the first value that does not follow from the inputs."""
    if place == "created_with":
        return None
    if isinstance(written, dict) and isinstance(computed, dict) and set(written) == set(computed):
        pairs = [(f"{place}.{key}" if place else key, written[key], computed[key]) for key in computed]
    elif isinstance(written, list) and isinstance(computed, list | tuple) and len(written) == len(computed):
        pairs = [(f"{place}.{i}", *pair) for i, pair in enumerate(zip(written, computed, strict=True))]
    elif isinstance(written, float) and isinstance(computed, float):
        # another machine may round the last digits of a logarithm differently
        close = abs(written - computed) <= 1e-9 * max(abs(written), abs(computed))
        return None if close else place
    else:
        return None if written == computed else place
    return next((found for pair in pairs if (found := first_difference(pair[1], pair[2], pair[0]))), None)


def _inputs(part: InputsPart, version: int) -> Inputs:
    data = part.model_dump()
    return Inputs(**{**data, "answers": parse_answers(data["answers"])}, formulas=version)
