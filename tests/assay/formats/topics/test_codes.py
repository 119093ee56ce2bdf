"""Topic codes from XML and from lists."""

import re
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.errors import BadFile
from assay.formats.topics.codes import TopicListError, read_topic_codes
from assay.formats.topics.reader import read_topics
from assay.protocols.loader import load_protocol

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

    with pytest.raises(TopicListError):
        read_topic_codes(tmp_path / "t")


def test_entities_of_topic_xml_are_not_expanded(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("A.9")
    text = f'<!DOCTYPE t [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]><Topics>&x;<Topic number="A.1"/></Topics>'
    (tmp_path / "t.xml").write_text(text)

    assert read_topic_codes(tmp_path / "t.xml") == ["A.1"]


def test_real_topics_are_read(data: Path) -> None:
    folder = data / "arqmath" / "topics"
    counts = sorted(len(read_topic_codes(path)) for path in folder.glob("*.xml"))

    assert counts == [85, 98, 100, 100]
