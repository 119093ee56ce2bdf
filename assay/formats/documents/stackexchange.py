"""Converts Stack Exchange dumps, as the site or ARQMath publishes them, from chunks of `<row ... />` to lines for COPY.

A row with unusable attributes is skipped and counted by reason. A row that is not XML stops the import, except for
characters that XML does not allow: real dumps contain them, so they are replaced, and such rows are counted.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from lxml import etree

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
from assay.formats.documents.dump import MAX_ROW, TOO_LONG
from assay.formats.markup import allowed_in_xml, xml_root
from assay.html.sanitize import clean_body, clean_comment, clean_title

Row = etree._Element  # asked for the attributes that are needed; lxml lists all of them in quadratic time

_ID = re.compile(r"[0-9]{1,18}")
USER = re.compile(r"-?[0-9]{1,18}")
TAG = re.compile(r"[^<>|]+")
_ROW = re.compile(rb"(?=<row)")
_PLACE = re.compile(r", line \d+, column \d+.*", re.DOTALL)
_ONLY_ROWS = "only rows are accepted here, not text, comments, CDATA sections or declarations"
OTHER_POSTS = {
    "3": "an orphaned tag wiki",
    "4": "a tag wiki excerpt",
    "5": "a tag wiki",
    "6": "a moderator nomination",
    "7": "a wiki placeholder",
    "8": "a privilege wiki",
}
LINKS = {"1": "related", "3": "duplicate"}


def convert(data: bytes, form: str) -> Batch:
    """Convert a chunk of a dump file to lines for the staging tables.

    Raises `Malformed` if the chunk is not XML.
    """
    batch, take = Batch(), _CONVERTERS[form]
    for row in elements(data, batch):
        try:
            if row.tag != "row":
                raise Unusable(f"an element <{str(row.tag)[:40]}> that is not a row")
            take(row, batch)
        except Unusable as reason:
            batch.skipped[str(reason)] += 1
    return batch


def elements(data: bytes, batch: Batch) -> "Iterable[etree._Element]":
    """The rows of a chunk. In those with characters that XML does not allow, these are replaced; the batch counts them.

    Raises `Malformed` if the chunk is not XML.
    """
    try:
        root = xml_root(b"<rows>%b</rows>" % data)
    except etree.XMLSyntaxError:
        return _one_by_one(data, batch)
    return root if _has_elements_only(root) else _one_by_one(data, batch)


def _has_elements_only(root: "etree._Element") -> bool:
    """Return whether there are only elements. A comment or a CDATA section may contain text that looks like a row."""
    tails = (element.tail for element in root)
    is_blank = not any(text and not text.isspace() for text in (root.text, *tails))
    return is_blank and all(isinstance(element.tag, str) for element in root)


def _one_by_one(data: bytes, batch: Batch) -> "Iterator[etree._Element]":
    """The rows of a faulty chunk, up to the first one that is not XML."""
    for mark in (b"<!", b"<?"):
        if (at := data.find(mark)) >= 0:
            raise Malformed.at(data, at, _ONLY_ROWS)
    offset = 0
    for piece in _ROW.split(data):
        try:
            root = _single(piece, batch)
        except Unusable as reason:
            batch.skipped[str(reason)] += 1
        except etree.XMLSyntaxError as fault:
            raise Malformed.at(data, offset, f"not well-formed XML: {_PLACE.sub('', fault.msg)}") from None
        else:
            if not _has_elements_only(root):
                raise Malformed.at(data, offset, _ONLY_ROWS)
            yield from root
        offset += len(piece)


def _single(piece: bytes, batch: Batch) -> "etree._Element":
    if len(piece) > MAX_ROW:
        raise Unusable(TOO_LONG)
    try:
        return xml_root(b"<rows>%b</rows>" % piece)
    except etree.XMLSyntaxError:
        text = decoded_line(piece, batch)
        fit = allowed_in_xml(text)
        root = xml_root(b"<rows>%b</rows>" % fit.encode())
        batch.counts[REPLACED] += fit != text
        return root


def id_of(row: Row, name: str, pattern: re.Pattern[str] = _ID) -> str:
    value = row.get(name)
    if not value:
        raise Unusable(f"{name} is missing")
    if not pattern.fullmatch(value):
        raise Unusable(f"{name} is not a whole number")
    return value


def optional_id(row: Row, name: str) -> str:
    return id_of(row, name, USER) if row.get(name) else ""


def _post(row: Row, batch: Batch) -> None:
    docno, kind = id_of(row, "Id"), row.get("PostTypeId", "")
    if kind not in {"1", "2"}:
        other_kind = OTHER_POSTS.get(kind, f"of type {kind[:20]}" if kind else "without PostTypeId")
        raise Unusable(f"a post that is not a question or answer: {other_kind}")
    is_question = kind == "1"
    if not is_question and not row.get("ParentId"):
        raise Unusable("an answer without ParentId")
    values = (
        docno,
        "question" if is_question else "answer",
        docno if is_question else id_of(row, "ParentId"),
        clean_title(limited(row.get("Title", ""), "Title")),
        clean_body(limited(row.get("Body", ""), "Body")),
        array(TAG.findall(row.get("Tags", ""))),
        integer(row.get("Score"), "Score"),
        optional_id(row, "AcceptedAnswerId"),
        optional_id(row, "OwnerUserId"),
        row.get("OwnerDisplayName", ""),
        moment(row.get("CreationDate"), "CreationDate"),
        "",
        "",
    )
    batch.add("document", docno, values, kind="questions" if is_question else "answers")


def _comment(row: Row, batch: Batch) -> None:
    code, docno = id_of(row, "Id"), id_of(row, "PostId")
    values = (
        docno,
        code,
        clean_comment(limited(row.get("Text", ""), "Text")),
        integer(row.get("Score"), "Score", "0"),
        optional_id(row, "UserId"),
        row.get("UserDisplayName", ""),
        moment(row.get("CreationDate"), "CreationDate"),
    )
    batch.add("comment", code, values)


def _user(row: Row, batch: Batch) -> None:
    code = id_of(row, "Id", USER)
    name = row.get("DisplayName", "").strip()
    batch.add("author", code, (code, name or f"user{code}", integer(row.get("Reputation"), "Reputation")))


def _link(row: Row, batch: Batch) -> None:
    source, target, kind = id_of(row, "PostId"), id_of(row, "RelatedPostId"), row.get("LinkTypeId", "")
    if kind not in LINKS:
        raise Unusable(f"a link of type {kind[:20] or 'unknown'}, not related or duplicate")
    if source == target:
        raise Unusable("a link from a post to itself")
    batch.add("link", f"{source} {target} {kind}", (source, target, LINKS[kind]))


def _vote(row: Row, batch: Batch) -> None:
    kind = integer(id_of(row, "VoteTypeId"), "VoteTypeId", "")
    if len(str(kind)) > 4:
        raise Unusable("VoteTypeId is not a vote type")
    batch.tally("vote", (id_of(row, "PostId"), str(kind)))


def _tag(row: Row, batch: Batch) -> None:
    name = row.get("TagName", "").strip()
    if not name:
        raise Unusable("TagName is missing")
    n = integer(row.get("Count"), "Count", "0")
    if n is None or n.startswith("-"):
        raise Unusable("Count is below 0")
    batch.add("tag", name, (limited(name, "TagName", MAX_NAME), n))


_CONVERTERS: dict[str, Callable[[Row, Batch], None]] = {
    "posts": _post,
    "users": _user,
    "tags": _tag,
    "comments": _comment,
    "postlinks": _link,
    "votes": _vote,
}
