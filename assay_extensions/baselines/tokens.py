"""Cuts a document or topic into the tokens that text baselines compare. A protocol names the tokenizer.

Tokens of a formula are those of its LaTeX: commands, letters, numbers, and each other sign. Tokens of other text are
words in lower case; digits count as letters.

`english-latex`   words by their Porter stems, without the 33 stop words of Lucene; formulas in tokens of LaTeX
`words-latex`     words as they are, for other languages; formulas in tokens of LaTeX
`words`           words only, in formulas too: names of commands, letters and numbers
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from html import unescape

from assay.errors import InputError
from assay.formulas.source import latex_tokens
from assay.protocols.schema import Tokenizer

LONGEST = 40  # bytes of a token; the rest is cut off
_FORMULA = re.compile(r'<span class="math-container"[^<>]*>([^<]*)</span>')
_TAG = re.compile(r"<[^<>]*>")
_WORD = re.compile(r"[^\W_]+")
STOP_WORDS = frozenset(
    _WORD.findall(
        "a an and are as at be but by for if in into is it no not of on or such that the their then there these they "
        "this to was will with"
    )
)


def tokenize(html: str, tokenizer: Tokenizer) -> list[bytes]:
    r"""The tokens of sanitized HTML, in order, as UTF-8.

    >>> tokenize('<p>The sums of <span class="math-container">x^{12}+\\pi</span></p>', "english-latex")
    [b'sum', b'x', b'^', b'{', b'12', b'}', b'+', b'\\pi']
    """
    words = _words if tokenizer != "english-latex" else _stems
    formulas = _words if tokenizer == "words" else latex_tokens
    pieces = _FORMULA.split(html)  # text, formula, text, ...
    tokens: list[str] = []
    for place, piece in enumerate(pieces):
        if piece:
            text = unescape(piece if place % 2 else _TAG.sub(" ", piece))
            tokens += formulas(text) if place % 2 else words(text)
    return [token.encode(errors="replace")[:LONGEST] for token in tokens]


def _words(text: str) -> list[str]:
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return _WORD.findall(text.casefold())


def _stems(text: str) -> list[str]:
    stem = stemmer()
    return [stem(word) for word in _words(text) if word not in STOP_WORDS]


@cache
def stemmer() -> Callable[[str], str]:
    """Porter's stemmer of Snowball. Words come again and again, so each is stemmed once.

    Raises:
        InputError: The package is not installed.
    """
    try:
        import snowballstemmer  # noqa: PLC0415 -- of the extra `baselines`
    except ImportError:
        raise InputError(
            "the tokenizer english-latex needs snowballstemmer: pip install 'assay[baselines]'"
        ) from None
    return cache(snowballstemmer.stemmer("porter").stemWord)
