"""Rows of dumps and lines of JSON are converted, skipped with a reason, or refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.formats.documents import jsonl, stackexchange, table_rows
from assay.formats.documents.batch import AGAIN, REPLACED, WINDOWS_1252, Batch, Malformed
from assay.html.tidy import MAX_DEPTH
from tests.helpers.dumps import answer, question, row

DOCUMENT = [
    "docno",
    "kind",
    "thread",
    "title",
    "body",
    "tags",
    "score",
    "accepted",
    "author_code",
    "author_name",
]
DOCUMENT += ["published", "language", "source"]


def rows_of(batch: Batch, table: str) -> list[list[str]]:
    """Staged rows, read back from COPY's text form."""
    lines = batch.lines.get(table, {}).values()
    escapes = {"\\t": "\t", "\\n": "\n", "\\r": "\r", "\\\\": "\\"}
    rows_of_table = []
    for line in lines:
        fields = line.removesuffix("\n").split("\t")
        for written, meant in escapes.items():
            fields = [field.replace(written, meant) for field in fields]
        rows_of_table.append(fields)
    return rows_of_table


def post_of(text: str) -> dict[str, str]:
    (fields,) = rows_of(stackexchange.convert(text.encode(), "posts"), "document")
    return dict(zip(DOCUMENT, fields, strict=True))


def reasons(text: str | bytes, form: str = "posts") -> dict[str, int]:
    data = text if isinstance(text, bytes) else text.encode()
    return dict(stackexchange.convert(data, form).skipped)


def test_question_of_the_site() -> None:
    post = post_of(
        question(7, Title="Is $x<1$?", AcceptedAnswerId=9, OwnerUserId=-1, Tags="<limits><real-analysis>")
    )

    assert (post["docno"], post["kind"], post["thread"]) == ("7", "question", "7")
    assert post["tags"] == '{"limits","real-analysis"}'
    assert (post["accepted"], post["author_code"]) == ("9", "-1")
    assert post["published"] == "2019-01-02T03:04:05.678000+00:00"
    assert "math-container" in post["title"]


def test_newer_tags_between_bars() -> None:
    assert post_of(question(7, Tags="|limits|real-analysis|"))["tags"] == '{"limits","real-analysis"}'


def test_answer_of_arqmath_keeps_its_formula_ids() -> None:
    body = '<p>So <span class="math-container" id="39">\\sqrt{2}</span>.</p>'

    post = post_of(answer(8, 7, Body=body))

    assert (post["kind"], post["thread"]) == ("answer", "7")
    assert 'data-formula-id="39"' in post["body"]
    assert "\\sqrt{2}" in post["body"]


def test_deleted_owner_leaves_a_name_or_nothing() -> None:
    assert post_of(question(7, OwnerDisplayName="user23"))["author_name"] == "user23"
    assert post_of(question(7))["author_code"] == ""


def test_other_posts_are_skipped_by_their_type() -> None:
    text = "".join(row(Id=n, PostTypeId=kind, Body="x") for n, kind in enumerate([4, 5, 5, 99], 1))

    assert reasons(text) == {
        "a post that is not a question or answer: a tag wiki excerpt": 1,
        "a post that is not a question or answer: a tag wiki": 2,
        "a post that is not a question or answer: of type 99": 1,
    }


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"Id": ""}, "Id is missing"),
        ({"Id": "12a"}, "Id is not a whole number"),
        ({"Id": "٣"}, "Id is not a whole number"),
        ({"Id": "9" * 30}, "Id is not a whole number"),
        ({"PostTypeId": ""}, "a post that is not a question or answer: without PostTypeId"),
        ({"PostTypeId": "2"}, "an answer without ParentId"),
        ({"PostTypeId": "2", "ParentId": "x"}, "ParentId is not a whole number"),
        ({"CreationDate": "yesterday"}, "CreationDate is not a date"),
        ({"CreationDate": "0001-01-01T00:00:00"}, "CreationDate is not a date"),
        ({"CreationDate": "2019-02-30T00:00:00"}, "CreationDate is not a date"),
        ({"Score": "many"}, "Score is not a whole number"),
        ({"Score": "99999999999"}, "Score is not a whole number"),
        ({"OwnerUserId": "me"}, "OwnerUserId is not a whole number"),
        ({"Body": "x" * 1_000_001}, "Body is longer than 1,000,000 characters"),
    ],
)
def test_unusable_row_is_skipped_with_its_reason(attributes: dict[str, str], reason: str) -> None:
    text = question(1) + question(2, **attributes) + question(3)

    batch = stackexchange.convert(text.encode(), "posts")

    assert dict(batch.skipped) == {reason: 1}
    assert [fields[0] for fields in rows_of(batch, "document")] == ["1", "3"]


@pytest.mark.parametrize(
    "body",
    [
        b"a&#0;b",
        b"a&#x1F;b",
        b"a&#xD800;b",
        b"a\x00b",
        b"a\x1fb",
        b"a\xff\xfeb",
        b"a\xed\xa0\x80b",
        b"&#xFFFFFFFF;",
    ],
)
def test_characters_that_xml_does_not_allow_are_replaced_and_counted(body: bytes) -> None:
    text = question(1).encode() + b'<row Id="2" PostTypeId="1" Body="%b" />' % body + answer(3, 2).encode()

    batch = stackexchange.convert(text, "posts")

    assert [fields[0] for fields in rows_of(batch, "document")] == ["1", "2", "3"]
    assert (batch.skipped, batch.counts["questions"], batch.counts["answers"]) == ({}, 2, 1)
    assert batch.counts[REPLACED] + batch.counts[WINDOWS_1252] > 0


@pytest.mark.parametrize(
    "broken",
    [
        b'<row Id="2" PostTypeId="1" Body="never closed />\n',
        b'<row Id="2" Id="3" />\n',
        b'<row Id="2" Body="a & b" />\n',
        b'<row Id="2" Body="&lol9;" />\n',
        b'<row Id="2">\n',
        b"</rows><rows>\n",
        b'<row Id="2" Body="<b>" />\n',
        b"<![CDATA[ <row /> ]]>\n",
        b"<!-- <row /> -->\n",
        b"<?php evil ?>\n",
        b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n',
    ],
)
def test_broken_xml_is_refused_with_its_line(broken: bytes) -> None:
    text = question(1).encode() + broken + question(3).encode()

    with pytest.raises(Malformed) as fault:
        stackexchange.convert(text, "posts")

    # Text that is not a row counts as part of the row before it.
    assert fault.value.n_lines == (0 if broken.startswith(b"</") else 1)
    assert fault.value.offset == (text.index(b"<row") if broken.startswith(b"</") else text.index(broken))


def test_text_between_rows_is_refused_at_the_row_before() -> None:
    text = question(1) + question(2) + "stray" + question(3)

    with pytest.raises(Malformed, match="only rows are accepted here") as fault:
        stackexchange.convert(text.encode(), "posts")

    assert fault.value.n_lines == 1


def test_other_elements_are_counted() -> None:
    assert reasons("<note>x</note>" + question(1)) == {"an element <note> that is not a row": 1}


def test_repeated_row_counts_once_with_its_last_content() -> None:
    batch = stackexchange.convert((question(1) + question(1, Title="Second")).encode(), "posts")

    assert [fields[3] for fields in rows_of(batch, "document")] == ["Second"]
    assert (batch.counts["questions"], batch.skipped[AGAIN]) == (1, 1)


def test_comment_with_markdown() -> None:
    batch = stackexchange.convert(row(Id=5, PostId=7, Text="`x` *y*", Score=2, UserId=3).encode(), "comments")

    (fields,) = rows_of(batch, "comment")
    assert fields[:2] == ["7", "5"]
    assert "<code>x</code>" in fields[2]


def test_links_of_other_types_and_to_itself_are_skipped() -> None:
    kinds = [(1, 2, 1), (1, 3, 3), (1, 4, 9), (1, 1, 1)]
    text = "".join(row(Id=n, PostId=a, RelatedPostId=b, LinkTypeId=c) for n, (a, b, c) in enumerate(kinds))

    batch = stackexchange.convert(text.encode(), "postlinks")

    assert rows_of(batch, "link") == [["1", "2", "related"], ["1", "3", "duplicate"]]
    assert sum(batch.skipped.values()) == 2


def test_votes_are_counted_by_post_and_type() -> None:
    text = "".join(row(Id=n, PostId=1 + n % 2, VoteTypeId=2) for n in range(5)) + row(Id=9, VoteTypeId=2)

    batch = stackexchange.convert(text.encode(), "votes")

    assert batch.pack().tables["vote"] == b"1\t2\t3\n2\t2\t2\n"
    assert dict(batch.skipped) == {"PostId is missing": 1}


def test_user_without_a_name_gets_one() -> None:
    batch = stackexchange.convert(
        (row(Id=-1, DisplayName="Community") + row(Id=4, Reputation=9)).encode(), "users"
    )

    assert rows_of(batch, "author") == [["-1", "Community", "\\N"], ["4", "user4", "9"]]


def test_markup_that_is_nested_too_deeply_loses_its_inner_tags() -> None:
    post = post_of(question(1, Body="<b><i><a><table>" * 60_000 + "the end"))

    assert "the end" in post["body"]
    assert post["body"].count("<") <= 2 * MAX_DEPTH


def line(**values: Any) -> bytes:
    return json.dumps(values).encode() + b"\n"


def test_json_document_with_everything() -> None:
    given = {
        "docno": "a/1:2,é",
        "kind": "answer",
        "thread": "q",
        "title": "$x$",
        "body": "<b>y</b>",
        "tags": ["s t"],
    }
    more = {"score": -3, "author": "Ada", "published": "2020-01-01T00:00:00+02:00", "language": "arz"}
    comment = {"id": 1, "text": "so", "score": 2, "author": "Bob"}

    batch = jsonl.convert(line(**given, **more, comments=[comment]))

    (fields,) = rows_of(batch, "document")
    post = dict(zip(DOCUMENT, fields, strict=True))
    assert (post["docno"], post["kind"], post["thread"], post["score"]) == ("a/1:2,é", "answer", "q", "-3")
    assert (post["tags"], post["author_name"]) == ('{"s t"}', "Ada")
    assert (post["published"], post["language"]) == ("2019-12-31T22:00:00+00:00", "arz")
    assert rows_of(batch, "comment")[0][:2] == ["a/1:2,é", "1"]
    assert dict(batch.counts) == {"answers": 1}


def test_json_document_of_plain_text_is_escaped() -> None:
    (fields,) = rows_of(jsonl.convert(line(docno=12, text="a <b> c\n\nd")), "document")

    assert fields[:3] == ["12", "document", "12"]
    assert "&lt;b&gt;" in fields[4]
    assert fields[4].count("<p>") == 2


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
@pytest.mark.parametrize("key", ["title", "body", "text", "author", "tags", "comments"])
def test_characters_that_the_database_cannot_store_are_replaced_and_counted(key: str, text: str) -> None:
    value: object = {"tags": [text], "comments": [{"id": "1", "text": text}]}.get(key, text)

    batch = jsonl.convert(line(docno="before") + line(docno="1", **{key: value}) + line(docno="after"))

    assert [fields[0] for fields in rows_of(batch, "document")] == ["before", "1", "after"]
    lines = batch.lines["comment" if key == "comments" else "document"]
    assert "a b" in "".join(lines.values())
    assert (batch.skipped, batch.counts[REPLACED]) == ({}, 1)


def test_marks_of_joined_files_and_the_end_of_old_ones_are_left_out() -> None:
    batch = jsonl.convert('{"docno": "1"}\n\ufeff{"docno": "2"}\n\x1a'.encode())
    table = table_rows.convert("1\ta\n\ufeff2\tb\n\x1a".encode(), "tsv docno=1 text=2 of=2")

    for each in (batch, table):
        assert [fields[0] for fields in rows_of(each, "document")] == ["1", "2"]
        assert each.skipped == {}


def test_line_that_is_not_utf8_is_read_as_windows_1252() -> None:
    batch = jsonl.convert('{"docno": "1", "text": "é"}\n'.encode() + b'{"docno": "2", "text": "\xe9"}\n')

    assert [fields[4] for fields in rows_of(batch, "document")] == ["<p>é</p>", "<p>é</p>"]
    assert batch.counts[WINDOWS_1252] == 1


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({}, jsonl.NO_DOCNO),
        ({"docno": "a b"}, "docno contains white space or is longer than 200 characters"),
        ({"docno": "a" * 201}, "docno contains white space or is longer than 200 characters"),
        ({"docno": True}, "docno is not a string"),
        ({"docno": "1", "kind": "memo"}, "kind is not one of question, answer, document, thread, post"),
        ({"docno": "1", "kind": ["question"]}, "kind is not one of question, answer, document, thread, post"),
        (
            {"docno": "1", "kind": "answer"},
            "an answer without a thread: give the docno of its question as thread, or leave kind out",
        ),
        ({"docno": "1", "title": 5}, "title is not a string"),
        (
            {"docno": "a\x00b"},
            "docno has characters that a text cannot contain (NUL, half a surrogate pair)",
        ),
        ({"docno": "1", "tags": "a"}, "tags is not a list"),
        ({"docno": "1", "tags": [1]}, "a tag is not a string"),
        ({"docno": "1", "score": 1.5}, "score is not a whole number"),
        ({"docno": "1", "score": 10**40}, "score is not a whole number"),
        ({"docno": "1", "published": "soon"}, "published is not a date"),
        ({"docno": "1", "comments": {}}, "comments is not a list"),
        ({"docno": "1", "comments": ["x"]}, "a comment is not an object"),
        ({"docno": "1", "comments": [{"text": "x"}]}, "a comment's id is missing"),
    ],
)
def test_unusable_json_document_is_skipped_with_its_reason(values: dict[str, Any], reason: str) -> None:
    batch = jsonl.convert(line(docno="before") + line(**values) + line(docno="after"))

    assert dict(batch.skipped) == {reason: 1}
    assert [fields[0] for fields in rows_of(batch, "document")] == ["before", "after"]


@pytest.mark.parametrize(
    "broken",
    [
        b"{",
        b"[]",
        b'"text"',
        b"NaN",
        b'{"score": NaN, "docno": "1"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"docno": "1", "score": ' + b"1" * 5000 + b"}",
    ],
)
def test_line_without_a_json_object_is_refused_with_its_line(broken: bytes) -> None:
    with pytest.raises(Malformed) as fault:
        jsonl.convert(line(docno="1") + b"\n" + broken + b"\n")

    assert fault.value.n_lines == 2


def test_real_dump_is_converted_completely(data: Path) -> None:
    for file in sorted((data / "stackexchange").glob("*ndexTest.xml")):
        content = file.read_bytes()
        rows = content[content.index(b"<row") : content.rindex(b"</")]
        batch = stackexchange.convert(rows, "posts")
        assert sum(batch.counts.values()) == rows.count(b"<row")
        assert not batch.skipped
