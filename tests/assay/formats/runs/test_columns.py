from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.formats.runs.columns import RunColumns, load_ranking, save, trec_order

Row = tuple[int, bytes, float]
ROW = st.tuples(
    st.integers(0, 2), st.binary(min_size=1, max_size=12), st.sampled_from([-1.0, -0.0, 0.0, 2.5])
)


def plainly(rows: list[Row]) -> list[Row]:
    """Topic, score descending, docno descending by bytes: two sorts, the second of which keeps the first."""
    by_docno = sorted(rows, key=lambda row: row[1], reverse=True)
    return sorted(by_docno, key=lambda row: (row[0], -row[2]))


def ordered(rows: list[Row]) -> list[Row]:
    topic, docno, score = (list(column) for column in zip(*rows, strict=True))
    order = trec_order(np.array(topic, dtype=np.int32), np.array(docno, dtype=np.bytes_), np.array(score))
    return [rows[place] for place in order]


@given(st.lists(ROW, min_size=1, max_size=80, unique_by=lambda row: (row[0], row[1].rstrip(b"\0"))))
def test_rows_are_in_the_order_of_trec_eval(rows: list[Row]) -> None:
    rows = [(topic, docno.rstrip(b"\0") or b"x", score) for topic, docno, score in rows]
    rows = list({(topic, docno): (topic, docno, score) for topic, docno, score in rows}.values())

    assert ordered(rows) == plainly(rows)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 17, 40, 1000])
@pytest.mark.parametrize("width", [8, 12])
def test_ties_of_any_number_are_ordered_by_docno(size: int, width: int) -> None:
    rng = np.random.default_rng(size)
    names = [f"{n:0{width}d}".encode()[-width:] for n in rng.permutation(5 * size)]
    rows = [(0, name, float(-(n // size))) for n, name in enumerate(names)]

    assert ordered(rows) == plainly(rows)


def example() -> RunColumns:
    columns, _ = RunColumns.ordered(
        topics=["A.2", "A.10", "A.1"],
        topic_index=np.array([0, 0, 2, 1, 2], dtype=np.int32),
        docno=np.array([b"x", b"yy", b"\xc3\xa9", b"x", b"z"]),
        rank=np.array([1, 2, 1, 1, 2], dtype=np.int32),
        score=np.array([1.0, 2.0, 3.0, 4.0, 5.0]),
    )
    return columns


def test_a_ranking_is_loaded_from_the_stored_columns() -> None:
    columns = example()

    ranking = load_ranking(BytesIO(save(columns)))

    assert len(ranking) == 5
    assert ranking.topics.tolist() == columns.topics.tolist()
    assert ranking.docno.tolist() == columns.docno.tolist()
    assert ranking.offsets.tolist() == columns.offsets.tolist() == [0, 2, 3, 5]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"A.1\t1\t1\t1\tr\n"])
def test_another_file_is_not_a_ranking(content: bytes) -> None:
    with pytest.raises((ValueError, KeyError)):
        load_ranking(BytesIO(content))
