"""Reads the files of a Stack Exchange dump into the store, as far as their rows belong to the collection or its topics.

Posts come first, because they decide which rows of the other files are kept. A row with unusable values is left out and
counted by reason; a file that is not well-formed is refused with its line.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from assay.errors import BadFile
from assay.formats.documents.batch import Batch, Unusable, integer, limited
from assay.formats.documents.sources import form_of
from assay.formats.documents.stackexchange import (
    LINKS,
    OTHER_POSTS,
    TAG,
    USER,
    Row,
    elements,
    id_of,
    optional_id,
)
from assay_extensions.building import reading
from assay_extensions.building.reading import Counts, Cut
from assay_extensions.building.settings import NotBuilt, Settings
from assay_extensions.building.sources import File
from assay_extensions.building.store import KEPT, Store

NAMES = {
    "posts": "Posts.xml",
    "users": "Users.xml",
    "tags": "Tags.xml",
    "comments": "Comments.xml",
    "postlinks": "PostLinks.xml",
    "votes": "Votes.xml",
    "badges": "Badges.xml",
}

_MOMENT = re.compile(r"[0-9]{4}-[01][0-9]-[0-3][0-9](?:T[0-9:.]{5,18}Z?)?")
_ESCAPES = (
    *(("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")),
    *(("\n", "&#10;"), ("\r", "&#13;"), ("\t", "&#9;")),
)
_POST = "EXISTS (SELECT 1 FROM posts WHERE docno = ?2 AND role = 'collection')"


class Kind(NamedTuple):
    """The form in which the rows of a file are stored."""

    sql: str
    values: Callable[[Row, Settings, Counts], Sequence[object]]  # those after the number of the row
    not_stored: str  # why the statement leaves a row out


def row_line(values: Mapping[str, str]) -> str:
    """A row of a dump. Attributes without a value are left out."""
    pairs = []
    for name, value in values.items():
        for character, reference in _ESCAPES:  # takes a tenth of the time of str.translate
            if character in value:
                value = value.replace(character, reference)
        if value:
            pairs.append(f'{name}="{value}"')
    return f"  <row {' '.join(pairs)} />"


def dump_files(files: Sequence[File]) -> tuple[dict[str, File], list[str]]:
    """The files of a dump by their root element, and the names of the files that are ignored.

    Raises:
        NotBuilt: Two files have rows of the same kind.
        BadFile: A file named .xml is not part of a dump.
    """
    by_kind: dict[str, File] = {}
    ignored: list[str] = []
    for file in files:
        kind = ""
        if file.suffix in {".xml", ".gz", ".xz", ".bz2", ".zip", ""}:
            try:
                kind = form_of(file.head(), file.name).name
            except BadFile:
                if file.suffix == ".xml":
                    raise
        if kind not in NAMES:
            ignored.append(file.name)
        elif kind in by_kind:
            raise NotBuilt(f"{by_kind[kind].name} and {file.name} both contain {kind}; give one of them.")
        else:
            by_kind[kind] = file
    return by_kind, ignored


def read(store: Store, kind: str, file: File, settings: Settings, progress: Callable[[int], None]) -> None:
    """Store the rows of a file of a dump, as `reading.read` does."""
    how = KINDS[kind]

    def take(data: bytes, form: str, first: int, counts: Counts) -> int:
        if form != kind:
            raise NotBuilt(f"{file.name} contains {form}, not {kind}.")
        batch = Batch()
        rows = list(elements(data, batch))
        counts.skipped.update(batch.skipped)
        counts.before.update(+batch.counts)
        values: list[Sequence[object]] = []
        for n, row in enumerate(rows, first):
            try:
                if row.tag != "row":
                    raise Unusable(f"an element <{str(row.tag)[:40]}> that is not a row")
                values.append((n, *how.values(row, settings, counts)))
            except Unusable as reason:
                counts.skipped[str(reason)] += 1
            except Cut as reason:
                counts.cut[str(reason)] += 1
        n_stored = store.insert(how.sql, values)
        if how.not_stored:
            reasons = counts.skipped if how.not_stored == _AGAIN else counts.cut
            reasons[how.not_stored] += len(values) - n_stored
        return len(rows)

    def settle(counts: Counts) -> None:
        if kind != "posts":
            return
        n_lost = store.execute(
            f"UPDATE posts SET role = 'cut', title = '', body = '' WHERE {KEPT} AND kind = 'answer' "
            f"AND thread NOT IN (SELECT docno FROM posts WHERE {KEPT} AND kind = 'question')"
        )
        if n_lost:
            counts.cut["answers without their question"] += n_lost

    reading.read(store, kind, file, take, progress, settle)


_AGAIN = "the same id again in the file; the first row counts"


def _moment(row: Row, name: str = "CreationDate") -> str:
    value = row.get(name, "")
    if not _MOMENT.fullmatch(value):
        raise Unusable(f"{name} is not a date" if value else f"{name} is missing")
    return value


def _text(row: Row, name: str) -> str:
    return limited(row.get(name, ""), name)


def _post(row: Row, settings: Settings, counts: Counts) -> Sequence[object]:
    docno, type_ = id_of(row, "Id"), row.get("PostTypeId", "")
    if type_ not in {"1", "2"}:
        name = OTHER_POSTS.get(type_, f"of type {type_[:20]}" if type_ else "without PostTypeId")
        counts.before[f"other posts: {name}"] += 1
        raise Cut(f"posts that are neither question nor answer: {name}")
    kind = "question" if type_ == "1" else "answer"
    counts.before[f"{kind}s"] += 1
    created, score = _moment(row), integer(row.get("Score"), "Score", "")
    thread = docno if kind == "question" else id_of(row, "ParentId")
    role = "cut"
    if settings.collection.has(created):
        role = "collection"
    elif kind == "question" and settings.topics is not None and settings.topics.has(created):
        role = "topic"
    if role != "collection":
        counts.cut[f"{kind}s outside of the period of the collection"] += 1
    if role == "cut":
        return (docno, kind, thread, role, created, "", "", "", "", "", "", "", "", "")
    return (
        *(docno, kind, thread, role, created, _text(row, "Title"), _text(row, "Body")),
        "\n".join(TAG.findall(row.get("Tags", ""))),
        *(score, optional_id(row, "AcceptedAnswerId"), optional_id(row, "OwnerUserId")),
        *(
            row.get("OwnerDisplayName", ""),
            integer(row.get("ViewCount"), "ViewCount", ""),
            row.get("ClosedDate", ""),
        ),
    )


def _within(row: Row, settings: Settings, subject: str, name: str = "CreationDate") -> str:
    """The date of a row. Rows before the first day belong to posts that are cut."""
    created = _moment(row, name)
    if settings.collection.before and created >= settings.collection.before:
        raise Cut(f"{subject} after the end")
    return created


def _comment(row: Row, settings: Settings, counts: Counts) -> Sequence[object]:
    counts.before["comments"] += 1
    post, code = id_of(row, "PostId"), id_of(row, "Id")
    created = _within(row, settings, "comments")
    score = integer(row.get("Score"), "Score", "0")
    author = row.get("UserDisplayName", "")
    return (post, code, _text(row, "Text"), score, optional_id(row, "UserId"), author, created)


def _link(row: Row, settings: Settings, counts: Counts) -> Sequence[object]:
    kind = row.get("LinkTypeId", "")
    counts.before[f"links: {LINKS.get(kind, f'of type {kind[:20]}')}"] += 1
    source, target, created = id_of(row, "PostId"), id_of(row, "RelatedPostId"), _moment(row)
    values = {"Id": id_of(row, "Id"), "CreationDate": created, "PostId": source, "RelatedPostId": target}
    is_late = bool(settings.collection.before) and created >= settings.collection.before
    return (source, target, LINKS.get(kind, kind), is_late, row_line(values | {"LinkTypeId": kind}))


def _vote(row: Row, settings: Settings, counts: Counts) -> Sequence[object]:
    counts.before["votes"] += 1
    post, owner = id_of(row, "PostId"), optional_id(row, "UserId")
    names = ("VoteTypeId", "CreationDate", "UserId", "BountyAmount")
    _within(row, settings, "votes")
    values = {"Id": id_of(row, "Id"), "PostId": post, **{name: row.get(name, "") for name in names}}
    return (post, owner, row_line(values))


def _user(row: Row, _settings: Settings, counts: Counts) -> Sequence[object]:
    counts.before["users"] += 1
    code, name = id_of(row, "Id", USER), row.get("DisplayName", "").strip()
    reputation = integer(row.get("Reputation"), "Reputation", "")
    values = {"Id": code, "Reputation": reputation or "", "CreationDate": row.get("CreationDate", "")}
    return (code, name, reputation, row_line(values | {"DisplayName": name}))


def _badge(row: Row, settings: Settings, counts: Counts) -> Sequence[object]:
    counts.before["badges"] += 1
    owner = id_of(row, "UserId", USER)
    _within(row, settings, "badges", "Date")
    values = {
        "Id": id_of(row, "Id"),
        "UserId": owner,
        **{name: row.get(name, "") for name in ("Name", "Date", "Class")},
    }
    return (owner, values["Class"], row_line(values))


def _tag(row: Row, _settings: Settings, counts: Counts) -> Sequence[object]:
    counts.before["tags"] += 1
    name = row.get("TagName", "").strip()
    if not name:
        raise Unusable("TagName is missing")
    return (name, id_of(row, "Id"))


KINDS: Mapping[str, Kind] = {
    "posts": Kind(
        "INSERT INTO posts (seq, docno, kind, thread, role, created, title, body, tags, score, accepted, owner, "
        "author, views, closed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        _post,
        _AGAIN,
    ),
    "comments": Kind(
        "INSERT INTO comments (seq, post, code, text, score, owner, author, created) "
        f"SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE {_POST} ON CONFLICT DO NOTHING",
        _comment,
        "comments on posts that are not kept",
    ),
    "postlinks": Kind(
        "INSERT INTO links (seq, source, target, kind, is_late, line) VALUES (?, ?, ?, ?, ?, ?)", _link, ""
    ),
    "votes": Kind(
        f"INSERT INTO votes (seq, post, owner, line) SELECT ?1, ?2, ?3, ?4 WHERE {_POST}",
        _vote,
        "votes on posts that are not kept",
    ),
    "users": Kind(
        "INSERT INTO users (seq, code, name, reputation, line) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        _user,
        _AGAIN,
    ),
    "badges": Kind("INSERT INTO badges (seq, owner, class, line) VALUES (?, ?, ?, ?)", _badge, ""),
    "tags": Kind("INSERT INTO tags (seq, name, code) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", _tag, _AGAIN),
}
