"""A file in the wrong place is refused with what it looks like, first, whatever the place."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

import assay
from assay.candidates.reader import CandidateLines
from assay.errors import BadFile
from assay.formats.documents.sources import form_of
from assay.formats.judgments.reader import JudgmentsError, parse_judgments
from assay.formats.kinds import WORDS, kind_of
from assay.formats.qrels.reader import QrelsError, parse_qrels
from assay.formats.runs.reader import check_run
from assay.formats.topics.reader import read_codes, read_known_items, read_labels, read_topics
from assay.protocols.loader import load_protocol

SAMPLES = Path(assay.__file__).parent / "samples"
FILES = {
    "run": b"".join(
        b"A.%d\tQ0\tdoc%d\t%d\t%.1f\tmine\n" % (t, r, r, 9 - r) for t in (1, 2) for r in (1, 2, 3)
    ),
    "run of five columns": b"A.1 d1 1 3.5 mine\nA.1 d2 2 3 mine\n",
    "qrels": b"A.1 0 d1 1\nA.1 0 d2 0\nA.2\t0\td1\t2\n",
    "qrels with names": b"query-id\tcorpus-id\tscore\nA.1\td1\t1\n",
    "qrels with ranks": b"topic,docno,rank,grade\nA.1,d1,1,2\n",
    "run with names": b"topic,docno,rank,score\nA.1,d1,1,2.5\n",
    **{
        f"{kind}, {name}": (SAMPLES / name).read_bytes()
        for kind, name in (
            ("topics", "topics.xml"),
            ("topics", "trec-topics.txt"),
            ("topics", "topics.jsonl"),
            ("documents", "documents.jsonl"),
            ("documents", "trec-documents.txt"),
            ("documents", "dump/Posts.xml"),
            ("judgments", "judgments.csv"),
            ("protocol", "protocol.toml"),
        )
    },
    "documents of a table": b"docno\ttext\nd1\tAn owl\nd2\tA tide\n",
}


def _refused(read: Callable[[bytes], object]) -> Callable[[bytes], str]:
    def message(data: bytes) -> str:
        with pytest.raises((BadFile, QrelsError, JudgmentsError)) as refusal:
            read(data)
        return str(refusal.value)

    return message


def _run_refused(data: bytes) -> str:
    report = check_run(BytesIO(data), protocol=load_protocol("arqmath-2022-task1"), name="file").report
    return "\n".join(map(str, report.errors))


PLACES = {
    "topics": _refused(lambda data: read_topics(data, "file")),
    "topics as a list": _refused(lambda data: read_codes(data, "file")),
    "topics of labels": _refused(lambda data: read_labels(data, "file")),
    "qrels of known items": _refused(lambda data: read_known_items(data, "file")),
    "qrels": _refused(parse_qrels),
    "judgments": _refused(lambda data: parse_judgments(data, "file")),
    "documents": _refused(lambda data: form_of(data, "file")),
    "candidates": _refused(lambda data: list(CandidateLines([data], "file"))),
    "run": _run_refused,
}
# What a reader also accepts, or a list of codes may be
ACCEPTED = {
    ("qrels", "judgments"),
    ("judgments", "qrels"),
    ("topics as a list", "documents of a table"),
    ("topics as a list", "qrels with names"),
}


WRONG = [
    (place, file)
    for place in PLACES
    for file, data in FILES.items()
    if place.split()[0] != (kind := str(kind_of(data))) and not {(place, kind), (place, file)} & ACCEPTED
]


@pytest.mark.parametrize(("place", "file"), WRONG)
def test_refusal_begins_with_the_kind_of_the_file(place: str, file: str) -> None:
    message = PLACES[place](FILES[file])

    words = next(words for kind, words in WORDS.items() if file.startswith(kind))
    assert words.removesuffix(".") in message[: len(words) + 40]
    assert message.count("line ") + message.count("lines ") <= 3, "one example, and not a line for each"


@pytest.mark.parametrize(
    "text", ["", "\n", "owls\n", "a,b\n1,2\n", "301 tidal power\n", "<html>", "{", '{"a": [']
)
def test_other_text_is_of_no_kind(text: str) -> None:
    assert kind_of(text.encode()) is None


@pytest.mark.parametrize("name", ["qrels with ranks", "run with names"])
def test_ranks_make_a_run_unless_there_are_grades_too(name: str) -> None:
    assert str(kind_of(FILES[name])) == name.split()[0]


def test_judgments_are_read_from_a_table_of_grades_that_has_ranks_too() -> None:
    [row] = parse_judgments(FILES["qrels with ranks"], "file").rows

    assert (row.topic, row.docno, row.grade) == ("A.1", "d1", 2)
