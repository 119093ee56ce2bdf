"""Checks runs of formulas: every formula must be known, and must be in the post that its line names.

Formulas in comments are not answers: their lines are left out and counted, as the guidelines of ARQMath require.

What is judged is a formula. A line that names an element inside a formula ranks that formula, and is counted. Ids tell
which formula it is, as LaTeXML makes them: `0710.3032_1_22#p1.m2.1.4.cmml` is in `0710.3032_1_22#p1.m2`.
"""

import re
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from assay.formats.reports import Tally
from assay.formats.runs.rules import RunRows, report
from assay.formulas import PLACES
from assay.formulas.columns import Formulas

FormulaLookup = Callable[[NDArray[np.bytes_]], Formulas]  # from distinct ids to the formulas that are known
COMMENT = PLACES.index("comment")
AT_ONCE = 5_000  # unknown ids, of each of which several shorter ones are looked up: so many are in memory
MAX_LEVELS = 40  # of elements around an element; ids of LaTeXML have at most two points per level
_UNKNOWN = (
    "unknown-formula",
    "the formula is not in the collection",
    "Formula ids of the collection's index.",
)
_PATH = re.compile(rb"#(?:/|xpointer\(|element\(|xmlns\()", re.IGNORECASE)
_BY_PATH = (
    "formula-by-path",
    "the line names an element by its path (XPath), which cannot be looked up",
    "The id of the formula, or of an element in it: FILE#ID, or an XPath with an id, such as //*[@id='p1.m2'].",
)
_ELSEWHERE = (
    "wrong-post",
    "the formula is not in the post that the line names",
    "The post of the formula in the collection's index.",
)


def check_formulas(rows: RunRows, lookup: FormulaLookup, tally: Tally) -> RunRows:
    """The rows that rank formulas, without those of comments; reports formulas that are unknown or in another post."""
    distinct, inverse = np.unique(rows.docno, return_inverse=True)
    known = lookup(distinct)
    containing = _containing(distinct[known.rows(distinct) < 0], lookup)
    if containing:
        rows = _with_formulas(rows, containing, tally)
        distinct, inverse = np.unique(rows.docno, return_inverse=True)
        known = lookup(distinct)
    at = known.rows(distinct)[inverse]
    is_unknown = at < 0
    if is_unknown.any():
        is_path = np.array([_PATH.search(docno) is not None for docno in distinct.tolist()])[inverse]
        report(tally.error, _UNKNOWN, rows.number, is_unknown & ~is_path)
        report(tally.error, _BY_PATH, rows.number, is_unknown & is_path)
    in_comment = (at >= 0) & (known.place[at] == COMMENT) if len(known) else at >= 0
    if rows.post is not None and len(known):
        post = known.post[at]
        is_elsewhere = (at >= 0) & ~in_comment & (post != b"") & (post != rows.post)
        report(tally.error, _ELSEWHERE, rows.number, is_elsewhere)
    if not in_comment.any():
        return rows
    message = f"{in_comment.sum():,} of {len(rows.docno):,} lines name formulas of comments and were left out"
    complaint = ("formula-in-comment", message, "Formulas of questions and answers.")
    report(tally.warning, complaint, rows.number, in_comment)
    if in_comment.all():
        tally.error("empty", "No line names a formula of a question or answer.", "At least one line.")
    return _kept(rows, ~in_comment)


def with_unknown(formulas: Formulas, ids: NDArray[np.bytes_]) -> Formulas:
    """The formulas with these sorted ids. One that is missing has no post and no visual id.

    Elements inside one of the formulas are not among them.
    """
    missing = ids[formulas.rows(ids) < 0]
    inside = list(_containing(missing, lambda _: formulas))
    ids = np.setdiff1d(ids, np.array(inside, dtype=np.bytes_)) if inside else ids
    row = formulas.rows(ids)
    is_known = row >= 0
    return Formulas(
        formula=ids,
        post=np.where(is_known, formulas.post[row], b""),
        thread=np.where(is_known, formulas.thread[row], b""),
        place=np.where(is_known, formulas.place[row], PLACES.index("answer")).astype(np.uint8),
        visual=np.where(is_known, formulas.visual[row], b""),
    )


def _containing(unknown: NDArray[np.bytes_], lookup: FormulaLookup) -> dict[bytes, bytes]:
    """The formula that contains each element, for the unknown ids that name an element in a known formula."""
    containing: dict[bytes, bytes] = {}
    for start in range(0, len(unknown), AT_ONCE):
        some = unknown[start : start + AT_ONCE].tolist()
        longer = {docno: ids for docno in some if (ids := _ids_around(docno))}
        if longer:
            candidates = np.unique(np.array([id_ for ids in longer.values() for id_ in ids], dtype=np.bytes_))
            known = set(candidates[lookup(candidates).rows(candidates) >= 0].tolist())
            formulas = {
                docno: next((id_ for id_ in ids if id_ in known), b"") for docno, ids in longer.items()
            }
            containing |= {docno: formula for docno, formula in formulas.items() if formula}
    return containing


def _ids_around(docno: bytes) -> list[bytes]:
    """The ids that a formula around an element can have, the longest first: cut before a point of its own part."""
    start = max(docno.rfind(mark) for mark in (b"#", b":")) + 1
    if not start or _PATH.search(docno):
        return []
    points = [place for place in range(len(docno) - 1, start, -1) if docno[place : place + 1] == b"."]
    return [docno[:place] for place in points[-MAX_LEVELS:]]


def _with_formulas(rows: RunRows, containing: dict[bytes, bytes], tally: Tally) -> RunRows:
    """The rows with formulas in place of elements. Of such a formula, the best line of each topic stays."""
    docno = rows.docno.tolist()
    is_inside = np.array([name in containing for name in docno])
    formula = np.array([containing.get(name, name) for name in docno], dtype=np.bytes_)
    by_score = np.lexsort((-rows.score, formula, rows.topic_index))  # stable: ties keep the order of the file
    topic, code = rows.topic_index[by_score], formula[by_score]
    is_first = np.append(True, (topic[1:] != topic[:-1]) | (code[1:] != code[:-1]))
    has_element = np.logical_or.reduceat(is_inside[by_score], np.flatnonzero(is_first))
    is_kept = np.empty(len(docno), dtype=np.bool_)
    is_kept[by_score] = is_first | ~has_element[np.cumsum(is_first) - 1]
    message = (
        f"{is_inside.sum():,} of {len(docno):,} lines name an element inside a formula: they rank the formula, "
        f"once per topic, and {(~is_kept).sum():,} repeated lines were left out"
    )
    complaint = ("element-of-formula", message, "Ids of formulas: formulas are what is judged.")
    report(tally.warning, complaint, rows.number, is_inside)
    return _kept(rows._replace(docno=formula), is_kept)


def _kept(rows: RunRows, where: NDArray[np.bool_]) -> RunRows:
    """Some of the rows, and the topics that still have a row."""
    kept = np.unique(rows.topic_index[where])
    renumbered = np.zeros(len(rows.topics), dtype=np.int32)
    renumbered[kept] = np.arange(len(kept), dtype=np.int32)
    columns = rows._asdict() | {"topics": None, "topic_index": renumbered[rows.topic_index]}
    kept_columns = {name: None if column is None else column[where] for name, column in columns.items()}
    return RunRows(**kept_columns | {"topics": [rows.topics[index] for index in kept]})
