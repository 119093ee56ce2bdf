"""Freezes judgments into a new version of a track's qrels, or imports a version from a file."""

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet

from accounts.models import User
from assay.digests import sha256_of
from assay.evaluation.score_table import ALL
from assay.formats.qrels.reader import GradeScale, QrelsColumns, columns_from, format_qrels
from assay.formats.runs.rules import ABSENT
from assay.protocols.schema import Protocol
from assay.qrels.freezing import (
    Conflict,
    Frozen,
    Member,
    Undecided,
    Unit,
    Vote,
    freeze,
    freeze_group,
    known_items,
)
from assessment.models import Batch, Judgment, TopicAssignment
from audit import services as audit
from pooling.models import Pool, PoolEntry, PoolMember
from pooling.pools.selectors import chain
from pooling.runs.units import unit_lookup
from scoring.models import Qrels, QrelsEntry
from scoring.qrels.errors import QrelsRefused
from tracks.models import Assessor, Machine, Topic, Track
from tracks.tracks import services as track_services
from web.counting import counted

CHUNK = 5_000
CONFLICTS_NAMED = 20
DOCNOS_NAMED = 20


@transaction.atomic
def freeze_judgments(
    *, pool: Pool, by: User, name: str = "", also: Sequence[str] = (), machine: Machine | None = None
) -> Qrels:
    """Freeze a version of the units of a pool, and of the pools that it tops up, by the rule of its protocol.

    Judgments that were made for another pool of the track count too: they are about a document and a topic.
    `also` names kinds of batches whose judgments count for units that have neither main judgment nor adjudication.
    The judgments are those of people, or those of one machine: the two never mix.

    Raises
    ------
    QrelsRefused
        The pool is not ready, judgments conflict, no topic has enough judgments, or another version has the same
        entries.
    """
    track = track_services.lock(pool.track_id)
    if pool.status != Pool.Status.READY:
        raise QrelsRefused(f"The pool “{pool}” is not ready. You can freeze qrels when it has been built.")
    protocol = pool.protocol.parsed
    votes = _votes(pool) if machine is None else _votes_of(machine, pool)
    try:
        frozen = _frozen(pool, protocol, votes, also)
        groups = _groups(pool, protocol, votes) if machine is None else {}
    except Undecided as undecided:
        raise QrelsRefused(_conflict_message(undecided.conflicts)) from None
    if not frozen.rows:
        raise QrelsRefused(
            f"No topic of the pool “{pool}” has enough judgments yet: {len(frozen.report.get('dropped', ()))} topics "
            f"would be dropped, each with fewer than {max(1, protocol.qrels.min_relevant)} units "
            f"judged {protocol.qrels.relevant_from} or higher."
        )
    qrels = Qrels(
        track=track, source=Qrels.Source.FROZEN, pool=pool, protocol=pool.protocol, created_by=by, name=name
    )
    if machine is not None:
        qrels.machine, qrels.machine_name = machine, str(machine)
    qrels.report = frozen.report | {"also": list(also), "inputs": _inputs(pool)}
    _store(qrels, columns_from(frozen.rows))
    for group, alone in groups.items():
        _store_group(qrels, group, alone)
    return qrels


def _groups(pool: Pool, protocol: Protocol, votes: Sequence[tuple[Unit, Vote]]) -> dict[str, Frozen]:
    """The judgments of each group of assessors that has some, if the protocol exports groups."""
    if not protocol.qrels.export_groups:
        return {}
    units = _units(pool)
    members = Assessor.objects.filter(track=pool.track_id).values_list("group", "user__username")
    frozen = {
        group: freeze_group(units, votes, {name for of, name in members if of == group})
        for group in protocol.judging.groups
    }
    return {group: rows for group, rows in frozen.items() if rows.rows}


def _store_group(qrels: Qrels, group: str, alone: Frozen) -> None:
    """Store a version of a group after the one with all judgments, unless a version has the same entries already."""
    columns = columns_from(alone.rows)
    sha256 = sha256_of(format_qrels(columns))
    if Qrels.objects.filter(track=qrels.track, sha256=sha256, machine=None).exists():
        return
    version = Qrels(
        track=qrels.track,
        source=Qrels.Source.FROZEN,
        pool=qrels.pool,
        protocol=qrels.protocol,
        created_by=qrels.created_by,
        name=f"{group} alone, of {qrels}"[:100],
        report=alone.report | {"group": group, "part_of": qrels.version},
    )
    _store(version, columns)


@transaction.atomic
def import_file(*, track: Track, columns: QrelsColumns, file_name: str, by: User, name: str = "") -> Qrels:
    """Store the entries of a file as a version, and report what in it is not part of the track.

    Raises
    ------
    QrelsRefused
        None of the topics is in the track, a grade is not in the protocol, or another version has the same entries.
    """
    track = track_services.lock(track.pk)
    protocol = track.protocol.parsed
    grades = GradeScale.of(protocol)
    if not grades.contains(columns.grade):
        first = next(filter(None, map(grades.complaint, columns.grade.tolist())))
        raise QrelsRefused(f"{first[0].upper()}{first[1:]}.")
    columns = grades.without_codes(columns)
    codes = set(Topic.objects.filter(track=track).values_list("code", flat=True))
    unknown = [code for code in columns.topics.tolist() if code not in codes]
    if len(unknown) == len(columns.topics):
        raise QrelsRefused(
            f"None of the {len(unknown)} topics in the file is a topic of {track}. The first one is {unknown[0]}."
        )
    qrels = Qrels(
        track=track, source=Qrels.Source.IMPORTED, protocol=track.protocol, created_by=by, name=name
    )
    qrels.report = {
        "file": file_name,
        "unknown_topics": unknown,
        "absent_topics": sorted(codes - set(columns.topics.tolist())),
        "unknown_documents": _unknown_documents(track, protocol, columns),
    }
    return _store(qrels, columns)


def _frozen(
    pool: Pool, protocol: Protocol, votes: Sequence[tuple[Unit, Vote]], also: Sequence[str]
) -> Frozen:
    """Entries by the protocol's rule; those of a known-item task need no judgments."""
    if protocol.pool.strategy == "known-item":
        return known_items(_units(pool), max(grade.value for grade in protocol.judging.grades))
    return freeze(
        _units(pool),
        votes,
        rules=protocol.qrels,
        judges=protocol.judging.judges,
        also=also,
        members=_members(pool),
    )


def _units(pool: Pool) -> list[Unit]:
    entries = PoolEntry.objects.filter(pool__in=chain(pool)).values_list("topic__code", "docno").distinct()
    return [Unit(topic, docno) for topic, docno in entries.iterator(chunk_size=CHUNK)]


def _members(pool: Pool) -> dict[Unit, Member]:
    """The unit of each instance or near-duplicate in the pool and in the pools that it tops up."""
    members = PoolMember.objects.filter(entry__pool__in=chain(pool)).order_by()
    fields = ("entry__topic__code", "docno", "entry__docno", "position")
    rows = members.values_list(*fields).iterator(chunk_size=CHUNK)
    return {
        Unit(topic, docno): Member(Unit(topic, unit), position > 0) for topic, docno, unit, position in rows
    }


def _votes(pool: Pool) -> list[tuple[Unit, Vote]]:
    """Every current judgment by people of a unit of the pool, or of a pool that it tops up, whatever its own pool.

    One query, so all rows are of the same moment.
    """
    assigned = TopicAssignment.objects.filter(
        batch=OuterRef("batch"), topic=OuterRef("topic"), assessor=OuterRef("assessor"), is_withdrawn=False
    )
    judgments = (
        _judgments_of(pool).exclude(batch__kind=Batch.Kind.MACHINE).annotate(is_assigned=Exists(assigned))
    )
    fields = ("topic__code", "docno", "batch__kind", "is_assigned", "assessor__username", "choice", "grade")
    rows = judgments.order_by("id").values_list(*fields).iterator(chunk_size=CHUNK)
    return [(Unit(topic, docno), Vote(*vote)) for topic, docno, *vote in rows]


def _votes_of(machine: Machine, pool: Pool) -> list[tuple[Unit, Vote]]:
    """The judgments of a machine as if they were main judgments: as many of each document as judges are summed."""
    own = _judgments_of(pool).filter(batch__kind=Batch.Kind.MACHINE, assessor=machine.assessor.user_id)
    fields = ("topic__code", "docno", "assessor__username", "choice", "grade")
    latest = {
        Unit(topic, docno): Vote(Batch.Kind.MAIN.value, True, *vote)
        for topic, docno, *vote in own.order_by("id").values_list(*fields).iterator(chunk_size=CHUNK)
    }
    protocol = pool.protocol.parsed
    n_judges = protocol.judging.judges if protocol.qrels.aggregate == "sum" else 1
    return [(unit, vote) for unit, vote in latest.items() for _ in range(n_judges)]


def _judgments_of(pool: Pool) -> QuerySet[Judgment]:
    """Current judgments of units of a pool and of those that it tops up. Those by another protocol do not count."""
    pools = chain(pool)
    entries = PoolEntry.objects.filter(pool__in=pools, topic=OuterRef("topic"), docno=OuterRef("docno"))
    members = PoolMember.objects.filter(
        entry__pool__in=pools, entry__topic=OuterRef("topic"), docno=OuterRef("docno")
    )
    of_units = Q(batch__pool__in=pools) | Exists(entries) | Exists(members)
    of_track = Judgment.objects.filter(track=pool.track_id, batch__pool__protocol=pool.protocol_id)
    return of_track.filter(of_units, is_current=True)


def _conflict_message(conflicts: Sequence[Conflict]) -> str:
    named = "; ".join(map(str, conflicts[:CONFLICTS_NAMED]))
    more = f"; and {len(conflicts) - CONFLICTS_NAMED} more" if len(conflicts) > CONFLICTS_NAMED else ""
    return (
        f"The judgments of {counted(len(conflicts), 'unit')} conflict. Have these units adjudicated first, or withdraw "
        f"the topic from the assessor whose judgments must not count: {named}{more}."
    )


def _inputs(pool: Pool) -> dict[str, Any]:
    """The inputs from which the qrels can be rebuilt."""
    runs = pool.pool_runs.annotate(team=F("run__team__name"), tag=F("run__tag"))
    return {
        "pool": pool.name,
        "pool_sha256": pool.sha256,
        "seed": pool.seed,
        "runs": list(runs.order_by("team", "tag", "id").values("team", "tag", "sha256", "depth")),
        "tops_up": [{"pool": topped.name, "pool_sha256": topped.sha256} for topped in chain(pool)[1:]],
    }


def _unknown_documents(track: Track, protocol: Protocol, columns: QrelsColumns) -> dict[str, Any] | None:
    """Number and first units of the file that are missing from the collection; None if no collection is loaded."""
    lookup = unit_lookup(track, protocol)
    if lookup is None:
        return None
    is_absent = lookup(columns.docno) == ABSENT
    first = sorted({docno.decode() for docno in columns.docno[is_absent][:DOCNOS_NAMED].tolist()})
    return {"n": int(is_absent.sum()), "first": first}


def _store(qrels: Qrels, columns: QrelsColumns) -> Qrels:
    """Number and save a version. The caller holds the lock of the track."""
    if ALL in columns.topics.tolist():
        raise QrelsRefused(f"“{ALL}” cannot be the code of a topic: tables of scores use it for the mean.")
    versions = Qrels.objects.filter(track=qrels.track)
    qrels.sha256 = sha256_of(format_qrels(columns))
    same = versions.filter(sha256=qrels.sha256, machine=qrels.machine).first()
    if same is not None:
        raise QrelsRefused(f"These qrels are identical to {same}, so no new version was created.")
    qrels.version = (versions.aggregate(last=Max("version"))["last"] or 0) + 1
    qrels.protocol_digest = qrels.protocol.digest
    qrels.n_topics, qrels.n_judged = len(columns.topics), int((columns.grade >= 0).sum())
    qrels.save()
    _copy_entries(qrels.pk, columns)
    details = {"name": qrels.name, "topics": qrels.n_topics, "judged": qrels.n_judged, "sha256": qrels.sha256}
    audit.record(
        action=f"qrels.{qrels.source}",
        subject=qrels,
        track=qrels.track,
        details=details,
        by=qrels.created_by,
    )
    return qrels


def _copy_entries(qrels_id: int, columns: QrelsColumns) -> None:
    """Write the entries with COPY: a file has tens of thousands of lines, and the user waits for the page."""
    codes = [_escaped(code.encode()) for code in columns.topics.tolist()]
    rows = zip(columns.topic_index.tolist(), columns.docno.tolist(), columns.grade.tolist(), strict=True)
    text = b"".join(
        b"%d\t%s\t%s\t%d\n" % (qrels_id, codes[topic], _escaped(docno), grade) for topic, docno, grade in rows
    )
    names = ("qrels_id", "topic", "docno", "grade")
    with connection.cursor() as cursor:
        cursor.copy_expert(f"COPY {QrelsEntry._meta.db_table} ({', '.join(names)}) FROM STDIN", BytesIO(text))


def _escaped(word: bytes) -> bytes:
    """A word for COPY. Words contain no white space, so only a backslash needs escaping."""
    return word.replace(b"\\", b"\\\\")
