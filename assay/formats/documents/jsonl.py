"""Converts documents in JSON lines, one object per line, to lines for COPY.

The keys of a document. Only `docno` is required; unknown keys are ignored, unless a document
has no text. `docno`, `title` and `text` may have the
other names of `assay.formats.names`, such as `_id`::

    docno      its id in runs and qrels: no white space, at most 200 characters
    kind       "document" (the default), "question" or "answer"; of a forum "thread" or "post"
    thread     docno of the question, or thread, of its thread; required for an answer or post, else its own docno
    title      plain text; LaTeX between dollars, or in <span class="math-container">
    source     of a post of a forum: its XML, from which its body is made
    body       HTML; or `text`: plain text, in which empty lines separate paragraphs
    tags       list of strings
    score      whole number
    accepted   of a question: docno of the accepted answer
    author     name, shown as it is
    published  date and time in ISO 8601; UTC if it names no zone
    language   a code such as "eng" or "arz", at most 20 characters
    comments   list of {"id", "text", "score", "author", "published"}; `text` is the Markdown of comments, or HTML
"""

import json
import re
from typing import Any

from assay.formats import names
from assay.formats.documents.batch import (
    MAX_NAME,
    REPLACED,
    Batch,
    Malformed,
    Unusable,
    array,
    decoded_line,
    integer,
    limited,
    moment,
)
from assay.formats.text import BOM
from assay.html.forum import to_html
from assay.html.sanitize import clean_body, clean_comment, clean_text, clean_title, without_controls
from assay.structure import strict_json

KINDS = ("question", "answer", "document", "thread", "post")
NO_DOCNO = f"docno is missing; it may also be named {', '.join(names.DOCUMENTS['docno'].names[1:])}"
EMPTY = "empty documents"  # the name of the count of documents without title and text
_DOCNO = re.compile(rf"\S{{1,{MAX_NAME}}}")
_LANGUAGE = re.compile(r"(?=.{1,20}\Z)[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_IDS = frozenset({"docno", "thread", "accepted", "id"})
_TEXTS = frozenset({"title", "text", "body", "source", "comments"})
# Keys that are not texts; all others are ignored
_KEYS = frozenset(["docno", "kind", "thread", "tags", "score", "accepted", "author", "published", "language"])
_UNFIT = re.compile("[\x00\ud800-\udfff]")


def convert(data: bytes) -> Batch:
    """Convert a chunk of lines to lines for the staging tables.

    Raises `Malformed` if a line is not a JSON object.
    """
    batch = Batch()
    offset = 0
    for number, line in enumerate(data.split(b"\n")):
        begin, offset = offset, offset + len(line) + 1
        if not line.strip(b"\x1a \t\r"):  # Ctrl-Z may end a file
            continue
        try:
            content = strict_json(decoded_line(line.removeprefix(BOM), batch))
            if not isinstance(content, dict):
                raise ValueError("a value that is not an object")
            add_document(with_usual_names(content), batch)
        except Unusable as reason:
            batch.skip(str(reason), number)
        except (ValueError, RecursionError) as fault:
            raise Malformed.at(data, begin, f"not a JSON object ({_shown(fault)})") from None
    return batch


def with_usual_names(row: dict[str, Any]) -> dict[str, Any]:
    """A row with `docno`, `title` and `text` in place of other names of theirs."""
    if "docno" in row and ("body" in row or "text" in row):
        return row
    keys = tuple(row)
    named = {field: row[keys[place]] for field, place in names.places(keys, "documents").items()}
    return named | row


def _shown(fault: Exception) -> str:
    if isinstance(fault, RecursionError):
        return "nested too deeply"
    return fault.msg if isinstance(fault, json.JSONDecodeError) else str(fault)[:100]


class Unstorable(Unusable):
    """A text has characters that the database cannot store."""


def _storable(value: object, key: str = "") -> object:
    """A value with spaces in place of what the database cannot store; ids stay as they are."""
    if isinstance(value, dict):
        return {key: _storable(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_storable(item, key) for item in value]
    return _UNFIT.sub(" ", value) if isinstance(value, str) and key not in _IDS else value


def text_of(value: object, name: str) -> str:
    """A string that the database can store; the empty string for None."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Unusable(f"{name} is not a string")
    if _UNFIT.search(value):
        raise Unstorable(f"{name} has characters that a text cannot contain (NUL, half a surrogate pair)")
    return limited(value, name)


def number_of(value: object, name: str, default: str | None = None) -> str | None:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unusable(f"{name} is not a whole number")
    return integer(str(value) if abs(value) < 10**12 else "far too large", name)


def docno_of(value: object, name: str = "docno") -> str:
    """A docno, from a string or a whole number."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18:
        value = str(value)
    docno = text_of(value, name)
    if not docno:
        raise Unusable(f"{name} is missing")
    if not _DOCNO.fullmatch(docno):
        raise Unusable(f"{name} contains white space or is longer than {MAX_NAME} characters")
    return docno


def tags_of(value: object) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise Unusable("tags is not a list")
    return [tag for tag in (without_controls(text_of(item, "a tag")).strip() for item in value) if tag]


def language_of(value: object) -> str:
    language = text_of(value, "language").strip()
    if language and not _LANGUAGE.fullmatch(language):
        raise Unusable('language is not a code such as "eng" or "zh-Hans" of at most 20 characters')
    return language


def _thread(row: dict[str, Any], kind: str, docno: str) -> str:
    if kind in {"question", "thread"}:
        return docno
    if kind in {"answer", "post"} and not row.get("thread"):
        noun = "an answer" if kind == "answer" else "a post"
        raise Unusable(
            f"{noun} without a thread: give the docno of its question as thread, or leave kind out"
        )
    return docno_of(row["thread"], "thread") if row.get("thread") else docno


def add_document(row: dict[str, Any], batch: Batch) -> None:
    """Add a document to a batch. Characters that the database cannot store are replaced, and the batch counts it.

    Raises `Unusable` if a value cannot be used.
    """
    try:
        _add(row, batch)
    except Unstorable:
        _add({key: _storable(value, key) for key, value in row.items()}, batch)
        batch.counts[REPLACED] += 1


def _add(row: dict[str, Any], batch: Batch) -> None:
    if row.get("docno") in (None, ""):
        raise Unusable(NO_DOCNO)
    if not _TEXTS & row.keys() and (
        others := [key for key in row if key not in _KEYS and row[key] != row["docno"]]
    ):
        raise Unusable(f"it has no title and no text, but {', '.join(sorted(others))}, which are not read")
    docno, kind = docno_of(row["docno"]), row.get("kind") or "document"
    if kind not in KINDS:
        raise Unusable(f"kind is not one of {', '.join(KINDS)}")
    if row.get("source"):
        body = to_html(text_of(row["source"], "source"))
    elif row.get("body") is not None:
        body = clean_body(text_of(row["body"], "body"))
    else:
        body = clean_text(text_of(row.get("text"), "text"))
    values = (
        docno,
        kind,
        _thread(row, kind, docno),
        clean_title(text_of(row.get("title"), "title")),
        body,
        array(tags_of(row.get("tags"))),
        number_of(row.get("score"), "score"),
        docno_of(row["accepted"], "accepted") if row.get("accepted") else "",
        "",
        text_of(row.get("author"), "author"),
        moment(text_of(row.get("published"), "published"), "published"),
        language_of(row.get("language")),
        text_of(row.get("source"), "source"),
    )
    items = row.get("comments")
    if not isinstance(items, list | None):
        raise Unusable("comments is not a list")
    comments = [_comment(item, docno) for item in items or []]
    if kind == "document" and not values[3] and not values[4]:
        batch.counts[EMPTY] += 1
    batch.add("document", docno, values, kind=f"{kind}s")
    for code, comment in comments:
        batch.add("comment", f"{docno} {code}", comment)


def _comment(item: object, docno: str) -> tuple[str, tuple[str | None, ...]]:
    if not isinstance(item, dict):
        raise Unusable("a comment is not an object")
    code = docno_of(item.get("id"), "a comment's id")
    return code, (
        docno,
        code,
        clean_comment(text_of(item.get("text"), "a comment's text")),
        number_of(item.get("score"), "a comment's score", "0"),
        "",
        text_of(item.get("author"), "a comment's author"),
        moment(text_of(item.get("published"), "published"), "a comment's published"),
    )
