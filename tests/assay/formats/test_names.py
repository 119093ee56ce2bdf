"""Usual names of columns and keys."""

import pytest

from assay.formats import names


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
