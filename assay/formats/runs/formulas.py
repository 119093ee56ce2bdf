"""What is checked on runs of formulas: that each formula is known, and stands in the post that its line names.

Formulas in comments are no answers: lines with one are left out and counted, as the guidelines of ARQMath say.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from assay.formats.reports import FIRST_LINES, Tally
from assay.formats.runs.rules import RunRows
from assay.formulas.columns import PLACES, Formulas

FormulaLookup = Callable[[NDArray[np.bytes_]], Formulas]  # of an array of distinct ids those that are known
COMMENT = PLACES.index("comment")
_UNKNOWN = (
    "unknown-formula",
    "the formula is not in the collection",
    "Formula ids of the collection's index.",
)
_ELSEWHERE = (
    "wrong-post",
    "the formula does not stand in the post that the line names",
    "The post of the formula, as the collection's index has it.",
)


def without_comments(rows: RunRows, lookup: FormulaLookup, tally: Tally) -> RunRows:
    """The rows whose formulas stand in posts; complains of those that are unknown or stand in another post."""
    distinct, inverse = np.unique(rows.docno, return_inverse=True)
    known = lookup(distinct)
    at = known.rows(distinct)[inverse]
    _complain(rows, at < 0, _UNKNOWN, tally)
    is_remark = (at >= 0) & (known.place[at] == COMMENT) if len(known) else at >= 0
    if rows.post is not None and len(known):
        post = known.post[at]
        is_elsewhere = (at >= 0) & ~is_remark & (post != b"") & (post != rows.post)
        _complain(rows, is_elsewhere, _ELSEWHERE, tally)
    return _left(rows, is_remark, tally)


def _complain(rows: RunRows, where: NDArray[np.bool_], complaint: tuple[str, str, str], tally: Tally) -> None:
    if where.any():
        tally.error(*complaint, n=int(where.sum()), numbers=_first(rows.number[where]))


def _left(rows: RunRows, is_remark: NDArray[np.bool_], tally: Tally) -> RunRows:
    if not is_remark.any():
        return rows
    n = int(is_remark.sum())
    tally.warning(
        "formula-in-comment",
        f"{n:,} of {len(rows.docno):,} lines name formulas of comments and were left out",
        "Formulas of questions and answers; a comment is no answer.",
        n=n,
        numbers=_first(rows.number[is_remark]),
    )
    if is_remark.all():
        tally.error("empty", "No line names a formula of a question or answer.", "At least one line.")
    return _kept(rows, ~is_remark)


def _kept(rows: RunRows, where: NDArray[np.bool_]) -> RunRows:
    """Some of the rows, and of the topics those that still have one."""
    left = np.unique(rows.topic_index[where])
    renumbered = np.zeros(len(rows.topics), dtype=np.int32)
    renumbered[left] = np.arange(len(left), dtype=np.int32)
    return rows._replace(
        topics=[rows.topics[index] for index in left],
        topic_index=renumbered[rows.topic_index[where]],
        docno=rows.docno[where],
        rank=rows.rank[where],
        score=rows.score[where],
        number=rows.number[where],
        post=None if rows.post is None else rows.post[where],
        passage=None if rows.passage is None else rows.passage[where],
    )


def _first(numbers: NDArray[np.int64]) -> list[int]:
    """The first line numbers of some, as many as a complaint shows."""
    return sorted(int(n) for n in np.sort(numbers)[:FIRST_LINES])
