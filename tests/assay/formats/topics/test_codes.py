"""Topic codes from XML and from lists."""

from pathlib import Path

import pytest

from assay.cli.main import main
from assay.formats.topics.codes import TopicListError, read_topic_codes
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


def test_topics_are_read_from_an_array_but_not_from_conversations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The topics of CAsT are an array of conversations, whose turns are the topics."""
    (tmp_path / "run.tsv").write_text("1\t10\t1\t9\tours\n2\t10\t1\t9\tours\n")
    (tmp_path / "array.json").write_text('[\n {"number": 1, "title": "tides"},\n {"number": 2}\n]\n')
    (tmp_path / "cast.json").write_text('[{"number": 31, "turn": [{"number": 1, "raw_utterance": "Hi"}]}]')

    assert read_topic_codes(tmp_path / "array.json") == ["1", "2"]
    assert main(["check", *P, "--topics", str(tmp_path / "array.json"), str(tmp_path / "run.tsv")]) == 0
    assert main(["check", *P, "--topics", str(tmp_path / "cast.json"), str(tmp_path / "run.tsv")]) == 2
    assert "cast.json: not one JSON object per line" in capsys.readouterr().err


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
