"""Which docnos are units of a track's collection: asked of the database in bulk."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from assay.formats.runs.formulas import FormulaLookup
from assay.formats.runs.rules import ABSENT, FIT, OTHER_UNIT, UnitLookup
from assay.protocols.schema import Protocol
from corpus.formulas.selectors import formulas_of
from corpus.models import Collection, Document
from tracks.models import Track

BATCH = 20_000

# Units that are rows of `Document`, and the kinds that such a row may have; none: any.
KINDS: dict[str, tuple[str, ...]] = {"answer": (Document.Kind.ANSWER,), "document": ()}
FORMULAS = {"formula", "visually-distinct-formula"}


def has_units(track: Track, protocol: Protocol) -> bool:
    """Whether docnos of runs can be looked up: the collection is loaded and the unit is one of its rows."""
    collection = track.collection
    is_loaded = collection is not None and collection.status == Collection.Status.READY
    return is_loaded and protocol.unit in KINDS


def unit_lookup(track: Track, protocol: Protocol) -> UnitLookup | None:
    """How docnos stand to the track's collection; None where that cannot be known."""
    if track.collection_id is None or not has_units(track, protocol):
        return None
    collection_id, kinds = track.collection_id, KINDS[protocol.unit]

    def lookup(docno: NDArray[np.bytes_]) -> NDArray[np.uint8]:
        kind_of = {found: kind for found, _, kind in _found(collection_id, docno)}
        standing = [
            ABSENT
            if (kind := kind_of.get(one)) is None
            else FIT
            if not kinds or kind in kinds
            else OTHER_UNIT
            for one in map(bytes.decode, docno.tolist())
        ]
        return np.array(standing, dtype=np.uint8)

    return lookup


def has_formulas(track: Track, protocol: Protocol) -> bool:
    """Whether runs rank formulas and can be looked up: a formula index of the collection is loaded."""
    collection = track.collection
    if collection is None or collection.status != Collection.Status.READY:
        return False
    return protocol.unit in FORMULAS and collection.formulas.exists()


def formula_lookup(track: Track, protocol: Protocol) -> FormulaLookup | None:
    """The collection's formulas of some ids; None where the protocol has other units or the collection no formulas."""
    if track.collection_id is None or not has_formulas(track, protocol):
        return None
    return partial(formulas_of, track.collection_id)


def document_ids(collection_id: int, docno: NDArray[np.bytes_]) -> dict[str, int]:
    """Primary keys of the documents that the collection has of some docnos."""
    return {found: pk for found, pk, _ in _found(collection_id, docno)}


def _found(collection_id: int, docno: NDArray[np.bytes_]) -> Iterator[tuple[str, int, str]]:
    words = [one.decode() for one in docno.tolist()]
    with connection.cursor() as cursor:
        for start in range(0, len(words), BATCH):
            cursor.execute(
                "SELECT docno, id, kind FROM corpus_document WHERE collection_id = %s AND docno = ANY(%s)",
                [collection_id, words[start : start + BATCH]],
            )
            yield from cursor.fetchall()
