"""Runs in JSON of ranx have the rows of lines, and each error its line."""

import io

import pytest

from assay.formats.compression import Limits
from assay.formats.runs import nested
from assay.formats.runs.reader import CheckedRun, check_run
from assay.protocols.loader import load_protocol

LINES = b"1 Q0 d1 1 3.5 t\n1 Q0 d2 2 2 t\n2 Q0 \xc3\xa9 1 -1e-3 t\n"
JSON = '{"2": {"\u00e9": -1e-3},\n "1": {"d2": 2, "d1": 3.5}}'


def check(data: str | bytes, protocol: str = "trec-adhoc", **options: object) -> CheckedRun:
    content = data if isinstance(data, bytes) else data.encode()
    return check_run(io.BytesIO(content), protocol=load_protocol(protocol), name="r", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data",
    [
        JSON,
        "\ufeff \n" + JSON,
        JSON.encode("utf-16"),
        JSON.encode("cp1252"),
        JSON.replace("\u00e9", "\\u00e9"),
    ],
    ids=["UTF-8", "mark", "UTF-16", "Windows-1252", "escape"],
)
def test_json_gives_the_rows_of_lines(data: str | bytes) -> None:
    checked, lines = check(data), check(LINES)

    assert (checked.report.format, checked.report.tag, checked.report.n_lines) == ("ranx-json", "", 3)
    assert checked.report.errors == ()
    assert checked.columns is not None
    assert lines.columns is not None
    for name in ("topics", "topic_index", "docno", "score"):
        assert getattr(checked.columns, name).tolist() == getattr(lines.columns, name).tolist()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("{", "line 1: expected 6 columns"),
        ('{"1": ', "line 1: the file is not JSON"),
        ('{"1": {"d": NaN}}', "the file is not JSON"),
        ('{"1": ' * 100_000, "the file is not JSON"),
        ('{"1": [1]}', "line 1: the file is not an object of objects"),
        ("{}", "The file ranks no document."),
        ('{"1": {"d1": "a",\n"d2": null}}', "lines 1, 2: the score is not a number"),
        ('{"1": {"d1": "\\"a\\":",\n"d2": null}}', "lines 1, 2: the score is not a number"),
        ('{"1": {"d1": 1e999}}', "line 1: score inf is not a number"),
        ('{"1": {"d1": %s}}' % ("9" * 400), "line 1: score 999"),
        ('{"1": {"d1": 1,\n"d1": 2}}', "line 2: the topic already contains the document"),
        ('{"1": {"d1": 1},\n"1": {"d2": 1}}', "line 2: the topic “1” occurs twice"),
        ('{"1":\n{"d 1": 1}}', "line 2: the docno is not a name"),
        ('{"\\ud800":\n{"d": 1}}', "line 1: the topic is not a name"),
        ('{"1":\n{"\\u0000": 1}}', "line 2: the docno is not a name"),
    ],
)
def test_wrong_json_is_refused_with_its_line(data: str, message: str) -> None:
    first, *_ = check(data).report.errors

    assert str(first).startswith(message)


def test_json_is_refused_where_lines_have_no_scores_or_posts() -> None:
    assert check(JSON, "arqmath-2020-task2").columns is None
    assert check(JSON, "arqmath-2022-task3").columns is None


def test_upload_of_json_is_limited_and_a_local_file_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested, "MAX_UPLOAD", 20)

    (error,) = check(JSON).report.errors

    assert error.code == "text-too-large"
    assert check(JSON, limits=Limits(max_text=float("inf"))).columns is not None
