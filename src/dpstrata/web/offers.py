"""What else could be chosen: what does better, what does not fit, and whom each choice protects against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from dpstrata.designs.choice import BEST
from dpstrata.designs.record import Design
from dpstrata.errors import DpstrataError
from dpstrata.planning.compare_releases import ReleaseOption, compare_releases
from dpstrata.planning.design import design_as_asked
from dpstrata.privacy.mechanisms import MECHANISMS, mechanism_class
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.options import OF_STRATA
from dpstrata.survey.releases import OPTION, RELEASES, kind_of
from dpstrata.web.replies import parts_of
from dpstrata.words.consent import texts

WORTH = 0.995  # of the people, or of the standard error; what gains less is not offered
_SMALL_DELTA = 1e-6
Against = Literal["public", "office", "published"]
DEVICE_EPSILON = 5.0  # where the plan has none: what devices would noise at


def find_offers(plan: Design) -> list[dict[str, Any]]:
    """List other choices that do better for the same goal, each designed anew.

    The promise to the public stays, and the one against the office unless it would see raw answers, which is
    said.
    """
    if plan.waves is not None or plan.inputs.release_form.of_rows:
        return []
    found = []
    for inputs, options in _alternatives(plan):
        try:
            better = design_as_asked(plan.strata, inputs, warn=False)
        except DpstrataError:
            continue
        if _gain(plan, better) < WORTH:
            found.append(_offer(better, options))
    return found


def _alternatives(plan: Design) -> Iterator[tuple[Inputs, dict[str, Any]]]:
    """Pair inputs with the options to choose for them."""
    if plan.choice is None and plan.inputs.promise.any_mechanism:
        yield replace(plan.inputs, mechanism=BEST), {"mechanism": BEST}
    for inputs in (inputs for kind in map(kind_of, RELEASES) for inputs in kind.alternatives(plan)):
        left_out = {name: getattr(inputs, name) for name in inputs.release_form.leaves_out}
        options = {OPTION: inputs.release, "device_epsilon": inputs.device_epsilon, **left_out}
        if inputs.promise.any_mechanism:
            yield replace(inputs, mechanism=BEST), {**options, "mechanism": BEST}
        else:
            yield inputs, options


def _gain(plan: Design, better: Design) -> float:
    """Return what is left of the people, where the goal asks for few, or of the standard error."""
    saved = _saved(plan)
    if saved is not None:
        return float(getattr(better, saved) or 0) / float(getattr(plan, saved) or 1)
    return float((better.variance / plan.variance) ** 0.5) if plan.variance > 0 else 1.0


def _saved(plan: Design) -> Literal["total", "cost"] | None:
    """Return what a goal asks for little of; none where it asks for precision."""
    if not plan.inputs.asks_for_least:
        return None
    return "cost" if plan.strata.costs_differ else "total"


def _offer(better: Design, options: dict[str, Any]) -> dict[str, Any]:
    inputs = better.inputs
    return {
        "options": options,
        "mechanism": better.mechanism.title,
        "saves": _saved(better),
        "total": better.total,
        "cost": better.cost,
        "variance": better.variance,
        "standard_error": better.standard_error,
        "raw_answers": inputs.release != "microdata" and inputs.device_epsilon is None,
    }


def find_misfits(arguments: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Say of every mechanism that does not go with the other options why.

    Parameters
    ----------
    arguments : mapping
        The options of a design. Where they do not go with the best mechanism either, the fault is theirs,
        and no mechanism has one.

    Examples
    --------
    >>> sorted(find_misfits({"epsilon": 1.0, "total": 10, "questions": "yes_no"}))
    ['category_response', 'cells']
    """
    given = {name: value for name, value in arguments.items() if name not in OF_STRATA}
    if _misfit(given, BEST) is not None:
        return {}
    reasons = {name: _misfit(given, name) for name in MECHANISMS}
    return {name: parts_of(reason) for name, reason in reasons.items() if reason is not None}


def _misfit(given: Mapping[str, Any], mechanism: str) -> str | None:
    """Return the sentence with which a design would refuse the mechanism."""
    needs_delta = mechanism != BEST and mechanism_class(mechanism).needs_delta
    delta = given.get("delta") or (_SMALL_DELTA if needs_delta else 0.0)
    try:
        inputs = Inputs(**{**given, "mechanism": mechanism, "delta": delta})
        if mechanism != BEST:
            inputs.fitted_mechanism()
    except DpstrataError as error:
        return error.sentence
    return None


def describe_protection(plan: Design, language: str) -> dict[str, Any]:
    """Say whom a plan protects against, what the other choices would cost, and what respondents are told."""
    wanted, pure = plan.inputs.device_epsilon, plan.inputs.promise.any_mechanism
    suggested = DEVICE_EPSILON if wanted is None and pure else wanted
    found: dict[Against, ReleaseOption] = {}
    for each in compare_releases(plan, device_epsilon=suggested).options:
        if each.release in ("microdata", _summed(plan)):
            found[protected_against(each.release, each.device_epsilon)] = each
    return {
        "against": protected_against(plan.inputs.release, wanted),
        "device_epsilon": suggested,
        "choices": {name: _figures_of(each) for name, each in found.items()},
        "sentences": plan.privacy["sentences"],
        "consent": plan.consent(language).to_dict() if pure else None,
        "languages": {code: text["names"][-1] for code, text in texts().items()},
    }


def protected_against(release: str, device_epsilon: float | None) -> Against:
    """Name the choice that a release and the device budget amount to.

    Examples
    --------
    >>> protected_against("sums", None), protected_against("sums", 5.0), protected_against("microdata", None)
    ('public', 'office', 'published')
    """
    if release == "microdata":
        return "published"
    return "public" if device_epsilon is None else "office"


def _summed(plan: Design) -> str:
    return "sums" if plan.inputs.release == "microdata" else plan.inputs.release


def _figures_of(each: ReleaseOption) -> Mapping[str, Any]:
    made = each.design
    return {
        "release": each.release,
        "device_epsilon": each.device_epsilon,
        "total": None if made is None else made.total,
        "variance": None if made is None else made.variance,
        "standard_error": None if made is None else made.standard_error,
        "office_epsilon": each.office_epsilon,
        "office_sees_raw_answers": each.raw_answers,
    }
