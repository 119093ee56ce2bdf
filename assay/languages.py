"""Languages of documents: what a code such as `arz` is called, in words and in the attribute `lang` of HTML."""

from collections.abc import Iterable, Sequence
from functools import reduce

from assay.errors import say

_RIGHT_TO_LEFT = frozenset({
    "acm", "ajp", "apc", "ar", "ara", "arb", "ars", "ary", "arz", "fa", "fas", "he", "heb", "ps", "ur", "urd",
})  # fmt: skip
# The two letters by which web pages know a language, and its name
_KNOWN = {
    "ara": ("ar", say("Arabic")),
    "arb": ("arb", say("Standard Arabic")),
    "arz": ("arz", say("Egyptian Arabic")),
    "chi": ("zh", say("Chinese")),
    "cmn": ("zh", say("Mandarin Chinese")),
    "deu": ("de", say("German")),
    "eng": ("en", say("English")),
    "fas": ("fa", say("Persian")),
    "fra": ("fr", say("French")),
    "heb": ("he", say("Hebrew")),
    "hin": ("hi", say("Hindi")),
    "ita": ("it", say("Italian")),
    "jpn": ("ja", say("Japanese")),
    "kor": ("ko", say("Korean")),
    "por": ("pt", say("Portuguese")),
    "rus": ("ru", say("Russian")),
    "spa": ("es", say("Spanish")),
    "tur": ("tr", say("Turkish")),
    "urd": ("ur", say("Urdu")),
    "zho": ("zh", say("Chinese")),
}


def is_right_to_left(code: str) -> bool:
    """Return whether a language, such as `arz` or `ar-EG`, is written from right to left."""
    return code.partition("-")[0].lower() in _RIGHT_TO_LEFT


def html_language(code: str) -> str:
    """Return a language as the attribute `lang` names it: the two letters of its code, if it has such.

    >>> html_language("eng"), html_language("arz")
    ('en', 'arz')
    """
    return _KNOWN[code.lower()][0] if code.lower() in _KNOWN else code


def any_of(codes: Iterable[str]) -> str:
    """Return the names of languages for a sentence; a code without a known name stays as it is.

    >>> any_of(["ara", "arz", "xyz"])
    'Arabic, Egyptian Arabic or xyz'
    """
    return any_in_words([name_of(code) for code in codes])


def any_in_words(texts: Sequence[str]) -> str:
    """Return texts as a sentence enumerates them, with `or` before the last one."""
    *others, last = texts
    if not others:
        return last
    first = reduce(lambda first, second: say("{first}, {second}", first=first, second=second), others)
    return say("{first} or {second}", first=first, second=last)


def name_of(code: str) -> str:
    """Return the name of a language, or a code without a known name as it is."""
    return _KNOWN.get(code.lower(), ("", code))[1]
