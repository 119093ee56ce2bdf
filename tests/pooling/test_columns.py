import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pooling.columns import trec_order

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
def test_rows_come_in_the_order_of_trec_eval(rows: list[Row]) -> None:
    rows = [(topic, docno.rstrip(b"\0") or b"x", score) for topic, docno, score in rows]
    rows = list({(topic, docno): (topic, docno, score) for topic, docno, score in rows}.values())

    assert ordered(rows) == plainly(rows)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 17, 40, 1000])
@pytest.mark.parametrize("width", [8, 12])
def test_groups_of_tied_rows_of_any_size_are_ordered_by_docno(size: int, width: int) -> None:
    rng = np.random.default_rng(size)
    names = [f"{n:0{width}d}".encode()[-width:] for n in rng.permutation(5 * size)]
    rows = [(0, name, float(-(n // size))) for n, name in enumerate(names)]

    assert ordered(rows) == plainly(rows)
