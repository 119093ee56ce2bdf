"""The table of rows that a form shows."""

import pytest

from assay.formats import names
from assay.formats.rows import BadRows, read_rows


def test_columns_come_in_any_order_and_names_are_made_if_there_are_none() -> None:
    named = read_rows(b'text,docno,topic\n"a\nb",d1,t1\nc,d2,t1\n', "x.csv", fields=["text"])
    plain = read_rows("\ufefftext\tlang\né\tfr\n\n1\ten\n".encode(), "x.tsv", fields=["lang", "text"])

    assert [(row.topic, row.docno, row.fields, row.line) for row in named] == [
        ("t1", "d1", {"text": "a\nb"}, 2),
        ("t1", "d2", {"text": "c"}, 4),
    ]
    assert [(row.topic, row.docno, row.fields["text"]) for row in plain] == [
        ("rows", "1", "é"),
        ("rows", "2", "1"),
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1: no header"),
        (b"text\n", "line 1: no rows"),
        (b"text,text\na,b\n", "line 1: the column text is there 2 times"),
        (b"text,other\na,b\n", "line 1: the protocol has no field 'other'; use topic, docno, text"),
        (b"docno\na\n", "line 1: the column text is missing, which the form shows"),
        (b"text,docno\na,1\nb,1\n", "line 3: rows 1 is there already, in line 2"),
        (b"text,docno\na,1 2\n", "line 2: docno '1 2' is not one word"),
        (b"text,topic\na,all\n", "line 2: topic all cannot be used"),
        (b"text,topic\na,\n", "line 2: topic '' is not one word"),
        (b"text,docno\na\n", "line 2: expected 2 columns as in the header, got 1"),
        (b'text\na\n"b\n', "not a row of a table"),
        (b"text\n\x81\n", "Line 2 is neither UTF-8 nor Windows-1252"),
    ],
)
def test_wrong_table_is_refused_with_its_lines(data: bytes, message: str) -> None:
    with pytest.raises(BadRows) as refused:
        read_rows(data, "x.csv", fields=["text"])

    assert message in refused.value.message
    assert refused.value.errors


@pytest.mark.parametrize(
    ("columns", "fields", "places"),
    [
        (["query-id", "corpus-id", "score"], "qrels", {"topic": 0, "docno": 1, "grade": 2}),
        (["Topic", "tweet_id", "Relevance"], "qrels", {"topic": 0, "docno": 1, "grade": 2}),
        (["topic_id", "tweet_id", "tweet_text"], "documents", {"docno": 1, "text": 2}),
        (["_id", "title", "text", "metadata"], "documents", {"docno": 0, "title": 1, "text": 2}),
        (["a_id", "b_id", "text"], "documents", {"text": 2}),
        (["qid", "query"], "topics", {"code": 0, "title": 1}),
        (['"Number"', " Narrative "], "topics", {"code": 0, "narrative": 1}),
        (["claim_id", "claim_title"], "topics", {"code": 0, "title": 1}),
    ],
)
def test_fields_are_recognized_by_their_names(
    columns: list[str], fields: str, places: dict[str, int]
) -> None:
    assert names.places(columns, fields) == places


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("qid\tquery\n1\ttides", "\t"),
        ("\r\nid,title\n1,tides", ","),
        ("1\ttides", None),
        ('{"id": 1, "title": "x"}', None),
        ("<id>,title", None),
        ("id\n1", None),
    ],
)
def test_table_of_topics_begins_with_its_header(text: str, separator: str | None) -> None:
    table = names.table_of_topics(text)

    assert (table and table[0]) == separator
