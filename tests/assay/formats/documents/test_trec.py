"""Documents in TREC's SGML: the parts of several collections, what is skipped, and chunks of any size."""

import io
from pathlib import Path

import pytest

from assay import samples
from assay.errors import BadFile
from assay.formats.documents import forum, table_rows, tables
from assay.formats.documents.batch import Batch, Malformed
from assay.formats.documents.dump import Reader
from assay.formats.documents.jsonl import NO_DOCNO
from assay.formats.documents.trec import convert
from assay.html.forum import Span, passage
from tests.assay.formats.documents.test_converters import rows_of

SAMPLE = samples.path("trec-documents.txt").read_bytes()
MIXED = b"""stray
<DOC>
<DOCNO>FT911-1</DOCNO>
<PROFILE>_AN-BEO</PROFILE>
<HEADLINE>
FT  14 MAY 91 / Owls &hyph; caf\xe9 from $5 to $6
</HEADLINE>
<!-- PJG 0012 -->
<TEXT>
First paragraph &amp;
goes on <F P=105>here</F> too.
  Indented one
goes on, a < b.
</TEXT>
<PUB>The Financial Times
</PUB>
</DOC>
<DOC id="AFP_1" type="story"><BODY><HEAD>One</HEAD><HEAD>Two</HEAD><TEXT><P>a</P><P>b</P></TEXT></BODY></DOC>
<DOC><DOCNO>GX1</DOCNO><DOCHDR>http://x
HTTP/1.1</DOCHDR><html><title>T</title><h1>Hi</h1><script>alert(1)</script><p>x <b>bold</b></html></DOC>
<DOC><DOCNO>empty</DOCNO></DOC>
<DOC><DOCNO>a b</DOCNO><TEXT>x</TEXT></DOC>
"""


def rows(batch: Batch) -> dict[str, tuple[str, str]]:
    """Title and body by docno."""
    lines = (line.split("\t") for line in batch.lines["document"].values())
    return {cells[0]: (cells[3], cells[4]) for cells in lines}


def test_documents_of_several_collections_are_read_with_all_their_parts() -> None:
    batch = convert(MIXED)

    assert rows(batch) == {
        "FT911-1": (
            "FT 14 MAY 91 / Owls - café from $5 to $6".replace("$", '<span class="dollar">$</span>'),
            (
                "<p>First paragraph &amp; goes on here too.</p><p>Indented one goes on, a &lt; b.</p>"
                "<p><b>Profile:</b> _AN-BEO</p><p><b>Pub:</b> The Financial Times</p>"
            ),
        ),
        "AFP_1": ("One", "<p>a</p><p>b</p><p><b>Head:</b> Two</p>"),
        "GX1": ("T", "<h4>Hi</h4><p>x <b>bold</b></p>"),
    }
    assert batch.counts == {"documents": 3, "read as Windows-1252": 1}
    assert batch.skipped_lines == {
        "text outside of <DOC>": [0],
        "a document: it has no text": [20],
        "a document: its DOCNO contains white space or is longer than 200 characters": [21],
    }


@pytest.mark.parametrize(
    "data", [SAMPLE[:-8], SAMPLE.replace(b"</DOC>", b"", 1)], ids=["cut off", "not closed"]
)
def test_document_without_an_end_is_refused_at_its_place(data: bytes) -> None:
    with pytest.raises(Malformed, match="the document has no end, </DOC>") as fault:
        convert(data)

    assert fault.value.n_lines in {0, data.count(b"\n", 0, data.rfind(b"<DOC>"))}


@pytest.mark.parametrize("size", [1000, 70_000])
def test_chunks_of_any_size_have_all_documents(size: int) -> None:
    data = b"".join(SAMPLE.replace(b"HN0", b"HN%d" % number) for number in range(200))
    chunks = list(Reader(io.BytesIO(data), "hn890101", size=size))

    batches = [convert(chunk.data) for chunk in chunks]

    assert b"".join(chunk.data for chunk in chunks) == data
    assert sum(batch.counts["documents"] for batch in batches) == 800
    assert not any(batch.skipped for batch in batches)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (b"docno\ttitle\ttext\n1\ta\tb\n", ("tsv docno=1 title=2 text=3 of=3", 17)),
        (b"url,pid,passage\n", ("csv docno=2 text=3 of=3", 16)),
        (b"pid,passage", ("csv docno=1 text=2 of=2", 11)),
        (b"sep=;\r\npid;passage\r\n1;a", ("ssv docno=1 text=2 of=2", 20)),
        (b"1\ttides\n", None),
        (b"text\n", None),
    ],
)
def test_header_gives_the_form(text: bytes, form: tuple[str, int] | None) -> None:
    assert tables.headed(text) == form
    assert form is None or tables.is_table(form[0])


@pytest.mark.parametrize(
    ("text", "is_plain"),
    [
        (b"1\ttides\n2\twin", True),
        (b"1\ttides", True),
        (b"", False),
        (b"1\ta\tb\n", False),
        (b"1 a\n", False),
    ],
)
def test_table_of_two_columns_needs_no_header(text: bytes, is_plain: bool) -> None:
    assert tables.is_plain(text) is is_plain


@pytest.mark.parametrize(
    ("buffer", "end"),
    [(b'1,"a\nb"\n2,c\n3', 12), (b'1,12" pipe\n2,"a\n', 11), (b'1,"a""\n', 0), (b"1,a", 0)],
)
def test_buffer_is_cut_after_its_last_complete_row(buffer: bytes, end: int) -> None:
    assert tables.cut(buffer) == end


def test_rows_become_documents_and_others_are_counted_with_their_lines() -> None:
    data = b'd1,"tides, and\nwaves"\n\nd2,cats, dogs\nd3\n,nameless\nd4,\xff\nd5,wind\n'

    batch = table_rows.convert(data, "csv docno=1 text=2 of=2")

    (lines,) = batch.lines.values()
    assert list(lines) == ["d1", "d4", "d5"]
    assert {reason: batch.skipped_lines[reason] for reason in batch.skipped} == {
        "more columns than the header or first row": [3],
        "fewer columns than the header or first row": [4],
        NO_DOCNO: [5],
    }


def test_tabs_need_no_quotation() -> None:
    batch = table_rows.convert(b'd1\t12" pipe\r\nd2\t"say ""tides"""\n', "tsv docno=1 text=2 of=2")

    (lines,) = batch.lines.values()
    assert ['12" pipe' in lines["d1"], 'say "tides"' in lines["d2"]] == [True, True]


def test_quotation_that_is_not_closed_is_refused_with_its_place() -> None:
    with pytest.raises(Malformed, match="not a row of a table") as refusal:
        table_rows.convert(b'd1,a\nd2,"b\n', "csv docno=1 text=2 of=2")

    assert (refusal.value.offset, refusal.value.n_lines) == (5, 1)


THREADS = samples.path("bolt-threads.xml").read_bytes()
DOCS = THREADS.partition(b"?>\n")[2]


def test_posts_of_the_sample_keep_their_source() -> None:
    posts = {docno: source for docno, source, _ in forum.sources([samples.path("bolt-threads.xml")])}

    assert len(posts) == 8
    source = posts["bolt-eng-DF-1-101:p1"]
    assert source.startswith("\nThere is an owl")
    assert passage(source, Span(41, 30)) == "It sings every night & nob"
    assert passage(posts["bolt-cmn-DF-3-303:p1"], Span(1, 13)) == "港口的旧吊车上有一只猫头鹰"


def test_thread_and_posts_become_rows_with_language_and_source() -> None:
    documents = rows_of(forum.convert(DOCS), "document")

    kinds = {row[0]: (row[1], row[2], row[11]) for row in documents}
    assert kinds["bolt-arz-DF-2-202"] == ("thread", "bolt-arz-DF-2-202", "arz")
    assert kinds["bolt-arz-DF-2-202:p2"] == ("post", "bolt-arz-DF-2-202", "arz")
    owls = next(row for row in documents if row[0] == "bolt-eng-DF-1-101")
    assert (owls[3], owls[12]) == ("Owls at the harbor", "")
    second = next(row for row in documents if row[0] == "bolt-eng-DF-1-101:p2")
    assert second[4].startswith("<blockquote><p><small>Marek:</small></p>")
    assert (second[9], second[10]) == ("Emmy", "2011-03-01T22:40:00+00:00")


def test_real_file_is_read(data: Path) -> None:
    posts = {docno: source for docno, source, _ in forum.sources([data / "forum/DF-sample.xml"])}

    assert list(posts) == [f"ENG_DF_sample_101:p{n}" for n in range(1, 5)]
    assert posts["ENG_DF_sample_101:p4"] == '\n<quote orig_author="Mack67">\nHalal?\n</quote>\nTandoori.\n'


def test_threads_are_cut_at_any_byte() -> None:
    text = THREADS * 60

    parts = [chunk.data for chunk in Reader(io.BytesIO(text), "x.xml", size=500)]

    assert b"".join(parts) == text.partition(b"?>\n")[2]
    assert len(parts) > 30
    assert sum(len(list(forum.threads(part))) for part in parts) == 180


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("late for the ferry?\n</post>", "", "line 28 .*: not well-formed XML: Opening and ending tag mismatch"),
        ("the ferry?", "the &nbsp; ferry?", "line 27 .*: not well-formed XML: Entity 'nbsp' not defined"),
        ("the ferry?", "<!-- the --> ferry?", "line 27 .*: comments, CDATA"),
        ("<doc id='arz'", "words <doc id='arz'", "line 29 .*: only white space"),
        ("the ferry?", "<quote>" * 300, "line 27 .*: elements are nested too deeply; at most 255 inside each other"),
        ('<quote orig_author="كريم">', "<quote><post/>", "line 30 .*: a post is inside another element"),
    ],
)  # fmt: skip
def test_fault_names_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "threads.xml"
    text = THREADS.decode().replace('<doc id="bolt-arz-DF-2-202"', "<doc id='arz'")
    path.write_text(text.replace(old, new, 1))

    with pytest.raises(BadFile, match=message):
        list(forum.sources([path]))


def test_post_without_an_id_is_skipped_with_its_line() -> None:
    batch = forum.convert(DOCS.replace(b' id="p4"', b""))

    assert batch.skipped_lines == {"a post: its id is missing": [24]}


def test_invalid_utf8_is_refused() -> None:
    with pytest.raises(Malformed, match="UTF-8"):
        forum.convert(b'<doc id="x"><post id="p">\xff</post></doc>')


def test_attributes_may_contain_tags_and_post_may_be_empty() -> None:
    [thread] = forum.threads(
        b'<doc id="x"><post author="a > b" id="p"/><post id=\'q\' author="/>">&gt;</post></doc>'
    )

    assert [(post.docno, post.source) for post in thread.posts] == [("x:p", ""), ("x:q", "&gt;")]
