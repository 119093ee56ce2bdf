"""The words of a run: what counts as a name, a rank and a score, in lines and in XML."""

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.formats.reports import Tally

MAX_DOCNO = 400  # bytes
MAX_NAME = 100  # bytes of a topic's code or a tag
RANK = re.compile(rb"[+-]?[0-9]{1,9}")
SCORE = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")


def score_of(word: bytes, number: int, tally: Tally) -> float | None:
    """The score that a word writes; None, and an error in the tally, if it writes none."""
    if SCORE.fullmatch(word):
        value = float(word)
        if math.isfinite(value):
            return value
    hint = " (use a point, not a comma)" if re.fullmatch(rb"[+-]?[0-9]+,[0-9]+", word) else ""
    message, others = (
        f"score {quoted(word)} is not a finite number{hint}",
        "other scores that are not finite numbers",
    )
    tally.error("score", message, "A decimal number such as 12.5, -3 or 1.2e-4.", number, others=others)
    return None


def rank_of(word: bytes, number: int, tally: Tally) -> int:
    """The rank that a word writes; 1, and an error in the tally, if it writes none.

    Nothing is ordered by ranks, so another notation of a whole number, such as 0.00E+00, is only a warning.
    """
    if RANK.fullmatch(word):
        return int(word)
    value = float(word) if SCORE.fullmatch(word) else math.nan
    is_whole = value.is_integer() and abs(value) < 10**9
    complain, code = (tally.warning, "rank-notation") if is_whole else (tally.error, "rank")
    complain(
        code,
        f"rank {quoted(word)} is not {'written as ' if is_whole else ''}a whole number of at most nine digits",
        "1, 2, 3, … in the order of the scores.",
        number,
        is_repairable=True,
        others="other ranks that are not whole numbers",
    )
    return int(value) if is_whole else 1


def quoted(word: bytes) -> str:
    """A word as a message quotes it, cut to 40 bytes."""
    text = word[:40].decode("utf-8", "replace")
    return f"“{text}…”" if len(word) > 40 else f"“{text}”"


def byte_strings(words: Sequence[bytes]) -> NDArray[np.bytes_]:
    """Words as an array, which may be empty."""
    return np.array(words, dtype=np.bytes_) if words else np.empty(0, dtype="S1")
