"""Threads of a forum: their posts keep their source, and a fault is reported with its line."""

import io
from pathlib import Path

import pytest

from assay import samples
from assay.errors import BadFile
from assay.formats.documents import forum
from assay.formats.documents.batch import Malformed
from assay.formats.documents.dump import Reader
from assay.html.forum import Span, passage
from tests.assay.formats.documents.test_converters import rows_of

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
