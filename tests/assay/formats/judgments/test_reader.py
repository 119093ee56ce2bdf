"""Files of judgments: what is written is read again, and other tools' files are read as they are."""

import json
import re
from datetime import UTC, datetime, timedelta, timezone
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.formats.judgments.cells import choice_of
from assay.formats.judgments.reader import JudgmentsError, header_of_judgments, parse_judgments
from assay.formats.judgments.rows import COLUMNS, JudgmentRow, as_csv, as_jsonl
from assay.formats.spreadsheet import original, without_formulas
from assay.protocols.loader import load_protocol

NASTY = st.text(st.sampled_from("'=+-@\t\r\n\",;a1 é"), max_size=8) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20
)


@given(NASTY)
def test_a_harmless_cell_gives_back_its_text(text: str) -> None:
    assert original(without_formulas(text)) == text
    assert without_formulas(text) == text or without_formulas(text) == f"'{text}"


@given(NASTY, NASTY)
def test_both_formats_give_back_any_comment(first: str, second: str) -> None:
    rows = [
        dict.fromkeys(COLUMNS)
        | {"topic": "A.1", "docno": "=1", "assessor": "ada", "grade": 1, "comment": comment}
        for comment in (first, second)
    ]
    for write in (as_csv, as_jsonl):
        parsed = parse_judgments("".join(write(rows)).encode(), "file")
        assert [(row.docno, row.comment) for row in parsed.rows] == [("=1", first), ("=1", second)]


def test_every_column_is_read() -> None:
    values = {
        "judgment": 7, "pool": "Pool", "batch": "Main", "kind": "main", "round": 2, "topic": "A.1", "docno": "12",
        "unit": "u", "position": 3, "assessor": "ada", "seat": 2, "choice": "high", "label": "High", "grade": 3,
        "comment": "c", "answers": {"dialect": "msa"}, "guidelines": 4, "order": "random",
        "accepted_at": "2026-11-20T10:30:00+00:00", "judged_at": "2026-11-20T12:30:25+02:00", "seconds": 25,
        "is_current": False, "replaces": 6, "is_withdrawn": True, "is_adjudicated": True, "is_check": False,
        "source": "turkle", "left": "12",
    }  # fmt: skip
    expected = JudgmentRow(
        topic="A.1", docno="12", assessor="ada", choice="high", grade=3, comment="c", pool="Pool", batch="Main",
        kind="main", round=2, unit="u", seat=2, answers={"dialect": "msa"}, guidelines=4, order="random",
        accepted_at=datetime(2026, 11, 20, 10, 30, tzinfo=UTC),
        judged_at=datetime(2026, 11, 20, 12, 30, 25, tzinfo=timezone(timedelta(hours=2))),
        seconds=25, number=7, replaces=6, is_current=False, is_withdrawn=True, source="turkle", left="12",
    )  # fmt: skip

    for write, line in ((as_csv, 2), (as_jsonl, 1)):
        (row,) = parse_judgments("".join(write([values])).encode(), "file").rows
        assert row.line == line
        assert {name: getattr(row, name) for name in row.__slots__ if name != "line"} == {
            name: getattr(expected, name) for name in row.__slots__ if name != "line"
        }


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_and_long_cells_of_spreadsheets_are_read(separator: str) -> None:
    cells = [["topic", "docno", "text", "assessor", "grade"], ["A.1", "1", "x" * 200_000, "ada", "2.0"]]
    content = "\r\n".join(separator.join(line) for line in cells).encode("utf-8-sig")

    (row,) = parse_judgments(content, "file").rows

    assert (row.topic, row.docno, row.assessor, row.grade) == ("A.1", "1", "ada", 2)
    assert header_of_judgments(BytesIO(content)) == cells[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("topic,docno,assessor,grade\nA.1,1,ada,1\n\nA.1,\x81,ada,1\n", "Line 4 is neither UTF-8 nor"),
        (
            '{"topic": "1", "docno": "2", "assessor": "a", "grade": 1, "comment": "\\ud83d"}',
            "half of a surrogate pair",
        ),
        (
            '{"topic": "1", "docno": "2", "assessor": "a", "grade": 1, "comment": "\\u0000"}',
            "comment contains a NUL",
        ),
        ('topic,docno,assessor,grade,comment\nA.1,1,ada,1,"a\nb"\nA.1,2,ada,1.5,\n', "line 4: grade '1.5'"),
        ("topic,docno,assessor,grade,seconds\nA.1,1,ada,1,long\n", "line 2: seconds 'long' is not a number"),
        (
            "topic,docno,assessor,grade,answers\nA.1,1,ada,1,[1]\n",
            "line 2: answers '[1]' is not an object",
        ),
        (
            "topic,docno,assessor,grade\n" + "A.1,1,ada,?\n" * 300,
            "lines 2, 3, 4, 5, 6 and 95 more: grade '?'",
        ),
    ],
)
def test_errors_name_the_line(text: str, message: str) -> None:
    with pytest.raises(JudgmentsError) as refused:
        parse_judgments(text.encode("latin-1"), "file")

    assert message in str(refused.value)


def test_lines_of_json_with_other_keys_and_types_are_read() -> None:
    line = json.dumps(
        {"topic": "A.1", "docno": 12, "assessor": "ada", "grade": None, "choice": "do-not-know", "x": 1}
    )

    (row,) = parse_judgments(line.encode(), "file").rows

    assert (row.docno, row.grade, row.choice, row.is_current) == ("12", None, "do-not-know", True)


@pytest.mark.parametrize(
    ("choice", "grade", "key"),
    [
        ("high", 3, "high"),
        ("HIGH", None, "high"),
        ("", 0, "not-relevant"),
        ("Do not know", None, "do-not-know"),
    ],
)
def test_a_choice_is_named_by_key_label_or_grade(choice: str, grade: int | None, key: str) -> None:
    rules = load_protocol("arqmath-2020-task1").judging

    assert choice_of(JudgmentRow("A.1", "1", "ada", choice=choice, grade=grade), rules).key == key


@pytest.mark.parametrize(
    ("choice", "grade", "message"),
    [
        ("high", 1, "'high' has the grade 3, not 1"),
        ("", 9, "grade 9 is not in the protocol; use high (3)"),
        ("", None, "neither"),
    ],
)
def test_a_choice_that_the_protocol_lacks_is_refused(choice: str, grade: int | None, message: str) -> None:
    rules = load_protocol("arqmath-2020-task1").judging

    with pytest.raises(ValueError, match=re.escape(message)):
        choice_of(JudgmentRow("A.1", "1", "ada", choice=choice, grade=grade), rules)
