"""Detects what a file of an import contains, from its first bytes."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from assay.errors import BadFile
from assay.formats.documents import indexes, tables
from assay.formats.documents.batch import Unusable
from assay.formats.kinds import TOPIC_TAGS, looks_like, naming_kind
from assay.formats.text import visible

BOM = b"\xef\xbb\xbf"
DUMPS = ("posts", "users", "tags", "comments", "postlinks", "votes")  # in the order of import
FORUM = "doc"  # the form of a file of threads, each in an element of this name
TREC = "trec"  # the form of a file of TREC's documents
THREAD = b"<doc"  # the beginning of a thread; text and attributes cannot contain it
HEAD = 65_536

_SPACE = b" \t\r\n"
# Possessive quantifiers do not backtrack; a hostile head would otherwise keep the process busy for minutes.
_PROLOG = re.compile(
    rb"\s*+(?>(?:<\?xml\b([^>]*)\?>)?)\s*+(?>(?:(?:<!--.*?-->|<!DOCTYPE\b[^<>\[]*+>)\s*+)*)"
    rb"<([A-Za-z][\w.-]*+)[^<>]*?(/?)>",
    re.DOTALL,
)
_DECLARATIONS = re.compile(
    rb"\s*+(?>(?:<\?xml\b[^>]*\?>)?)\s*+(?>(?:<!--.*?-->\s*+)*)<!(?:DOCTYPE\b[^<>\[]*+[<\[]|ENTITY\b)",
    re.DOTALL,
)
_TREC = re.compile(rb"\s*+<(?:DOC[\s>]|(?i:doc)\s*+>\s*+<(?i:docno|docid)\b)")
_ENCODING = re.compile(rb"""encoding\s*=\s*["']([^"']*)["']""")


class Form(NamedTuple):
    """The form of a file's content.

    `start` is the byte after the root tag or header line, or of the first thread of a forum; `is_empty` means that the
    root element has no content.
    """

    name: str
    start: int = 0
    is_empty: bool = False


def files_of(paths: Iterable[Path]) -> Iterator[Path]:
    """The files of some paths, in their order; a folder represents the files in it, sorted by name."""
    for path in paths:
        yield from sorted(entry for entry in path.iterdir() if entry.is_file()) if path.is_dir() else [path]


def form_of(head: bytes, name: str) -> Form:
    """The form of a file, detected from its first 64 kB: its root element in lower case, `jsonl`, `trec`, an index of
    formulas or a table of documents.

    Raises `BadFile` if the file has none of these forms, or looks like topics, a run, qrels or judgments.
    """
    with naming_kind(head, "documents"):
        form = _form_of(head, name)
        if form.name in TOPIC_TAGS or (form.name == "jsonl" and looks_like(head, "documents")):
            raise BadFile(f"{name} has no documents.")
        return form


def _form_of(head: bytes, name: str) -> Form:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in head[:4]:
        raise BadFile(f"{name} is in UTF-16 or UTF-32; files must be in UTF-8.")
    offset = len(BOM) if head.startswith(BOM) else 0
    text = head[offset:]
    is_json = text.lstrip(_SPACE).startswith(b"{")
    if is_json or _TREC.match(text):
        return Form("jsonl" if is_json else TREC, offset)
    rows = _rows_of(text, name)
    if rows is not None:
        return Form(rows[0], offset + rows[1])
    if _DECLARATIONS.match(text):
        raise BadFile(f"{name} has a DOCTYPE with declarations. Remove it: entities are never expanded.")
    prolog = _PROLOG.match(text)
    if prolog is None:
        words = " ".join(text[:40].decode(errors="replace").split())
        begin = f"begins with “{visible(words)}”" if words else "is empty"
        raise BadFile(
            f"{name} is neither XML nor one JSON object per line nor a formula index nor a table of documents; it "
            f"{begin}. A table has a header with docno and text, or two columns separated by a tab."
        )
    encoding = _ENCODING.search(prolog[1] or b"")
    if encoding and encoding[1].lower() not in {b"utf-8", b"utf8", b"us-ascii", b"ascii"}:
        raise BadFile(
            f"{name} declares the encoding {encoding[1].decode(errors='replace')}; files must be in UTF-8."
        )
    if prolog[2] == FORUM.encode():
        return Form(FORUM, offset + prolog.start(2) - 1)
    return Form(prolog[2].decode().lower(), offset + prolog.end(), bool(prolog[3]))


def _rows_of(text: bytes, name: str) -> tuple[str, int] | None:
    """The form of a formula index or table of documents, and the byte after its header; None for another file."""
    table = None if text.lstrip(_SPACE).startswith(b"<") else tables.headed(text)
    if table is not None:
        return table
    try:
        index = indexes.recognized(text, name)
    except Unusable as fault:
        raise BadFile(f"{name}, line 1: {fault}.") from None
    if index is not None:
        return index[0].form, index[1]
    return (tables.PLAIN, 0) if tables.is_plain(text) else None
