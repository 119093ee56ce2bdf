"""The keys of a collection's formulae (`corpus.visual_ids`), made from their LaTeX and Presentation MathML."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from django.db import connection

from corpus.slt import slt
from corpus.visual_ids import Keys, key_of, latex_key

_ROWS = """
    SELECT formula.code, formula.latex, formula.visual, formula.is_visual_given, mathml.content
    FROM corpus_formula AS formula LEFT JOIN corpus_formulamathml AS mathml
      ON mathml.collection_id = formula.collection_id AND mathml.form = 'slt' AND mathml.code = formula.code
    WHERE formula.collection_id = %s AND formula.code
"""
_BETWEEN = _ROWS + " BETWEEN %s AND %s"
_NAMED = _ROWS + ' = ANY (%s::text[] COLLATE "C")'
_BOUNDS = """
    SELECT min(code), max(code) FROM (
      SELECT code, (row_number() OVER (ORDER BY code) - 1) / %s AS part FROM corpus_formula WHERE collection_id = %s
    ) AS numbered GROUP BY part ORDER BY part
"""
AT_ONCE = 10_000

Row = tuple[str, str, str, bool, str | None]


class PartKeys(NamedTuple):
    """Keys of some formulae, and how many have what."""

    keys: Keys
    counts: Counter[str]


def bounds(collection_id: int, size: int = AT_ONCE) -> list[tuple[str, str]]:
    """The first and last id by bytes of each `size` formulae of a collection."""
    with connection.cursor() as cursor:
        cursor.execute(_BOUNDS, [size, collection_id])
        return cursor.fetchall()


def keys_between(collection_id: int, first: str, last: str, *, keep_made: bool) -> PartKeys:
    """Keys of the formulae from one id to another, both included; ids that clustering made are kept if asked to."""
    with connection.cursor() as cursor:
        cursor.execute(_BETWEEN, [collection_id, first, last])
        return _keys(cursor.fetchall(), keep_made=keep_made)


def keys_of(collection_id: int, codes: Iterable[str]) -> Keys:
    """Keys of the formulae of some ids, as far as there are any; all visual ids are kept."""
    parts = [_keys(rows, keep_made=True).keys for rows in _named(collection_id, codes)]
    return Keys.joined(parts) if parts else Keys.of([])


def strings_of(collection_id: int, codes: Sequence[str]) -> dict[str, str]:
    """Of each formula, by id: its SLT string, or its LaTeX if it has none."""
    found = {}
    for rows in _named(collection_id, codes):
        for code, latex, _, _, content in rows:
            found[code] = (slt(content) if content else None) or latex
    return found


def _named(collection_id: int, codes: Iterable[str]) -> Iterator[list[Row]]:
    with connection.cursor() as cursor:
        rest = iter(codes)
        while some := list(islice(rest, AT_ONCE)):
            cursor.execute(_NAMED, [collection_id, some])
            yield cursor.fetchall()


def _keys(rows: Sequence[Row], *, keep_made: bool) -> PartKeys:
    counts: Counter[str] = Counter()
    strings: dict[str, bytes] = {}  # of MathML: what is common, such as x, is there many times
    found = []
    for code, latex, visual, is_given, content in rows:
        if content and content not in strings:
            strings[content] = key_of(slt(content) or "")
        key = strings[content] if content else b""
        counts["slt" if key else "no_slt" if content else "no_mathml"] += 1
        counts["given"] += is_given
        found.append((code, key, latex_key(latex), visual if is_given or keep_made else ""))
    return PartKeys(Keys.of(found), counts)
