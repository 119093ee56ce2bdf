"""The preview of a freezing from one part per topic, so that only the topics with new judgments are graded again.

Decision: ADR 92.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from assay.digests import sha256_of
from assay.formats.qrels.reader import format_qrels
from assay.protocols.schema import Protocol
from assay.qrels.freezing import MAX_NAMED, Conflict, Undecided, Unit
from assay.tables import natural
from assessment.judgments.stamps import by_topic
from pooling.models import Pool
from scoring.errors import QrelsRefused
from scoring.qrels.frozen import conflict_message, digest_of, empty_message, grade_topics, made_from
from tracks.models import Machine


def is_by_topic(protocol: Protocol) -> bool:
    """Return whether the grades of a topic are all that is frozen, and depend on its judgments only."""
    rules, is_given = protocol.qrels, protocol.pool.strategy == "known-item" or protocol.judged.has_nuggets
    has_others = rules.preferences or bool(rules.sets) or rules.export_groups
    return protocol.judging.has_grades and not is_given and not has_others


def preview(
    pool: Pool,
    also: Sequence[str],
    machine: Machine | None,
    left_out: Mapping[str, str],
    levels: Collection[int],
) -> dict[str, Any]:
    """The values of a `FreezePreview` of a protocol that `is_by_topic`; of the report, they are those of `grade_pool`.

    `levels` are the grades from which some measure counts a unit as relevant.

    Raises:
        QrelsRefused: As in `grade_pool`, for a pool that is ready.
    """
    key = ["freeze", pool.pk, *also, machine and machine.pk]
    parts = by_topic(pool.track, key, partial(_parts, pool, also, machine))
    parts.sort(key=lambda part: part["topic"])
    n_units = {part["topic"]: part["n"] for part in parts}
    parts = [part for part in parts if part["topic"] not in left_out]
    conflicts = [Conflict(Unit(*unit), reason) for part in parts for *unit, reason in part["conflicts"]]
    if conflicts:
        raise QrelsRefused(conflict_message(conflicts))
    frozen = [part for part in parts if part["text"]]
    report = _joined([part["report"] for part in parts]) if parts else {}
    if not frozen:
        raise QrelsRefused(empty_message(pool, report))
    report |= made_from(pool, also, left_out, n_units)
    sha256 = sha256_of("".join(part["text"] for part in frozen).encode())
    lacking = [
        (level, [part["topic"] for part in frozen if part["highest"] < max(level, 0)]) for level in levels
    ]
    return {
        "digest": digest_of([sha256], report),
        "sha256": sha256,
        "n_judged": sum(part["n_judged"] for part in frozen),
        "n_topics": len(frozen),
        "parts": [],
        "report": report,
        "empty": [
            (level, sorted(codes, key=lambda code: (natural(code), code)))
            for level, codes in lacking
            if codes
        ],
    }


def _parts(
    pool: Pool, also: Sequence[str], machine: Machine | None, topics: Collection[int]
) -> dict[int, dict[str, Any]]:
    """The values that `preview` joins, of each of some topics that has units."""
    parts = {}
    ids = dict(pool.track.topics.filter(pk__in=topics).values_list("code", "pk"))
    for code, n_units, frozen in grade_topics(pool, also, machine, topics):
        part = parts[ids[code]] = {"topic": code, "n": n_units, "conflicts": []}
        if isinstance(frozen, Undecided):
            part["conflicts"] = [(*conflict.unit, conflict.reason) for conflict in frozen.conflicts]
            continue
        grades = [grade for _, _, grade in frozen.rows]
        part |= {
            "text": format_qrels(frozen.columns).decode(),
            "n_judged": sum(grade >= 0 for grade in grades),
            "highest": max(grades, default=0),
            "report": frozen.report,
        }
    return parts


def _joined(reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The report on all topics, from those on each, by topic code."""
    unjudged = [report["unjudged"] for report in reports]
    counts: dict[str, Counter[str]] = {"decided": Counter(), "left_out": Counter()}
    for report in reports:
        for name, counted in counts.items():
            counted.update(report[name])
    return {
        **reports[0],
        "dropped": sorted(  # as freezing the whole pool lists them, because the digest has their order
            (topic for report in reports for topic in report["dropped"]),
            key=lambda topic: (natural(topic["topic"]), topic["topic"]),
        ),
        "non_answers": [unit for report in reports for unit in report["non_answers"]],
        "unjudged": {
            "n": sum(of_topic["n"] for of_topic in unjudged),
            "topics": {topic: n for of_topic in unjudged for topic, n in of_topic["topics"].items()},
            "first": [unit for of_topic in unjudged for unit in of_topic["first"]][:MAX_NAMED],
        },
        "partly": sum(report["partly"] for report in reports),
        **{name: dict(counted) for name, counted in counts.items()},
    }
