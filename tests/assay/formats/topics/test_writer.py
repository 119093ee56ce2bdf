"""Topics that are written are read back."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.errors import BadFile, InputError
from assay.formats.documents.batch import Malformed
from assay.formats.documents.indexes import Index, recognized
from assay.formats.topics import writer
from assay.formats.topics.codes import read_topic_codes
from assay.formats.topics.objects import LONGEST_TITLE, with_usual_names
from assay.formats.topics.reader import TopicRow, read_labels, read_topics
from assay.formats.topics.tables import read_table
from assay.protocols.loader import load_protocol

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
    reading = read_table('id,title,tags,source\n1,"tides, and\nwaves","sea, moon",web\n\n2,wind\n')

    assert reading.rows == [
        (2, {"code": "1", "title": "tides, and\nwaves", "tags": ["sea", "moon"]}),
        (5, {"code": "2", "title": "wind"}),
    ]
    assert reading.left_out == ["source"]


def test_tabs_separate_columns_and_quotation_marks_are_characters() -> None:
    reading = read_table('qid\tquery\r\n1\t12" pipe\r\n2\t"say ""tides"""\r\n')

    assert [row["title"] for _, row in reading.rows] == ['12" pipe', 'say "tides"']


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


PROTOCOL = load_protocol("arqmath-2020-task1")
P = ["--protocol", "arqmath-2020-task1"]


def test_topics_are_read_from_xml_and_from_lists(tmp_path: Path) -> None:
    (tmp_path / "t.xml").write_text(
        '<?xml version="1.0"?><Topics><Topic number="A.1"><Title/></Topic><topic number="A.2"/></Topics>'
    )
    (tmp_path / "t.jsonl").write_bytes(b'\xef\xbb\xbf{"code": "A.1", "labels": {}}\n\n{"code": "A.2"}\n')
    (tmp_path / "t.txt").write_bytes(b"\xef\xbb\xbfA.1\tfirst topic\r\n\r\nA.2\r\n")

    assert read_topic_codes(tmp_path / "t.xml") == ["A.1", "A.2"]
    assert read_topic_codes(tmp_path / "t.jsonl") == ["A.1", "A.2"]
    assert read_topic_codes(tmp_path / "t.txt") == ["A.1", "A.2"]


CAST = """[
  {"number": 31, "title": "Tides & wind", "description": "A <b> talk.", "turn": [
    {"number": 1, "raw_utterance": "What are tides?"},
    {"number": 2, "response": "Waves."},
    {"number": 3, "raw_utterance": "Who uses them?", "manual_rewritten_utterance": "Who uses tides?"}]},
  {"number": 32, "turn": [{"number": 1, "raw_utterance": "Is $x < y$?"}]}
]
"""


def test_topics_are_read_from_an_array_also_of_conversations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The topics of CAsT are an array of conversations, whose turns are the topics."""
    (tmp_path / "run.tsv").write_text("31_1\t10\t1\t9\tours\n31_3\t10\t1\t9\tours\n32_1\t8\t1\t9\tours\n")
    (tmp_path / "array.json").write_text('[\n {"number": 1, "title": "tides"},\n {"number": 2}\n]\n')
    (tmp_path / "cast.json").write_text(CAST)

    assert read_topic_codes(tmp_path / "array.json") == ["1", "2"]
    assert read_topic_codes(tmp_path / "cast.json") == ["31_1", "31_3", "32_1"]
    assert main(["check", *P, "--topics", str(tmp_path / "cast.json"), str(tmp_path / "run.tsv")]) == 0
    assert main(["check", *P, "--topics", str(tmp_path / "array.json"), str(tmp_path / "run.tsv")]) == 1
    assert "31_1" in capsys.readouterr().out


def test_turns_of_conversations_are_topics_with_the_turns_before_them() -> None:
    first, third, other = read_topics(CAST.encode(), "cast.json")

    assert (first.code, first.title, first.body) == ("31_1", "What are tides?", "")
    assert first.narrative == third.narrative == "<p>Tides &amp; wind</p><p>A &lt;b&gt; talk.</p>"
    assert (third.line, third.title) == (2, "Who uses them?")
    assert "<li>What are tides?</li></ul><p><b>Rewritten:</b> Who uses tides?</p>" in third.body
    assert (other.line, other.code, other.narrative) == (6, "32_1", "")
    assert [topic.title for topic in read_topics(b'[{"qid": 7, "text": "tides"}]', "a.json")] == ["tides"]
    assert (
        read_topics(b'[{"number": "1", "turns": [{"turn_id": 2, "utterance": "Hi"}]}]', "i.json")[0].code
        == "1_2"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"number": 1, "turn": [{"raw_utterance": "Hi"}]}]', "line 1: a turn has no number"),
        (
            '[\n{"turn": [{"number": 1, "raw_utterance": "Hi"}]}]',
            "line 2: a conversation has no number",
        ),
        ('[{"number": 1, "turn": 3}]', "line 1: the turns of a conversation are not an array of objects"),
        ('[{"code": "1"},\n\n7]', "line 3: not a JSON object"),
        ('[{"code": "1"}', "line 1: expected a comma or ]"),
        ('[{"code": "1"}, ', "not a JSON object, or the array is not closed"),
        ('[{"code": "1"}] {}', "text after the end of the array"),
        ("[" * 100_000, "not a JSON object, or the array is not closed"),
    ],
)
def test_arrays_that_cannot_be_read_are_named_with_their_line(text: str, message: str) -> None:
    with pytest.raises(BadFile, match=re.escape(message)):
        read_topics(text.encode(), "a.json")


def test_topics_are_read_from_tables_and_from_trec(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("qid\tquery\n1\ttides\n2\twind\n")
    (tmp_path / "t.jsonl").write_text('{"_id": 1, "text": "tides"}\n{"_id": "2", "text": "wind"}\n')
    (tmp_path / "t.trec").write_text("<top>\n<num> Number: 301\n<title> tides\n</top>\n")

    assert read_topic_codes(tmp_path / "t.tsv") == ["1", "2"]
    assert read_topic_codes(tmp_path / "t.jsonl") == ["1", "2"]
    assert read_topic_codes(tmp_path / "t.trec") == ["301"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<Topics></Topics>",
        b"<Topics><Topic",
        b"\xff\xfe",
        b'{"code": 1.5}',
        b"{" * 5000,
        b"id,title\n1,a,b\n",
        b"<top>\n<num> Number: 1\n<title> a\n",
        b"<top>\n\x81\n</top>\n",
    ],
)
def test_file_without_topics_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "t").write_bytes(data)

    with pytest.raises(InputError):
        read_topic_codes(tmp_path / "t")


def test_entities_of_topic_xml_are_not_expanded(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("A.9")
    text = f'<!DOCTYPE t [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]><Topics>&x;<Topic number="A.1"/></Topics>'
    (tmp_path / "t.xml").write_text(text)

    with pytest.raises(InputError, match="entities are never expanded"):
        read_topic_codes(tmp_path / "t.xml")


def test_real_topics_are_read(data: Path) -> None:
    folder = data / "arqmath" / "topics"
    counts = sorted(len(read_topic_codes(path)) for path in folder.glob("*.xml"))

    assert counts == [85, 98, 100, 100]
