"""The qrels of test collections: each split in a file of its own, named after it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath

import numpy as np

from assay.errors import BadFile
from assay.formats.qrels.columns import QrelsColumns
from assay.formats.qrels.reader import QrelsError, parse_qrels, qrels_of_rows
from assay_extensions.exchange.content import SPLIT, Source, Topic, read_small

FOLDER, ALONE = "qrels", frozenset({"qrels", "qrels.tsv", "qrels.txt", "qrels.csv", "qrels.qrels"})
HEADER = b"query-id\tcorpus-id\tscore\n"
Row = tuple[str, str, int]


def rows_of(columns: QrelsColumns) -> Iterator[Row]:
    """Topic, docno and grade of each line with a grade."""
    return ((topic, docno.decode(), grade) for topic, docno, grade in columns.rows() if grade >= 0)


def n_pooled(columns: QrelsColumns) -> int:
    """The number of lines without a grade, which are left out."""
    return int(np.count_nonzero(columns.grade < 0))


def with_header(columns: QrelsColumns) -> bytes:
    """Tab-separated lines under the header of BEIR."""
    return HEADER + b"".join(
        f"{topic}\t{docno}\t{grade}\n".encode() for topic, docno, grade in rows_of(columns)
    )


def with_four_columns(columns: QrelsColumns) -> bytes:
    return b"".join(f"{topic} 0 {docno} {grade}\n".encode() for topic, docno, grade in rows_of(columns))


def within(columns: QrelsColumns, codes: Collection[str], docnos: Collection[bytes]) -> QrelsColumns:
    """The rows whose topic and document are in the collection: readers of other tools fail on any other."""
    kept = columns.keep_topics(codes)
    return kept.kept(np.fromiter((docno in docnos for docno in kept.docno.tolist()), dtype=np.bool_))


@contextmanager
def refusing(name: str) -> Iterator[None]:
    """Name the file of qrels that is wrong.

    Raises `BadFile` instead of `QrelsError`.
    """
    try:
        yield
    except QrelsError as error:
        raise BadFile(f"{name}: {error}.") from None


def read(source: Source) -> dict[str, QrelsColumns]:
    """The qrels by split: of the files in the folder, or of one file next to it."""
    judged = {}
    for name in sorted(source.names):
        path = PurePosixPath(name)
        if name in ALONE or (path.parent.name == FOLDER and not path.name.startswith(".")):
            split = SPLIT if name in ALONE else path.stem
            with refusing(name):
                judged[split] = parse_qrels(read_small(source, name))
    return judged


def from_rows(rows: Iterable[tuple[str, str, object]], name: str) -> QrelsColumns:
    """Qrels from rows in memory, with the messages of a file."""
    numbered = ((n, (topic, docno, str(grade))) for n, (topic, docno, grade) in enumerate(rows, 1))
    with refusing(name):
        return qrels_of_rows(numbered)


def checked(qrels: Mapping[str, QrelsColumns], topics: Sequence[Topic], name: str) -> None:
    """Refuse qrels none of whose topics is in the collection."""
    codes = {topic.code for topic in topics}
    for split, columns in qrels.items():
        if not codes & set(columns.topics.tolist()):
            raise BadFile(f"{name}: no topic of the qrels {split} is among its topics.")
