"""Readers of the files of a test collection: topics, threads, formulas and qrels, in every form that Assay imports."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from assay.errors import InputError
from assay.formats.compression import read_file
from assay.formats.documents.batch import Batch, Fault
from assay.formats.documents.dump import Broken, Chunk, Reader
from assay.formats.documents.reading import (
    Comment,
    Document,
    comments_of,
    convert,
    document_files,
    documents_of,
    map_chunks,
)
from assay.formats.documents.sources import files_of
from assay.formats.formulas import Row, Source
from assay.formats.qrels.reader import read_qrels as read_columns
from assay.formats.topics.reader import TopicRow, read_topic_file
from assay.protocols.schema import Protocol
from assay.research.evaluation import PathLike, protocol_of


@dataclass
class Thread:
    """A question with its answers in the order of the file, and the comments on each by docno.

    A document that belongs to no thread, such as an article, is the question of its own.
    """

    docno: str
    question: Document | None = None
    answers: list[Document] = field(default_factory=list)
    comments: dict[str, list[Comment]] = field(default_factory=dict)


def read_topics(path: PathLike) -> list[TopicRow]:
    """The topics of a file, in its order; texts are sanitized HTML.

    Raises:
        AssayError: The file is not one of topics, or topics have errors; the message has the first ones.

    >>> from assay.samples import path
    >>> [topic.code for topic in read_topics(path("topics.xml"))]
    ['A.1', 'A.2', 'A.3', 'A.4', 'A.5']
    """
    return read_topic_file(read_file(str(path)), Path(path).name).topics


def read_threads(path: PathLike) -> dict[str, Thread]:
    """The threads of a collection by the docno of their question, in the order of the files.

    Args:
        path: a file of documents, such as Posts.xml or JSON lines; a folder of them, such as a dump of Stack Exchange
            with Comments.xml; or a folder that `assay collection build` made. All threads are held in memory.

    Raises:
        AssayError: A file is not one of documents, or violates its form; the message has file and line.
    """
    threads: dict[str, Thread] = {}
    place: dict[str, str] = {}  # docno -> thread
    comments: list[Comment] = []
    for batch in _batches(Path(path)):
        for document in documents_of(batch):
            thread = threads.setdefault(
                document.thread or document.docno, Thread(document.thread or document.docno)
            )
            place[document.docno] = thread.docno
            if document.docno == thread.docno:
                thread.question = document
            else:
                thread.answers.append(document)
        comments += comments_of(batch)
    for comment in comments:
        if comment.docno in place:  # a post may be left out of a collection, and its comments not
            threads[place[comment.docno]].comments.setdefault(comment.docno, []).append(comment)
    return threads


def _batches(path: Path) -> Iterator[Batch]:
    """The rows of posts and comments, file by file."""
    _check_exists(path)
    files = document_files(path) if path.is_dir() else [path]
    if path.is_dir() and [file.name for file in files] == ["Posts.xml"]:
        files += [file for file in files_of([files[0].parent]) if file.name == "Comments.xml"]
    for file, chunk, batch in map_chunks(_work_of, files):
        if isinstance(batch, Fault):
            raise Broken(file.name, chunk.line + batch.n_lines, chunk.start + batch.offset, batch.message)
        yield batch


def _check_exists(path: Path) -> None:
    if not path.exists():
        raise InputError(f"{path}: there is no such file")


def _work_of(reader: Reader) -> "partial[Batch | Fault]":
    return partial(_converted, form=reader.form.name)


def _converted(chunk: Chunk, *, form: str) -> Batch | Fault:
    return convert(chunk.data, form)


def read_formulas(path: PathLike) -> Iterator[Row]:
    """The formulas of an index or a table, or of a folder of them: id, LaTeX or MathML, visual id, and post.

    Raises:
        AssayError: A file is not a formula index or a table of formulas, or violates its form.
    """
    _check_exists(Path(path))
    for rows in Source([Path(path)]):
        yield from rows


def read_qrels(path: PathLike, *, protocol: PathLike | Protocol | None = None) -> dict[str, dict[str, int]]:
    """Qrels of a file: `{topic: {docno: grade}}`.

    Args:
        protocol: slug of a shipped protocol or path of a TOML file, whose columns and words for grades are read.

    Raises:
        AssayError: The file cannot be read, or has errors; the message has the first ones.

    >>> from assay.samples import path
    >>> read_qrels(path("qrels.txt"))["A.1"]["22"]
    2
    """
    rules = protocol_of(protocol)
    grades: dict[str, dict[str, int]] = {}
    for topic, docno, grade in read_columns(str(path), rules, has_scale=bool(rules.slug)).rows():
        grades.setdefault(topic, {})[docno.decode()] = grade
    return grades
