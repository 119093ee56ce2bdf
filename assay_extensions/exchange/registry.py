"""The forms of test collections: one list, each with how it is recognized, read and written.

=============  ==================================================================================================
assay          documents.jsonl, topics.jsonl, qrels/SPLIT.txt, with Assay's names
beir           corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv, as BEIR's data loader reads them
hugging-face   corpus/, queries/ and qrels/ in parquet, with a card: a folder that `datasets.load_dataset` reads
ir-datasets    docs.jsonl, queries.jsonl, qrels/SPLIT.qrels, and a Python file that registers them with ir_datasets
=============  ==================================================================================================

The files that `ir_datasets export` writes are read as the last form, with qrels in `qrels.txt`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from fnmatch import fnmatch
from typing import Any, NamedTuple

from assay.errors import BadFile, plural
from assay.formats.qrels.columns import QrelsColumns
from assay_extensions.exchange import TITLES, cards, parquet, qrels
from assay_extensions.exchange.content import (
    Document,
    Rows,
    Source,
    TestCollection,
    Topic,
    json_lines,
    json_rows,
    text_of,
    word_of,
)

Add = Callable[[str, Iterable[bytes]], object]  # writes a file: its name and its content in pieces
Progress = Callable[[int], object]  # called with the number of documents that are written
README = "README.md"
STEP = 1_000
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def _same(_n: int) -> None:
    """No progress is shown."""


class Form(NamedTuple):
    """A form: `documents` and `topics` are patterns of files; the keys are those of the ids in their rows."""

    name: str
    title: str
    documents: str
    topics: str
    document_key: str
    topic_key: str
    split: str  # the name of the file of a split
    write_qrels: Callable[[QrelsColumns], bytes] = qrels.with_four_columns
    topic_row: Callable[[Topic], Mapping[str, Any]] = lambda topic: {"title": topic.title, "text": topic.text}

    def files_of(self, pattern: str, source: Source) -> list[str]:
        return sorted(name for name in source.names if fnmatch(name, pattern))

    @property
    def is_parquet(self) -> bool:
        return self.documents.endswith(".parquet")

    def rows(self, source: Source, pattern: str, columns: Iterable[str]) -> Rows:
        names = self.files_of(pattern, source)
        if self.is_parquet:
            yield from parquet.rows_of(source, names, [*columns])
            return
        for name in names:
            yield from json_rows(source, name)

    def read(self, source: Source) -> TestCollection:
        """The collection in a folder. The documents are read, and checked, when they are needed.

        Raises:
            BadFile: A file has an error: the message has its name and line.
        """
        topics = list(self._topics(source))
        if not topics:
            raise BadFile(f"{source.name} has no topics.")
        judged = self._parquet_qrels(source) if self.is_parquet else qrels.read(source)
        qrels.checked(judged, topics, source.name)
        return TestCollection(source.name, topics, judged, lambda: self._documents(source))

    def _documents(self, source: Source) -> Iterator[Document]:
        for place, row in self.rows(source, self.documents, (self.document_key, "title", "text")):
            docno = word_of(row, self.document_key, place)
            yield Document(docno, text_of(row, "title", place), text_of(row, "text", place))

    def _topics(self, source: Source) -> Iterator[Topic]:
        seen: dict[str, str] = {}
        columns = (self.topic_key, "title", "text", "description", "narrative")
        for place, row in self.rows(source, self.topics, columns):
            code = word_of(row, self.topic_key, place)
            if seen.setdefault(code, place) != place:
                raise BadFile(f"{place}: topic {code} is already in {seen[code]}.")
            # A text without a title is the title, unless a description follows.
            metadata = row.get("metadata")
            fields = {**(metadata if isinstance(metadata, Mapping) else {}), **row}
            title, text, description, narrative = (
                text_of(fields, key, place) for key in ("title", "text", "description", "narrative")
            )
            title = title or text
            yield Topic(code, title, description or ("" if text == title else text), narrative)

    def _parquet_qrels(self, source: Source) -> dict[str, QrelsColumns]:
        judged = {}
        keys = ("query-id", "corpus-id", "score")
        for name in self.files_of("qrels/*.parquet", source):
            rows = (
                (word_of(row, keys[0], place), word_of(row, keys[1], place), row.get(keys[2]))
                for place, row in parquet.rows_of(source, [name], keys)
            )
            split = re.sub(r"-\d{5}-of-\d{5}$", "", name.rpartition("/")[2].removesuffix(".parquet"))
            judged[split] = qrels.from_rows(rows, name)
        return judged

    def write(self, collection: TestCollection, add: Add, progress: Progress = _same) -> dict[str, int]:
        """Write a collection file by file; return how many documents, topics and lines of qrels it has.

        Lines of qrels whose topic or document is not in the collection are left out, and counted.

        Raises:
            InputError: The form needs pyarrow.
            BadFile: A name cannot be one of a file.
        """
        for name in (collection.name, *collection.qrels):
            if not NAME.fullmatch(name):
                raise BadFile(
                    f"{name[:40]!r} cannot be the name of a file; use letters, digits, dots and hyphens."
                )
        written = _Written(add)
        present: set[bytes] = set()  # documents that the qrels name
        wanted = {docno for columns in collection.qrels.values() for docno in columns.docno.tolist()}
        documents = _noting(written.counted("documents", collection.documents(), progress), wanted, present)
        topics = written.counted("topics", collection.topics)
        codes = [topic.code for topic in collection.topics]
        if self.is_parquet:
            parquet.check_installed()
            self._write_parquet(written, documents, topics)
        else:
            rows = (
                {self.document_key: document.docno, "title": document.title, "text": document.text}
                for document in documents
            )
            written.add("docs", self.documents, json_lines(rows), "documents")
            rows = ({self.topic_key: topic.code, **self.topic_row(topic)} for topic in topics)
            written.add("queries", self.topics, json_lines(rows), "topics")
        judged = {split: qrels.within(columns, codes, present) for split, columns in collection.qrels.items()}
        n_before, n_after = (
            sum(len(split.grade) - qrels.n_pooled(split) for split in splits.values())
            for splits in (collection.qrels, judged)
        )
        for split, columns in judged.items():
            self._write_split(split, columns, written)
        notes = list(collection.notes)
        if n_after < n_before:
            notes.append(
                f"{plural(n_before - n_after, 'line')} of the qrels left out: topic or document not in the collection."
            )
        self._write_texts(replace(collection, qrels=judged, notes=notes), written)
        return {
            "document": written.counts["documents"],
            "topic": written.counts["topics"],
            "qrels line": n_after,
            **({"left-out line": n_before - n_after} if n_after < n_before else {}),
        }

    def _write_split(self, split: str, columns: QrelsColumns, written: "_Written") -> None:
        name = f"qrels/{self.split.format(split)}"
        if self.is_parquet:
            fields = {"query-id": parquet.TEXT, "corpus-id": parquet.TEXT, "score": parquet.NUMBER}
            rows = written.counted(split, qrels.rows_of(columns))
            written.add(f"qrels/{split}", name, parquet.pieces(rows, fields), split)
        else:
            written.counts[split] = len(columns.grade) - qrels.n_pooled(columns)
            written.add(f"qrels/{split}", name, [self.write_qrels(columns)], split)

    def _write_parquet(
        self,
        written: "_Written",
        documents: Iterable[Document],
        topics: Iterable[Topic],
    ) -> None:
        text = parquet.TEXT
        columns = {self.document_key: text, "title": text, "text": text}
        written.add("docs", "corpus/corpus.parquet", parquet.pieces(documents, columns), "documents")
        rows = ((topic.code, topic.query, topic.description, topic.narrative) for topic in topics)
        columns = {self.topic_key: text, "text": text, "description": text, "narrative": text}
        written.add("queries", "queries/queries.parquet", parquet.pieces(rows, columns), "topics")

    def _write_texts(self, collection: TestCollection, written: "_Written") -> None:
        card = cards.hugging_face_card if self.is_parquet else cards.about
        written.add("", README, [card(collection, counts=written.counts).encode()])
        if self.name != "ir-datasets":
            return
        for split, columns in collection.qrels.items():
            written.files[f"qrels/{split}"]["grades"] = sorted(
                {grade for _, _, grade in qrels.rows_of(columns)}
            )
        module = re.sub(r"\W", "_", collection.name)
        module = module if module[0].isalpha() else f"collection_{module}"
        has_parts = any(topic.description or topic.narrative for topic in collection.topics)
        catalog = cards.catalog(collection, written.files, has_parts=has_parts)
        dataset = "/".join([collection.name, *[*collection.qrels][:1]])
        registration = cards.REGISTRATION.format(module=module, dataset=dataset)
        written.add("", f"{module}.json", [catalog.encode()])
        written.add("", f"{module}.py", [registration.encode()])


def _noting(
    documents: Iterable[Document], wanted: AbstractSet[bytes], present: set[bytes]
) -> Iterator[Document]:
    """The documents; those that are wanted are noted as present."""
    for document in documents:
        if (docno := document.docno.encode()) in wanted:
            present.add(docno)
        yield document


class _Written:
    """The state of writing: the number of rows, and of each file of data its path, size and digests."""

    def __init__(self, add: Add) -> None:
        self._add = add
        self.counts: dict[str, int] = {}
        self.files: dict[str, dict[str, Any]] = {}

    def counted(self, name: str, rows: Iterable[object], progress: Progress = _same) -> Iterator[Any]:
        self.counts[name] = 0
        for row in rows:
            self.counts[name] += 1
            if self.counts[name] % STEP == 0:
                progress(self.counts[name])
            yield row

    def add(self, key: str, name: str, pieces: Iterable[bytes], counted: str = "") -> None:
        import hashlib  # noqa: PLC0415 -- see assay.digests

        md5, sha256, size = hashlib.md5(usedforsecurity=False), hashlib.sha256(), 0

        def measured() -> Iterator[bytes]:
            nonlocal size
            for piece in pieces:
                md5.update(piece)
                sha256.update(piece)
                size += len(piece)
                yield piece

        self._add(name, measured())
        if key:
            digests = {"expected_md5": md5.hexdigest(), "sha256": sha256.hexdigest()}
            self.files[key] = {"path": name, "count": self.counts[counted], "size_hint": size, **digests}


def _filled(**fields: str) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value}


FORMS: Mapping[str, Form] = {
    form.name: form
    for form in (
        Form("assay", TITLES["assay"], "documents.jsonl", "topics.jsonl",
             "docno", "code", "{}.txt",
             topic_row=lambda topic: _filled(title=topic.title, text=topic.text, narrative=topic.narrative)),
        Form("beir", TITLES["beir"], "corpus.jsonl", "queries.jsonl",
             "_id", "_id", "{}.tsv", qrels.with_header,
             topic_row=lambda topic: {"text": topic.query,
                                      "metadata": _filled(description=topic.description, narrative=topic.narrative)}),
        Form("hugging-face", TITLES["hugging-face"], "corpus/*.parquet",
             "queries/*.parquet", "_id", "_id", "{}.parquet"),
        Form("ir-datasets", TITLES["ir-datasets"], "docs.jsonl",
             # all fields of the two kinds of queries: ir_datasets reads those that it knows of
             "queries.jsonl", "doc_id", "query_id", "{}.qrels",
             topic_row=lambda topic: {"text": topic.query, "title": topic.query, "description": topic.description,
                                      "narrative": topic.narrative}),
    )
}  # fmt: skip


def form_of(source: Source) -> Form:
    """The form that a folder has.

    Raises:
        BadFile: It has none.
    """
    for form in FORMS.values():
        if all(form.files_of(pattern, source) for pattern in (form.documents, form.topics)):
            return form
    accepted = "; or ".join(f"{form.documents} and {form.topics} ({form.name})" for form in FORMS.values())
    raise BadFile(f"{source.name} is no test collection: it needs {accepted}.")


def read(source: Source) -> TestCollection:
    """The test collection in a folder or ZIP file, in whichever form it is."""
    return form_of(source).read(source)
