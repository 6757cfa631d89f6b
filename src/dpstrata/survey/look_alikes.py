"""Names that look alike or differ by one slip of the pen, so that one stratum may be counted as two."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Mapping

_FEW = 50  # in longer lists, such as those of municipalities, names that differ by one letter are common
_RARE = 0.1  # there a slip must have at most this share of the people of the right name
# Letters that print like a Latin one, at least as capitals: Cyrillic, then Greek. None stands there twice, so
# that names in one alphabet stay as different as they are.
_PRINTED_ALIKE = str.maketrans(
    "авекмнорстухіјѕԁԛԝӏ" + "αβεζηικμνορτυχ", "abekmhopctyxijsdqwl" + "abezhikmnoptyx"
)
_PASSED_OVER = re.compile("[\u0300-\u036f\u00ad\u200b-\u200f\u2060\ufeff]")  # accents, invisible characters
_GAPS = re.compile(r"[\s_.\-\u2010-\u2015]+")
_LONG_WORD = re.compile(r"[^\W\d_]{6,}")  # shorter ones can be alike by nature: Iran and Iraq


def find_look_alikes(sizes: Mapping[str, int]) -> list[tuple[str, str]]:
    """Find pairs of names that may mean the same.

    Such names differ in case, gaps, accents or letters of another alphabet that print alike; or, in a word
    of six letters or more, one letter is wrong, missing, or swapped with the next. Digits and single letters
    tell names apart (``North 1``, ``Ward B``). The work is proportional to the length of all names.

    Parameters
    ----------
    sizes : mapping
        How many people have each name.

    Returns
    -------
    list of tuple of str
        The more frequent name first; each name comes second at most once.

    Examples
    --------
    >>> find_look_alikes({"Pflege": 90, "pflege": 2, "Plege": 1, "Ward A": 9, "Ward B": 8})
    [('Pflege', 'pflege'), ('Pflege', 'Plege')]
    """
    pairs: list[tuple[str, str]] = []
    names: dict[str, str] = {}  # by skeleton
    wrong: dict[str, str] = {}  # by skeleton with a gap for one letter
    missing: dict[str, str] = {}  # by skeleton without one letter
    for name in sorted(sizes, key=lambda each: -sizes[each]):
        skeleton = _skeleton(name)
        if skeleton in names:
            pairs.append((names[skeleton], name))
            continue
        places = [place for word in _LONG_WORD.finditer(skeleton) for place in range(*word.span())]
        gapped = [f"{skeleton[:place]}\0{skeleton[place + 1 :]}" for place in places]
        shorter = [skeleton[:place] + skeleton[place + 1 :] for place in places]
        swapped = [
            skeleton[:place] + skeleton[place + 1] + skeleton[place] + skeleton[place + 2 :]
            for place, following in itertools.pairwise(places)
            if following == place + 1
        ]
        twin = (
            missing.get(skeleton)
            or next((names[each] for each in (*shorter, *swapped) if each in names), None)
            or next((wrong[each] for each in gapped if each in wrong), None)
        )
        if twin is not None and (len(sizes) <= _FEW or sizes[name] <= _RARE * sizes[twin]):
            pairs.append((twin, name))
        names[skeleton] = name
        for register, keys in ((wrong, gapped), (missing, shorter)):
            for key in keys:
                register.setdefault(key, name)
    return pairs


def _skeleton(name: str) -> str:
    r"""Write a name without what the eye passes over; one without letters, such as -1, stays as it is.

    Examples
    --------
    >>> _skeleton("Süd-West"), _skeleton("sud  west"), _skeleton("\u0420flege"), _skeleton("-1")
    ('sud west', 'sud west', 'pflege', '-1')
    """
    if not any(map(str.isalpha, name)):
        return name
    plain = name.casefold()
    if not plain.isascii():
        plain = _PASSED_OVER.sub("", unicodedata.normalize("NFKD", plain)).translate(_PRINTED_ALIKE)
    return _GAPS.sub(" ", plain).strip()


def alphabets(name: str) -> tuple[str, ...]:
    r"""Name the alphabets other than Latin whose letters a name mixes with Latin ones.

    Examples
    --------
    >>> alphabets("\u0420flege"), alphabets("Pflege"), alphabets("\u0421\u0435\u0432\u0435\u0440")
    (('Cyrillic',), (), ())
    """
    found = {unicodedata.name(char, "").split(" ")[0] for char in name if char.isalpha()}
    return tuple(sorted(each.capitalize() for each in found - {"LATIN"})) if "LATIN" in found else ()
