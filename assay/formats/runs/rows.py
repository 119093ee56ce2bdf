"""The lines of a run as rows: a fast reader for regular text, and a patient one for all other.

The fast reader takes a chunk only if every line of it is beyond doubt: the right number of columns, plain decimal
numbers, one tag, no control or invisible character. Whatever it declines goes through the patient reader line by
line, which says what is wrong; on what both take, both give the same rows.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.formats.reports import Tally
from assay.formats.tokens import Text, as_bytes, decimals, spans, whole_numbers

MAX_DOCNO = 400  # bytes
MAX_NAME = 100  # bytes of a topic's code or a tag
NARROW = 64  # the fast reader declines wider words
RANK = re.compile(rb"[+-]?[0-9]{1,9}")
SCORE = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
# No-break space, soft hyphen, zero-width and direction marks, word joiner, a byte-order mark amid the text.
INVISIBLE = re.compile(rb"\xc2[\xa0\xad]|\xe2\x80[\x8b-\x8f\xa8-\xaf]|\xe2\x81\xa0|\xef\xbb\xbf")


@dataclass(frozen=True, slots=True)
class Form:
    """A form of run line: how many columns, and which of them is what."""

    name: str
    title: str
    width: int
    topic: int
    docno: int
    rank: int
    score: int
    tag: int
    post: int | None = None  # of the post that holds the formula
    filler: int | None = None  # a column that says nothing
    has_ranks: bool = True
    ties_stay: bool = False  # False: they are ordered as trec_eval orders them

    def line(self, topic: bytes, docno: bytes, rank: int, score: float, tag: bytes, post: bytes) -> bytes:
        """A row in this form: tabs, the score to its last bit, LF."""
        words = [b""] * self.width
        for column, word in ((self.post, post), (self.filler, b"Q0")):
            if column is not None:
                words[column] = word
        words[self.topic], words[self.docno], words[self.tag] = topic, docno, tag
        words[self.rank], words[self.score] = b"%d" % rank, repr(score).encode()
        return b"\t".join(words) + b"\n"


LINE_FORMS = {
    form.name: form
    for form in (
        Form("arqmath-5", "Query_Id Post_Id Rank Score Run_Number", 5, 0, 1, 2, 3, 4),
        Form("arqmath-6", "Query_Id Formula_Id Post_Id Rank Score Run_Number", 6, 0, 1, 3, 4, 5, post=2),
        Form("trec-6", "topic Q0 docno rank score tag", 6, 0, 2, 3, 4, 5, filler=1),
    )
}


class Rows(NamedTuple):
    """Some lines of a run, in file order. `codes` are the distinct topics, `topic_index` points into them."""

    codes: list[bytes]
    topic_index: NDArray[np.int32]
    docno: NDArray[np.bytes_]
    rank: NDArray[np.int32]
    score: NDArray[np.float64]
    number: NDArray[np.int64]
    tags: dict[bytes, tuple[int, int]]  # tag -> (lines, number of the first)
    post: NDArray[np.bytes_] | None = None


def read_regular(first: int, chunk: bytes, form: Form) -> Rows | None:
    """The rows of a chunk of whole lines, or None if any line of it is not regular.

    `first` is the number of the chunk's first line.
    """
    if not _has_plain_characters(chunk):
        return None
    text = Text(chunk)
    found = spans(text.codes, form.width)
    if found is None:
        return None
    starts, lengths = (np.ascontiguousarray(one.T) for one in found)
    named = (form.topic, form.docno, form.post, form.score, form.tag)
    if any(int(lengths[column].max()) > NARROW for column in named if column is not None):
        return None
    rank = whole_numbers(text, starts[form.rank], lengths[form.rank])
    score = decimals(text, starts[form.score], lengths[form.score])
    tag = text.words(starts[form.tag], lengths[form.tag])
    if rank is None or score is None or any((word != word[0]).any() for word in tag):
        return None
    codes, topic_index = topics_by_change(text, starts[form.topic], lengths[form.topic])
    docno = as_bytes(text.words(starts[form.docno], lengths[form.docno]))
    n = starts.shape[1]
    number = np.arange(first, first + n, dtype=np.int64)
    tags = {text.slices(starts[form.tag][:1], lengths[form.tag][:1])[0]: (n, first)}
    post = None if form.post is None else as_bytes(text.words(starts[form.post], lengths[form.post]))
    return Rows(codes, topic_index, docno, rank, score, number, tags, post)


def _has_plain_characters(chunk: bytes) -> bool:
    """Whether a chunk is UTF-8 without invisible characters; control characters are looked at elsewhere."""
    if b"\x7f" in chunk:
        return False
    if chunk.isascii():
        return True
    try:
        chunk.decode()
    except UnicodeDecodeError:
        return False
    return INVISIBLE.search(chunk) is None


def topics_by_change(
    text: Text, start: NDArray[np.intp], length: NDArray[np.intp]
) -> tuple[list[bytes], NDArray[np.int32]]:
    """Distinct topics and each row's index into them; cheap because topics seldom change from line to line."""
    is_new = np.zeros(len(start), dtype=np.bool_)
    is_new[0] = True
    for word in text.words(start, length):
        is_new[1:] |= word[1:] != word[:-1]
    codes: dict[bytes, int] = {}
    blocks = [codes.setdefault(code, len(codes)) for code in text.slices(start[is_new], length[is_new])]
    return list(codes), np.array(blocks, dtype=np.int32)[np.cumsum(is_new) - 1]


def read_patiently(first: int, chunk: bytes, form: Form, widths: list[int], tally: Tally) -> Rows:
    """The rows of a chunk, line by line; a line that is wrong is put into the tally and left out.

    A line whose rank alone is wrong stays, with rank 0: what it says is decided by its score. One whose score is wrong
    stays without one, so that its topic and document are looked at too; such a run is never taken.
    """
    codes: dict[bytes, int] = {}
    tags: dict[bytes, tuple[int, int]] = {}
    rows: list[tuple[int, bytes, bytes, int, float, int]] = []
    for number, line in enumerate(chunk.removesuffix(b"\n").split(b"\n"), first):
        words = line.split()
        if not words:
            continue
        if not _is_text(line, number, tally) or not _has_width(words, line, number, form, widths, tally):
            continue
        score = score_of(words[form.score], number, tally)
        if not _has_names(words, number, form, tally):
            continue
        rank = rank_of(words[form.rank], number, tally)
        index = codes.setdefault(words[form.topic], len(codes))
        n, first_number = tags.get(words[form.tag], (0, number))
        tags[words[form.tag]] = (n + 1, first_number)
        post = words[form.post] if form.post is not None else b""
        rows.append((index, words[form.docno], post, rank, math.nan if score is None else score, number))
    return _rows(codes, tags, rows, has_post=form.post is not None)


def _rows(
    codes: dict[bytes, int],
    tags: dict[bytes, tuple[int, int]],
    rows: list[tuple[int, bytes, bytes, int, float, int]],
    *,
    has_post: bool = False,
) -> Rows:
    index, docno, post, rank, score, number = zip(*rows, strict=True) if rows else ((), (), (), (), (), ())
    return Rows(
        list(codes),
        np.array(index, dtype=np.int32),
        byte_strings(docno),
        np.array(rank, dtype=np.int32),
        np.array(score, dtype=np.float64),
        np.array(number, dtype=np.int64),
        tags,
        byte_strings(post) if has_post else None,
    )


def byte_strings(words: Sequence[bytes]) -> NDArray[np.bytes_]:
    """Words as an array, also where there are none."""
    return np.array(words, dtype=np.bytes_) if words else np.empty(0, dtype="S1")


def _is_text(line: bytes, number: int, tally: Tally) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        tally.error(
            "encoding",
            "the line is not UTF-8 (Latin-1, perhaps)",
            "Text in UTF-8.",
            number,
            note=f"byte {line[error.start]:#04x} at column {error.start + 1}",
        )
        return False
    control = CONTROL.search(line)
    if control:
        what = "a NUL byte" if control[0] == b"\0" else f"the control character {control[0][0]:#04x}"
        tally.error("control", f"the line holds {what}", "Printable text.", number)
        return False
    if INVISIBLE.search(line):
        tally.warning(
            "invisible",
            "the line holds an invisible character, such as a no-break space, which counts as part of a name",
            "Tabs and blanks between columns; ids as they are in the collection.",
            number,
        )
    return True


def _has_width(
    words: list[bytes], line: bytes, number: int, form: Form, widths: list[int], tally: Tally
) -> bool:
    got = len(words)
    if got == form.width:
        return True
    expected = " or ".join(str(width) for width in widths)
    if got in widths:
        message = f"expected {form.width} columns as in most of the file, got {got}"
        tally.error("mixed", message, "One form in one file.", number)
    else:
        message = f"expected {expected} columns, got {got}{_hint(line, got)}"
        tally.error(
            "columns",
            message,
            f"{form.title}, separated by tabs or blanks.",
            number,
            others=f"expected {expected} columns, got other numbers",
        )
    return False


def _hint(line: bytes, got: int) -> str:
    """What probably happened to a line with a wrong number of columns."""
    if b"\xc2\xa0" in line:
        return " (a no-break space does not separate columns)"
    for character, name in (
        (b",", "commas"),
        (b";", "semicolons"),
        (b"|", "bars"),
        (b"\\t", "the letters \\t"),
    ):
        if got <= 2 and line.count(character) >= 3:
            return f" (columns are separated by tabs or blanks, not by {name})"
    return ""


def score_of(word: bytes, number: int, tally: Tally) -> float | None:
    """A score as it is written, or None and a complaint."""
    if SCORE.fullmatch(word):
        value = float(word)
        if math.isfinite(value):
            return value
    hint = " (use a point, not a comma)" if re.fullmatch(rb"[+-]?[0-9]+,[0-9]+", word) else ""
    tally.error(
        "score",
        f"score {quoted(word)} is not a finite number{hint}",
        "A decimal number such as 12.5, -3 or 1.2e-4.",
        number,
        others="other scores that are not finite numbers",
    )
    return None


def rank_of(word: bytes, number: int, tally: Tally) -> int:
    """A rank as it is written, or 0 and a complaint."""
    if RANK.fullmatch(word):
        return int(word)
    tally.error(
        "rank",
        f"rank {quoted(word)} is not a whole number of at most nine digits",
        "1, 2, 3, … in the order of the scores.",
        number,
        is_repairable=True,
        others="other ranks that are not whole numbers",
    )
    return 0


def _has_names(words: list[bytes], number: int, form: Form, tally: Tally) -> bool:
    limits = (
        (form.docno, "document id", MAX_DOCNO),
        (form.docno if form.post is None else form.post, "post id", MAX_DOCNO),
        (form.topic, "topic", MAX_NAME),
        (form.tag, "tag", MAX_NAME),
    )
    for column, what, limit in limits:
        if len(words[column]) > limit:
            tally.error(
                "name-too-long", f"the {what} has more than {limit} bytes", f"At most {limit} bytes.", number
            )
            return False
    return True


def quoted(word: bytes) -> str:
    """A word as a complaint shows it."""
    text = word[:40].decode("utf-8", "replace")
    return f"“{text}…”" if len(word) > 40 else f"“{text}”"
