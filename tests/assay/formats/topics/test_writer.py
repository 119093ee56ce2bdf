"""Topics that are written are read back."""

import json
from dataclasses import replace

import pytest

from assay.formats.documents.batch import Malformed
from assay.formats.documents.indexes import Index, recognized
from assay.formats.topics import writer
from assay.formats.topics.reader import TopicRow, read_labels, read_topics
from assay.formats.topics.tables import LONGEST_TITLE, read_table, with_usual_names

LINES = [
    {
        "code": "A.1",
        "title": "Is $a<b$ & 5 \\$ <b>?",
        "body": '<p>Why is <span class="math-container" id="q_1">$x^2$</span> &lt; $$y$$?</p>',
        "narrative": "<p>Tab\there, “ünï”.</p>",
        "tags": ["limits", "real-analysis"],
        "labels": {"category": "proof", "difficulty": "=high"},
    },
    {"code": "A.10", "text": "Two\n\nparagraphs <i>"},
    {"code": "B.1", "latex": "x < 2", "formula_id": "q_9"},
]


@pytest.fixture
def topics() -> list[TopicRow]:
    return read_topics("\n".join(map(json.dumps, LINES)).encode(), "topics.jsonl")


def without_lines(topics: list[TopicRow]) -> list[TopicRow]:
    return [replace(topic, line=0) for topic in topics]


def test_json_lines_have_everything(topics: list[TopicRow]) -> None:
    assert without_lines(read_topics(writer.as_jsonl(topics), "t.jsonl")) == without_lines(topics)


def test_xml_has_everything_but_labels(topics: list[TopicRow]) -> None:
    again = read_topics(writer.as_xml(topics), "t.xml")

    assert without_lines(again) == [replace(topic, labels={}) for topic in without_lines(topics)]


def test_labels_are_a_label_file(topics: list[TopicRow]) -> None:
    assert read_labels(writer.labels(topics), "l.csv") == {
        "A.1": {"category": "proof", "difficulty": "'=high"}
    }


def test_table_has_plain_text(topics: list[TopicRow]) -> None:
    header, first, *_ = writer.as_table(topics).decode().splitlines()

    assert header.split("\t") == list(writer.TABLE)
    assert first.split("\t")[:4] == [
        "A.1",
        "Is $a<b$ & 5 \\$ <b>?",
        "Why is $x^2$ < $y$?",
        "Tab here, “ünï”.",
    ]


def test_table_has_the_subtopics_of_topics_that_have_some(topics: list[TopicRow]) -> None:
    subtopics = ({"number": "1", "text": "A map.", "type": "nav"}, {"number": "2", "text": "A\tplan."})

    header, first, second, *_ = (
        writer.as_table([replace(topics[0], subtopics=subtopics), *topics[1:]]).decode().splitlines()
    )

    assert header.endswith("\tsubtopics")
    assert (first.split("\t")[-1], second.split("\t")[-1]) == ("1 A map. | 2 A plan.", "")


def test_formulas_are_an_index_of_topics(topics: list[TopicRow]) -> None:
    content = writer.formulas(topics)

    index, _ = recognized(content, "formulas.tsv") or (None, 0)
    assert index == Index("latex", 1, is_of_topics=True)
    assert [line.split("\t") for line in content.decode().splitlines()[1:]] == [
        ["A.1.1", "A.1", "A.1", "title", "a<b"],
        ["q_1", "A.1", "A.1", "question", "x^2"],
        ["A.1.3", "A.1", "A.1", "question", "y"],
        ["q_9", "B.1", "B.1", "question", "x < 2"],
    ]


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
