"""Languages of documents: what a code such as `arz` is called, in words and in the attribute `lang` of HTML."""

from collections.abc import Iterable

_RIGHT_TO_LEFT = frozenset({
    "acm", "ajp", "apc", "ar", "ara", "arb", "ars", "ary", "arz", "fa", "fas", "he", "heb", "ps", "ur", "urd",
})  # fmt: skip
# The two letters by which web pages know a language, and its name
_KNOWN = {
    "ara": ("ar", "Arabic"), "arb": ("arb", "Standard Arabic"), "arz": ("arz", "Egyptian Arabic"),
    "chi": ("zh", "Chinese"), "cmn": ("zh", "Mandarin Chinese"), "deu": ("de", "German"), "eng": ("en", "English"),
    "fas": ("fa", "Persian"), "fra": ("fr", "French"), "heb": ("he", "Hebrew"), "hin": ("hi", "Hindi"),
    "ita": ("it", "Italian"), "jpn": ("ja", "Japanese"), "kor": ("ko", "Korean"), "por": ("pt", "Portuguese"),
    "rus": ("ru", "Russian"), "spa": ("es", "Spanish"), "tur": ("tr", "Turkish"), "urd": ("ur", "Urdu"),
    "zho": ("zh", "Chinese"),
}  # fmt: skip


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
    *others, last = map(name_of, codes)
    return f"{', '.join(others)} or {last}" if others else last


def name_of(code: str) -> str:
    """Return the name of a language, or a code without a known name as it is."""
    return _KNOWN.get(code.lower(), ("", code))[1]
