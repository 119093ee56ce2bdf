from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.formats.qrels import reader
from assay.formats.qrels.reader import (
    GradeScale,
    QrelsColumns,
    QrelsError,
    columns_from,
    format_qrels,
    parse_qrels,
    read_fast_path,
    read_qrels,
    read_slow_path,
)
from assay.protocols.loader import load_protocol
from tests.helpers.real_files import real_qrels

SMALL = b"A.1\t0\t9\t3\nA.1\t0\t10\t0\nA.10\t0\tx\t1\nA.2\t0\tx\t-1\n"


def rows(columns: QrelsColumns) -> list[tuple[str, bytes, int]]:
    codes = columns.topics[columns.topic_index].tolist()
    return list(zip(codes, columns.docno.tolist(), columns.grade.tolist(), strict=True))


def complaints(text: bytes) -> list[str]:
    with pytest.raises(QrelsError) as refusal:
        parse_qrels(text)
    return [str(complaint) for complaint in refusal.value.complaints]


def test_rows_are_sorted_by_the_bytes_of_topic_and_docno() -> None:
    assert rows(parse_qrels(SMALL)) == [
        ("A.1", b"10", 0),
        ("A.1", b"9", 3),
        ("A.10", b"x", 1),
        ("A.2", b"x", -1),
    ]


@pytest.mark.parametrize("size", [1, 11, 12, 13])
def test_blocks_of_lines_give_the_same_rows(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = SMALL.removesuffix(b"\n")
    expected = rows(parse_qrels(text))
    monkeypatch.setattr(reader, "BLOCK", size)

    columns = read_fast_path(text)

    assert columns is not None
    assert rows(columns) == expected


@pytest.mark.parametrize(
    "text",
    [
        SMALL.replace(b"\n", b"\r\n"),
        SMALL.replace(b"\n", b"\r"),
        b"\xef\xbb\xbf" + SMALL,
        SMALL.rstrip(),
        SMALL.replace(b"\t", b"  \t "),
        b"\n\n" + SMALL.replace(b"\n", b" \n\n"),
        b"   " + SMALL,
        b"".join(sorted(SMALL.splitlines(keepends=True), reverse=True)),
    ],
)
def test_line_ends_white_space_and_order_are_irrelevant(text: bytes) -> None:
    assert rows(parse_qrels(text)) == rows(parse_qrels(SMALL))


@pytest.mark.parametrize(
    ("written", "grade"), [("3", 3), ("+1", 1), ("03", 3), ("3.0", 3), ("2.", 2), ("-1", -1)]
)
def test_a_grade_may_be_written_in_several_ways(written: str, grade: int) -> None:
    assert parse_qrels(f"A.1 0 x {written}".encode()).grade.tolist() == [grade]


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("1.5", "line 1: grade 1.5 is a fraction; grades are whole numbers"),
        ("0.33333", "line 1: grade 0.33333 is a fraction; grades are whole numbers"),
        ("high", "line 1: grade 'high' is not a whole number"),
        ("nan", "line 1: grade 'nan' is not a whole number"),
        ("1e2", "line 1: grade '1e2' is not a whole number"),
        ("-40000", "line 1: grade -40000 is out of range; grades from -999 to 999999999 are accepted"),
        ("99999999999999999999", "line 1: grade '99999999999999999999' is not a whole number"),
        ("٣", "line 1: grade '٣' is not a whole number"),
    ],
)
def test_any_other_grade_is_refused(written: str, complaint: str) -> None:
    assert complaints(f"A.1 0 x {written}".encode()) == [complaint]


def test_every_complaint_has_its_line() -> None:
    text = (
        b"A.1 0 x 1\nA.1 0 1\nA.1 0 y 1 2\nA.1 0 x 2\nA.1 0 a\0b 1\n"
        + b"t" * 401
        + b" 0 x 1\nA.1 0 "
        + b"d" * 401
        + b" 1\n"
    )

    assert complaints(text) == [
        "line 2: expected 4 columns (topic, 0, docno, grade), got 3",
        "line 3: expected 4 columns (topic, 0, docno, grade), got 5",
        "line 4: document x of topic A.1 is already in line 1",
        "line 5: the docno contains a NUL byte",
        "line 6: the topic has 401 bytes; at most 400 are accepted",
        "line 7: the docno has 401 bytes; at most 400 are accepted",
    ]


def test_complaints_are_counted_beyond_the_first_hundred() -> None:
    with pytest.raises(QrelsError) as refusal:
        parse_qrels(b"no qrels\n" * 1000)

    assert len(refusal.value.complaints) == 100
    assert refusal.value.n_complaints == 1000
    assert str(refusal.value).endswith("; and 900 more")


@pytest.mark.parametrize("text", [b"", b"\n\r\n  \n", b"\xef\xbb\xbf"])
def test_a_file_without_lines_is_refused(text: bytes) -> None:
    assert complaints(text) == ["the file contains no qrels; expected lines of topic, 0, docno, grade"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "windows-1252", "utf-8-sig"])
def test_other_encodings_are_read(encoding: str) -> None:
    text = "".join(f"A.1 0 {docno} 1\n" for docno in ("é", "x", "y"))

    assert rows(parse_qrels(text.encode(encoding))) == [
        ("A.1", docno.encode(), 1) for docno in ("x", "y", "é")
    ]


def test_marks_of_joined_files_and_ctrl_z_are_left_out() -> None:
    assert rows(parse_qrels("\ufeff1 0 a 1\n\ufeff2 0 a 1\n\x1a".encode())) == [
        ("1", b"a", 1),
        ("2", b"a", 1),
    ]


def test_docnos_are_text_even_if_they_look_like_numbers() -> None:
    text = (
        'A.1 0 0012 1\nA.1 0 1e5 1\nA.1 0 a#b 1\nA.1 0 "q 1\nA.1 0 x,y 1\nA.1 0 Ł:3 1\nA.1 0 A 1\nA.1 0 a 1\n'
    )

    docnos = parse_qrels(text.encode()).docno.tolist()

    assert docnos == sorted(word.encode() for word in ["0012", "1e5", "a#b", '"q', "x,y", "Ł:3", "A", "a"])


def test_the_same_qrels_give_the_same_file() -> None:
    assert format_qrels(parse_qrels(SMALL)) == b"A.1\t0\t10\t0\nA.1\t0\t9\t3\nA.10\t0\tx\t1\nA.2\t0\tx\t-1\n"


def test_official_qrels_are_read_completely(data: Path) -> None:
    columns = parse_qrels(real_qrels(data).read_bytes())

    assert (len(columns.topics), len(columns.grade)) == (77, 39_124)


def test_grades_of_two_judges_as_ntcir_writes_them_are_read(data: Path) -> None:
    columns = parse_qrels((data / "ntcir" / "qrels.ntcir12-math-browsing-concrete.txt").read_bytes())

    assert sorted(set(columns.grade.tolist())) == [0, 1, 2, 3, 4]


def test_official_qrels_with_fractions_are_refused_by_line(data: Path) -> None:
    messages = complaints((data / "ntcir" / "NTCIR12-ArXiv-Math.dat").read_bytes())

    assert len(messages) == 3
    assert all("is a fraction" in complaint for complaint in messages)


WORDS = st.text(st.characters(blacklist_categories=["Cc", "Cs", "Zs", "Zl", "Zp"]), min_size=1, max_size=12)
# A line cannot begin with a byte-order mark: readers take marks there as those of joined files.
TOPICS = WORDS.filter(lambda text: not text.startswith("\ufeff"))


@given(st.dictionaries(st.tuples(TOPICS, WORDS), st.integers(-999, 999), min_size=1))
def test_written_qrels_are_read_again(units: dict[tuple[str, str], int]) -> None:
    columns = columns_from((topic.encode(), docno.encode(), grade) for (topic, docno), grade in units.items())

    assert rows(parse_qrels(format_qrels(columns))) == rows(columns)
    assert sorted(rows(columns)) == sorted(
        (topic, docno.encode(), grade) for (topic, docno), grade in units.items()
    )


@given(
    st.lists(
        st.tuples(
            WORDS,
            st.sampled_from(["0", "xxx"]),
            WORDS,
            st.sampled_from(["0", "3", "-1", "2.0", "+1", "007", "1.5", "x", ""]),
        ),
        max_size=30,
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([" ", "\t", "  "]),
)
def test_fast_path_gives_the_rows_of_the_slow_path_or_nothing(
    lines: list[tuple[str, str, str, str]], end: str, blank: str
) -> None:
    text = "".join(blank.join(line) + end for line in lines).encode()

    fast = read_fast_path(text)

    if fast is not None:
        assert rows(fast) == rows(read_slow_path(text))


def test_usual_qrels_of_a_command_take_the_fast_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "qrels.txt"
    path.write_bytes(b"1\t0\td1\t1\n2\t0\td2\t0\n")
    monkeypatch.setattr("assay.formats.qrels.reader.read_slow_path", lambda *_: pytest.fail("line by line"))

    columns = read_qrels(str(path), load_protocol("trec-adhoc"))

    assert rows(columns) == [("1", b"d1", 1), ("2", b"d2", 0)]


def test_regular_qrels_take_the_fast_path(data: Path) -> None:
    for path in sorted((data / "arqmath" / "qrels").iterdir()):
        text = path.read_bytes()

        fast = read_fast_path(text)

        assert fast is not None, path.name
        assert rows(fast) == rows(read_slow_path(text))


def test_a_line_that_begins_with_a_number_sign_is_a_comment_as_in_trec_eval() -> None:
    assert rows(parse_qrels(b"# made by hand\n#\nA.1 0 #x 1\n#A.1 0 y 2\n")) == [("A.1", b"#x", 1)]


@pytest.mark.parametrize(
    "text",
    [
        "topic\tdocno\tgrade\nA.1\t9\t3\nA.1\t10\t0\nA.10\tx\t1\nA.2\tx\t-1\n",
        "topic,docno,grade\r\nA.1,9,3\r\nA.1,10,0\r\nA.10,x,1\r\nA.2,x,-1\r\n",
        "\ufeffGrade,Topic_ID,Post_Id\n3,A.1,9\n0,A.1,10\n1,A.10,x\n-1,A.2,x",
        '"topic","docno","grade"\n"A.1","9","3"\n\n"A.1","10","0"\n"A.10","x","1"\n"A.2","x",-1\n',
        "query_id\t0\tdoc_id\trelevance\nA.1\t0\t9\t3.0\nA.1\t0\t10\t0\nA.10\t0\tx\t1\nA.2\t0\tx\t-1\n",
    ],
)
def test_tables_with_a_header_are_read(text: str) -> None:
    assert rows(parse_qrels(text.encode())) == rows(parse_qrels(SMALL))


@pytest.mark.parametrize(
    "text",
    [
        "topic;docno;grade\r\n1;d1;1\r\n1;d3;2\r\n",
        "sep=;\r\ntopic;docno;grade\r\n1;d1;1\r\n1;d3;2\r\n",
        "\ufeffTopic;Docno;Grade\n1;d1;1,0\n1;d3;2,00\n",
        "# made by hand\n\ntopic,docno,grade\n1,d1,1\n1,d3,2\n",
        "topic,docno,grade,,\n1,d1,1,,\n1,d3,2,,\n,,,,\n",
        "query,docid,rating\n1,d1,1\n1,d3,2\n",
        ",qid,docno,label\n0,1,d1,1\n1,1,d3,2\n",
        "query-id\tcorpus-id\tscore\n1\td1\t1\n1\td3\t2\n",
        '"sep=\t"\n"qid"\t"doc id"\t"relevance"\n1\td1\t1\n1\td3\t2\n',
    ],
)
def test_tables_of_spreadsheets_and_programs_are_read(text: str) -> None:
    assert rows(parse_qrels(text.encode())) == [("1", b"d1", 1), ("1", b"d3", 2)]


def test_qrels_of_subtopics_are_recognized_without_a_measure_of_them() -> None:
    with pytest.raises(QrelsError, match="as in qrels of subtopics: name a measure of subtopics"):
        parse_qrels(b"1 1 a 1\n1 2 a 0\n1 3 a 1\n")


@pytest.mark.parametrize(
    "text",
    [
        '{"1": {"d1": 1, "d3": 2.0}}',
        '{\n  "1": {\n    "d3": 2,\n    "d1": "1"\n  }\n}\n',
        '{"query":"1","doc_id":"d1","rating":1,"case_id":7}\n\n{"query":1,"doc_id":"d3","rating":2}\n',
        '[{"qid": "1", "docno": "d1", "label": 1}, {"qid": "1", "docno": "d3", "label": 2}]',
    ],
)
def test_json_of_programs_is_read(text: str) -> None:
    assert rows(parse_qrels(text.encode())) == [("1", b"d1", 1), ("1", b"d3", 2)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "1 d1 1\n1 d2 0\n",
            "lines 1, 2: expected .*, got 3. If the .* insert a column of zeros after the topic",
        ),
        (
            "1,0,d1,1\n",
            r"got 1 \(columns are separated by tabs or spaces, not by commas\). A table with commas .*",
        ),
        (
            "1;d1;1\n",
            "not by semicolons.*begins with a line that names its columns, such as topic,docno,grade",
        ),
        ("1\u00a00\u00a0d1\u00a01\n", "got 1 .a no-break space does not separate columns"),
        ("1 Q0 d1 1 3.5 r\n", "^The lines look like those of a run.*; line 1: expected 4 columns .*got 6$"),
        ('{"1": {"d1": 1,\n"d1": 0}}', "^line 2: document d1 of topic 1 is already in line 1"),
        ('{"1": {"d1": null}}', "grade 'null' is not a whole number"),
        ('{"topic": "1", "docno": "d1"}\n', "expected an object with the keys topic, docno and grade"),
        ('{"1": {"\\ud83d": 1}}', "the docno is not UTF-8"),
        ("[7", "the line is not JSON"),
    ],
)
def test_other_files_are_refused_with_advice(text: str, reason: str) -> None:
    with pytest.raises(QrelsError, match=reason):
        parse_qrels(text.encode())


def test_grades_may_be_words_of_the_protocol() -> None:
    scale = GradeScale.of(load_protocol("arqmath-2020-task1"))
    text = b"topic,docno,grade\nA.1,a,High\nA.1,b,not relevant\nA.1,c,2\nA.1,d,unknown word\n"

    with pytest.raises(QrelsError, match=r"^line 5: grade 'unknown word' is not a whole number$"):
        parse_qrels(text, grades=scale)
    assert rows(parse_qrels(text.replace(b"unknown word", b"LOW"), grades=scale)) == [
        ("A.1", b"a", 3), ("A.1", b"b", 0), ("A.1", b"c", 2), ("A.1", b"d", 1)
    ]  # fmt: skip


def test_wrong_lines_of_a_table_are_reported() -> None:
    text = 'topic,docno,grade\nA.1,9,3\nA.1,9,2\nA.1,10\nA.1,"a b",1\nA.1,,1\nA.1,12,1.5\nA.1,13,high\n'

    assert complaints(text.encode()) == [
        "line 3: document 9 of topic A.1 is already in line 2",
        "line 4: expected 3 columns as in the header, got 2",
        "line 5: topic and docno must be words, without white space, and grade not empty",
        "line 6: topic and docno must be words, without white space, and grade not empty",
        "line 7: grade 1.5 is a fraction; grades are whole numbers",
        "line 8: grade 'high' is not a whole number",
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"topic,docno,grade\nA.1,\x81,1\n", "Line 2 is neither UTF-8 nor Windows-1252 (byte 0x81)."),
        (b'topic,docno,grade\nA.1,"x,1\n', "line 2: not a row of a table: unexpected end of data"),
        (
            b'topic,docno,"grade\nA.1,x,1\n',
            "line 1: the header has a quotation mark that does not end in its line",
        ),
        (
            b'topic,docno,"grade\nA.1,x,1"\n',
            "line 1: the header has a quotation mark that does not end in its line",
        ),
        (b"topic,docno,grade\n", "the file contains no qrels; expected lines of topic, 0, docno, grade"),
        (b"topic,docno,grade\nA.1,a\0b,1\n", "line 2: the docno contains a NUL byte"),
    ],
)
def test_a_broken_table_is_refused(text: bytes, complaint: str) -> None:
    assert complaints(text) == [complaint]


@pytest.mark.parametrize(
    ("written", "scale", "grade"),
    [
        ("0.6666666666666666", 3, 2),
        ("1.0", 3, 3),
        ("2", 2, 4),
        ("2.5", 2, 5),
        ("1.33", 3, 4),
        ("-1", 3, -1),
        ("0", 3, 0),
    ],
)
def test_fractions_are_multiplied_by_the_scale(written: str, scale: int, grade: int) -> None:
    assert parse_qrels(f"A.1 0 x {written}".encode(), scale=scale).grade.tolist() == [grade]


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("0.5", "grade 0.5 times 3 is 1.5, not a whole number"),
        ("0.7", "grade 0.7 times 3 is 2.1, not a whole number"),
        ("-0.5", "grade -0.5 times 3 is -1.5, not a whole number"),
        ("400000000", "grade 400000000 is out of range; grades from -999 to 999999999 are accepted"),
        ("400.5", "grade 400.5 times 3 is 1201.5, not a whole number"),
        (
            "400000000.33333",
            "grade 400000000.33333 times 3 is out of range; grades up to 999999999 are accepted",
        ),
        ("1e2", "grade '1e2' is not a whole number"),
    ],
)
def test_scaled_grades_must_be_whole_numbers(written: str, complaint: str) -> None:
    with pytest.raises(QrelsError) as refusal:
        parse_qrels(f"A.1 0 x {written}".encode(), scale=3)

    assert str(refusal.value) == f"line 1: {complaint}"


def test_official_fractions_of_three_judges_are_thirds(data: Path) -> None:
    text = (data / "ntcir" / "NTCIR12-ArXiv-Math.dat").read_bytes()

    grades = parse_qrels(text, scale=3).grade.tolist()

    assert Counter(grades) == {0: 2961, 2: 1, 3: 440, 4: 1, 6: 434, 8: 1, 9: 141, 12: 272}
