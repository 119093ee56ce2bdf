"""Runs of records, in JSON lines and Parquet, have the rows of lines, and each error its line."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from assay.cli.main import main
from assay.formats.compression import Limits
from assay.formats.runs import records
from assay.formats.runs.reader import CheckedRun, check_run, named_in
from assay.protocols.loader import load_protocol

LINES = b"1 Q0 d1 1 3.5 t\n1 Q0 d2 2 2 t\n2 Q0 \xc3\xa9 1 -1e-3 t\n"
ROWS = [("1", "d1", 3.5), ("1", "d2", 2.0), ("2", "\u00e9", -1e-3)]
PYTERRIER = ("qid", "docno", "score", "run")
RANX = ("q_id", "doc_id", "score", "")
ANSERINI = ("query_id", "docid", "score", "tag")


def check(data: bytes, protocol: str = "trec-adhoc", **options: Any) -> CheckedRun:
    return check_run(io.BytesIO(data), protocol=load_protocol(protocol), name="r", **options)


def json_lines(names: tuple[str, ...], rows: list[Any] = ROWS) -> bytes:
    records = [
        dict(zip(names, (*row, "t"), strict=True)) | {"rank": rank, "query": "Why?"}
        for rank, row in enumerate(rows)
    ]
    return "".join(f"{json.dumps({k: v for k, v in record.items() if k})}\n" for record in records).encode()


def parquet_file(names: tuple[str, ...], rows: list[Any] = ROWS, **options: Any) -> bytes:
    columns = zip(*[(*row, "t") for row in rows], strict=True)
    table = pa.table({name: list(column) for name, column in zip(names, columns, strict=True) if name})
    file = io.BytesIO()
    parquet.write_table(table, file, **options)
    return file.getvalue()


NUMBERS = [(1, 7, 3), (1, 9, 2), (2, 8, 5)]


@pytest.mark.parametrize("names", [PYTERRIER, RANX, ANSERINI], ids=["PyTerrier", "ranx", "Anserini"])
@pytest.mark.parametrize(("write", "form"), [(json_lines, "json-lines"), (parquet_file, "parquet")])
def test_records_give_the_rows_of_lines(names: tuple[str, ...], write: Any, form: str) -> None:
    checked, lines = check(write(names)), check(LINES)

    report = checked.report
    assert (report.format, report.tag, report.n_lines, report.errors) == (
        form,
        "t" if names[3] else "",
        3,
        (),
    )
    assert checked.columns is not None
    assert lines.columns is not None
    for name in ("topics", "topic_index", "docno", "score"):
        assert getattr(checked.columns, name).tolist() == getattr(lines.columns, name).tolist()
    whole = check(write(names, NUMBERS)).columns
    assert whole is not None
    assert (whole.topics.tolist(), whole.docno.tolist()) == (["1", "2"], [b"7", b"9", b"8"])


@pytest.mark.parametrize("start", ["\ufeff", "\n"])
def test_json_lines_may_begin_with_a_mark_or_an_empty_line_and_be_packed(start: str) -> None:
    assert check(start.encode() + json_lines(PYTERRIER)).report.errors == ()


LINE = '{"qid": "1", "docno": "d1", "score": 2}\n'


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (LINE + "{}\n", "line 2: the topic is not a name"),
        (LINE + '{"qid": "1", "score": 2}\n', "line 2: the docno is not a name"),
        (LINE + '{"qid": "1", "docno": 1.5, "score": 2}\n', "line 2: the docno is not a name"),
        (LINE + '{"qid": true, "docno": "d", "score": 2}\n', "line 2: the topic is not a name"),
        (LINE + '{"qid": "1", "docno": "d 2", "score": 2}\n', "line 2: the docno is not a name"),
        (LINE + '{"qid": "1", "docno": "d2", "score": "2"}\n', "line 2: score '2' is not a number"),
        (LINE + '{"qid": "1", "docno": "d2", "score": 1e999}\n', "line 2: score inf is not a number"),
        (LINE + '{"qid": "1", "docno": "d2"}\n', "line 2: the score is missing"),
        (LINE + '{"qid": "1", "docno": "d2", "score": NaN}\n', "line 2: the line is not JSON"),
        (LINE + "1 Q0 d2 1 2 t\n", "line 2: the line is not JSON"),
        (LINE + "[]\n", "line 2: the line is not a JSON object"),
        (LINE + "\n" + LINE, "line 3: the topic already contains the document"),
        (LINE + LINE.replace("}", ', "run": ""}'), "line 2: the tag is not a name"),
        ('{"qid": "1", "docno": "d", "score": 2, "run": "a"}\n{"qid": "1", "docno": "e", "score": 1, "run": "b"}\n',
         "lines 1, 2: the file has 2 tags"),
    ],
)  # fmt: skip
def test_wrong_line_is_named(lines: str, message: str) -> None:
    checked = check(lines.encode())

    assert message in str(checked.report.errors[0])
    assert (checked.columns, checked.repaired()) == (None, None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PAR1 and more", "The Parquet file cannot be read: "),
        (parquet_file(("qid", "other", "score", "run")), "the columns qid, other, score, run have no docno"),
        (parquet_file(PYTERRIER, [("1", "d", 1.0), ("1", "e f", 1.0)]), "line 2: the docno is not a name"),
        (parquet_file(PYTERRIER, [("1", "d", 1.0), ("1", None, 1.0)]), "line 2: the docno is not a name"),
        (
            parquet_file(PYTERRIER, [("1", "d", 1.0), ("1", "e", float("nan"))]),
            "line 2: score nan is not a number",
        ),
        (parquet_file(PYTERRIER, [("1", "d", 1.0), ("1", "e", None)]), "line 2: the score is missing"),
        (parquet_file(PYTERRIER, [("1", ["d"], 1.0)]), "line 1: the docno is not a name"),
        (parquet_file(PYTERRIER)[:-20], "The Parquet file cannot be read: "),
        (parquet_file(PYTERRIER, [("1", "d" * 5000, 1.0)] * 3), "the docno is not a name"),
    ],
)
def test_wrong_parquet_is_refused(content: bytes, message: str) -> None:
    assert message in str(check(content).report.errors[0])


def test_parquet_that_needs_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits()._replace(max_lines=2)
    assert "The file has more than 3 lines" in str(
        check(parquet_file(PYTERRIER), limits=limits).report.errors[0]
    )
    monkeypatch.setattr(records, "MAX_PARQUET", 10)
    assert "The columns have more than 0 MB" in str(check(parquet_file(PYTERRIER)).report.errors[0])


def test_without_pyarrow_a_parquet_file_is_refused_with_the_name_of_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = parquet_file(PYTERRIER)
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    [error] = check(content).report.errors

    assert (error.message, error.accepted) == (
        "The file is Parquet, which needs pyarrow here.",
        'pip install "assay[parquet]", for a site pip install -r requirements-parquet.txt; or JSON lines.',
    )


def test_where_lines_have_no_scores_records_are_not_accepted() -> None:
    protocol = (
        "ntcir-11-math" if "trec-6" not in load_protocol("ntcir-11-math").runs.formats else "bolt-ir-p3"
    )

    assert check(json_lines(PYTERRIER), protocol).report.errors
    assert check(parquet_file(PYTERRIER), protocol).report.errors


def test_tag_is_read_from_the_start_of_a_file() -> None:
    assert named_in(json_lines(PYTERRIER)[:90], load_protocol("trec-adhoc")).tag == "t"


def test_records_are_evaluated_as_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "qrels").write_text("1 0 d2 1\n2 0 \u00e9 1\n")
    outputs = []
    for name, content in (
        ("r.txt", LINES),
        ("r.jsonl", json_lines(PYTERRIER)),
        ("r.parquet", parquet_file(RANX)),
    ):
        (tmp_path / name).write_bytes(content)
        assert (
            main(["evaluate", "--qrels", str(tmp_path / "qrels"), "--measure", "AP", str(tmp_path / name)])
            == 0
        )
        outputs.append([line.split("\t")[-1] for line in capsys.readouterr().out.splitlines()])
    assert outputs[0] == outputs[1] == outputs[2]
    assert "0.7500" in outputs[0]
