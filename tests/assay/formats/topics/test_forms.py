"""Every form of topics of the field, as an import and as `--topics` read it."""

import json
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.cli.main import main
from assay.errors import BadFile, InputError, InputWarning
from assay.formats.topics.codes import read_topic_codes
from assay.formats.topics.reader import read_topic_file, read_topics

OWLS, TIDES = "Owls", "Tides"


def xml(topics: str, root: str = "topics") -> str:
    return f'<?xml version="1.0"?>\n<{root}>\n{topics}\n</{root.split()[0]}>\n'


FORMS: dict[str, tuple[str, list[tuple[str, str]]]] = {  # the code and title of each topic
    "XML with an attribute id": (
        xml('<topic id="1"><query>Owls</query></topic><topic id="2"><query>Tides</query></topic>'),
        [("1", OWLS), ("2", TIDES)],
    ),
    "XML with an element id": (
        xml("<topic><id> 1 </id><query>Owls</query></topic>\n<topic><id>2</id><query>Tides</query></topic>"),
        [("1", OWLS), ("2", TIDES)],
    ),
    "XML with elements and an attribute number": (
        xml(
            '<topic><number>1</number><title>Owls</title></topic><topic number="2"><title>Tides</title></topic>'
        ),
        [("1", OWLS), ("2", TIDES)],
    ),
    "Genomics, capitals": (
        xml("<TOPIC><ID>1</ID><TITLE>Owls</TITLE><NEED>Which?</NEED></TOPIC>", "TOPICS"),
        [("1", OWLS)],
    ),
    "NTCIR We Want Web": (
        xml(
            "<query><qid>0001</qid><content>Owls</content><description>Which?</description></query>",
            "queries",
        ),
        [("0001", OWLS)],
    ),
    "eHealth in languages": (
        xml("<query><id> 9 </id><en> Owls </en><fr> Hiboux </fr></query>", "queries"),
        [("9", OWLS)],
    ),
    "Indri": (
        "<parameters>\n<query><number>31_1</number><text>Owls</text></query>\n</parameters>",
        [("31_1", OWLS)],
    ),
    "namespaces": (
        xml('<t:topic t:number="1"><t:title>Owls</t:title></t:topic>', 't:topics xmlns:t="http://x.example"'),
        [("1", OWLS)],
    ),
    "a wrapper": (xml('<set><topic number="1"><title>Owls</title></topic></set>', "trec"), [("1", OWLS)]),
    "one topic as the root": ('<topic number="1"><title>Owls</title></topic>', [("1", OWLS)]),
    "two files joined": (
        xml('<topic number="1"><title>Owls</title></topic>')
        + "\ufeff"
        + xml('<topic number="2"><title>Tides</title></topic>'),
        [("1", OWLS), ("2", TIDES)],
    ),
    "characters of HTML, and a bare ampersand": (
        xml('<topic number="1"><title>R&D&nbsp;&eacute; &lt;<![CDATA[&nbsp;]]></title></topic>'),
        [("1", "R&amp;D é &lt;\xa0")],
    ),
    "sessions": (
        xml('<session num="1"><topic><title>Owls</title></topic></session>', "sessiontrack2013"),
        [("1", "")],
    ),
    "precision medicine": (
        xml('<topic number="1"><disease>Owls</disease><gene>KRAS</gene></topic>', 'topics task="PM"'),
        [("1", "")],
    ),
    "marked text, capitals": ("<TOP>\n<NUM>Number: 1\n<TITLE>Owls\n</TOP>", [("1", OWLS)]),
    "marked text, a label without a colon": (
        "<top>\n<num> Topic 12 </num>\n<title> Owls </title>\n</top>",
        [("12", OWLS)],
    ),
    "marked text of a background topic": (
        "<top>\n<num> Number: 321 </num>\n<docid>d1</docid>\n</top>",
        [("321", "")],
    ),
    "TSV": ("1\tOwls\n2\tTides\n", [("1", OWLS), ("2", TIDES)]),
    "TSV with a topic without text": ("1\tOwls\n2\t\n", [("1", OWLS), ("2", "")]),
    "TSV with U+0085 and U+2028": (
        "1\tOwls\x85Tides\n2\tOwls\u2028Tides\n",
        [("1", "Owls\x85Tides"), ("2", "Owls\u2028Tides")],
    ),
    "a table with semicolons": (
        'qid;query\r\n1;Owls\r\n2;"Tides; Owls"\r\n',
        [("1", OWLS), ("2", "Tides; Owls")],
    ),
    "a table with CR": ("qid\tquery\r1\tOwls\r2\tTides\r", [("1", OWLS), ("2", TIDES)]),
    "colons": ("301:Owls\n302:What is 3:2 ratio\n", [("301", OWLS), ("302", "What is 3:2 ratio")]),
    "Million Query with priorities": (
        "20001:1:Owls\n20002:4:Tides at night\n",
        [("20001", OWLS), ("20002", "Tides at night")],
    ),
    "spaces": ("701 Owls\n702 Tides\n", [("701", OWLS), ("702", TIDES)]),
    "Genomics 2006": ("<160>Owls\n<161>Tides\n", [("160", OWLS), ("161", TIDES)]),
    "CAsT as text": (
        "Number: 31\nTitle: Birds\nDescription: A talk.\n1. Owls\n2. Tides\n\nNumber: 32\n1\tOwls\n",
        [("31_1", OWLS), ("31_2", TIDES), ("32_1", OWLS)],
    ),
    "CLEF TAR": (
        "Topic: CD9 \n\nTitle: Owls\n\nQuery: \n1. exp Owls/\n\nPids: \n    101\n    102\n",
        [("CD9", OWLS)],
    ),
    "JSON lines, a text under another name": ('{"qid": "8:1", "query_txt": "Owls"}\n', [("8:1", OWLS)]),
    "JSON lines, own code and a usual name": ('{"code": "1", "query": "Owls"}\n', [("1", OWLS)]),
    "JSON lines, a number as text": ('{"_id": 7, "text": 1984}\n', [("7", "1984")]),
    "JSON lines of conversations": (
        '{"number": "9-1", "turns": [{"turn_id": 1, "utterance": "Owls"}]}\n',
        [("9-1_1", OWLS)],
    ),
    "HC4 and NeuCLIR": (
        json.dumps(
            {
                "topic_id": "1",
                "topics": [
                    {"lang": "fas", "source": "human translation", "topic_title": "جغد"},
                    {
                        "lang": "eng",
                        "source": "original",
                        "topic_title": "Owls",
                        "topic_description": "Which?",
                    },
                ],
                "narratives": {"relevant": "names one"},
            }
        ),
        [("1", OWLS)],
    ),
    "JSON array": ('[{"question_id": "C1", "query": "Owls", "question": "Which?"}]', [("C1", OWLS)]),
    "JSON array in an object": (
        '{"questions": [\n{"id": "a", "body": "Owls"},\n{"id": "b", "body": "Tides"}]}',
        [("a", OWLS), ("b", TIDES)],
    ),
    "JSON by code": (
        '{\n"301": {"title": "Owls"},\n"302": {"title": "Tides"}\n}',
        [("301", OWLS), ("302", TIDES)],
    ),
    "JSON of texts by code": ('{"301": "Owls", "302": "Tides"}', [("301", OWLS), ("302", TIDES)]),
    "a table of Excel with sep=": (
        "sep=;\n\nid;title;note\n1;Owls;x, y\n2;Tides;\n",
        [("1", OWLS), ("2", TIDES)],
    ),
    "one JSON object with indents": ('{\n  "id": 1,\n  "title": "Owls"\n}', [("1", OWLS)]),
    "the code beside the topic's name": (
        '[{"id": 116, "topic": "Owls", "question": "Which?"}]',
        [("116", OWLS)],
    ),
}


@pytest.mark.parametrize(("text", "topics"), FORMS.values(), ids=FORMS)
def test_import_and_command_read_the_same_topics(
    text: str, topics: list[tuple[str, str]], tmp_path: Path
) -> None:
    path = tmp_path / "topics"
    path.write_text(text, newline="")

    read = read_topic_file(text.encode(), "topics", is_formula=False).topics

    assert [(topic.code, topic.title) for topic in read] == topics
    with warnings_allowed():
        assert read_topic_codes(path) == [code for code, _ in topics]


def warnings_allowed() -> Any:
    import warnings

    return warnings.catch_warnings(action="ignore")


def body_of(text: str) -> str:
    return read_topic_file(text.encode(), "topics", is_formula=False).topics[0].body


@pytest.mark.parametrize(
    ("form", "parts"),
    [
        ("eHealth in languages", ["<b>Fr:</b> Hiboux"]),
        ("precision medicine", ["<b>Disease:</b> Owls", "<b>Gene:</b> KRAS"]),
        ("marked text of a background topic", ["<b>Docid:</b> d1"]),
        ("Genomics, capitals", ["<b>Need:</b> Which?"]),
        ("CLEF TAR", ["<b>Query:</b>", "exp Owls/"]),
        ("HC4 and NeuCLIR", ["Which?"]),
        ("JSON array", ["Which?"]),
        ("the code beside the topic's name", ["Which?"]),
    ],
)
def test_no_text_of_a_topic_is_lost(form: str, parts: list[str]) -> None:
    body = body_of(FORMS[form][0])

    assert [part for part in parts if part not in body] == []


def test_texts_with_other_names_follow_under_their_names() -> None:
    body = body_of(
        '{"qid": 1, "title": "Owls", "text": "Which?", "background": "R&D", "keywords": ["a", "b"]}'
    )

    assert body == "<p>Which?</p><p><b>Background:</b> R&amp;D</p><p><b>Keywords:</b> a, b</p>"


def test_a_priority_is_a_label_of_the_file() -> None:
    content = read_topic_file(FORMS["Million Query with priorities"][0].encode(), "mq")

    assert [topic.labels for topic in content.topics] == [{"priority": "1"}, {"priority": "4"}]
    assert content.has_own_labels


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"qid": "1", "prompt_x": "Owls"}\n', "none of these is a usual name of one: prompt_x; rename one to text"),
        ("{'qid': '1'}\n", "line 1: not a JSON object; names and texts need double quotation marks"),
        ('{"qid": 1.0, "query": "Owls"}\n', "line 1: the topic's code is neither a string nor a whole number, got 1.0"),
        ("1\ta\n1\tb\n", "line 2: topic 1 is already in line 1"),
        ("topics of 2020\nand owls\n", "begins with 'topics of 2020'. A topic file contains"),
        ("1 Q0 d1 1 2.5 a\n2 Q0 d1 1 2.5 a\n", "A topic file contains"),
        ('<topics><topic number="1"><title>a</topic></topics>', "not well-formed XML"),
        ("<posts><row/></posts>", "contains <posts>, and no <topic>, <top>"),
    ],
)  # fmt: skip
def test_other_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadFile) as refusal:
        read_topic_file(text.encode(), "topics")

    assert message in refusal.value.message


def test_a_topic_without_text_is_named() -> None:
    text = '{"qid": "1", "query": NaN}\n{"qid": "2", "query": null}\n{"qid": "3", "query": "Owls"}\n'

    assert read_topic_file(text.encode(), "t").notes == ["2 topics have no text: 1 (line 1), 2 (line 2)"]
    with pytest.warns(InputWarning, match="t: 2 topics have no text"):
        read_topics(text.encode(), "t")


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("1\n2\n", ["1", "2"]),
        ("\ufeff001\r\n\r\nenwiki:Owls/Food%20web\r\n", ["001", "enwiki:Owls/Food%20web"]),
        ("topic_id\nA.1\nA.2\n", ["A.1", "A.2"]),
        ("A.1\tanything\nA.2\n", ["A.1", "A.2"]),
    ],
)
def test_a_list_has_one_code_per_line(text: str, codes: list[str], tmp_path: Path) -> None:
    (tmp_path / "codes.txt").write_text(text)

    assert read_topic_codes(tmp_path / "codes.txt") == codes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n1\n1\n2\n2\n", "lines 2, 3: topic 1 is already in line 1; line 5: topic 2 is already in line 4"),
        ("harbor owls\nand tides\n", "A list has one code per line"),
        ("topic,docno,grade\n1,d1,1\n", "A list has one code per line"),
        ("1,tidal power\n2,wave power\n", "begins with '1,tidal power'"),
        ("1;tidal\n2;wave\n", "begins with '1;tidal'"),
        ("1 0 d1 1\n1 0 d2 0\n", "A list has one code per line"),
        ("all\n", "cannot be named 'all'"),
    ],
)
def test_other_text_is_refused_as_a_list(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "codes.txt").write_text(text)

    with pytest.raises(InputError, match=message):
        read_topic_codes(tmp_path / "codes.txt")


def test_command_checks_runs_against_topics_with_ids(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topics, run = tmp_path / "t.xml", tmp_path / "run.txt"
    topics.write_text(FORMS["XML with an element id"][0])
    run.write_text("1 Q0 d1 1 2.5 owls\n3 Q0 d1 1 2.5 owls\n")

    assert main(["check", "--protocol", "trec-adhoc", "--topics", str(topics), str(run)]) == 1
    assert "line 2: unknown topic “3”" in capsys.readouterr().out

    topics.write_text("Owls\nat the harbor\n")
    assert main(["check", "--protocol", "trec-adhoc", "--topics", str(topics), str(run)]) == 2
    assert "A list has one code per line" in capsys.readouterr().err


def test_text_in_no_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"\x81\n")

    with pytest.raises(InputError, match="neither UTF-8 nor Windows-1252"):
        read_topic_codes(tmp_path / "t")


def test_codes_of_trec_car_are_evaluated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = "enwiki:Owl/" + "Food%20web/" * 17
    qrels, run = tmp_path / "q.txt", tmp_path / "r.txt"
    qrels.write_text(f"{code} 0 d1 1\n")
    run.write_text(f"{code} Q0 d2 1 2 owls\n{code} Q0 d1 2 1 owls\n")

    assert main(["evaluate", "--qrels", str(qrels), "--measure", "RR", str(run)]) == 0
    assert "0.5000" in capsys.readouterr().out
    assert assay.evaluate({code: {"d1": 1}}, {"owls": {code: {"d1": 1.0}}}, ["RR"]).means[0, 0] == 1
