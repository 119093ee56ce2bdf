"""Tables of documents: recognized, cut into rows, and converted."""

import pytest

from assay.formats.documents import table_rows, tables
from assay.formats.documents.batch import Malformed
from assay.formats.documents.jsonl import NO_DOCNO


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (b"docno\ttitle\ttext\n1\ta\tb\n", ("tsv docno=1 title=2 text=3 of=3", 17)),
        (b"url,pid,passage\n", ("csv docno=2 text=3 of=3", 16)),
        (b"pid,passage", ("csv docno=1 text=2 of=2", 11)),
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
    assert list(lines) == ["d1", "d5"]
    assert {reason: batch.skipped_lines[reason] for reason in batch.skipped} == {
        "more columns than the header or first row": [3],
        "fewer columns than the header or first row": [4],
        NO_DOCNO: [5],
        "not UTF-8": [6],
    }


def test_tabs_need_no_quotation() -> None:
    batch = table_rows.convert(b'd1\t12" pipe\r\nd2\t"say ""tides"""\n', "tsv docno=1 text=2 of=2")

    (lines,) = batch.lines.values()
    assert ['12" pipe' in lines["d1"], 'say "tides"' in lines["d2"]] == [True, True]


def test_quotation_that_is_not_closed_is_refused_with_its_place() -> None:
    with pytest.raises(Malformed, match="not a row of a table") as refusal:
        table_rows.convert(b'd1,a\nd2,"b\n', "csv docno=1 text=2 of=2")

    assert (refusal.value.offset, refusal.value.n_lines) == (5, 1)
