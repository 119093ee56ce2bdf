"""Columns of judgments have the same judgments, and the same errors, as rows."""

import csv
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.formats.judgments import reader
from assay.formats.judgments.columns import JudgmentColumns
from assay.formats.judgments.graded import read_graded
from assay.formats.judgments.reader import JudgmentsError
from assay.protocols.loader import load_protocol

CELLS = {
    "topic": ["A.1", "A.2", " A.1", "'=1", "=1", "A 1"],
    "docno": ["d1", "d2", "d1 ", "'-d", "é"],
    "assessor": ["ada", "ada b", " ada", ""],
    "grade": ["0", "1", "2.0", "", "9", "x"],
    "choice": ["high", "HIGH", "not-a-choice", ""],
    "kind": ["main", "dual", "'+", ""],
    "is_current": ["True", "no", "", "maybe"],
    "seconds": ["", "3", "'3", "x"],
    "comment": ["", 'a,\n"b"', "\0"],
}
PROTOCOL = load_protocol("arqmath-2020-task1")


def judgments(path: Path, *, is_columns: bool, is_ruled: bool) -> list[tuple[object, ...]] | str:
    """The current judgments of a file, or the error."""
    rules = PROTOCOL.judging if is_ruled else None
    try:
        if not is_columns:
            rows = read_graded(str(path), rules)
            return [(*row[:3], row.choice, row.grade, row.kind, row.answers) for row in rows]
        read = JudgmentColumns()
        read.read(str(path), rules, judge="", columns={})
    except JudgmentsError as error:
        return str(error)
    names = [list(known) for known in (read.topics, read.docnos, read.assessors)]
    rows = [
        (*(own[number] for own, number in zip(names, numbers, strict=True)), read.answers[answer])
        for *numbers, answer in read.numbers().T.tolist()
    ]
    return [(*row[:3], row[3].choice, row[3].grade, row[3].kind, row[3].answers) for row in rows]


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    header = draw(st.lists(st.sampled_from([*CELLS][4:]), unique=True))
    header = [*[*CELLS][:4], *header]
    # mostly usual cells, which come first
    cells = [st.sampled_from(CELLS[name]) | st.sampled_from(CELLS[name][:2]) for name in header]
    usual = [st.sampled_from(CELLS[name][:3]) for name in header]
    rows = st.tuples(*usual) | st.tuples(*usual) | st.tuples(*cells)
    return [header, *map(list, draw(st.lists(rows, min_size=1, max_size=6)))]


@given(table=tables(), is_ruled=st.booleans(), n_cut=st.integers(0, 1))
def test_columns_equal_rows(table: list[list[str]], *, is_ruled: bool, n_cut: int) -> None:
    if n_cut:
        table[-1].pop()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "judgments.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows(table)

        read = judgments(path, is_columns=True, is_ruled=is_ruled)

        assert read == judgments(path, is_columns=False, is_ruled=is_ruled)


def test_qrels_are_judgments_of_one_assessor(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text("B 0 d1 1\nA 0 d1 -1\nA 0 d2 0\n")

    assert judgments(path, is_columns=True, is_ruled=False) == judgments(
        path, is_columns=False, is_ruled=False
    )


def test_a_regular_table_is_not_read_row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "judgments.csv"
    path.write_text("topic,docno,assessor,grade,seconds\nA,d1,ada,1,3\nA,d1,lee,2,\n")
    monkeypatch.delattr(reader, "row_of")

    assert len(judgments(path, is_columns=True, is_ruled=False)) == 2
