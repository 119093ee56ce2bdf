"""How the merge of a chunk finds the existing rows of its formulas."""

from collections.abc import Iterable
from typing import Any

import pytest
from django.db import connection

from assay.formats.documents.batch import AGAIN
from assay.formats.documents.dump import Chunk
from assay.formats.documents.index_rows import convert
from assay.formats.documents.indexes import Index
from corpus.formulas.storing import FormulaStore
from corpus.models import Collection
from tests.helpers.factories import make_collection

pytestmark = pytest.mark.django_db


def rows(numbers: Iterable[int]) -> bytes:
    return b"".join(b"%d\t5\t4\tanswer\t7\tx\n" % number for number in numbers)


def test_rows_are_found_by_the_index_in_a_table_without_statistics() -> None:
    collection = make_collection("math", status=Collection.Status.EMPTY)
    store = FormulaStore(collection.pk, Index("latex", 2), last_id=0)
    many, few = rows(range(3000)), rows(range(500, 520))

    with connection.cursor() as cursor:
        for data in (many, few):
            n_read = _rows_read(cursor)
            skipped, _ = store.store(cursor, Chunk(data, 0, len(data), 1), convert(data, "formulas-latex-v2"))

        assert skipped == {AGAIN: 20}
        assert _rows_read(cursor) - n_read < 200, "rows of other formulas were read"


def _rows_read(cursor: Any) -> int:
    cursor.execute(
        "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'corpus_formula'"
    )
    return int(cursor.fetchone()[0])
