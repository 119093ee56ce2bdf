"""Documents in TREC's SGML: the parts of several collections, what is skipped, and chunks of any size."""

import io

import pytest

from assay import samples
from assay.formats.documents.batch import Batch, Malformed
from assay.formats.documents.dump import Reader
from assay.formats.documents.trec import convert

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
