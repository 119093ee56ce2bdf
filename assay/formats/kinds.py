"""Names the kind of a file that was given in the wrong place, from its first lines.

A reader asks when it refuses a file, and says first what the file looks like: mostly the file is right, and the place
is not.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from assay.errors import BadFile
from assay.formats import names
from assay.formats.text import BOM

Kind = Literal["run", "qrels", "topics", "documents", "judgments", "protocol"]

HEAD = 1 << 16  # bytes of a file that are looked at
SAMPLE = 50  # lines
TOPIC_TAGS = frozenset({"topics", "topic", "top", "bolt-ir-topics"})  # of XML
WORDS: dict[Kind, str] = {
    "run": "The lines look like those of a run, with a rank, a score and a tag.",
    "qrels": "The lines look like those of qrels, with a topic, a docno and a grade.",
    "topics": "The file looks like a file of topics.",
    "documents": "The file looks like documents of a collection.",
    "judgments": "The file looks like judgments, with the assessor of each.",
    "protocol": "The file looks like a protocol.",
}

_TAG = re.compile(r"<([A-Za-z][\w.-]*)")
_DOCUMENT_TAGS = frozenset({"doc", "posts", "users", "tags", "comments", "postlinks", "votes"})
_PROTOCOL = re.compile(r"^\[\[?(?:judged|judging|pool|runs|qrels|scoring)\b[\w.]*\]", re.MULTILINE)
_WHOLE = re.compile(r"[+-]?\d{1,9}")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_SURE_DOCNOS = frozenset(names.DOCUMENTS["docno"].names) - {"_id", "id"}  # topics have those too
_SURE_CODES = frozenset(names.CODES) - {"_id", "id"}
_TEXTS = frozenset({"title", "text", "body"})


def looks_like(start: bytes, *accepted: Kind) -> str:
    """Say in a sentence what a file looks like; empty if that is not known, or is accepted here.

    >>> looks_like(b"A.1 Q0 d1 1 3.5 mine", "topics")
    'The lines look like those of a run, with a rank, a score and a tag.'
    """
    kind = kind_of(start)
    return "" if kind is None or kind in accepted else WORDS[kind]


@contextmanager
def naming_kind(data: bytes, *accepted: Kind) -> Iterator[None]:
    """Begin the message of a refusal with what the file looks like; one error is kept as an example."""
    try:
        yield
    except BadFile as refusal:
        if looks := looks_like(data, *accepted):
            first, *others = refusal.message.split("\n")
            refusal.message = "\n".join([looks, " ".join([first, *others[:1]])])
            refusal.args = (refusal.message,)
        raise


def kind_of(start: bytes) -> Kind | None:
    """The kind of a file with this start, in UTF-8 and not compressed; None if it may be several, or another."""
    text = start[:HEAD].removeprefix(BOM).decode(errors="replace")
    lines = [line for line in text.splitlines()[: 2 * SAMPLE] if line.strip()][:SAMPLE]
    if not lines:
        return None
    first = lines[0].strip()
    if first.startswith("<"):
        return _kind_of_xml(text)
    if first.startswith(("{", "[{")):
        return _kind_of_names(_keys(first))
    if _PROTOCOL.search(text):
        return "protocol"
    for separator in ("\t", ",", ";"):
        if kind := _kind_of_names(first.split(separator)):
            return kind
    return _kind_of_lines([line.split() for line in lines if not line.startswith("#")])


def _kind_of_xml(text: str) -> Kind | None:
    tags = {tag.lower() for tag in _TAG.findall(text)[:SAMPLE]}
    if tags & TOPIC_TAGS:
        return "topics"
    return "documents" if tags & _DOCUMENT_TAGS else None


def _keys(line: str) -> Sequence[str]:
    """The keys of the first object of JSON; none if it does not end in the line."""
    try:
        value, _ = json.JSONDecoder().raw_decode(line.lstrip("["))
    except (ValueError, RecursionError):
        return []
    return list(value) if isinstance(value, dict) else []


def _kind_of_names(columns: Sequence[str]) -> Kind | None:
    """The kind of a table or of lines of JSON, by the names of its columns or keys."""
    words = {names.normal(name) for name in columns}
    judged = names.places(columns, "judgments")
    is_pair = {"topic", "docno"} <= judged.keys()
    if is_pair and "assessor" in judged:
        return "judgments"
    if words & _SURE_DOCNOS and words & _TEXTS:
        return "documents"
    is_run = "rank" in words and ("score" in words or "grade" not in judged)
    if is_pair and (is_run or "grade" in judged):
        return "run" if is_run else "qrels"
    has_docno = "docno" in names.places(columns, "documents")
    return "topics" if words & _SURE_CODES and words & _TEXTS and not has_docno else None


def _kind_of_lines(rows: Sequence[Sequence[str]]) -> Kind | None:
    if rows and all(map(_is_of_run, rows)):
        return "run"
    return "qrels" if rows and all(map(_is_of_qrels, rows)) else None


def _is_of_run(words: Sequence[str]) -> bool:
    is_long = len(words) in {5, 6}
    return is_long and _WHOLE.fullmatch(words[-3]) is not None and _NUMBER.fullmatch(words[-2]) is not None


def _is_of_qrels(words: Sequence[str]) -> bool:
    return len(words) == 4 and words[1].upper() in {"0", "Q0"} and _WHOLE.fullmatch(words[3]) is not None
