"""The grades of a pool's units as they would be frozen now: for the preview, and for the freezing itself."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any

from django.db.models import Exists, F, IntegerField, OuterRef, Q, QuerySet, Value

from assay.digests import sha256_of
from assay.formats.qrels.reader import QrelsColumns, columns_from, format_qrels
from assay.formats.topics.subtopics import labels_of
from assay.nuggets.assignments import with_nuggets, without_score
from assay.protocols.schema import Protocol, QrelsRules, QrelsSet
from assay.qrels.derived import as_ranges, derive
from assay.qrels.freezing import (
    Answered,
    Conflict,
    Frozen,
    Member,
    Undecided,
    Unit,
    Vote,
    given_grades,
    grade_group,
    grade_units,
    known_items,
)
from assay.qrels.sets import grade_set
from assay.tables import natural
from assessment.models import Batch, Judgment, TopicAssignment
from assessment.nuggets.selectors import frozen_nuggets
from pooling.models import Pool, PoolEntry, PoolMember
from pooling.pools.selectors import chain
from scoring.errors import QrelsRefused
from scoring.models import Qrels
from tracks.models import Assessor, Machine
from web.pages import counted

CHUNK = 5_000
CONFLICTS_NAMED = 20
NOTHING: Mapping[str, str] = MappingProxyType({})

Parts = dict[str, tuple[QrelsColumns, dict[str, Any]]]  # by name; the reports name the group or set


@dataclass(frozen=True)
class FrozenPool:
    """The grades of a pool's units at one moment.

    `parts` has the grades of each group that is exported alone, and of each set, with a report that names it. Without
    grades in the protocol, the first set is in the place of the grades, with its name.
    """

    columns: QrelsColumns
    report: dict[str, Any]
    parts: Parts
    name: str = ""

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the file that a version with these grades has."""
        return sha256_of(format_qrels(self.columns))

    @cached_property
    def digest(self) -> str:
        files = [self.sha256, *(sha256_of(format_qrels(columns)) for columns, _ in self.parts.values())]
        return digest_of(files, self.report)

    @property
    def n_judged(self) -> int:
        return int((self.columns.grade >= 0).sum())


def digest_of(files: Sequence[str], report: Mapping[str, object]) -> str:
    """Changes with the grades, whose files have these SHA-256s, and with what is left out of them."""
    return sha256_of(json.dumps([files, report], sort_keys=True).encode())


def grade_pool(
    pool: Pool,
    also: Sequence[str] = (),
    machine: Machine | None = None,
    left_out: Mapping[str, str] = NOTHING,
) -> FrozenPool:
    """Grade the units of a pool, and of the pools that it tops up, by the rule of its protocol.

    `also`, `machine` and `left_out` are those of `services.freeze_judgments`.

    Raises:
        QrelsRefused: The pool is not ready, judgments conflict, no topic has enough judgments, or a topic that is left
            out is not in the pool.
    """
    if pool.status != Pool.Status.READY:
        raise QrelsRefused(f"The pool “{pool}” is not ready. You can freeze qrels when it has been built.")
    protocol = pool.protocol.parsed
    numbered = _numbered(pool, machine)
    if left_out:
        numbered = [(n, answered) for n, answered in numbered if answered.unit.topic not in left_out]
    if protocol.qrels.preferences:
        numbered = list(numbered)
    judged: Iterable[Answered] = (answered for _, answered in numbered)
    is_read_again = protocol.qrels.export_groups or protocol.qrels.sets  # for each group and set
    judged = list(judged) if is_read_again else judged
    pooled = units_of(pool)
    units = [unit for unit in pooled if unit.topic not in left_out]
    members = _members(pool)
    try:
        frozen = _frozen(pool, units, judged, also, members, _given(pool))
        parts = _groups(pool, protocol, units, judged) if machine is None else {}
        parts |= _sets(pool, protocol, units, judged, also, members)
    except Undecided as undecided:
        raise QrelsRefused(conflict_message(undecided.conflicts)) from None
    if not frozen.rows:
        raise QrelsRefused(empty_message(pool, frozen.report))
    counted_judgments = (
        {"judgments": as_ranges({n for n, _ in numbered})} if protocol.qrels.preferences else {}
    )
    made = made_from(pool, also, left_out, Counter(unit.topic for unit in pooled))
    if not protocol.judging.has_grades:
        return _first_of(parts, pool, made)
    report = frozen.report | made | counted_judgments
    columns = frozen.columns
    if protocol.judged.has_nuggets:
        lists = [nuggets for nuggets in frozen_nuggets(pool) if nuggets.topic not in left_out]
        columns = with_nuggets(columns, lists)
        if topics := without_score(columns):
            report["without_score"] = topics
    return FrozenPool(
        columns, report, {name: (part, own | counted_judgments) for name, (part, own) in parts.items()}
    )


def grade_topics(
    pool: Pool, also: Sequence[str], machine: Machine | None, topics: Collection[int]
) -> Iterator[tuple[str, int, Frozen | Undecided]]:
    """Grade some topics one by one, with the arguments of `grade_pool`.

    Yields the code of each topic that has units, their number, and its grades or the judgments that conflict.
    """
    units: dict[str, list[Unit]] = defaultdict(list)
    judged: dict[str, list[Answered]] = defaultdict(list)
    members: dict[str, dict[Unit, Member]] = defaultdict(dict)
    for unit in units_of(pool, topics):
        units[unit.topic].append(unit)
    for _, answered in _numbered(pool, machine, topics):
        judged[answered.unit.topic].append(answered)
    for document, member in _members(pool, topics).items():
        members[document.topic][document] = member
    given = _given(pool)
    for code, own in units.items():
        frozen: Frozen | Undecided
        try:
            frozen = _frozen(pool, own, judged[code], also, members[code], given)
        except Undecided as undecided:
            frozen = undecided
        yield code, len(own), frozen


def grades_of(pool: Pool, machine: Machine | None = None) -> QrelsColumns:
    """The grades of a pool's units by the judgments now, also in topics that freezing would drop; -1 without one.

    Raises:
        QrelsRefused: Judgments conflict.
    """
    protocol = pool.protocol.parsed
    votes = ((answered.unit, answered.vote) for _, answered in _numbered(pool, machine))
    rules, units = replace(protocol.qrels, min_relevant=0), units_of(pool)
    try:
        frozen = grade_units(
            units, votes, rules=rules, judges=protocol.judging.judges, members=_members(pool)
        )
    except Undecided as undecided:
        raise QrelsRefused(conflict_message(undecided.conflicts)) from None
    grades = {(unit.topic.encode(), unit.docno.encode()): -1 for unit in units}
    grades |= {(topic, docno): grade for topic, docno, grade in frozen.rows}
    return columns_from((*unit, grade) for unit, grade in grades.items())


def made_from(
    pool: Pool, also: Sequence[str], reasons: Mapping[str, str], n_units: Mapping[str, int]
) -> dict[str, Any]:
    """The part of the report on what was given, with the topics that an organizer left out.

    `n_units` are those of each topic of the pools, and `reasons` those to leave out topics.
    """
    if unknown := sorted(set(reasons) - set(n_units), key=natural):
        raise QrelsRefused(f"The pool has no topic {', '.join(unknown)}, so it cannot be left out.")
    if empty := sorted((topic for topic, reason in reasons.items() if not reason.strip()), key=natural):
        raise QrelsRefused(f"Give a reason to leave out the topic {', '.join(empty)}.")
    rows = [
        {"topic": topic, "reason": reason.strip(), "units": n_units[topic]}
        for topic, reason in sorted(reasons.items(), key=lambda item: natural(item[0]))
    ]
    return {"also": list(also), "inputs": _inputs(pool)} | ({"left_out_topics": rows} if rows else {})


def _first_of(parts: Parts, pool: Pool, made: dict[str, Any]) -> FrozenPool:
    """The first set in the place of the grades, for a form of questions only, with the other sets as its parts."""
    if not parts:
        answered = (
            "no answer counts for them yet"
            if pool.protocol.parsed.qrels.sets
            else "it names no sets of qrels"
        )
        raise QrelsRefused(
            f"{pool.protocol} asks questions without grades. Qrels are of its sets, and {answered}. "
            "Export the judgments to get the answers."
        )
    (name, (columns, report)), *others = parts.items()
    return FrozenPool(columns, report | made, dict(others), name)


def _frozen(
    pool: Pool,
    units: Sequence[Unit],
    judged: Iterable[Answered],
    also: Sequence[str],
    members: dict[Unit, Member],
    given: Mapping[Unit, int],
) -> Frozen:
    """The grades by the rule of the protocol, without its groups and sets."""
    protocol = pool.protocol.parsed
    if protocol.qrels.preferences:
        return _derived(pool, protocol.qrels, units, judged, also)
    if protocol.pool.strategy == "known-item":  # needs no judgments
        return known_items(units, max(grade.value for grade in protocol.judging.grades))
    return grade_units(
        units,
        ((unit, vote) for unit, vote, _ in judged),
        rules=protocol.qrels,
        judges=protocol.judging.judges,
        also=also,
        members=members,
        given=given,
    )


def _given(pool: Pool) -> dict[Unit, int]:
    """The grades that the developers of the topics gave."""
    sources = pool.track.topics.exclude(source="").values_list("code", "source")
    return given_grades(sources, pool.protocol.parsed)


def _inputs(pool: Pool) -> dict[str, Any]:
    """Return that from which the qrels can be rebuilt; of answers, also the version of the nuggets of each topic."""
    runs = pool.pool_runs.annotate(team=F("run__team__name"), tag=F("run__tag"))
    return {
        "pool": pool.name,
        "pool_sha256": pool.sha256,
        "seed": pool.seed,
        "runs": list(runs.order_by("team", "tag", "id").values("team", "tag", "sha256", "depth")),
        "tops_up": [{"pool": topped.name, "pool_sha256": topped.sha256} for topped in chain(pool)[1:]],
    } | ({"nuggets": pool.nuggets} if pool.nuggets else {})


def _derived(
    pool: Pool,
    rules: QrelsRules | QrelsSet,
    units: Sequence[Unit],
    judged: Iterable[Answered],
    also: Sequence[str],
) -> Frozen:
    """The qrels of documents by the preferences between them. The rounds have the seed of the first pool."""
    votes = ((unit, vote) for unit, vote, _ in judged)
    seed, protocol = chain(pool)[-1].seed, pool.protocol.parsed
    return derive(units, votes, rules=rules, protocol=protocol, seed=seed, also=also)


def _groups(pool: Pool, protocol: Protocol, units: Sequence[Unit], judged: Iterable[Answered]) -> Parts:
    """The groups of assessors with judgments, if the protocol exports them."""
    if not protocol.qrels.export_groups:
        return {}
    people = Assessor.objects.filter(track=pool.track_id).values_list("group", "user__username")
    parts: Parts = {}
    for group in protocol.judging.groups:
        votes = ((unit, vote) for unit, vote, _ in judged)
        alone = grade_group(units, votes, {name for own_group, name in people if own_group == group})
        if alone.rows:
            parts[f"{group} alone"] = (columns_from(alone.rows), alone.report | {"group": group})
    return parts


def _sets(
    pool: Pool,
    protocol: Protocol,
    units: Sequence[Unit],
    judged: Iterable[Answered],
    also: Sequence[str],
    members: dict[Unit, Member],
) -> Parts:
    """The sets of the protocol that have a grade."""
    if not protocol.qrels.sets:
        return {}
    if protocol.qrels.preferences:
        derived = (
            (set_rules, _derived(pool, set_rules, units, judged, also)) for set_rules in protocol.qrels.sets
        )
        return {
            rules.name: (frozen.columns, frozen.report | {"set": rules.key})
            for rules, frozen in derived
            if frozen.rows
        }
    topics = list(pool.track.topics.values_list("code", "labels", "subtopics"))
    labels = {code: of_topic for code, of_topic, _ in topics}
    subtopics = {code: [*labels_of(of_topic)] for code, _, of_topic in topics}
    sets: Parts = {}
    for rules in protocol.qrels.sets:
        try:
            frozen = grade_set(
                units,
                list(judged),
                rules=rules,
                protocol=protocol,
                labels=labels,
                subtopics=subtopics,
                also=also,
                members=members,
            )
        except Undecided as undecided:
            raise QrelsRefused(f"{rules.name}: {conflict_message(undecided.conflicts)}") from None
        if frozen.rows:
            sets[rules.name] = (frozen.columns, frozen.report | {"set": rules.key})
    return sets


def empty_message(pool: Pool, report: Mapping[str, Any]) -> str:
    """Return why no unit of a pool has a grade."""
    protocol = pool.protocol.parsed
    rules, n_dropped = protocol.qrels, len(report.get("dropped", ()))
    reasons = []
    if n_ungraded := report.get("unjudged", {}).get("n", 0):
        judges = protocol.judging.judges
        is_sum = rules.aggregate == "sum" and judges > 1
        reasons.append(
            f"{counted(n_ungraded, 'unit')} without a grade"
            + (f", because a grade is the sum of {judges} judgments" if is_sum else "")
        )
    if n_dropped and rules.min_relevant:
        units = counted(rules.min_relevant, "unit")
        reasons.append(
            f"{counted(n_dropped, 'topic')} dropped, with fewer than {units} judged {rules.relevant_from} or higher"
        )
    why = f": {'; '.join(reasons)}" if reasons else ""
    return f"No topic of the pool “{pool}” has enough judgments yet{why}."


def instances_of(qrels: Qrels) -> QrelsColumns:
    """The grade of each judged instance of the formulas in frozen qrels, by the judgments that are current now.

    Raises:
        QrelsRefused: The qrels are not frozen from a pool, or judgments of an instance conflict.
    """
    if qrels.pool is None:
        raise QrelsRefused("The qrels are an imported file, which has no judgments of instances.")
    shown = [document for document, member in _members(qrels.pool).items() if member.is_shown]
    votes = ((unit, vote) for _, (unit, vote, _) in _numbered(qrels.pool, qrels.machine))
    try:
        return columns_from(grade_units(shown, votes, rules=QrelsRules(), judges=1).rows)
    except Undecided as undecided:
        raise QrelsRefused(conflict_message(undecided.conflicts)) from None


def _of(topics: Collection[int] | None, field: str = "topic") -> dict[str, Collection[int]]:
    """The argument that filters by topics; none for all topics."""
    return {} if topics is None else {f"{field}__in": topics}


def units_of(pool: Pool, topics: Collection[int] | None = None) -> list[Unit]:
    """The units of the pool and of the pools that it tops up."""
    entries = PoolEntry.objects.filter(pool__in=chain(pool), **_of(topics))
    rows = entries.values_list("topic__code", "docno").distinct().iterator(chunk_size=CHUNK)
    return list(map(Unit._make, rows))


def _members(pool: Pool, topics: Collection[int] | None = None) -> dict[Unit, Member]:
    """The unit of each instance or near-duplicate in the pool and in the pools that it tops up."""
    members = PoolMember.objects.filter(entry__pool__in=chain(pool), **_of(topics, "entry__topic")).order_by()
    fields = ("entry__topic__code", "docno", "entry__docno", "position")
    rows = members.values_list(*fields).iterator(chunk_size=CHUNK)
    return {
        Unit(topic, docno): Member(Unit(topic, unit), position > 0) for topic, docno, unit, position in rows
    }


Numbered = tuple[int, Answered]  # the id of a judgment, and what it says


def _numbered(
    pool: Pool, machine: Machine | None, topics: Collection[int] | None = None
) -> Iterable[Numbered]:
    """The judgments by people, or those of a machine."""
    return _judged(pool, topics) if machine is None else _judged_by(machine, pool, topics)


def _judged(pool: Pool, topics: Collection[int] | None) -> Iterable[Numbered]:
    """Every current judgment by people of a unit of the pool, or of a pool that it tops up, whatever its own pool.

    One query, so all rows are of the same moment.
    """
    assigned = TopicAssignment.objects.filter(
        batch=OuterRef("batch"), topic=OuterRef("topic"), assessor=OuterRef("assessor"), is_withdrawn=False
    )
    judgments = (
        _judgments_of(pool, topics)
        .exclude(batch__kind=Batch.Kind.MACHINE)
        .annotate(is_assigned=Exists(assigned))
    )
    of_vote = ("batch__kind", "is_assigned", "assessor__username", "choice", "grade")
    # answers to questions, if a set of qrels depends on them
    answers = "answers" if pool.protocol.parsed.qrels.sets else Value(None, output_field=IntegerField())
    fields: list[Any] = ["pk", "topic__code", "docno", answers, *of_vote]
    rows = judgments.order_by("id").values_list(*fields).iterator(chunk_size=CHUNK)
    vote = cache(Vote)  # most judgments are like another, except for the document
    return (
        (number, Answered(Unit(topic, docno), vote(*rest), answers or {}))
        for number, topic, docno, answers, *rest in rows
    )


def _judged_by(machine: Machine, pool: Pool, topics: Collection[int] | None) -> Iterable[Numbered]:
    """The judgments of a machine as if they were main judgments: as many of each document as judges are summed."""
    own = _judgments_of(pool, topics).filter(
        batch__kind=Batch.Kind.MACHINE, assessor=machine.assessor.user_id
    )
    fields = ("pk", "topic__code", "docno", "answers", "assessor__username", "choice", "grade")
    latest = {
        Unit(topic, docno): (number, Vote(Batch.Kind.MAIN.value, True, *vote), answers)
        for number, topic, docno, answers, *vote in own.order_by("id")
        .values_list(*fields)
        .iterator(chunk_size=CHUNK)
    }
    protocol = pool.protocol.parsed
    n_judges = protocol.judging.judges if protocol.qrels.aggregate == "sum" else 1
    return [
        (number, Answered(unit, vote, answers))
        for unit, (number, vote, answers) in latest.items()
        for _ in range(n_judges)
    ]


def _judgments_of(pool: Pool, topics: Collection[int] | None) -> QuerySet[Judgment]:
    """Current judgments of units of a pool and of those that it tops up. Those by another protocol do not count."""
    pools = chain(pool)
    entries = PoolEntry.objects.filter(pool__in=pools, topic=OuterRef("topic"), docno=OuterRef("docno"))
    members = PoolMember.objects.filter(
        entry__pool__in=pools, entry__topic=OuterRef("topic"), docno=OuterRef("docno")
    )
    of_units = Q(batch__pool__in=pools) | Exists(entries) | Exists(members)
    of_track = Judgment.objects.filter(
        track=pool.track_id, batch__pool__protocol=pool.protocol_id, **_of(topics)
    )
    return of_track.filter(of_units, is_current=True)


def conflict_message(conflicts: Sequence[Conflict]) -> str:
    named = "; ".join(map(str, conflicts[:CONFLICTS_NAMED]))
    more = f"; and {len(conflicts) - CONFLICTS_NAMED} more" if len(conflicts) > CONFLICTS_NAMED else ""
    return (
        f"The judgments of {counted(len(conflicts), 'unit')} conflict. Have these units adjudicated first, or withdraw "
        f"the topic from the assessor whose judgments must not count: {named}{more}."
    )
