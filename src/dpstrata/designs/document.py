"""The design document and the table of strata: what is written of a design, its digest, and saving both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpstrata.errors import DpstrataError, InputError
from dpstrata.files.writing import (
    format_of,
    is_filled,
    plain_cell,
    require_same_kind,
    something_else,
    table_content,
    write_atomically,
)
from dpstrata.survey.goals import written_domains
from dpstrata.survey.inputs import Inputs
from dpstrata.version import __version__

if TYPE_CHECKING:
    from dpstrata.designs.record import Design


FORMAT = "dpstrata.design"
VERSION = 5
COMPUTED = ("relaxed_size", "local_epsilon", "noise_sd", "capped", "central_epsilon")


def design_document(plan: Design) -> dict[str, Any]:
    """Write a design as plain data that JSON can hold."""
    parts = plan.variance_parts
    proof = asdict(plan.certificate)
    if "prices" in proof:
        proof["prices"] = list(proof["prices"])
    return {
        "format": FORMAT,
        "version": VERSION,
        "created_with": __version__,
        "inputs": _inputs(plan.inputs),
        "strata": _stratum_rows(plan),
        "total": plan.total,
        "cost": plan.cost,
        "variance": parts.total,
        "standard_error": plan.standard_error,
        "standard_error_without_privacy": plan.standard_error_without_privacy,
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
                "cost": row.cost,
            }
            for row in plan.compare()
        ],
        "privacy": dict(plan.privacy),
        **({"figures": [asdict(figure) for figure in plan.figures]} if plan.figures else {}),
        **({} if plan.waves is None else {"waves": _as_lists(asdict(plan.waves))}),
        **_questionnaire_parts(plan),
    }


def _inputs(inputs: Inputs) -> dict[str, Any]:
    """Write what was asked for."""
    follows = {part.name for part in fields(inputs) if not part.init}
    data = {name: _as_lists(value) for name, value in asdict(inputs).items() if name not in follows}
    return {**data, "domains": written_domains(inputs.domains)}


def _as_lists(value: Any) -> Any:
    """Write tuples, however deep, as JSON has them."""
    if isinstance(value, dict):
        return {name: _as_lists(each) for name, each in value.items()}
    return [_as_lists(each) for each in value] if isinstance(value, list | tuple) else value


def _questionnaire_parts(plan: Design) -> dict[str, Any]:
    """Write the forms, the precision of every question, and how close the forms come to the best."""
    if not plan.problem.forms.dealt_out:
        return {}
    bound = plan.forms_bound
    proof = {} if bound is None else {"forms_bound": {**asdict(bound), "prices": list(bound.prices)}}
    return {
        "forms": [
            {
                "questions": list(form.questions),
                "levels": list(form.levels),
                "mechanism": form.mechanism,
                "cells": form.cells,
                "replaced": form.replaced,
                "share": form.share,
                "sample_sizes": form.sample_sizes.tolist(),
            }
            for form in plan.forms
        ],
        "questions": [asdict(question) for question in plan.questions],
        **proof,
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
        "inputs": _inputs(replace(plan.inputs, default_questions=False)),
        "mechanism": plan.mechanism.name,
        "strata": [
            {name: cell for name, cell in row.items() if name not in COMPUTED} for row in _stratum_rows(plan)
        ],
        "waves": None if plan.waves is None else _as_lists(asdict(plan.waves)),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def design_columns(plan: Design) -> dict[str, list[Any]]:
    """Return one list per column, as in the design document."""
    strata = plan.strata
    local = plan.local_epsilons.tolist() if plan.inputs.promise.amplified else [None] * len(strata)
    columns: dict[str, list[Any]] = {
        "stratum": list(strata.names),
        "size": strata.sizes.tolist(),
        "sd": plan.sds.tolist(),
        "sd_source": [strata.sd_source(row) for row in range(len(strata))],
        "sample_size": plan.sample_sizes.tolist(),
        "relaxed_size": plan.relaxed_sizes.tolist(),
        "local_epsilon": local,
        "noise_sd": plan.noise_sds.tolist(),
    }
    for column, values in (
        ("coefficient", strata.coefficients),
        ("cost", strata.costs),
        ("min", strata.mins),
        ("max", strata.maxs),
        ("response_rate", strata.response_rates),
        ("sd_epsilon", strata.sd_epsilons),
    ):
        if values is not None:
            columns[column] = values.tolist()
    if plan.inputs.local_epsilon_cap is not None:
        columns["capped"] = plan.capped.tolist()
        columns["central_epsilon"] = plan.central_epsilons.tolist()
    return columns


def design_table(plan: Design) -> dict[str, list[Any]]:
    """Return the columns, then those of the strata that dpstrata does not know."""
    columns = plan.columns()
    for number, form in enumerate(plan.forms if plan.problem.forms.dealt_out else (), start=1):
        columns[f"form_{number}"] = form.sample_sizes.tolist()
    for name, cells in plan.strata.extra.items():
        columns[f"{name}_given" if name in columns else name] = list(cells)
    return columns


# --- saving ------------------------------------------------------------------------------------------


def save_design(plan: Design, path: Path) -> None:
    """Write the document or the table of strata, by the ending of ``path``; see :func:`require_free`."""
    require_free(path, plan)
    write_atomically(path, design_content(plan, path))


def require_free(path: Path, plan: Design) -> None:
    """Refuse to write a design over a file of another kind, or over a design that was drawn or released.

    Parameters
    ----------
    path : path
        Where to. Records of draws are looked for beside it, in folders there and in folders beside its own,
        the ledger beside it; of a link, where it leads as well.
    plan : Design
        The new design; one that is there already may be written again.
    """
    if path.suffix.lower() != ".json":
        require_same_kind(path, plan.table())
        return
    if not is_filled(path):
        return
    found = format_of(path)
    if found != FORMAT:
        raise something_else(path, found)
    depends: dict[str, Path] = {}
    for record in _records(path):
        for named in _designs(record):
            depends.setdefault(named, record)
    if not depends:
        return
    try:
        there = type(plan).read(path).digest
    except DpstrataError:  # it may be the one that was drawn
        raise something_else(path) from None
    if there != plan.digest and there in depends:
        raise InputError(
            f"{path} must stay as it is, because {depends[there]} refers to this design; choose another "
            "name.",
            where=str(path),
        )


def _records(path: Path) -> Iterator[Path]:
    """Where the ledger and the records of draws of a design may be, the nearest first."""
    for file in dict.fromkeys((path, path.resolve())):
        folder = file.parent
        yield from (folder / "ledger.json", folder / "draw.json", *sorted(folder.glob("*/draw.json")))
        yield from (folder / ".." / "draw.json", *sorted((folder / "..").glob("*/draw.json")))


def _designs(record: Path) -> set[str]:
    """Digests of designs that a record of a draw or a ledger names; none if it is something else."""
    try:
        data = json.loads(record.read_text(encoding="utf-8"))
        return {str(entry["design_digest"]) for entry in data.get("entries", [data])}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()


def design_content(plan: Design, path: Path) -> bytes:
    """Return what :func:`save_design` would write."""
    if path.suffix.lower() == ".json":
        return (to_json(plan) + "\n").encode()
    return table_content(plan.table(), path)


def to_json(plan: Design) -> str:
    """Write the design document as JSON text."""
    return json.dumps(plan.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
