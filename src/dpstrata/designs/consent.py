"""The numbers of what respondents are told: how much is changed, and how sure someone can become."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpstrata.errors import InputError, NotAvailableError
from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.mechanisms import get_mechanism
from dpstrata.words.consent import ENGLISH, Consent, ConsentFigures, consent_text, require_place

if TYPE_CHECKING:
    from dpstrata.designs.questions import DesignedForm
    from dpstrata.designs.record import Design
    from dpstrata.privacy.mechanisms.base import Mechanism
    from dpstrata.survey.questionnaires.question import Question


def why_no_consent(plan: Design) -> str | None:
    """Say why there is no text for a design, where there is none."""
    if not plan.inputs.promise.any_mechanism:
        return (
            "Texts for respondents need a promise of pure epsilon, which limits how sure anyone can become, "
            f"got a promise of {plan.inputs.promise.title}."
        )
    if plan.waves is not None:
        return (
            "Texts for respondents are not available for the waves of a pilot: what someone learns who sees "
            "both answers of a person depends on both waves."
        )
    return None


def consent_of(plan: Design, language: str | None, noised_at: str | None, form: int | None) -> Consent:
    """Write what respondents of a design are told; ``Design.consent`` has the parameters."""
    reason = why_no_consent(plan)
    if reason is not None:
        raise NotAvailableError(reason)
    language = language or plan.inputs.questions.language or ENGLISH
    return consent_text(consent_figures(plan, noised_at, form), language)


def consent_figures(plan: Design, noised_at: str | None, form: int | None) -> ConsentFigures:
    """Work out the numbers of a text."""
    release, device_epsilon = plan.inputs.release_form, plan.inputs.device_epsilon
    place = require_place(noised_at, release.noised_at)
    budgets = plan.local_epsilons
    aggregated = not release.shows_spread
    at_device = budgets if device_epsilon is None else np.array([device_epsilon])
    form = _form(plan, form)
    changed, amount = (None, None) if place is None else _changed(plan, at_device, form)
    spent = plan.privacy["central_in_all"]["epsilon"]
    if device_epsilon is not None:  # what is made of reports tells no more than they do
        spent -= max(plan.inputs.promise.central_epsilon - device_epsilon, 0.0)
    # the office leaves its noise out where that of devices is enough
    left_out = device_epsilon is not None and bool(np.isinf(plan.problem.forms.office_budgets(budgets)).any())
    return ConsentFigures(
        published=release.told,
        unit="rows" if any(len(each.questions) > 1 for each in _forms(plan, form)) else "answers",
        raw=place != "device",
        changed=changed,
        amount=amount,
        moved=place is not None and changed is None,
        added=aggregated and not left_out,
        sent=surest(release.worst_epsilon(float(budgets.max()))) if place == "device" else None,
        released=surest(spent),
        complete=_counts_complete(plan, form),
        levelled=_are_levelled(plan, form),
        everyone=asks_everyone(plan),
    )


def surest(epsilon: float) -> float:
    r"""Return how sure someone can become who thought it 50:50: :math:`e^\varepsilon / (1 + e^\varepsilon)`.

    Examples
    --------
    >>> round(surest(1.0), 4)
    0.7311
    """
    return 1.0 / (1.0 + math.exp(-epsilon))


def _form(plan: Design, form: int | None) -> int | None:
    """Require a form that there is, from 1 on."""
    if form is None:
        return None
    if isinstance(form, bool) or not isinstance(form, int) or not 1 <= form <= len(plan.forms):
        raise InputError.must("form", f"be from 1 to {len(plan.forms)}", form)
    return form


def asks_everyone(plan: Design) -> bool:
    """Whether everyone is asked, so that nothing depends on who knows who was asked, or asked what.

    The budget of a form follows from the rate of the whole stratum, n/N, and not from its own share of the
    people: where n = N each form keeps the promise by itself, also against those who know who got it.
    """
    return bool((plan.sample_sizes == plan.strata.sizes).all())


def _counts_complete(plan: Design, form: int | None) -> bool:
    """Whether a row counts only if it is complete: some question of several may not be left blank."""
    asked = _asked(plan, form)
    return len(plan.inputs.questions) > 1 and any(not each.blank for each in asked)


def _forms(plan: Design, form: int | None) -> tuple[DesignedForm, ...]:
    """Return a form, or all."""
    return plan.forms if form is None else (plan.forms[form - 1],)


def _asked(plan: Design, form: int | None) -> list[Question]:
    """Return the questions of a form, or of all."""
    names = {name for each in _forms(plan, form) for name in each.questions}
    return [each for each in plan.inputs.questions if each.name in names]


def _are_levelled(plan: Design, form: int | None) -> bool:
    """Whether numbers are put on levels, on rows that are kept or replaced."""
    on_rows = {name for each in _forms(plan, form) if each.cells for name in each.questions}
    return any(each.of_kind.rounded for each in plan.inputs.questions if each.name in on_rows)


def _changed(
    plan: Design, budgets: FloatArray, form: int | None
) -> tuple[tuple[float, float] | None, float | None]:
    """Return the smallest and largest share that is changed, or by how much numbers are moved at least."""
    forms = _forms(plan, form)
    if len(forms) == 1 and not forms[0].cells:
        return _changed_alone(_mechanism(plan, forms[0]), budgets)
    rates: list[float] = []
    for each in forms:
        if each.cells:  # ρ(K − 1)/K: a row that is replaced by itself is not changed
            rates += [rate * (1.0 - 1.0 / each.cells) for rate in (each.least_replaced, each.replaced)]
        else:
            alone, _ = _changed_alone(_mechanism(plan, each), budgets)
            rates += alone or (1.0, 1.0)
    return (min(rates), max(rates)), None


def _mechanism(plan: Design, form: DesignedForm) -> Mechanism:
    """Return what noises the only question of a form."""
    if not plan.inputs.rows:
        return plan.mechanism
    (question,) = (each for each in plan.inputs.questions if each.name == form.questions[0])
    return get_mechanism(form.mechanism, question.space)


def _changed_alone(noise: Mechanism, budgets: FloatArray) -> tuple[tuple[float, float] | None, float | None]:
    """Return the same for answers that are noised one by one."""
    least, most = float(budgets.min()), float(budgets.max())
    amount = None
    if noise.numbers and noise.space.values != 2 and not noise.worst_case:
        amount = float(np.sqrt(noise.variance(most)))
    ends = noise.share_changed(most), noise.share_changed(least)
    if ends[0] is None or ends[1] is None:
        return None, amount
    return (ends[0], ends[1]), amount
