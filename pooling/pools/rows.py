"""Store a built pool as rows of entries, members and contributions.

It uses COPY, with keys from the tables' own sequences. The caller opens the transaction.
"""

from collections.abc import Iterable, Mapping, Sequence
from io import StringIO

from django.db import connection

from assay.pools.members import Members
from assay.pools.strategies import BuiltPool
from pooling.models import Contribution, MemberContribution, Pool, PoolEntry, PoolMember
from pooling.pools.errors import PoolRefused
from tracks.models import Topic


def store(pool: Pool, built: BuiltPool, *, documents: Mapping[str, int], run_ids: Sequence[int]) -> None:
    """Store all rows of a pool. `documents` maps docnos of units, or of the posts of members, to primary keys.

    Raises
    ------
    PoolRefused
        The track no longer has a topic of the runs.
    """
    units = built.units
    topics = _topic_ids(pool, units.topics.tolist())
    docnos = [docno.decode() for docno in units.docno.tolist()]
    has_members = built.members is not None
    entry_ids = _new_keys(PoolEntry._meta.db_table, len(units))
    entries = zip(entry_ids, units.topic_index.tolist(), docnos, built.position.tolist(), strict=True)
    _copy(
        PoolEntry._meta.db_table,
        ("id", "pool_id", "topic_id", "docno", "document_id", "position"),
        (
            (pk, pool.pk, topics[topic], docno, None if has_members else documents.get(docno), at)
            for pk, topic, docno, at in entries
        ),
    )
    contributions = zip(units.entry.tolist(), units.run.tolist(), units.rank.tolist(), strict=True)
    _copy(
        Contribution._meta.db_table,
        ("entry_id", "run_id", "rank"),
        ((entry_ids[entry], run_ids[run], rank) for entry, run, rank in contributions),
    )
    if built.members is not None:
        _store_members(built.members, entry_ids, documents, run_ids)


def _store_members(
    members: Members, entry_ids: Sequence[int], documents: Mapping[str, int], run_ids: Sequence[int]
) -> None:
    member_ids = _new_keys(PoolMember._meta.db_table, len(members))
    texts = (
        [value.decode() for value in column.tolist()]
        for column in (members.docno, members.post, members.thread)
    )
    rows = zip(member_ids, members.entry.tolist(), *texts, members.position.tolist(), strict=True)
    _copy(
        PoolMember._meta.db_table,
        ("id", "entry_id", "docno", "document_id", "post", "thread", "position"),
        (
            (pk, entry_ids[entry], docno, documents.get(post), post, thread, at)
            for pk, entry, docno, post, thread, at in rows
        ),
    )
    contributions = zip(members.member.tolist(), members.run.tolist(), members.rank.tolist(), strict=True)
    _copy(
        MemberContribution._meta.db_table,
        ("member_id", "run_id", "rank"),
        ((member_ids[member], run_ids[run], rank) for member, run, rank in contributions),
    )


def _topic_ids(pool: Pool, codes: Sequence[str]) -> list[int]:
    known = dict(Topic.objects.filter(track=pool.track).values_list("code", "pk"))
    missing = [code for code in codes if code not in known]
    if missing:
        raise PoolRefused(f"The track no longer has the topic {', '.join(missing[:5])}.")
    return [known[code] for code in codes]


def _new_keys(table: str, n: int) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)", [table, n]
        )
        return [row[0] for row in cursor.fetchall()]


def _copy(table: str, names: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> None:
    text = StringIO()
    for row in rows:
        text.write("\t".join(_cell(value) for value in row))
        text.write("\n")
    text.seek(0)
    with connection.cursor() as cursor:
        cursor.copy_expert(f"COPY {table} ({', '.join(names)}) FROM STDIN", text)


def _cell(value: object) -> str:
    """A value in the text format of COPY. Docnos contain no white space, but may contain a backslash."""
    return r"\N" if value is None else str(value).replace("\\", "\\\\")
