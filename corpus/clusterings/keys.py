"""The keys of a collection's formulas (`assay.formulas.visual_ids`), made from their LaTeX and Presentation MathML."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from django.db import connection

from assay.formulas.slt import slt
from assay.formulas.visual_ids import Keys, key_of, latex_key

# Two queries, joined here: where the tables were not analyzed yet, PostgreSQL joins them row by row with row by row.
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
AT_ONCE = 10_000


class Row(NamedTuple):
    """A formula; `mathml` is None where no presentation was imported."""

    code: str
    latex: str
    visual: str
    is_given: bool
    mathml: str | None


class PartKeys(NamedTuple):
    """Keys of some formulas, and how many have what."""

    keys: Keys
    counts: Counter[str]


def bounds(collection_id: int, size: int = AT_ONCE) -> list[tuple[str, str]]:
    """The first and last id by bytes of each `size` formulas of a collection."""
    with connection.cursor() as cursor:
        cursor.execute(_BOUNDS, [size, collection_id])
        found: list[tuple[str, str]] = cursor.fetchall()
    return found


def keys_between(collection_id: int, first: str, last: str, *, keep_made: bool) -> PartKeys:
    """Keys of the formulas from one id to another, both included; ids that clustering made are kept if asked to."""
    return _keys(_rows(_BETWEEN, [collection_id, first, last]), keep_made=keep_made)


def keys_of(collection_id: int, codes: Iterable[str]) -> Keys:
    """Keys of the formulas of some ids, as far as there are any; all visual ids are kept."""
    parts = [_keys(rows, keep_made=True).keys for rows in _named(collection_id, codes)]
    return Keys.joined(parts) if parts else Keys.of([])


def strings_of(collection_id: int, codes: Sequence[str]) -> dict[str, str]:
    """Of each formula, by id: its SLT string, or its LaTeX if it has none."""
    found = {}
    for rows in _named(collection_id, codes):
        for row in rows:
            found[row.code] = (slt(row.mathml) if row.mathml else None) or row.latex
    return found


def _named(collection_id: int, codes: Iterable[str]) -> Iterator[list[Row]]:
    rest = iter(codes)
    while some := list(islice(rest, AT_ONCE)):
        yield _rows(_NAMED, [collection_id, some])


def _rows(where: str, values: list[Any]) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(_MATHML + where, values)
        mathml = dict(cursor.fetchall())
        cursor.execute(_FORMULAS + where, values)
        return [
            Row(code, latex, visual, is_given, mathml.get(code))
            for code, latex, visual, is_given in cursor.fetchall()
        ]


def _keys(rows: Sequence[Row], *, keep_made: bool) -> PartKeys:
    counts: Counter[str] = Counter()
    strings: dict[str, bytes] = {}  # of MathML: what is common, such as x, is there many times
    found = []
    for code, latex, visual, is_given, mathml in rows:
        if mathml and mathml not in strings:
            strings[mathml] = key_of(slt(mathml) or "")
        key = strings[mathml] if mathml else b""
        counts["slt" if key else "no_slt" if mathml else "no_mathml"] += 1
        counts["given"] += is_given
        found.append((code, key, latex_key(latex), visual if is_given or keep_made else ""))
    return PartKeys(Keys.of(found), counts)
