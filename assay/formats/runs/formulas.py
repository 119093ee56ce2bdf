"""Checks runs of formulas: every formula must be known, and must be in the post that its line names.

Formulas in comments are not answers: their lines are left out and counted, as the guidelines of ARQMath require.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from assay.formats.reports import FIRST_LINES, Tally
from assay.formats.runs.rules import RunRows
from assay.formulas.columns import PLACES, Formulas

FormulaLookup = Callable[[NDArray[np.bytes_]], Formulas]  # from distinct ids to the formulas that are known
COMMENT = PLACES.index("comment")
_UNKNOWN = (
    "unknown-formula",
    "the formula is not in the collection",
    "Formula ids of the collection's index.",
)
_ELSEWHERE = (
    "wrong-post",
    "the formula is not in the post that the line names",
    "The post of the formula in the collection's index.",
)


def without_comments(rows: RunRows, lookup: FormulaLookup, tally: Tally) -> RunRows:
    """The rows without formulas of comments; reports formulas that are unknown or in another post."""
    distinct, inverse = np.unique(rows.docno, return_inverse=True)
    known = lookup(distinct)
    at = known.rows(distinct)[inverse]
    _complain(rows, at < 0, _UNKNOWN, tally)
    in_comment = (at >= 0) & (known.place[at] == COMMENT) if len(known) else at >= 0
    if rows.post is not None and len(known):
        post = known.post[at]
        is_elsewhere = (at >= 0) & ~in_comment & (post != b"") & (post != rows.post)
        _complain(rows, is_elsewhere, _ELSEWHERE, tally)
    return _without(rows, in_comment, tally)


def _complain(rows: RunRows, where: NDArray[np.bool_], complaint: tuple[str, str, str], tally: Tally) -> None:
    if where.any():
        tally.error(*complaint, n=int(where.sum()), numbers=_first(rows.number[where]))


def _without(rows: RunRows, in_comment: NDArray[np.bool_], tally: Tally) -> RunRows:
    if not in_comment.any():
        return rows
    n = int(in_comment.sum())
    tally.warning(
        "formula-in-comment",
        f"{n:,} of {len(rows.docno):,} lines name formulas of comments and were left out",
        "Formulas of questions and answers.",
        n=n,
        numbers=_first(rows.number[in_comment]),
    )
    if in_comment.all():
        tally.error("empty", "No line names a formula of a question or answer.", "At least one line.")
    return _kept(rows, ~in_comment)


def _kept(rows: RunRows, where: NDArray[np.bool_]) -> RunRows:
    """Some of the rows, and the topics that still have a row."""
    kept = np.unique(rows.topic_index[where])
    renumbered = np.zeros(len(rows.topics), dtype=np.int32)
    renumbered[kept] = np.arange(len(kept), dtype=np.int32)
    return rows._replace(
        topics=[rows.topics[index] for index in kept],
        topic_index=renumbered[rows.topic_index[where]],
        docno=rows.docno[where],
        rank=rows.rank[where],
        score=rows.score[where],
        number=rows.number[where],
        post=None if rows.post is None else rows.post[where],
        label=None if rows.label is None else rows.label[where],
        passage=None if rows.passage is None else rows.passage[where],
    )


def _first(numbers: NDArray[np.int64]) -> list[int]:
    """The first line numbers, as many as a complaint shows."""
    return sorted(int(n) for n in np.sort(numbers)[:FIRST_LINES])
