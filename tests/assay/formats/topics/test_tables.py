"""Topics in tables, and under usual names of their fields."""

import pytest

from assay.formats.documents.batch import Malformed
from assay.formats.topics.tables import LONGEST_TITLE, read_table, with_usual_names


def test_rows_have_their_lines_and_other_columns_are_named() -> None:
    rows, others = read_table('id,title,tags,source\n1,"tides, and\nwaves","sea, moon",web\n\n2,wind\n')

    assert rows == [
        (2, {"code": "1", "title": "tides, and\nwaves", "tags": ["sea", "moon"]}),
        (5, {"code": "2", "title": "wind"}),
    ]
    assert others == ["source"]


def test_tabs_separate_columns_and_quotation_marks_are_characters() -> None:
    rows, _ = read_table('qid\tquery\r\n1\t12" pipe\r\n2\t"say ""tides"""\r\n')

    assert [row["title"] for _, row in rows] == ['12" pipe', 'say "tides"']


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("id,title\n1,tides\n2,cats, dogs\n", 2, "expected 2 columns as in the header, got 3"),
        ('id,title\n1,"tides\n', 1, "not a row of a table: unexpected end of data"),
    ],
)
def test_row_that_does_not_fit_the_header_is_refused_with_its_line(
    text: str, line: int, problem: str
) -> None:
    with pytest.raises(Malformed, match=problem) as refusal:
        read_table(text)

    assert refusal.value.n_lines == line


def test_only_text_of_a_topic_is_its_title_if_it_is_one_line() -> None:
    assert with_usual_names({"_id": "1", "text": "tides"}) | {"_id": ""} == {
        "_id": "", "code": "1", "title": "tides", "text": "",
    }  # fmt: skip
    for text in ("two\nlines", "x" * (LONGEST_TITLE + 1), ""):
        assert "title" not in with_usual_names({"_id": "1", "text": text})
    assert with_usual_names({"code": "1", "text": "tides"}) == {"code": "1", "text": "tides"}
