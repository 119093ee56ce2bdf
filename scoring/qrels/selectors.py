"""What others may read of qrels, leaderboards and evaluations, and who sees what.

Organizers see everything. A leaderboard that is released to participants is seen by members of the track's teams,
who open the evaluations of their own runs from it; one that is public is seen by everybody, with all of its
evaluations. Qrels are seen by whoever sees a leaderboard that stands on them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from django.db.models import QuerySet

from accounts.access import Visitor, is_organizer
from assay.evaluation.scores import ALL, HEADER, ScoreRow, one_word
from assay.formats.qrels.reader import QrelsColumns, columns_from, format_qrels
from pooling.models import Run
from scoring.leaderboards.selectors import leaderboards_for
from scoring.models import Evaluation, Qrels, QrelsEntry, Score
from tracks.models import Track

CHUNK = 5_000


def qrels_for(user: Visitor) -> QuerySet[Qrels]:
    """Versions of qrels that a person may see."""
    versions = Qrels.objects.select_related("track__protocol", "protocol", "pool", "created_by")
    if is_organizer(user):
        return versions
    return versions.filter(pk__in=leaderboards_for(user).order_by().values("qrels"))


def qrels_of(user: Visitor, track: Track) -> QuerySet[Qrels]:
    """Versions of a track's qrels that a person may see, newest first."""
    return qrels_for(user).filter(track=track)


def runs_to_score(track: Track) -> QuerySet[Run]:
    """Standing runs of the kinds that the protocol scores."""
    kinds = track.protocol.parsed.runs.scored_kinds
    runs = (
        track.runs.filter(status=Run.Status.SUBMITTED, kind__in=kinds).select_related("team").defer("report")
    )
    return runs.order_by("team__name", "tag", "id")


def qrels_columns(qrels: Qrels) -> QrelsColumns:
    """A version as arrays."""
    entries = QrelsEntry.objects.filter(qrels=qrels).values_list("topic", "docno", "grade")
    rows = entries.iterator(chunk_size=CHUNK)
    return columns_from((topic.encode(), docno.encode(), grade) for topic, docno, grade in rows)


def qrels_tsv(qrels: Qrels) -> bytes:
    """A version's file; its sha256 is the recorded one."""
    return format_qrels(qrels_columns(qrels))


class TopicCounts(NamedTuple):
    """How many units of a topic have each grade."""

    topic: str
    n: int
    counts: list[int]


def qrels_page(user: Visitor, qrels: Qrels) -> dict[str, Any]:
    """Counts by topic and grade, and the report of how the version was made."""
    pairs = QrelsEntry.objects.filter(qrels=qrels).order_by().values_list("topic", "grade")
    counted = Counter(pairs.iterator(chunk_size=CHUNK))
    grades = sorted({grade for _, grade in counted}, reverse=True)
    by_topic: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for (topic, grade), n in counted.items():
        by_topic[topic][grade] = n
    rows = [
        TopicCounts(topic, sum(counts.values()), [counts.get(grade, 0) for grade in grades])
        for topic, counts in sorted(by_topic.items())
    ]
    labels = {grade.value: grade.label for grade in qrels.protocol.parsed.judging.grades}
    return {
        "track": qrels.track,
        "qrels": qrels,
        "grades": [(grade, labels.get(grade, "pooled, no grade" if grade < 0 else "")) for grade in grades],
        "rows": rows,
        "n_units": sum(row.n for row in rows),
        "totals": [sum(row.counts[n] for row in rows) for n in range(len(grades))],
        "report": _report_for(user, qrels),
        "leaderboards": leaderboards_for(user).filter(qrels=qrels),
        "is_organizer": is_organizer(user),
        "has_judgments": is_organizer(user) and qrels.source == Qrels.Source.FROZEN,
        "tab": "qrels_list",
    }


def _report_for(user: Visitor, qrels: Qrels) -> dict[str, Any]:
    """What organizers see of how a version was made; others see which topics were dropped."""
    if not is_organizer(user):
        return {
            key: qrels.report[key]
            for key in ("dropped", "min_relevant", "relevant_from", "group", "part_of", "known_items")
            if key in qrels.report
        }
    labels = {one.key: one.label for one in qrels.protocol.parsed.judging.choices}
    non_answers = [one | {"label": labels[one["choice"]]} for one in qrels.report.get("non_answers", [])]
    return {**qrels.report, "non_answers": non_answers}


def topic_table(evaluations: QuerySet[Evaluation]) -> tuple[Sequence[str], Iterator[tuple[str, ...]]]:
    """Header and rows of the values of evaluations, topic by topic and then the means, as the command prints them."""
    measures = {one.pk: one.leaderboard.measures for one in evaluations}
    names = {one.pk: one_word(one.run.tag) for one in evaluations}
    found = Score.objects.filter(evaluation__in=measures).values_list(
        "evaluation_id", "topic", "measure", "value"
    )
    ordered = sorted(
        found.iterator(chunk_size=CHUNK),
        key=lambda row: (names[row[0]], row[0], row[1] == ALL, row[1], measures[row[0]].index(row[2])),
    )
    return HEADER, (
        ScoreRow(names[pk], topic, measure, value).cells() for pk, topic, measure, value in ordered
    )
