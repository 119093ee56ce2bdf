"""Reads documents of any other source into the store: JSON lines, TREC, tables, forums, and files of HTML or text.

The converters of imports read them, so a build accepts what an import accepts, and skips the same rows. Texts are
sanitized as an import sanitizes them. A document without a date is kept only if there is no period.
"""

import re
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import PurePosixPath

from assay.digests import RunningSha256
from assay.errors import BadFile, plural
from assay.formats.documents import forum, jsonl, table_rows, trec
from assay.formats.documents.articles import (
    MAX_FILE,
    SUFFIXES,
    TOO_LONG,
    ArticleFile,
    add_article,
    decoded_file,
)
from assay.formats.documents.batch import Batch, Unusable
from assay.formats.documents.jsonl import add_document
from assay.formats.documents.sources import FORUM, TREC, form_of
from assay.formats.documents.tables import is_table
from assay_extensions.building import reading
from assay_extensions.building.marking import MARK
from assay_extensions.building.reading import Counts, Progress
from assay_extensions.building.settings import NotBuilt, Settings
from assay_extensions.building.sources import File
from assay_extensions.building.store import HEADS, KEPT, Store

TEXTS = frozenset({".txt", ".text", ".md"})
PAGES = "pages"  # the form of files with one document each
FILES_AT_ONCE = 100
_ESCAPED = re.compile(r"\\(.)")
_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r"}
_ITEM = re.compile(r'"((?:[^"\\]|\\.)*)"')
_BEGINNING = frozenset({"question", "thread", "document"})
_DOLLAR = '<span class="dollar">$</span>'
_AGAIN = "the same docno again; the first document counts"
_INSERT = (
    "INSERT INTO posts (seq, docno, kind, thread, role, created, title, body, tags, score, accepted, author, language) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def form_of_file(file: File) -> str:
    """The form of a file of documents, `pages` for one document of HTML or text, or an empty string for another file.

    Raises `BadFile` if a file with the suffix of such a form has other content.
    """
    if file.suffix in SUFFIXES:
        return PAGES
    try:
        form = form_of(file.head(), file.name).name
    except BadFile:
        if file.suffix in TEXTS:
            return PAGES
        raise
    if form in {"jsonl", TREC, FORUM} or is_table(form):
        return form
    return PAGES if file.suffix in TEXTS else ""


def read(store: Store, files: Sequence[File], settings: Settings, progress: Progress) -> list[str]:
    """Store the documents of the files, and return the names of the steps.

    Raises:
        NotBuilt: No file has documents.
        BadFile: A file breaks its format: its line.
    """
    forms = [(file, form_of_file(file)) for file in files]
    steps: list[str] = []
    for file, form in forms:
        if form and form != PAGES:
            steps.append(f"documents:{file.name}")
            _read_file(store, steps[-1], file, settings, progress)
    pages = [file for file, form in forms if form == PAGES]
    if pages:
        steps.append(PAGES)
        _read_pages(store, pages, settings, progress)
    if not steps:
        raise NotBuilt(
            "The source has no posts of a dump and no documents. Accepted: a Stack Exchange dump, JSON lines, TREC's "
            "documents, tables, forums in XML, and files of HTML or text."
        )
    with store.writing():  # answers and posts whose thread does not begin in the collection are left out
        store.execute(
            f"UPDATE posts SET role = 'cut', title = '', body = '' WHERE {KEPT} AND NOT {HEADS} AND thread NOT IN "
            f"(SELECT docno FROM posts WHERE {KEPT} AND {HEADS})"
        )
    return steps


def _read_file(store: Store, step: str, file: File, settings: Settings, progress: Progress) -> None:
    def take(data: bytes, form: str, _first: int, counts: Counts) -> int:
        if is_table(form):
            batch = table_rows.convert(data, form)
        else:
            batch = {"jsonl": jsonl.convert, TREC: trec.convert, FORUM: forum.convert}[form](data)
        _keep(store, batch, settings, counts)
        return len(batch.lines.get("document", ()))

    reading.read(store, step, file, take, lambda done: progress(f"reading {file.name}", done, file.size))


def _read_pages(store: Store, files: Sequence[File], settings: Settings, progress: Progress) -> None:
    state, is_done = store.state(PAGES)
    counts, start = Counts.of(state), state.get("rows", 0)
    digest = RunningSha256()
    for at in range(0, len(files), FILES_AT_ONCE):
        some = files[at : at + FILES_AT_ONCE]
        contents = []
        for file in some:
            with file.opened() as opened:
                data = opened.read(MAX_FILE + 1)
            reason = TOO_LONG if len(data) > MAX_FILE else ""
            contents.append(ArticleFile(file.name, data[:MAX_FILE], reason))
        for content in contents:
            digest.update(content.content)
        if at < start or is_done:
            continue
        with store.writing():
            batch = _batch_of(contents)
            _keep(store, batch, settings, counts)
            size = sum(file.size for file in files)
            state = {"rows": at + len(some), "name": plural(len(files), "file"), "bytes": size}
            store.set_state(PAGES, state | counts.as_json())
        progress("reading files", at + len(some), len(files))
    with store.writing():
        state = store.state(PAGES)[0] | {"sha256": digest.value}
        store.set_state(PAGES, state, is_done=True)


def _batch_of(contents: Sequence[ArticleFile]) -> Batch:
    """The documents of some files of HTML or text, in the order of the files."""
    batch = Batch()
    for content in contents:
        try:
            if PurePosixPath(content.name).suffix.lower() in SUFFIXES:
                add_article(content, batch, {})
            else:
                text = decoded_file(content, batch)
                add_document({"docno": PurePosixPath(content.name).stem, "text": text}, batch)
        except Unusable as reason:
            batch.skipped[str(reason)] += 1
    return batch


def _keep(store: Store, batch: Batch, settings: Settings, counts: Counts) -> None:
    """Store the documents of a batch that are in one of the periods."""
    counts.before.update(batch.counts)
    counts.skipped.update(batch.skipped)
    comments = batch.lines.get("comment", {}).values()
    counts.before["comments"] += len(comments)
    documents = (_post(_values(line), settings, counts) for line in batch.lines.get("document", {}).values())
    posts = [post for post in documents if post]
    n_stored = store.insert(f"{_INSERT} ON CONFLICT DO NOTHING", _numbered(store, "posts", posts))
    counts.skipped[_AGAIN] += len(posts) - n_stored
    rows = [
        (code, post, text, score, owner, author, published[:19])
        for post, code, text, score, owner, author, published in map(_values, comments)
    ]
    store.insert("INSERT INTO comments VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _numbered(store, "comments", rows))


def _numbered(store: Store, table: str, rows: Sequence[Sequence[object]]) -> Iterator[Sequence[object]]:
    first = store.number(f"SELECT max(seq) + 1 FROM {table}")
    return ((n, *row) for n, row in enumerate(rows, first))


def _values(line: str) -> list[str]:
    """The values of a line that a converter wrote; a null is an empty string."""
    cells = line.rstrip("\n").split("\t")
    return ["" if cell == r"\N" else _unescaped(cell) for cell in cells]


def _unescaped(cell: str) -> str:
    return _ESCAPED.sub(lambda match: _CHARACTERS.get(match[1], match[1]), cell) if "\\" in cell else cell


def _post(values: Sequence[str], settings: Settings, counts: Counts) -> Sequence[object]:
    docno, kind, thread, title, body, tags, score, accepted, _, author, published, language, _ = values
    created = published[:19]
    if settings.collection.has(created):
        role = "collection"
    elif settings.topics is not None and created and settings.topics.has(created) and kind in _BEGINNING:
        role = "topic"
    else:
        counts.cut[f"{kind}s outside of the period" if created else f"{kind}s without a date"] += 1
        return (docno, kind, thread, "cut", created, *[""] * 7)
    if "math-container" not in title:
        title = unescape(title.replace(_DOLLAR, r"\$"))
    pieces = MARK.split(body.replace(_DOLLAR, "$"))
    # no formula begins there in an import
    pieces[::2] = (piece.replace("$", _DOLLAR) for piece in pieces[::2])
    body = "".join(pieces)
    names = "\n".join(_unescaped(item) for item in _ITEM.findall(tags))
    return (docno, kind, thread, role, created, title, body, names, score, accepted, author, language)
