"""The header of ir_metadata: read, kept, and refused with its line."""

import io
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.cli.main import main
from assay.errors import InputError
from assay.formats.reports import Report, print_report
from assay.formats.runs.columns import RunColumns, load_ranking, save, trec_order
from assay.formats.runs.metadata import header
from assay.formats.runs.reader import CheckedRun, check_run
from assay.formats.runs.timing import check_seconds
from assay.protocols.loader import load_protocol
from assay.protocols.schema import Ties
from tests.helpers.form_runs import bolt_run

HEADER = b"""# ir_metadata.start
# platform:
#   hardware:
#     cpu:
#       model: "Intel: Xeon # 6144"
#     ram: 64 GB  # not needed
#   software:
#     libraries:
#       python:
#       - numpy==2.0
#       - lucene: 9.1
# method:
#   automatic: 'true'
#   note: >
#     BM25, then
#     a model: large
#   retrieval:
#     - name: bm25
#       k1: 0.9
#     - name: monoT5
#   reranked: [a, b]
# ir_metadata.end
"""
LINES = b"".join(b"1 Q0 d%d %d %d owls\n" % (n, n, 10 - n) for n in range(1, 4))


def checked(data: bytes) -> CheckedRun:
    return check_run(BytesIO(data), protocol=load_protocol("trec-adhoc"), name="run.txt")


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"\n\n"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_header_becomes_fields_and_the_run_is_the_same(before: bytes, end: bytes) -> None:
    report = checked(before + (HEADER + LINES).replace(b"\n", end)).report

    assert report.is_acceptable
    assert (report.n_lines, report.tag) == (3, "owls")
    assert dict(report.metadata) == {
        "platform.hardware.cpu.model": "Intel: Xeon # 6144",
        "platform.hardware.ram": "64 GB",
        "platform.software.libraries.python": "numpy==2.0",
        "platform.software.libraries.python.lucene": "9.1",
        "method.automatic": "true",
        "method.note": "BM25, then, a model: large",
        "method.retrieval.name": "bm25, monoT5",
        "method.retrieval.k1": "0.9",
        "method.reranked": "a, b",
    }


def test_errors_and_warnings_have_the_line_of_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = checked(HEADER + LINES + b"1 Q0 d9\n").report
    odd = checked(HEADER.replace(b"#   note: >", b"#   note") + LINES).report

    assert wrong.errors[0].lines[0].number == 26
    assert [(each.code, each.lines[0].number) for each in odd.warnings] == [("metadata-line", 14)]
    print_report(odd, "run.txt")
    assert "  method.automatic: true\n" in capsys.readouterr().out


@pytest.mark.parametrize("end", [b"", b"# no end\n", b"#\n" * 1_001])
def test_header_without_end_is_an_error(end: bytes) -> None:
    report = checked(b"\n# ir_metadata.start\n# tag: x\n" + end + (LINES if end else b"")).report

    message = "the header of ir_metadata that begins here has no line “# ir_metadata.end”"
    assert (report.errors[0].message, report.errors[0].lines[0].number) == (message, 2)


def test_other_comments_are_no_header() -> None:
    assert not checked(b"# a comment\n" + LINES).report.is_acceptable
    assert not checked(LINES + HEADER).report.is_acceptable


def test_repaired_run_keeps_its_header() -> None:
    repaired = checked(HEADER + b"\r\n".join(LINES.split(b"\n"))).repaired()

    assert repaired is not None
    assert repaired.startswith(HEADER + b"1\tQ0\td1")


def test_header_that_is_written_is_read_again() -> None:
    fields = {"tag": "owls", "actor.team": "Owls: “A”", "actor.mail": "", "method.automatic": "true"}
    fields |= {"software.python": "numpy==2.0", "software.python.lucene": "9.1", "software.python.x.y": "1"}
    fields |= {"software": "pip", "note": "two\nlines"}

    report = checked(header(fields) + LINES).report

    assert dict(report.metadata) == {name: value for name, value in fields.items() if value}


Row = tuple[int, bytes, float]
ROW = st.tuples(
    st.integers(0, 2), st.binary(min_size=1, max_size=12), st.sampled_from([-1.0, -0.0, 0.0, 2.5])
)


def plainly(rows: list[Row]) -> list[Row]:
    """Topic, score descending, docno descending by bytes: two sorts, the second of which keeps the first."""
    by_docno = sorted(rows, key=lambda row: row[1], reverse=True)
    return sorted(by_docno, key=lambda row: (row[0], -row[2]))


def ordered(rows: list[Row]) -> list[Row]:
    topic, docno, score = (list(column) for column in zip(*rows, strict=True))
    order = trec_order(np.array(topic, dtype=np.int32), np.array(docno, dtype=np.bytes_), np.array(score))
    return [rows[place] for place in order]


@given(st.lists(ROW, min_size=1, max_size=80, unique_by=lambda row: (row[0], row[1].rstrip(b"\0"))))
def test_rows_are_in_the_order_of_trec_eval(rows: list[Row]) -> None:
    rows = [(topic, docno.rstrip(b"\0") or b"x", score) for topic, docno, score in rows]
    rows = list({(topic, docno): (topic, docno, score) for topic, docno, score in rows}.values())

    assert ordered(rows) == plainly(rows)


@given(
    st.lists(ROW, max_size=40, unique_by=lambda row: (row[0], row[1].rstrip(b"\0"))),
    st.integers(0, 5),
    st.sampled_from(["docno", "file", "rank"]),
)
def test_columns_of_a_depth_are_the_first_rows_of_all_columns(
    rows: list[Row], depth: int, ties: Ties
) -> None:
    topic, docno, score = zip(*rows, strict=True) if rows else ((), (), ())
    arrays = {
        "topics": ["A.2", "A.10", "A.1"],
        "topic_index": np.array(topic, dtype=np.int32),
        "docno": np.array(docno, dtype="S12"),
        "rank": np.arange(len(rows), 0, -1, dtype=np.int32),
        "score": np.array(score),
    }

    first, at = RunColumns.ordered(**arrays, ties=ties, depth=depth)

    columns, _ = RunColumns.ordered(**arrays, ties=ties)
    assert save(first) == save(columns.cut(depth))
    assert arrays["docno"][at].tolist() == first.docno.tolist()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 17, 40, 1000])
@pytest.mark.parametrize("width", [8, 12])
def test_ties_of_any_number_are_ordered_by_docno(size: int, width: int) -> None:
    rng = np.random.default_rng(size)
    names = [f"{n:0{width}d}".encode()[-width:] for n in rng.permutation(5 * size)]
    rows = [(0, name, float(-(n // size))) for n, name in enumerate(names)]

    assert ordered(rows) == plainly(rows)


def example() -> RunColumns:
    columns, _ = RunColumns.ordered(
        topics=["A.2", "A.10", "A.1"],
        topic_index=np.array([0, 0, 2, 1, 2], dtype=np.int32),
        docno=np.array([b"x", b"yy", b"\xc3\xa9", b"x", b"z"]),
        rank=np.array([1, 2, 1, 1, 2], dtype=np.int32),
        score=np.array([1.0, 2.0, 3.0, 4.0, 5.0]),
    )
    return columns


def test_a_ranking_is_loaded_from_the_stored_columns() -> None:
    columns = example()

    ranking = load_ranking(BytesIO(save(columns)))

    assert len(ranking) == 5
    assert ranking.topics.tolist() == columns.topics.tolist()
    assert ranking.docno.tolist() == columns.docno.tolist()
    assert ranking.offsets.tolist() == columns.offsets.tolist() == [0, 2, 3, 5]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"A.1\t1\t1\t1\tr\n"])
def test_another_file_is_not_a_ranking(content: bytes) -> None:
    with pytest.raises((ValueError, KeyError)):
        load_ranking(BytesIO(content))


BOLT = load_protocol("bolt-ir-p3")
GOOD = b"T1 12.5\nT2 600\n"


def check(data: bytes) -> Report:
    return check_seconds(io.BytesIO(data), protocol=BOLT, topics=["T1", "T2"], name="seconds.txt")


@pytest.mark.parametrize(
    "data",
    [
        GOOD,
        GOOD.replace(b" ", b","),
        GOOD.replace(b" ", b"\t;"),
        b"Topic,Seconds\n" + GOOD,
        GOOD.replace(b"\n", b"\r\n"),
    ],
    ids=["blank", "comma", "tab and semicolon", "header", "CR LF"],
)
def test_seconds_of_each_topic_are_read(data: bytes) -> None:
    report = check(data)

    assert (report.errors, report.warnings, report.n_topics) == ((), (), 2)


@pytest.mark.parametrize(
    ("data", "code", "lines"),
    [
        (b"T1 1\nT2 600.01\n", "too-slow", [2]),
        (b"T1 1\nT2 -1\n", "seconds", [2]),
        (b"T1 1\nT2 nan\n", "seconds", [2]),
        (b"T1 1\nT2 1e999\n", "seconds", [2]),
        (b"T1 1\nT2 soon\n", "seconds", [2]),
        (b"T1 1\nT2\n", "columns", [2]),
        (b"T1 1\nT2 1 2\n", "columns", [2]),
        (b"T1 1\nT1 2\n", "repeated", [2]),
        (b"T1 1\nT7 2\n", "unknown-topic", [2]),
        (b"", "empty", []),
        (b"topic seconds\n", "empty", []),
        (b"%PDF-1.4", "not-text", []),
        (b"T1 1\n" * 100_001, "too-many-lines", []),
    ],
)
def test_other_files_are_refused(data: bytes, code: str, lines: list[int]) -> None:
    lines_by_code = {error.code: [line.number for line in error.lines] for error in check(data).errors}

    assert lines_by_code.get(code) == lines


def test_topics_of_more_than_ten_minutes_are_named() -> None:
    (error,) = check(b"T1 1\nT2 601\n").errors

    assert str(error) == "line 2: topic “T2” took 601 seconds"
    assert error.accepted == "At most 600 seconds per topic."
    assert error.lines[0].text == "T2 601"


def test_topic_without_seconds_gives_a_warning() -> None:
    (warning,) = check(b"T1 1\n").warnings

    assert warning.message == "no seconds for 1 of 2 topics: T2"


def test_protocol_without_a_time_limit_has_no_file_of_seconds() -> None:
    with pytest.raises(InputError, match="trec-adhoc"):
        check_seconds(io.BytesIO(GOOD), protocol=load_protocol("trec-adhoc"), name="seconds.txt")


def test_command_checks_the_seconds_with_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, seconds = tmp_path / "run.xml", tmp_path / "seconds.txt"
    run.write_bytes(bolt_run())
    seconds.write_bytes(b"T1 12\nT2 700\n")

    status = main(["check", "--protocol", "bolt-ir-p3", "--seconds", str(seconds), str(run)])

    printed = capsys.readouterr().out
    assert status == 1
    assert "run.xml: accepted, 0 errors, 0 warnings (bolt-xml, evaluation run, 6 lines, 2 topics)" in printed
    assert "line 2: topic “T2” took 700 seconds" in printed
