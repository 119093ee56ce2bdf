"""Decoding whole text files, and their lines."""

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.errors import InputError, InputWarning
from assay.formats.compression import utf16_of
from assay.formats.documents import reading
from assay.formats.text import Undecodable, decoded, lines_of, read_text
from assay.formats.topics.reader import read_known_items, read_labels, read_topic_file, read_topics
from assay.measures.boards import read_board
from assay.measures.units import parse_duplicates
from assay.nuggets.files import read_nuggets

BOM = "\ufeff"


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_every_encoding_of_unicode_is_read_as_the_same_text(codec: str) -> None:
    text = "1\ttidal power\r\n2\towls – bite\n"

    data, notes = decoded(text.encode(codec), "t.tsv")

    assert (data.decode(), list(notes)) == (text, [])


@pytest.mark.parametrize("codec", ["utf-16", "windows-1251", "ISO-8859-15"])
def test_xml_is_read_in_the_encoding_that_it_declares(codec: str) -> None:
    text = f'<?xml version="1.0" encoding="{codec}"?>\n<a encoding="b">%s</a>'
    word = "сова" if codec.endswith("1251") else "é"

    decoded_text = decoded((text % word).encode(codec), "t.xml").text

    assert decoded_text == f'<?xml version="1.0"?>\n<a encoding="b">{word}</a>'


def test_only_the_lines_that_are_not_utf8_are_windows_1252() -> None:
    data = b"1\tcaf\xc3\xa9\n2\tcaf\xe9\r3\t\x80\n" + b"\xe9\n" * 5

    text, notes = decoded(data, "t.tsv").text, decoded(data, "t.tsv").notes

    assert text == "1\tcafé\n2\tcafé\r3\t€\n" + "é\n" * 5
    assert notes == ["lines 2, 3, 4, 5, 6 and 2 more are not UTF-8 and are read as Windows-1252"]


def test_marks_at_the_start_of_lines_are_removed_and_counted() -> None:
    text = f"{BOM}1 0 d1 1\r\n{BOM}2 0 d1 1\r{BOM}3 0 d{BOM}1 1\n"

    data, notes = decoded(text.encode(), "t.qrels")

    assert data.decode() == f"1 0 d1 1\r\n2 0 d1 1\r3 0 d{BOM}1 1\n"
    assert notes == ["U+FEFF, a byte-order mark, was removed at the start of lines 2, 3"]


@pytest.mark.parametrize("end", ["\x1a", "\r\n\x1a", "\x1a\x1a\0\0", "\x1a\r\n"])
def test_control_z_ends_a_file(end: str) -> None:
    assert decoded(f"1\x1a 0\n2{end}".encode()).text.rstrip() == "1\x1a 0\n2"


def test_lines_end_as_in_an_editor() -> None:
    assert lines_of("a\r\nb\rc\x85d\u2028e\x0bf\x0cg\n\nh") == ["a", "b", "c\x85d\u2028e\x0bf\x0cg", "", "h"]
    assert lines_of("") == []


def test_binary_data_is_not_utf16() -> None:
    assert utf16_of(bytes(64)) == ""
    assert utf16_of(b"".join(n.to_bytes(8, "little") for n in range(64))) == ""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\n\x81\n", "t: Line 2 is neither UTF-8 nor Windows-1252 (byte 0x81)."),
        (b"\xff\xfea\x00\n\x00b", "t: Line 2 is not UTF-16-LE"),
        (b'<?xml version="1.0" encoding="windows-9999"?><a/>', "t: It declares the encoding windows-9999"),
    ],
)
def test_a_file_in_no_known_encoding_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(Undecodable) as refusal:
        decoded(data, "t")

    assert message in str(refusal.value)
    assert isinstance(refusal.value, InputError)


def test_reading_a_file_of_the_user_warns_of_its_encoding(tmp_path: Path) -> None:
    path = tmp_path / "links.tsv"
    path.write_bytes(b"caf\xe9\n")

    with pytest.warns(InputWarning, match=r"links.tsv: line 1 is not UTF-8 and is read as Windows-1252"):
        assert read_text(str(path)) == "café\n"


def documents(form: str) -> Callable[[bytes], object]:
    return lambda data: reading.convert(data, form).pack().tables


READERS: dict[str, tuple[Callable[[bytes], object], str]] = {  # lines that each reader takes
    "topics": (lambda data: read_topic_file(data, "t", is_formula=False).topics, "1\towls\n2\ttides\n"),
    "topics in JSON": (lambda data: read_topics(data, "t"), '{"qid": "1", "query": "a"}\n{"qid": "2", "query": "b"}\n'),
    "known items": (lambda data: read_known_items(data, "t"), "1 d1\n2 d2\n"),
    "labels": (lambda data: read_labels(data, "t.csv"), "topic,kind\n1,a\n2,b\n"),
    "near-duplicates": (parse_duplicates, "1 d1 d2\n2 d1 d2\n"),
    "nuggets": (lambda data: read_nuggets(data, "t"), '{"qid": "1", "nuggets": []}\n{"qid": "2", "nuggets": []}\n'),
    "scores of tools": (lambda data: read_board(data, "tot", name="t"), "owls V 1 0.5\nowls V 2 0.5\n"),
    "documents in JSON lines": (documents("jsonl"), '{"docno": "1", "text": "a"}\n{"docno": "2", "text": "b"}\n'),
    "documents in a table": (documents("tsv of=2 docno=1 text=2"), "1\ta\n2\tb\n"),
    "documents in CSV": (documents("csv of=2 docno=1 text=2"), "1,a\n2,b\n"),
}  # fmt: skip


@pytest.mark.parametrize(("reader", "text"), READERS.values(), ids=READERS)
def test_no_reader_takes_a_mark_as_a_part_of_a_name(reader: Callable[[bytes], object], text: str) -> None:
    joined = BOM + f"\n{BOM}".join(text.splitlines()) + "\n"

    with warnings.catch_warnings(action="ignore"):
        assert reader(joined.encode()) == reader(text.encode())


def test_trec_eval_takes_no_mark_as_a_part_of_a_topic(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "qrels").write_text(f"1 0 d1 1\n{BOM}2 0 d1 1\n")
    (tmp_path / "run").write_text(f"{BOM}1 Q0 d1 1 1 a\n{BOM}2 Q0 d1 1 1 a\n")

    assert main(["trec_eval", "-m", "num_q", str(tmp_path / "qrels"), str(tmp_path / "run")]) == 0
    assert capsys.readouterr().out.split() == ["num_q", "all", "2"]
