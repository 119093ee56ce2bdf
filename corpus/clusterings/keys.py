"""Keys of the formulas of a collection (`assay.formulas.visual_ids`), from their LaTeX and Presentation MathML."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from django.db import connection

from assay.formulas.slt import slt
from assay.formulas.visual_ids import Keys, key_of, latex_key

# Two queries, joined in Python: PostgreSQL would compare every row with every row while the tables are not analyzed.
_FORMULAS = (
    "SELECT code, latex, visual, is_visual_given FROM corpus_formula WHERE collection_id = %s AND code "
)
_MATHML = "SELECT code, content FROM corpus_formulamathml WHERE collection_id = %s AND form = 'slt' AND code "
_BETWEEN = "BETWEEN %s AND %s"
_NAMED = '= ANY (%s::text[] COLLATE "C")'
_BOUNDS = """
    SELECT min(code), max(code) FROM (
      SELECT code, (row_number() OVER (ORDER BY code) - 1) / %s AS part FROM corpus_formula WHERE collection_id = %s
    ) AS numbered GROUP BY part ORDER BY part
"""
BATCH = 10_000  # formulas


class StoredFormula(NamedTuple):
    """A formula; `mathml` is None if no Presentation MathML was imported for it."""

    code: str
    latex: str
    visual: str
    is_given: bool
    mathml: str | None


class PartKeys(NamedTuple):
    """Keys of some formulas, and how many of these have an SLT string, MathML or an id of the index."""

    keys: Keys
    counts: Counter[str]


def bounds(collection_id: int, size: int = BATCH) -> list[tuple[str, str]]:
    """The first and the last id, by bytes, of each `size` formulas of a collection."""
    with connection.cursor() as cursor:
        cursor.execute(_BOUNDS, [size, collection_id])
        ranges: list[tuple[str, str]] = cursor.fetchall()
    return ranges


def keys_between(collection_id: int, first: str, last: str, *, keep_made: bool) -> PartKeys:
    """Keys of the formulas from one id to another, inclusive. `keep_made` keeps the ids that clustering assigned."""
    return _keys(_stored_formulas(_BETWEEN, [collection_id, first, last]), keep_made=keep_made)


def keys_of(collection_id: int, codes: Iterable[str]) -> Keys:
    """Keys of the formulas of some ids that the collection has. All visual ids are kept."""
    parts = [_keys(rows, keep_made=True).keys for rows in _named_formulas(collection_id, codes)]
    return Keys.joined(parts) if parts else Keys.of([])


def strings_of(collection_id: int, codes: Sequence[str]) -> dict[str, str]:
    """The SLT string of each formula by id, or its LaTeX if it has no SLT string."""
    strings = {}
    for rows in _named_formulas(collection_id, codes):
        for row in rows:
            strings[row.code] = (slt(row.mathml) if row.mathml else None) or row.latex
    return strings


def _named_formulas(collection_id: int, codes: Iterable[str]) -> Iterator[list[StoredFormula]]:
    rest = iter(codes)
    while batch := list(islice(rest, BATCH)):
        yield _stored_formulas(_NAMED, [collection_id, batch])


def _stored_formulas(where: str, values: list[Any]) -> list[StoredFormula]:
    with connection.cursor() as cursor:
        cursor.execute(_MATHML + where, values)
        mathml = dict(cursor.fetchall())
        cursor.execute(_FORMULAS + where, values)
        return [
            StoredFormula(code, latex, visual, is_given, mathml.get(code))
            for code, latex, visual, is_given in cursor.fetchall()
        ]


def _keys(rows: Sequence[StoredFormula], *, keep_made: bool) -> PartKeys:
    counts: Counter[str] = Counter()
    parts = []
    for code, latex, visual, is_given, mathml in rows:
        key = _slt_key(mathml) if mathml else b""
        counts["slt" if key else "no_slt" if mathml else "no_mathml"] += 1
        counts["given"] += is_given
        parts.append((code, key, latex_key(latex), visual if is_given or keep_made else ""))
    return PartKeys(Keys.of(parts), counts)


@lru_cache(maxsize=100_000)
def _slt_key(mathml: str) -> bytes:
    """Of two thirds of all formulas, the string was computed shortly before: `x` appears everywhere. About 80 MB."""
    return key_of(slt(mathml) or "")
