"""Whom a survey protects against: what each choice costs, and what it means in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from dpstrata.designs.record import Design
from dpstrata.planning.compare_releases import ReleaseOption, compare_releases
from dpstrata.words.consent import texts

Against = Literal["public", "office", "published"]
DEVICE_EPSILON = 5.0  # where the plan has none: what devices would noise at
_NEVER_RAW = "answers on forms are always randomised on devices, so the office never sees raw answers."


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
        "choices": {name: _figures(each) for name, each in found.items()},
        "reasons": {} if "public" in found else {"public": _NEVER_RAW},
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


def _figures(each: ReleaseOption) -> Mapping[str, Any]:
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
