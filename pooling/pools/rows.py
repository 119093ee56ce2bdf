"""Store a built pool as rows of entries, members and contributions.

It uses COPY, with keys from the tables' own sequences, some rows at a time, so that memory hardly grows with the pool.
Contributions, of which a pool can have millions, are copied as arrays. The caller opens the transaction.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import repeat

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from assay.formats.runs.columns import RunColumns
from assay.pools.depth import Members
from assay.pools.near_duplicates import passages_of
from assay.pools.strategies import BuiltPool
from assay.protocols.schema import Protocol
from pooling.errors import pool_refused
from pooling.models import Contribution, MemberContribution, Pool, PoolEntry, PoolMember
from tracks.models import Topic
from web.statements import copy_rows

PART = 20_000  # rows in memory as text at a time
PART_OF_ARRAYS = 500_000
# A row of contributions in PostgreSQL's binary format: the number of fields, and the size of each before its value
CONTRIBUTION = np.dtype([
    ("fields", ">i2"), ("unit_size", ">i4"), ("unit", ">i8"), ("run_size", ">i4"), ("run", ">i8"),
    ("rank_size", ">i4"), ("rank", ">i4"),
])  # fmt: skip
Keys = NDArray[np.int64]
# From docnos to primary keys of those that exist
DocumentLookup = Callable[[NDArray[np.bytes_]], Mapping[str, int]]


def no_documents(_docno: NDArray[np.bytes_]) -> Mapping[str, int]:
    """For a pool whose documents are not loaded."""
    return {}


def store(
    pool: Pool,
    built: BuiltPool,
    *,
    documents: DocumentLookup = no_documents,
    posts: DocumentLookup = no_documents,
    passages: Sequence[str] = (),
    answers: Sequence[int] = (),
    run_ids: Sequence[int],
) -> None:
    """Store all rows of a pool.

    `documents` finds those of units and `posts` those of members. `passages` are the texts of the units, in order, and
    `answers` the keys of the generated answers that have them; none if units are no citations, or in no answers.
    """
    units = built.units
    known_topics = dict(Topic.objects.filter(track=pool.track).values_list("code", "pk"))
    codes = units.topics.tolist()
    missing = [code for code in codes if code not in known_topics]
    if missing:
        raise pool_refused(f"The track no longer has the topic {', '.join(missing[:5])}.")
    topics = np.array([known_topics[code] for code in codes], dtype=np.int64)
    entry_ids = _new_keys(PoolEntry._meta.db_table, len(units))
    for part in _parts(len(units)):
        known = documents(units.docno[part])
        docnos = [docno.decode() for docno in units.docno[part].tolist()]
        copy_rows(
            PoolEntry,
            ("id", "pool_id", "topic_id", "docno", "document_id", "position", "passage", "answer_id"),
            entry_ids[part].tolist(),
            repeat(pool.pk, len(docnos)),
            topics[units.topic_index[part]].tolist(),
            docnos,
            map(known.get, docnos),
            built.position[part].tolist(),
            passages[part] if passages else repeat("", len(docnos)),
            answers[part] if answers else repeat(None, len(docnos)),
        )
    runs = np.array(run_ids, dtype=np.int64)
    _copy_contributions(Contribution, entry_ids[units.entry], runs[units.run], units.rank)
    if built.members is not None:
        _store_members(built.members, entry_ids, posts, runs)


def unit_texts(protocol: Protocol, built: BuiltPool, runs: Sequence[RunColumns]) -> list[str]:
    """The text of each unit of a pool, for `store`; nothing if the units are no citations."""
    return passages_of(built.units, built.members, runs) if protocol.cites_posts else []


def _store_members(members: Members, entry_ids: Keys, lookup: DocumentLookup, runs: Keys) -> None:
    member_ids = _new_keys(PoolMember._meta.db_table, len(members))
    for part in _parts(len(members)):
        known = lookup(np.unique(members.post[part]))
        docnos, posts, threads = (
            [value.decode() for value in column[part].tolist()]
            for column in (members.docno, members.post, members.thread)
        )
        copy_rows(
            PoolMember,
            ("id", "entry_id", "docno", "document_id", "post", "thread", "position"),
            member_ids[part].tolist(),
            entry_ids[members.entry[part]].tolist(),
            docnos,
            map(known.get, posts),
            posts,
            threads,
            members.position[part].tolist(),
        )
    _copy_contributions(MemberContribution, member_ids[members.member], runs[members.run], members.rank)


def _parts(n: int, size: int = PART) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, n, size))


def _new_keys(table: str, n: int) -> Keys:
    """(n,) new primary keys, in ascending order."""
    keys = np.empty(n, dtype=np.int64)
    with connection.cursor() as cursor:
        for part in _parts(n):
            cursor.execute(
                "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)",
                [table, len(keys[part])],
            )
            keys[part] = [row[0] for row in cursor.fetchall()]
    return keys


def _copy_contributions(
    model: type[Contribution | MemberContribution], units: Keys, runs: Keys, ranks: NDArray[np.int32]
) -> None:
    """Copy contributions (c,) with the keys of their units and runs."""
    names = ", ".join(str(field.column) for field in model._meta.local_concrete_fields)
    for part in _parts(len(units), PART_OF_ARRAYS):
        rows = np.empty(len(units[part]), dtype=CONTRIBUTION)
        rows["fields"], rows["unit_size"], rows["run_size"], rows["rank_size"] = 3, 8, 8, 4
        rows["unit"], rows["run"], rows["rank"] = units[part], runs[part], ranks[part]
        content = b"PGCOPY\n\xff\r\n\0" + bytes(8) + rows.tobytes() + b"\xff\xff"
        with connection.cursor() as cursor:
            cursor.copy_expert(
                f"COPY {model._meta.db_table} ({names}) FROM STDIN (FORMAT binary)", BytesIO(content)
            )
