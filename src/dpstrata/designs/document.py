"""The design document: what is written of a design, and its digest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

from dpstrata.files.writing import plain_cell
from dpstrata.survey.goals import written_domains
from dpstrata.survey.inputs import Inputs
from dpstrata.version import __version__

if TYPE_CHECKING:
    from dpstrata.designs.record import Design

FORMAT = "dpstrata.design"
VERSION = 4
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
        **({} if plan.waves is None else {"waves": asdict(plan.waves)}),
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
    if plan.forms_bound is None:
        return {}
    proof = asdict(plan.forms_bound)
    return {
        "forms": [
            {
                "questions": list(form.questions),
                "levels": list(form.levels),
                "cells": form.cells,
                "replaced": form.replaced,
                "share": form.share,
                "sample_sizes": form.sample_sizes.tolist(),
            }
            for form in plan.forms
        ],
        "questions": [asdict(question) for question in plan.questions],
        "forms_bound": {**proof, "prices": list(proof["prices"])},
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
        "waves": None if plan.waves is None else asdict(plan.waves),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
