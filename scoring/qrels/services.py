"""Freezes judgments into a new version of qrels, imports a version from a file, archives and offers versions."""

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
from django.db import connection, transaction
from django.db.models import Max, Q
from django.utils import timezone
from numpy.typing import NDArray

from accounts.audit import services as audit
from accounts.models import User
from assay.digests import sha256_of
from assay.errors import NotMeasurable, plural
from assay.formats.qrels.reader import GradeScale, QrelsColumns, format_qrels
from assay.formats.runs.rules import ABSENT
from assay.formats.text import listed
from assay.measures.characters import spans_of
from assay.measures.scores import ALL
from assay.nuggets.assignments import without_score
from assay.protocols.measures import parse_measures
from assay.protocols.schema import Protocol
from assay.tables import natural
from assessment.agreement.selectors import agreement_in_short
from corpus.formulas.selectors import formulas_of
from pooling.models import Pool
from pooling.runs.units import unit_lookup, visual_ids_among
from scoring.errors import QrelsRefused
from scoring.models import Qrels, QrelsEntry
from scoring.qrels.exports import file_stem
from scoring.qrels.frozen import NOTHING, grade_pool
from scoring.qrels.selectors import qrels_tsv
from tracks.downloads import services as downloads
from tracks.models import Download, Machine, Topic, Track
from tracks.tracks import services as track_services

DOCNOS_NAMED = 20

Rescorer = Callable[..., Any]  # (qrels, by, is_asked) -> the leaderboard, or None
_rescorers: list[Rescorer] = []


def rescores(function: Rescorer) -> Rescorer:
    """Register a function that is called with each version that an organizer has frozen or imported."""
    _rescorers.append(function)
    return function


def rescore(*, qrels: Qrels, by: User, is_asked: bool = False) -> Any:
    """Score the runs against a new version, if somebody asked for it or they were scored before.

    Returns the leaderboard, or None if there is nothing to score yet.
    """
    started = [function(qrels=qrels, by=by, is_asked=is_asked) for function in _rescorers]
    return next(filter(None, started), None)


@transaction.atomic
def freeze_judgments(
    *,
    pool: Pool,
    by: User,
    name: str = "",
    also: Sequence[str] = (),
    machine: Machine | None = None,
    left_out: Mapping[str, str] = NOTHING,
    digest: str = "",
) -> Qrels:
    """Freeze a version of the units of a pool, and of the pools that it tops up, by the rule of its protocol.

    Judgments that were made for another pool of the track count too: they are about a document and a topic.
    `also` names kinds of batches whose judgments count for units that have neither main judgment nor adjudication.
    The judgments are those of people, or those of one machine: the two never mix.
    `left_out` are topics that do not become qrels, each with its reason, which the report keeps.
    `digest` is that of the preview that somebody has read (`FrozenPool.digest`); empty if there was none.

    Raises:
        QrelsRefused: The pool is not ready, judgments conflict, no topic has enough judgments, another version has the
            same entries, or judgments were made or changed since the preview.
    """
    track = track_services.lock(pool.track_id)
    frozen = grade_pool(pool, also, machine, left_out)
    if digest and digest != frozen.digest:
        raise QrelsRefused(
            "The judgments, the pool or the topics to leave out changed since this preview was made. Read the new "
            "preview, then freeze it.",
            code="judgments-changed",
        )
    qrels = Qrels(
        track=track, source=Qrels.Source.FROZEN, pool=pool, protocol=pool.protocol, created_by=by, name=name
    )
    if machine is not None:
        qrels.machine, qrels.machine_name = machine, str(machine)
    qrels.name, qrels.report = name or frozen.name, frozen.report
    if machine is None and (agreement := agreement_in_short(track))["assessors"]:
        qrels.report = frozen.report | {"agreement": agreement}
    _store(qrels, frozen.columns)
    for part, (columns, report) in frozen.parts.items():
        # after the one with all judgments, even if the part has changed nothing since
        version = Qrels(
            track=track,
            source=Qrels.Source.FROZEN,
            pool=pool,
            protocol=pool.protocol,
            created_by=by,
            machine=qrels.machine,
            machine_name=qrels.machine_name,
            name=f"{part}, of version {qrels.version}"[:100],
            report=report | {"part_of": qrels.version},
        )
        version.version = _next_version(version)
        store_loaded(version, columns)
    return qrels


@transaction.atomic
def import_file(
    *,
    track: Track,
    columns: QrelsColumns,
    file_name: str,
    by: User,
    name: str = "",
    notes: Sequence[str] = (),
) -> Qrels:
    """Store the entries of a file as a version, and report what in it is not part of the track.

    `notes` say how the file was read, such as its encoding.

    Raises:
        QrelsRefused: A topic is not in the track, a grade is not in the protocol, or another version has the
            same entries.
    """
    track = track_services.lock(track.pk)
    protocol = track.protocol.parsed
    grades = GradeScale.of(protocol)
    if columns.kind != "preferences" and not grades.contains(columns.grade):
        first = next(filter(None, map(grades.complaint, columns.grade.tolist())))
        raise QrelsRefused(f"{first[0].upper()}{first[1:]}.")
    columns = grades.without_codes(columns)
    if any(measure.in_characters for measure in parse_measures(protocol.scoring.measures)):
        try:
            spans_of(columns.docno)
        except NotMeasurable as error:
            raise QrelsRefused(f"{error}.") from None
    codes = set(Topic.objects.filter(track=track).values_list("code", flat=True))
    if unknown := [code for code in columns.topics.tolist() if code not in codes]:
        # every mean would count them as 0
        raise QrelsRefused(
            f"{plural(len(unknown), 'topic of the file is,topics of the file are')} not in {track}: {listed(unknown)}. "
            "Correct the code, or delete the lines."
        )
    qrels = Qrels(
        track=track, source=Qrels.Source.IMPORTED, protocol=track.protocol, created_by=by, name=name
    )
    qrels.report = {
        "file": file_name,
        "notes": list(notes),
        "absent_topics": sorted(sorted(codes - set(columns.topics.tolist())), key=natural),
        "unknown_documents": _unknown_documents(track, protocol, columns),
    }
    if topics := without_score(columns):
        qrels.report["without_score"] = topics
    return _store(qrels, columns)


@transaction.atomic
def archive(*, qrels: Qrels, by: User) -> Qrels:
    """Hide a version from lists. Its page, its leaderboards and its files stay, so that nothing refers to a gap."""
    return _set_archived(qrels, by, is_archived=True)


@transaction.atomic
def restore(*, qrels: Qrels, by: User) -> Qrels:
    """Show a hidden version in lists again."""
    return _set_archived(qrels, by, is_archived=False)


def _set_archived(qrels: Qrels, by: User, *, is_archived: bool) -> Qrels:
    """Setting the present state again changes nothing."""
    current = Qrels.objects.select_for_update(of=("self",)).select_related("track").get(pk=qrels.pk)
    if (current.archived_at is not None) == is_archived:
        return current
    current.archived_at = timezone.now() if is_archived else None
    current.save(update_fields=["archived_at"])
    action = "qrels.archived" if is_archived else "qrels.restored"
    audit.record(action=action, subject=current, track=current.track, by=by)
    return current


def _unknown_documents(track: Track, protocol: Protocol, columns: QrelsColumns) -> dict[str, Any] | None:
    """Number and first units of the file that are missing from the collection; None if no collection is loaded.

    For visually distinct formulas, `n_instances` of the missing ones are ids of formulas instead of visual ids.
    """
    known = visual_ids_among(track, protocol, columns.docno)
    if known is not None:
        is_absent = ~np.isin(columns.docno, np.array(sorted(known), dtype=np.bytes_))
        instances = formulas_of(track.collection_id or 0, columns.docno[is_absent]).formula
        n_instances = int(np.isin(columns.docno[is_absent], instances).sum())
        return _missing(columns, is_absent) | {"n_instances": n_instances}
    lookup = unit_lookup(track, protocol)
    return None if lookup is None else _missing(columns, lookup(columns.docno) == ABSENT)


def _missing(columns: QrelsColumns, is_absent: NDArray[np.bool_]) -> dict[str, Any]:
    first = sorted({docno.decode() for docno in columns.docno[is_absent][:DOCNOS_NAMED].tolist()})
    return {"n": int(is_absent.sum()), "first": first}


def _store(qrels: Qrels, columns: QrelsColumns) -> Qrels:
    """Number and save a version. The caller holds the lock of the track."""
    if ALL in columns.topics.tolist():
        raise QrelsRefused(f"“{ALL}” cannot be the code of a topic: tables of scores use it for the mean.")
    versions = Qrels.objects.filter(track=qrels.track)
    qrels.sha256 = sha256_of(format_qrels(columns))
    # a top-up pool may know further near-duplicates of what is judged, which count in scoring
    pools = Q(pool=qrels.pool) | Q(pool=None) if qrels.pool else Q()
    same = versions.filter(pools, sha256=qrels.sha256, machine=qrels.machine).first()
    if same is not None:
        archived = ", which is hidden" if same.archived_at else ""
        raise QrelsRefused(f"These qrels are identical to {same}{archived}, so no new version was created.")
    qrels.version = _next_version(qrels)
    return store_loaded(qrels, columns)


def _next_version(qrels: Qrels) -> int:
    versions = Qrels.objects.filter(track=qrels.track)
    return (versions.aggregate(last=Max("version"))["last"] or 0) + 1


def store_loaded(qrels: Qrels, columns: QrelsColumns) -> Qrels:
    """Save a version that has its number already, as one from an archive has."""
    qrels.sha256 = sha256_of(format_qrels(columns))
    qrels.protocol_digest = qrels.protocol.digest
    qrels.n_topics, qrels.n_judged = len(columns.topics), int((columns.grade >= 0).sum())
    qrels.save()
    codes = [_escaped(code.encode()) for code in columns.topics.tolist()]
    parts = [b""] * len(columns.grade) if columns.parts is None else columns.parts.tolist()
    rows = zip(
        columns.topic_index.tolist(), columns.docno.tolist(), columns.grade.tolist(), parts, strict=True
    )
    # with COPY: a file has tens of thousands of lines, and the user waits for the page
    text = b"".join(
        b"%d\t%s\t%s\t%d\t%s\n" % (qrels.pk, codes[topic], _escaped(docno), grade, _escaped(words))
        for topic, docno, grade, words in rows
    )
    names = ("qrels_id", "topic", "docno", "grade", "parts")
    with connection.cursor() as cursor:
        cursor.copy_expert(f"COPY {QrelsEntry._meta.db_table} ({', '.join(names)}) FROM STDIN", BytesIO(text))
    details: dict[str, Any] = {"name": qrels.name, "topics": qrels.n_topics, "judged": qrels.n_judged}
    details["sha256"] = qrels.sha256
    if left_out := qrels.report.get("left_out_topics"):
        details["left out"] = {row["topic"]: row["reason"] for row in left_out}
    audit.record(
        action=f"qrels.{qrels.source}",
        subject=qrels,
        track=qrels.track,
        details=details,
        by=qrels.created_by,
    )
    return qrels


@transaction.atomic
def supersede(*, old: Qrels, new: Qrels, reason: str, by: User) -> Qrels:
    """State that a version corrects an earlier one, and why. Both stay, and each names the other.

    Raises:
        QrelsRefused: There is no reason, the versions are not of one track and kind in this order, or either has such a
            statement already.
    """
    track_services.lock(old.track_id)
    new = Qrels.objects.select_for_update(of=("self",)).get(pk=new.pk)
    if not reason.strip():
        raise QrelsRefused("Give a reason. Everybody who sees one of the versions reads it.")
    if new.track_id != old.track_id or new.version <= old.version:
        raise QrelsRefused(f"{new} cannot correct {old}: choose a later version of the same track.")
    if (new.machine_id, new.set_key) != (old.machine_id, old.set_key):
        raise QrelsRefused(
            f"{new} and {old} are not of the same kind: people, a machine, or a set of the protocol."
        )
    if new.supersedes_id or Qrels.objects.filter(supersedes=old).exists():
        raise QrelsRefused(f"{old} or {new} is part of another correction already.")
    new.supersedes, new.supersedes_reason = old, reason.strip()
    new.save(update_fields=["supersedes", "supersedes_reason"])
    details = {"corrects": str(old), "reason": reason.strip()}
    audit.record(action="qrels.superseded", subject=new, track=new.track, details=details, by=by)
    return new


def _escaped(word: bytes) -> bytes:
    """Words for COPY. They contain no tab or line end, so only a backslash needs escaping."""
    return word.replace(b"\\", b"\\\\")


@transaction.atomic
def set_training(*, qrels: Qrels, track: Track, is_shown: bool, by: User) -> None:
    """Show examples of a version's grades to the assessors of another track, such as next year's, or no longer.

    Raises:
        QrelsRefused: The track is that of the qrels.
    """
    if track.pk == qrels.track_id:
        raise QrelsRefused(f"The assessors of {track} judge its topics, so they cannot train with its qrels.")
    if is_shown == qrels.trains.filter(pk=track.pk).exists():
        return
    if is_shown:
        qrels.trains.add(track)
    else:
        qrels.trains.remove(track)
    action = "training-qrels.shown" if is_shown else "training-qrels.hidden"
    audit.record(action=action, subject=qrels, track=track, details={"qrels of": qrels.track.slug}, by=by)


def offer(*, qrels: Qrels, track: Track, by: User) -> Download:
    """Attach a copy of a version to the downloads of another track, such as next year's. It is not released yet.

    Raises:
        QrelsRefused: The track is that of the qrels.
        Refused: They are attached already.
    """
    if track.pk == qrels.track_id:
        raise QrelsRefused(f"{track} cannot offer its own qrels: release its leaderboard instead.")
    return downloads.attach_file(
        track=track,
        kind=Download.Kind.QRELS,
        file=BytesIO(qrels_tsv(qrels)),
        name=f"{file_stem(qrels)}.tsv",
        description=f"Qrels of {qrels.track}, {qrels}."[:1000],
        by=by,
    )
