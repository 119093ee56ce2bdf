"""The input of a pool: the stored columns of runs, the formulas that they name, and what earlier pools hold."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from assay.formats.runs import columns
from assay.formulas.columns import Formulas
from assay.pools.strategies import ByTopic, PoolInput, as_pooled, has_members
from assay.protocols.schema import Protocol
from corpus.clusterings.selectors import latest_clustering
from corpus.clusterings.services import cluster_submitted
from corpus.formulas.selectors import formulas_of
from corpus.models import Collection
from pooling.errors import pool_refused
from pooling.models import Pool, PoolEntry, PoolMember, Run
from pooling.pools.selectors import chain
from tracks.models import Track
from tracks.rows.selectors import rows_of

Report = Callable[[int, str], None]  # number of runs that are read, and the current step


class Materials(NamedTuple):
    """The arguments of `strategies.build_pool`. `already` and `tied` are in the pools that are topped up."""

    inputs: list[PoolInput]
    formulas: Formulas | None
    known: ByTopic
    already: ByTopic
    tied: ByTopic
    nuggets: ByTopic


def read(
    track: Track,
    protocol: Protocol,
    runs: Sequence[Run],
    *,
    tops_up: Pool | None,
    report: Report = lambda n, step: None,
    makes_ids: bool,
    depth: Mapping[str, int] | None = None,
    n_rows: int | None = None,
    nuggets: ByTopic | None = None,
) -> Materials:
    """Read everything that is needed to build a pool of some runs, in their order.

    `n_rows`: so many rows of the table, in the order of their import; None: all. `makes_ids`: make visual ids for
    submitted formulas without one, if the protocol clusters submitted formulas. `depth`: keep only the ranks of a pool
    of these depths, if its strategy reads no others.
    `nuggets`: the keys of the frozen nuggets of each topic, if units are in generated answers.
    """
    inputs = []
    for i, run in enumerate(runs):
        report(i, f"reading {run.tag}")
        columns_of_run = _columns(run, has_ranks=protocol.is_of_answers)
        whole = PoolInput(columns_of_run, run.team.name, run.tag, run.kind, run.pooled_as)
        inputs.append(whole if depth is None else as_pooled(whole, protocol, depth))
    formulas = None
    if has_members(protocol):
        report(len(runs), "looking up formulas")
        formulas = _formulas(track, protocol, [pooled.columns for pooled in inputs], makes_ids=makes_ids)
    pools = chain(tops_up) if tops_up is not None else []
    entries = PoolEntry.objects.filter(pool__in=pools).values_list("topic__code", "docno")
    members = PoolMember.objects.filter(entry__pool__in=pools).values_list("entry__topic__code", "docno")
    return Materials(
        inputs,
        formulas,
        known_items(track, protocol, n_rows),
        already=_by_topic(entries),
        tied=_by_topic(members),
        nuggets=nuggets or {},
    )


def _columns(run: Run, *, has_ranks: bool = False) -> columns.RunColumns:
    """The columns of a run without its scores, and without its ranks unless they number the sentences of answers.

    That is half of the memory, and no other strategy uses them.
    """
    try:
        with run.columns.open("rb") as stored:
            loaded = columns.load(cast(BinaryIO, stored))
        n = len(loaded)
        rank = loaded.rank if has_ranks else np.broadcast_to(np.int32(0), n)
        return replace(loaded, rank=rank, score=np.broadcast_to(np.float64(0), n))
    except (OSError, ValueError, KeyError) as error:
        raise pool_refused(f"The stored columns of the run {run.tag} cannot be read: {error}.") from error


def _formulas(
    track: Track, protocol: Protocol, runs: Sequence[columns.RunColumns], *, makes_ids: bool
) -> Formulas:
    """The submitted formulas with their visual ids: from the collection, or made from the submitted formulas."""
    collection = _collection(track)
    ids = submitted(run.docno for run in runs)
    is_of_submitted = protocol.instances.clustering == "submitted"
    if is_of_submitted and makes_ids:
        return cluster_submitted(collection, ids)
    formulas = formulas_of(collection.pk, ids)
    without = int((formulas.visual == b"").sum())
    if is_of_submitted and without and latest_clustering(collection, is_complete=True) is None:
        raise pool_refused(
            f"{without:,} of the submitted formulas have no visual id yet. Make visual ids to see a preview. "
            "Building a pool also makes them."
        )
    if not is_of_submitted and without == len(formulas):
        raise pool_refused(
            f"None of the {len(ids):,} formulas of the runs has a visual id. "
            f"Cluster the formulas of {collection} first, on the page of its formulas."
        )
    return formulas


def make_ids(track: Track, runs: Sequence[Run]) -> int:
    """Make visual ids for the formulas of some runs, and return the number of formulas."""
    ids = submitted(_columns(run).docno for run in runs)
    return len(cluster_submitted(_collection(track), ids))


def _collection(track: Track) -> Collection:
    collection = track.collection
    if collection is None or collection.status != Collection.Status.READY:
        state = f"{track} has no collection" if collection is None else f"{collection} is not ready"
        raise pool_refused(
            f"A pool of distinct formulas needs a collection with a formula index, but {state}."
        )
    return collection


def submitted(docnos: Iterable[NDArray[np.bytes_]]) -> NDArray[np.bytes_]:
    """The distinct docnos of some runs, sorted by bytes."""
    parts = [np.unique(docno) for docno in docnos]
    return np.unique(np.concatenate([np.empty(0, dtype="S1"), *parts]))


def known_items(track: Track, protocol: Protocol, n_rows: int | None = None) -> ByTopic:
    """The units that no run names, by topic: the relevant ones of known-item protocols, or the rows of a table."""
    if protocol.pool.strategy == "rows":
        return _by_topic(rows_of(track).values_list("topic__code", "docno")[:n_rows])
    if protocol.pool.strategy != "known-item":
        return {}
    topics = track.topics.values_list("code", "known_item")
    return {code: {docno} if docno else set() for code, docno in topics}


def _by_topic(rows: QuerySet[Any, tuple[str, str]]) -> ByTopic:
    docnos: defaultdict[str, set[str]] = defaultdict(set)
    for topic, docno in rows.iterator(chunk_size=10_000):
        docnos[topic].add(docno)
    return docnos
