"""Reading a design document: its shape, its proof and everything that follows from its inputs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from dpstrata.allocation.domains import find_partitions
from dpstrata.allocation.posing import pose
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.bound import Bound
from dpstrata.allocation.proof.forms import FormsBound, certify_forms
from dpstrata.allocation.proof.raw_forms import certify_raw_forms
from dpstrata.designs.choice import Choice
from dpstrata.designs.document import FORMAT, VERSION
from dpstrata.designs.document_shape import BoundPart, DesignDocument, InputsPart, StratumPart, WavesPart
from dpstrata.designs.questions import forms_to_prove
from dpstrata.designs.waves import Waves
from dpstrata.errors import DpstrataError, InputError
from dpstrata.files.writing import as_path
from dpstrata.survey.forms import as_forms
from dpstrata.survey.goals import Outcome
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.questionnaires.question import Question, Translation
from dpstrata.survey.questionnaires.questionnaire import Questionnaire
from dpstrata.survey.releases import OPTION
from dpstrata.survey.strata import Strata
from dpstrata.version import __version__

if TYPE_CHECKING:
    from dpstrata.designs.record import Design

_PRIVACY_FACTS = ("central", "local", "spent_on_deviations", "central_in_all", OPTION)


def read_design(path: str | Path, kind: type[Design]) -> Design:
    """Read a design document and check its proof again, without searching for the best again.

    Parameters
    ----------
    path : path
        A file written by :meth:`Design.save` or ``dpstrata design --out``.
    kind : type
        The class of designs, which uses this function and so cannot be imported here.

    Returns
    -------
    Design
        Equal to the one that was saved.

    Raises
    ------
    InputError
        If the file is not a design document, is of another version, or does not agree with itself.
    """
    path = as_path(path, "design")
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
            f"{path} must be a design document of version {VERSION}, got version {data.get('version')!r}. "
            "Make the design again."
        )
    try:
        document = DesignDocument.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{path} is not a valid design document: {place}: {first['msg']}.") from None
    return _rebuild(document, path, kind)


def _rebuild(document: DesignDocument, path: Path, kind: type[Design]) -> Design:
    """Pose the problem again from the document and check that its sizes solve it."""
    try:
        plan = _certified(document, path, kind)
        if document.choice is not None:
            plan = replace(plan, choice=tuple(Choice(**row.model_dump()) for row in document.choice))
        if document.waves is not None:
            plan = replace(plan, waves=_waves(document.waves, plan))
        if plan.problem.forms.dealt_out:
            plan = replace(plan, forms_bound=_forms_bound(document, plan, path))
    except DpstrataError as error:
        raise InputError(f"{path} does not describe a possible design: {error}") from None
    _check_sizes(plan, path)
    broken = plan.inputs.goal.broken_by(plan)
    if broken is not None:
        raise InputError(f"{path}: {broken}; the file was changed.")
    _check_figures(document, plan, path)
    return plan


def _certified(document: DesignDocument, path: Path, kind: type[Design]) -> Design:
    """Prove the sizes of a document anew, from its strata and what was asked for."""
    rows = document.strata
    strata = _strata(rows)
    inputs = _inputs(document.inputs)
    problem = _with_scales(pose(inputs, strata, document.total), document, path)
    outcome = None if document.outcome is None else Outcome(**document.outcome.model_dump())
    bound = document.certificate if isinstance(document.certificate, BoundPart) else None
    if bound is not None:
        _check_prices(bound, problem, strata, inputs, path)
    elif problem.families:
        raise InputError(
            f"{path}: the certificate is of the wrong kind for the release; the file was changed."
        )
    return kind.certified(
        strata,
        inputs,
        problem,
        np.array([row.sample_size for row in rows], dtype=np.int64),
        np.array([row.relaxed_size for row in rows], dtype=float),
        outcome,
        prices=None if bound is None else tuple(bound.prices),
        searched=bound is not None and bound.searched,
    )


def _with_scales(problem: Problem, document: DesignDocument, path: Path) -> Problem:
    """Take how several families of figures share the budget; with one, scales follow from the sizes."""
    if len(problem.families) < 2:
        return problem
    scales = np.array([figure.scale for figure in document.figures or ()], dtype=float)
    ends = np.cumsum([len(family) for family in problem.families])
    if len(scales) != ends[-1] or not np.all(scales > 0):
        raise InputError(f"{path}: there must be a scale above 0 for every figure; the file was changed.")
    return replace(problem, scales=tuple(np.split(scales, ends[:-1])))


def _strata(rows: Sequence[StratumPart]) -> Strata:
    """Make strata of the rows of a document."""

    def optional(name: str) -> list[Any] | None:
        cells = [getattr(row, name) for row in rows]
        return None if any(cell is None for cell in cells) else cells

    return Strata(
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


def _check_sizes(plan: Design, path: Path) -> None:
    """Require sizes that add up and are proven, and relaxed ones that fit the limits and the total."""
    problem, bounded = plan.problem, isinstance(plan.certificate, Bound)
    if plan.total != problem.total:
        raise InputError(
            f"{path}: the sample sizes must add up to the total, got {plan.total:,} and {problem.total:,}."
        )
    if not bounded and not plan.certificate.optimal:
        raise InputError(f"{path}: the certificate does not hold for the sample sizes; the file was changed.")
    relaxed = plan.relaxed_sizes
    inside = (relaxed >= problem.lower - 1e-6) & (relaxed <= problem.upper + 1e-6)
    off = 0.0 if bounded else abs(relaxed.sum() - problem.total)
    if not inside.all() or off > 1e-6 * problem.total:
        raise InputError(
            f"{path}: the relaxed sizes do not fit the limits and the total; the file was changed."
        )


def _check_figures(document: DesignDocument, plan: Design, path: Path) -> None:
    """Require that every figure of the document follows from its inputs."""
    written, computed = document.model_dump(exclude_unset=True), plan.to_dict()
    if document.created_with != __version__:  # another version has other words for the same
        for part in (written, computed):
            part["privacy"] = {name: part["privacy"].get(name) for name in _PRIVACY_FACTS}
    difference = first_difference(written, computed)
    if difference:
        raise InputError(f"{path} contradicts itself at {difference}; the file was changed.")


def _forms_bound(document: DesignDocument, plan: Design, path: Path) -> FormsBound | None:
    """Prove again how close the forms come to the best there could be, where there are others."""
    release, part = plan.inputs.release_form, document.forms_bound
    if release.noised_once:
        return None
    if release.gets_raw:
        return certify_raw_forms(plan.problem, plan.sample_sizes)
    problem, forms = forms_to_prove(plan)
    try:
        return certify_forms(problem, forms, () if part is None else part.prices)
    except InputError:
        raise InputError("the prices of the forms do not fit the questions; the file was changed.") from None


def _waves(part: WavesPart, plan: Design) -> Waves:
    """Read what two waves share, and require that this one keeps to it."""
    given = part.model_dump()
    waves = Waves(**{**given, "forms": as_forms(given["forms"])})
    epsilons = plan.strata.sd_epsilons
    waves.require(
        epsilon=plan.inputs.epsilon,
        total=plan.total,
        spent=0.0 if epsilons is None else float(epsilons.max()),
    )
    return waves


def _check_prices(bound: BoundPart, problem: Problem, strata: Strata, inputs: Inputs, path: Path) -> None:
    """Require prices that can prove something: one for the budget or for each target, none negative.

    Of a person where figures have one draw of noise; with several families of each stratum's room too.
    """
    needed = 1 if inputs.goal.spends_budget and strata.costs is not None else 0
    if inputs.targets:
        needed += sum(int(np.isfinite(part.limits).sum()) for part in find_partitions(strata, inputs))
    if inputs.asks_by_question:
        needed = len(inputs.questions)
    if problem.families:
        needed = len(bound.prices) if len(problem.families) == 1 else 1 + len(strata)
    if len(bound.prices) != needed or needed == 0 or min(bound.prices) < 0:
        raise InputError(f"{path}: the prices of the certificate do not fit the goal; the file was changed.")


def first_difference(written: Any, computed: Any, place: str = "") -> str | None:
    """Return the place of the first value that does not follow from the inputs."""
    if place == "created_with":
        return None
    if isinstance(written, dict) and isinstance(computed, dict):
        keys = {key: f"{place}.{key}" if place else key for key in (*computed, *written)}
        missing = next((keys[key] for key in keys if (key in written) != (key in computed)), None)
        if missing is not None:
            return missing
        pairs = [(keys[key], written[key], computed[key]) for key in computed]
    elif isinstance(written, list) and isinstance(computed, list | tuple) and len(written) == len(computed):
        pairs = [(f"{place}.{i}", *pair) for i, pair in enumerate(zip(written, computed, strict=True))]
    elif isinstance(written, float) and isinstance(computed, float):
        # another machine may round the last digits of a logarithm differently
        close = abs(written - computed) <= 1e-9 * max(abs(written), abs(computed))
        return None if close else place
    else:
        return None if written == computed else place
    return next((found for pair in pairs if (found := first_difference(pair[1], pair[2], pair[0]))), None)


def _inputs(part: InputsPart) -> Inputs:
    data = part.model_dump()
    inputs = Inputs(**{**data, "questions": _questions(**data["questions"])})
    if inputs.rows and isinstance(inputs.forms, str):
        raise InputError(f"a document must list the forms of its questions, got {inputs.forms!r}.")
    return inputs


def _questions(questions: list[dict[str, Any]], **heading: str) -> Questionnaire:
    for question in questions:
        question["translations"] = [Translation(**each) for each in question["translations"]]
    return Questionnaire([Question(**question) for question in questions], **heading)
