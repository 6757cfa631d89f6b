"""What respondents are told before they answer: who learns what, in numbers per 100."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpstrata.designs.record import Design

LANGUAGES = ("en", "de", "ar")

_TEXTS = {
    "en": """Nobody can know for certain what you answered.

Your own device changes answers at random before anything leaves it: of every 100 people, the \
answers of {replaced} are replaced by random ones. The survey office, a thief, a court or your \
employer could only see what was sent, and cannot tell whether it is what you answered.

Someone who thought it was 50:50 whether you gave one answer or another can be {sure} after seeing \
what you sent.

{published} The office knows whether you took part.""",
    "de": """Niemand kann mit Sicherheit wissen, was Sie geantwortet haben.

Ihr eigenes Gerät verändert Antworten zufällig, bevor irgendetwas es verlässt: Von je 100 Personen \
werden die Antworten von {replaced} durch zufällige ersetzt. Das Umfrageinstitut, ein Dieb, ein \
Gericht oder Ihr Arbeitgeber könnten nur sehen, was gesendet wurde, und nicht, ob Sie das \
geantwortet haben.

Wer vorher 50:50 geschätzt hat, ob Sie das eine oder das andere geantwortet haben, kann sich nach \
einem Blick auf das Gesendete {sure} sein.

{published} Das Umfrageinstitut weiß, ob Sie teilgenommen haben.""",
    "ar": """لا يستطيع أحد أن يعرف على وجه اليقين بماذا أجبت.

جهازك نفسه يغيّر الإجابات عشوائيًا قبل أن يغادره أي شيء: من كل 100 شخص تُستبدل إجابات {replaced} \
بإجابات عشوائية. ولا يمكن للجهة المنظِّمة أو لسارق أو لمحكمة أو لربّ عملك أن يروا إلا ما أُرسل، ولا \
أن يعرفوا هل هو ما أجبت به.

من كان يظن أن احتمال إجابتك بهذا أو بذاك متساوٍ (50 من 100) يمكنه بعد رؤية ما أُرسل أن يكون متأكدًا \
{sure}.

{published} وتعرف الجهة المنظِّمة هل شاركت أم لا.""",
}
_REPLACED = {
    "en": ("at least {}", "fewer than 1"),
    "de": ("mindestens {}", "weniger als 1"),
    "ar": ("{} على الأقل", "أقل من شخص واحد"),
}
_SURE = {
    "en": ("at most {}% sure", "more than 99% sure"),
    "de": ("höchstens zu {} % sicher", "zu mehr als 99 % sicher"),
    "ar": ("بنسبة {}٪ على الأكثر", "بنسبة تزيد على 99٪"),
}
_PUBLISHED = {
    "en": (
        "What devices send is published without names.",
        "Only results about many people are published, and they too are changed at random.",
    ),
    "de": (
        "Was die Geräte senden, wird ohne Namen veröffentlicht.",
        "Veröffentlicht werden nur Ergebnisse über viele Personen, und auch sie werden zufällig verändert.",
    ),
    "ar": (
        "يُنشر ما ترسله الأجهزة من دون أسماء.",
        "لا تُنشر إلا نتائج عن أشخاص كثيرين، وهي أيضًا تُغيَّر عشوائيًا.",
    ),
}


def consent(plan: Design, cells: Sequence[int], *, language: str) -> str:
    """Tell respondents who learns what; paragraphs are apart by an empty line.

    The numbers hold for every form and every stratum: how many are replaced is rounded down, how sure someone
    can be is rounded up.

    Parameters
    ----------
    plan : Design
        The design.
    cells : sequence of int
        For each form, how many different rows there are.
    language : str
        One of ``LANGUAGES``.
    """
    budget = plan.inputs.device_epsilon
    largest = float(plan.local_epsilons.max()) if budget is None else budget
    replaced = math.floor(100.0 * min(cells) / (min(cells) + math.expm1(largest)) * (1 - 1e-12))
    sure = math.ceil(100.0 / (1.0 + math.exp(-largest)) * (1 - 1e-12))
    some, few = _REPLACED[language]
    most, nearly = _SURE[language]
    return _TEXTS[language].format(
        replaced=some.format(replaced) if replaced >= 1 else few,
        sure=most.format(sure) if sure <= 99 else nearly,
        published=_PUBLISHED[language][plan.inputs.release != "microdata"],
    )
