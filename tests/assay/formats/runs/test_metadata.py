"""The header of ir_metadata: read, kept, and refused with its line."""

from io import BytesIO

import pytest

from assay.formats.reports import print_report
from assay.formats.runs.metadata import header
from assay.formats.runs.reader import CheckedRun, check_run
from assay.protocols.loader import load_protocol

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
