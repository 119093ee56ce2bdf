"""Turns lines of a run into rows one by one, and reports what is wrong with each: the slow path of `text`."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.formats.reports import Tally
from assay.formats.runs.rules import LineForm
from assay.formats.tokens import CONTROL, INVISIBLE

MAX_DOCNO = 400  # bytes
MAX_TOPIC = 400  # bytes of a topic's code; those of TREC CAR are titles of sections, of up to 202
MAX_NAME = 100  # bytes of a tag
RANK = re.compile(rb"[+-]?[0-9]{1,9}")
SCORE = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


class Rows(NamedTuple):
    """The rows of some lines, in file order. `codes` are the distinct topics; `topic_index` points into them."""

    codes: list[bytes]
    topic_index: NDArray[np.int32]
    docno: NDArray[np.bytes_]
    rank: NDArray[np.int32]
    score: NDArray[np.float64]
    number: NDArray[np.int64]
    tags: dict[bytes, tuple[int, int]]  # tag -> (lines, number of the first)
    post: NDArray[np.bytes_] | None = None
    label: NDArray[np.bool_] | None = None


# Topic, docno, post, rank, score, number of the line, label.
Row = tuple[int, bytes, bytes, int, float, int, bool]


def read_slow_path(first: int, chunk: bytes, form: LineForm, others: list[LineForm], tally: Tally) -> Rows:
    """The rows of a chunk, line by line; wrong lines go to the tally and are left out.

    `others` are the forms that the file could have had.

    A line with only a wrong rank stays, with rank 1, because its score decides. A line with a wrong score stays with
    NaN, so that its topic and document are checked too; such a run is never accepted.
    """
    codes: dict[bytes, int] = {}
    tags: dict[bytes, tuple[int, int]] = {}
    rows: list[Row] = []
    for number, line in enumerate(chunk.removesuffix(b"\n").split(b"\n"), first):
        words = line.split()
        if not words:
            continue
        if not _is_text(line, number, tally) or not _has_width(words, line, number, form, others, tally):
            continue
        if form.fixed and form.filler is not None and words[form.filler] != form.fixed:
            _complain_of_filler(words[form.filler], form.fixed, number, tally)
        score = 0.0 if form.score is None else score_of(words[form.score], number, tally)
        is_relevant = _label(words, number, form, tally)
        if not _has_names(words, number, form, tally):
            continue
        rank = form.usual_rank
        if form.rank is not None:
            # A document Q0, or a no-break space, is of a line that lacks a column.
            is_odd = words[form.docno] == b"Q0" or not words[form.rank].isascii()
            decides = form.score is None or form.ties == "rank" or is_odd
            rank = rank_of(words[form.rank], number, tally, decides=decides)
        score = -float(rank) if form.score is None else score
        index = codes.setdefault(words[form.topic], len(codes))
        if form.tag is not None:
            n, first_number = tags.get(words[form.tag], (0, number))
            tags[words[form.tag]] = (n + 1, first_number)
        post = words[form.post] if form.post is not None else b""
        score = math.nan if score is None else score
        rows.append((index, words[form.docno], post, rank, score, number, is_relevant))
    indexes, docnos, posts, ranks, scores, numbers, labels = zip(*rows, strict=True) if rows else ((),) * 7
    return Rows(
        list(codes),
        np.array(indexes, dtype=np.int32),
        byte_strings(docnos),
        np.array(ranks, dtype=np.int32),
        np.array(scores, dtype=np.float64),
        np.array(numbers, dtype=np.int64),
        tags,
        None if form.post is None else byte_strings(posts),
        None if form.label is None else np.array(labels, dtype=np.bool_),
    )


def _complain_of_filler(word: bytes, fixed: bytes, number: int, tally: Tally) -> None:
    wanted = fixed.decode()
    message, fault = f"the second column is {quoted(word)}", f"the second column is not {wanted}"
    tally.error("second-column", message, f"{wanted}.", number, fault=fault)


def _label(words: list[bytes], number: int, form: LineForm, tally: Tally) -> bool:
    """Read the label of a line; False, and an error in the tally, if the word is no label."""
    if form.label is None:
        return False
    known = dict(form.labels)
    if words[form.label] not in known:
        message = f"label {quoted(words[form.label])} is not accepted"
        accepted = f"{' or '.join(word.decode() for word in known)}."
        tally.error("label", message, accepted, number, fault="the label is not accepted")
    return known.get(words[form.label], False)


def _is_text(line: bytes, number: int, tally: Tally) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        note = f"byte {line[error.start]:#04x} at column {error.start + 1}"
        message = "the line is neither UTF-8 nor Windows-1252"
        tally.error("encoding", message, "Text in UTF-8.", number, note=note)
        return False
    control = CONTROL.search(line)
    if control:
        character = "a NUL byte" if control[0] == b"\0" else f"the control character {control[0][0]:#04x}"
        tally.error("control", f"the line contains {character}", "Printable text.", number)
        return False
    if INVISIBLE.search(line):
        message = "the line contains an invisible character, such as a no-break space, which counts as part of a name"
        accepted = "Tabs and spaces between columns; ids as they are in the collection."
        tally.warning("invisible", message, accepted, number)
    return True


def width_hint(line: bytes, got: int) -> str:
    """The probable reason why a line has another number of columns, as the end of a message; empty if unknown."""
    marks = ((b",", "commas"), (b";", "semicolons"), (b"|", "bars"), (b"\\t", "the letters \\t"))
    if b"\xc2\xa0" in line:
        return " (a no-break space does not separate columns)"
    names = [name for mark, name in marks if got <= 2 and line.count(mark) >= 2]
    return f" (columns are separated by tabs or spaces, not by {names[0]})" if names else ""


def _has_width(
    words: list[bytes], line: bytes, number: int, form: LineForm, others: list[LineForm], tally: Tally
) -> bool:
    got = len(words)
    if got == form.width:
        return True
    widths = sorted({form.width, *(other.width for other in others)})
    if got in widths:
        message = f"expected {form.width} columns as in most of the file, got {got}"
        tally.error("mixed", message, "One format in one file.", number)
        return False
    if form.only_topic:  # which is not in the file
        got, widths = got - 1, [width - 1 for width in widths]
    expected = f"expected {' or '.join(map(str, widths))} columns"
    message = f"{expected}, got {got}{width_hint(line, got)}"
    titles = dict.fromkeys([form.title, *(other.title for other in others)])
    accepted = f"{', or '.join(titles)}, separated by {form.separated_by}."
    tally.error("columns", message, accepted, number, others=f"{expected}, got other numbers")
    return False


def _has_names(words: list[bytes], number: int, form: LineForm, tally: Tally) -> bool:
    limits = (
        (form.docno, "docno", MAX_DOCNO),
        (form.docno if form.post is None else form.post, "post id", MAX_DOCNO),
        (form.topic, "topic", MAX_TOPIC),
        (form.tag, "tag", MAX_NAME),
    )
    for column, field, limit in limits:
        if column is not None and len(words[column]) > limit:
            message = f"the {field} has more than {limit} bytes"
            tally.error("name-too-long", message, f"At most {limit} bytes.", number)
            return False
    return True


def score_of(word: bytes, number: int, tally: Tally) -> float | None:
    """The score that a word writes; None, and an error in the tally, if it writes none."""
    if SCORE.fullmatch(word):
        value = float(word)
        if math.isfinite(value):
            return value
    hint = " (use a point, not a comma)" if re.fullmatch(rb"[+-]?[0-9]+,[0-9]+", word) else ""
    problem, accepted = f"is not a finite number{hint}", "A decimal number such as 12.5, -3 or 1.2e-4."
    tally.error("score", f"score {quoted(word)} {problem}", accepted, number, fault=f"the score {problem}")
    return None


def rank_of(word: bytes, number: int, tally: Tally, *, decides: bool = False) -> int:
    """The rank that a word writes; 1, and an error in the tally, if it writes none.

    Another notation of a whole number, such as 0.00E+00, is only a warning. Readers that do not need ranks tolerate any
    word, unless the rank decides the order.
    """
    if RANK.fullmatch(word):
        return int(word)
    value = float(word) if SCORE.fullmatch(word) else math.nan
    is_whole = value.is_integer() and abs(value) < 10**9
    problem = f"is not {'written as ' if is_whole else ''}a whole number of at most nine digits"
    accepted = "Whole numbers." if decides else "1, 2, 3, … in the order of the scores."
    more = {"fault": f"the rank {problem}", "is_repairable": is_whole or not decides}
    complain, code = (tally.warning, "rank-notation") if is_whole else (tally.error, "rank")
    code = "deciding-rank" if decides and not is_whole else code
    complain(code, f"rank {quoted(word)} {problem}", accepted, number, **more)
    return int(value) if is_whole else 1


def quoted(word: bytes) -> str:
    """A word as a message quotes it, cut to 40 bytes."""
    text = word[:40].decode("utf-8", "replace")
    return f"“{text}…”" if len(word) > 40 else f"“{text}”"


def byte_strings(words: Sequence[bytes]) -> NDArray[np.bytes_]:
    """Words as an array, which may be empty."""
    return np.array(words, dtype=np.bytes_) if words else np.empty(0, dtype="S1")
