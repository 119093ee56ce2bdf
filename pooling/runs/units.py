"""The units of a track's collection: docnos looked up in bulk, and the sample run that is made of real units."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from django.db import connection
from django.utils.translation import gettext
from numpy.typing import NDArray

from assay.formats.runs.citations import PostLookup
from assay.formats.runs.examples import N_UNITS, PASSAGE, Unit, placeholders, sample_run
from assay.formats.runs.formulas import FormulaLookup
from assay.formats.runs.rules import ABSENT, FIT, OTHER_UNIT, UnitLookup, copies_narratives
from assay.html.sanitize import plain
from assay.measures.characters import CITATION
from assay.protocols.schema import Protocol
from corpus.formulas.selectors import formulas_of
from corpus.models import Collection, Document, Formula
from corpus.threads import selectors as threads
from tracks.downloads.contents import Item, makes_samples
from tracks.models import Download, Track

BATCH = 20_000

# Units that are rows of `Document`, with the accepted kinds of rows; empty: any.
KINDS: dict[str, tuple[str, ...]] = {
    "answer": (Document.Kind.ANSWER,),
    "document": (),
    "passage": (),
    "generated-answer": (),  # its citations
}
FORMULAS = {"formula", "visually-distinct-formula"}


def has_units(track: Track, protocol: Protocol) -> bool:
    """Return whether docnos of runs can be looked up: the collection is loaded, and its documents are the units."""
    collection = track.collection
    is_loaded = collection is not None and collection.status == Collection.Status.READY
    return is_loaded and protocol.unit in KINDS and not protocol.cites_posts


def unit_lookup(track: Track, protocol: Protocol) -> UnitLookup | None:
    """A function that looks up docnos in the track's collection; None if there is no such collection."""
    if track.collection_id is None or not has_units(track, protocol):
        return None
    collection_id, kinds = track.collection_id, KINDS[protocol.unit]

    def lookup(docno: NDArray[np.bytes_]) -> NDArray[np.uint8]:
        parts = (docno[start : start + BATCH] for start in range(0, len(docno), BATCH))
        states = [_states(collection_id, part, kinds) for part in parts]
        return np.concatenate([np.empty(0, np.uint8), *states])

    return lookup


def _states(collection_id: int, docno: NDArray[np.bytes_], kinds: tuple[str, ...]) -> NDArray[np.uint8]:
    """The state of each docno, of which none is there twice. Usually all fit, which a count shows much faster."""
    docnos = [name.decode() for name in docno.tolist()]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM corpus_document WHERE collection_id = %s AND docno = ANY(%s) AND kind = ANY(%s)",
            [collection_id, docnos, list(kinds or Document.Kind.values)],
        )
        n_fitting = cursor.fetchone()[0]
    if n_fitting == len(docnos):
        return np.full(len(docnos), FIT, dtype=np.uint8)
    kind_of = {known: kind for known, _, kind in _documents(collection_id, docno)}
    states = [
        ABSENT if (kind := kind_of.get(name)) is None else FIT if not kinds or kind in kinds else OTHER_UNIT
        for name in docnos
    ]
    return np.array(states, dtype=np.uint8)


def has_formulas(track: Track, protocol: Protocol) -> bool:
    """Return whether runs rank formulas that can be looked up: the formula index of the collection is loaded."""
    collection = track.collection
    if collection is None or collection.status != Collection.Status.READY:
        return False
    return protocol.unit in FORMULAS and collection.formulas.exists()


def formula_lookup(track: Track, protocol: Protocol) -> FormulaLookup | None:
    """A function that looks up formulas by id; None if the units are not formulas or the collection has none."""
    if track.collection_id is None or not has_formulas(track, protocol):
        return None
    return partial(formulas_of, track.collection_id)


def visual_ids_among(track: Track, protocol: Protocol, ids: NDArray[np.bytes_]) -> set[bytes] | None:
    """Those of some ids that are visual ids of the collection; None if it has none, or units are no such formulas."""
    if protocol.unit != "visually-distinct-formula" or not has_formulas(track, protocol):
        return None
    assert track.collection is not None
    formulas = track.collection.formulas.order_by().exclude(visual="")
    if not formulas.exists():
        return None
    words = np.unique(ids).tolist()
    parts = (
        [word.decode() for word in words[start : start + BATCH]] for start in range(0, len(words), BATCH)
    )
    known = (formulas.filter(visual__in=part).values_list("visual", flat=True).distinct() for part in parts)
    return {visual.encode() for part in known for visual in part}


def has_posts(track: Track, protocol: Protocol) -> bool:
    """Return whether runs cite posts that can be looked up: the collection is loaded and has posts of a forum."""
    return protocol.cites_posts and track.collection is not None and threads.has_posts(track.collection)


def post_lookup(track: Track, protocol: Protocol) -> PostLookup | None:
    """A function that looks up posts by docno; None if runs cite none, or they are not loaded."""
    if track.collection_id is None or not has_posts(track, protocol):
        return None
    return partial(threads.sources, track.collection_id)


def document_ids(collection_id: int, docno: NDArray[np.bytes_]) -> dict[str, int]:
    """Primary keys of a collection's documents, by docno; docnos without a document are left out."""
    return {known: pk for known, pk, _ in _documents(collection_id, docno)}


def _documents(collection_id: int, docno: NDArray[np.bytes_]) -> Iterator[tuple[str, int, str]]:
    docnos = [name.decode() for name in docno.tolist()]
    with connection.cursor() as cursor:
        for start in range(0, len(docnos), BATCH):
            cursor.execute(
                "SELECT docno, id, kind FROM corpus_document WHERE collection_id = %s AND docno = ANY(%s)",
                [collection_id, docnos[start : start + BATCH]],
            )
            yield from cursor.fetchall()


def formula_post_ids(collection_id: int, formulas: NDArray[np.bytes_]) -> dict[str, int]:
    """Primary keys of the posts that contain formulas, by formula."""
    known = formulas_of(collection_id, formulas)
    posts = document_ids(collection_id, np.unique(known.post))
    pairs = zip(known.formula.tolist(), known.post.tolist(), strict=True)
    return {formula.decode(): posts[post.decode()] for formula, post in pairs if post.decode() in posts}


def cited_post_ids(collection_id: int, docnos: NDArray[np.bytes_]) -> dict[str, int]:
    """Primary keys of the posts of some citations, by citation, for those that the collection has."""
    parts = [CITATION.fullmatch(docno) for docno in docnos.tolist()]
    posts = {part[0].decode(): part[1] for part in parts if part}
    if not posts:
        return {}
    known = document_ids(collection_id, np.unique(np.array(list(posts.values()))))
    return {docno: known[post.decode()] for docno, post in posts.items() if post.decode() in known}


def narratives(track: Track, protocol: Protocol) -> dict[str, str]:
    """The text of each topic, if answers repeat it. One query at most."""
    if not copies_narratives(protocol):
        return {}
    rows = track.topics.values_list("code", "title", "body", "narrative")
    return {code: plain(title or body or narrative) for code, title, body, narrative in rows}


@makes_samples
def sample(track: Track) -> Item | None:
    """The sample run of a track, which accepts it; None while it has no topics, or its collection no units.

    Five queries at most.
    """
    protocol = track.protocol.parsed
    topics = list(track.topics.values_list("code", flat=True))
    collection, units = track.collection, placeholders(protocol)  # if the docnos of runs are not looked up
    if collection is not None and has_units(track, protocol):
        documents = collection.documents.order_by("docno")
        if kinds := KINDS[protocol.unit]:
            documents = documents.filter(kind__in=kinds)
        units = [Unit(docno) for docno in documents.values_list("docno", flat=True)[:N_UNITS]]
    elif collection is not None and protocol.cites_posts:
        cited = collection.documents.filter(kind=Document.Kind.POST).exclude(source="").order_by("docno")
        units = [
            Unit(f"{docno}:0:{min(len(source), len(PASSAGE))}")
            for docno, source in cited.values_list("docno", "source")[:N_UNITS]
        ]
    elif collection is not None and has_formulas(track, protocol):
        posts = [Formula.Place.TITLE, Formula.Place.QUESTION, Formula.Place.ANSWER]
        formulas = collection.formulas.filter(place__in=posts).order_by("code")
        units = [Unit(code, post) for code, post in formulas.values_list("code", "post")[:N_UNITS]]
    if not topics or not units or not protocol.runs.kinds:
        return None
    extension, content = sample_run(protocol, topics, units, narratives(track, protocol))
    about = gettext("A run that {track} accepts: {n} lines for each topic. Replace them by yours.")
    about = about.format(track=track, n=len(units))
    return Item.generated(Download.Kind.SAMPLE_RUN, f"{track.slug}-sample-run.{extension}", about, content)
