"""Marks the formulas of the collection, numbers them in file order, and writes their index.

One number per formula, from 1: thread by thread in the order of the questions; in each the title, the body and the
comments of the question, then each answer: its body and its comments. A removed post keeps its numbers.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from html import escape, unescape
from itertools import chain, islice
from typing import Literal, NamedTuple

from assay.formats.documents.indexes import HEADERS
from assay.formats.spreadsheet import tsv_lines
from assay.formulas import Place
from assay.formulas.extraction import Marked, mark
from assay.html.latex import cut
from assay.processes import map_fresh
from assay_extensions.building.store import HEADS, KEPT, Store

THREADS_AT_ONCE = 100
INDEX_HEADER = HEADERS[3]
INDEX_FILES = 100  # and one more for the rest
_NUMBER = "\ue000"  # before a number that counts from 1 in its field
_NUMBERED = re.compile(f'(?<= id="){_NUMBER}([0-9]+)(?=")')
MARK = re.compile(
    r'(<span class="math-container"(?: (?:id|data-formula-id|data-display)="[^"<>]*")*>[^<>]*</span>)'
)
_CODE = re.compile(r"(?<!`)(`++[^`]++`++)(?!`)")

Source = Literal["title", "body", "comment"]


class Field(NamedTuple):
    """A text of a post. `row` is the number of its row in the table of posts or comments."""

    row: int
    source: Source
    place: Place
    post: str
    thread: str
    comment: str
    text: str


class Numbered(NamedTuple):
    """A field with marks whose numbers count from 1. `lost` has the numbers that cannot be found again."""

    html: str
    latex: tuple[str, ...]
    lost: frozenset[int]


def mark_text(text: str, *, first_id: int | None, prefix: str = "", has_delimiters: bool = False) -> Marked:
    """Mark the formulas of plain text: a title. All other characters stay as they are.

    >>> mark_text("Is $a<b$ & c?", first_id=1).html
    'Is <span class="math-container" id="1">a&lt;b</span> & c?'
    """
    is_marked = "math-container" in text  # in ARQMath's files, the marks in titles are HTML
    escaped = text if is_marked else escape(text, quote=False)
    marked = mark(escaped, first_id=first_id, prefix=prefix, has_delimiters=has_delimiters)
    if not marked.latex:
        return Marked(text, ())
    pieces = MARK.split(marked.html)
    pieces[::2] = map(unescape, pieces[::2])
    return Marked("".join(pieces), marked.latex)


def mark_comment(text: str, *, first_id: int | None) -> Marked:
    """Mark the formulas of a comment: Markdown, in which code between backquotes has no formulas."""
    html: list[str] = []
    formulas: tuple[str, ...] = ()
    for n, piece in enumerate(_CODE.split(text) if "`" in text else [text]):
        next_id = None if first_id is None else first_id + len(formulas)
        marked = mark_text(piece, first_id=next_id, prefix=_NUMBER) if n % 2 == 0 else Marked(piece, ())
        html.append(marked.html)
        formulas += marked.latex
    return Marked("".join(html), formulas)


def numbered(batch: Sequence[Field], *, are_clean: bool) -> list[Numbered]:
    """Mark the formulas of some fields, and look for each of them as a reader of the published file does.

    Args:
        are_clean: the converter of an import marked all formulas; a dollar is a dollar.
    """
    results = []
    for field in batch:
        if are_clean:
            # Cleaned HTML with new numbers for its marks.
            pieces = MARK.split(field.text)
            formulas = [unescape(piece[piece.index(">") + 1 : -len("</span>")]) for piece in pieces[1::2]]
            pieces[1::2] = (
                f'<span class="math-container" id="{_NUMBER}{n}">{escape(latex, quote=False)}</span>'
                for n, latex in enumerate(formulas, 1)
            )
            marked = Marked("".join(pieces), tuple(formulas))
        elif field.source == "title":
            marked = mark_text(field.text, first_id=1, prefix=_NUMBER)
        elif field.source == "comment":
            marked = mark_comment(field.text, first_id=1)
        else:
            marked = mark(field.text, first_id=1, prefix=_NUMBER)
        if not marked.latex:
            results.append(Numbered(marked.html, (), frozenset()))
            continue
        read = {formula.id: formula.latex.strip() for formula in cut(marked.html)[1]}
        missing = (n for n, latex in enumerate(marked.latex, 1) if read.get(f"{_NUMBER}{n}") != latex.strip())
        results.append(Numbered(marked.html, marked.latex, frozenset(missing)))
    return results


def mark_all(store: Store, progress: Callable[[int], None], *, are_clean: bool, processes: int) -> None:
    """Mark the formulas of all posts. `progress` gets the number of threads that are marked and stored.

    Args:
        are_clean: as `numbered` has it.
        processes: how many mark; 0 for this process only.
    """
    state, is_done = store.state("formulas")
    if is_done:
        return
    state = state or {"after": -1, "next": 1, "heads": 0}
    batches = _batches(store, state["after"])
    for batch, results in map_fresh(partial(numbered, are_clean=are_clean), batches, processes=processes):
        with store.writing():
            state["next"] = _keep(store, batch, results, state["next"])
            heads = [field.row for field in batch if field.source == "title"]
            state |= {"after": heads[-1], "heads": state["heads"] + len(heads)}
            store.set_state("formulas", state)
        progress(state["heads"])
    with store.writing():
        store.set_state("formulas", state, is_done=True)


def _keep(store: Store, batch: Sequence[Field], results: Sequence[Numbered], next_id: int) -> int:
    rows: list[tuple[object, ...]] = []
    for field, result in zip(batch, results, strict=True):
        if not result.latex:
            continue
        first = next_id - 1
        html = _NUMBERED.sub(lambda number: str(first + int(number[1])), result.html)  # noqa: B023 -- called here
        column = {"title": "posts SET title", "body": "posts SET body", "comment": "comments SET text"}[
            field.source
        ]
        store.execute(f"UPDATE {column} = ? WHERE seq = ?", (html, field.row))
        place = (field.post, field.thread, field.place, field.comment)
        rows += ((first + n, *place, n in result.lost, latex) for n, latex in enumerate(result.latex, 1))
        next_id += len(result.latex)
    store.insert("INSERT INTO formulas VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    return next_id


def _batches(store: Store, after: int) -> Iterator[list[Field]]:
    """The fields of the next threads. Only the rows of earlier batches are changed while the generator waits."""
    while True:
        condition = f"seq > ? AND {KEPT} AND {HEADS} ORDER BY seq LIMIT ?"
        sql = f"SELECT seq, docno, kind, thread, title, body FROM posts WHERE {condition}"
        heads = list(store.rows(sql, (after, THREADS_AT_ONCE)))
        if not heads:
            return
        yield [field for head in heads for field in _fields(store, head)]
        after = heads[-1][0]


def _fields(store: Store, head: tuple[int, str, str, str, str, str]) -> Iterator[Field]:
    seq, docno, kind, thread, title, body = head
    yield Field(seq, "title", "title", docno, thread, "", title)
    yield Field(seq, "body", "document" if kind == "document" else "question", docno, thread, "", body)
    yield from _comments(store, docno, thread)
    sql = f"SELECT seq, docno, body FROM posts WHERE thread = ? AND {KEPT} AND NOT {HEADS} ORDER BY seq"
    for answer, post, text in store.rows(sql, (docno,)):
        yield Field(answer, "body", "answer", post, docno, "", text)
        yield from _comments(store, post, docno)


def _comments(store: Store, post: str, thread: str) -> Iterator[Field]:
    for seq, code, text in store.rows(
        "SELECT seq, code, text FROM comments WHERE post = ? ORDER BY seq", (post,)
    ):
        yield Field(seq, "comment", "comment", post, thread, code, text)


_PUBLISHED = f"EXISTS (SELECT 1 FROM posts WHERE docno = post AND {KEPT})"


def n_published(store: Store) -> int:
    return store.number(f"SELECT count(*) FROM formulas WHERE {_PUBLISHED}")


def index_parts(store: Store) -> Iterator[tuple[str, Iterator[str]]]:
    """The name of each file of the index, with its text in parts: at most 101 files of 1 % of the formulas each."""
    total = n_published(store)
    size = max(1, total // INDEX_FILES)
    size += -(-total // size) > INDEX_FILES + 1
    rows = store.rows(
        "SELECT id, post, thread, place, comment, '', '', CASE is_lost WHEN 1 THEN 'd' ELSE '' END, latex "
        f"FROM formulas WHERE {_PUBLISHED} ORDER BY id"
    )
    n = 0
    while (first := next(rows, None)) is not None:
        n += 1
        part = islice(rows, size - 1)
        yield f"{n}.tsv", chain(tsv_lines([INDEX_HEADER, first]), tsv_lines(part))
        deque(part, maxlen=0)  # the caller may already have this file


def lost(store: Store) -> Iterator[tuple[object, ...]]:
    """The formulas that cannot be found again in their post: id, post, type, comment and LaTeX."""
    return store.rows(
        f"SELECT id, post, place, comment, latex FROM formulas WHERE is_lost = 1 AND {_PUBLISHED} ORDER BY id"
    )
