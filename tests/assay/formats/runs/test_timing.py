"""The file of seconds of a run is accepted, or refused with a line."""

import io
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.formats.reports import Report
from assay.formats.runs.timing import NoSeconds, check_seconds
from assay.protocols.loader import load_protocol
from tests.helpers.form_runs import bolt_run

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

    assert warning.message == "1 of 2 topics have no seconds: T2"


def test_protocol_without_a_time_limit_has_no_file_of_seconds() -> None:
    with pytest.raises(NoSeconds, match="trec-adhoc"):
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
