"""Examples for machines: what people agreed on after training rounds that are closed.

A machine gets what the people of a track see: notes of rounds whose discussion is shown to assessors. Topics that
people still judge elsewhere give no examples, so that no machine sees a grade that people must not see either.
"""

from typing import NamedTuple

from assay.html.sanitize import plain
from assessment.models import Batch, DiscussionNote, TopicAssignment
from pooling.models import PoolEntry

MOST = 12  # examples
MOST_CHARACTERS = 2_000  # of the text of a document


class GradedExample(NamedTuple):
    """A document of a training topic, with the grade that people agreed on, and why."""

    topic: str
    title: str
    docno: str
    document_title: str
    text: str
    grade: int
    key: str
    reason: str


def examples_for(batch: Batch, *, is_html: bool = False) -> list[GradedExample]:
    """The examples for a machine's batch: of each grade in turn, the first by topic and docno. Three queries."""
    track, shown = batch.pool.track, str if is_html else plain
    open_topics = (
        TopicAssignment.objects.filter(batch__pool__track=track, is_withdrawn=False)
        .exclude(batch__kind__in=[Batch.Kind.TRAINING, Batch.Kind.MACHINE])
        .exclude(batch__status=Batch.Status.CLOSED)
    )
    still_trained = TopicAssignment.objects.filter(
        batch__pool__track=track, batch__kind=Batch.Kind.TRAINING, is_withdrawn=False
    ).exclude(batch__status=Batch.Status.CLOSED)
    notes = (
        DiscussionNote.objects.filter(
            batch__pool__track=track,
            batch__pool__protocol=track.protocol_id,
            batch__kind=Batch.Kind.TRAINING,
            batch__status=Batch.Status.CLOSED,
            grade__isnull=False,
        )
        .exclude(batch__discussion=Batch.Discussion.HIDDEN)
        .exclude(topic__in=open_topics.values("topic"))
        .exclude(topic__in=still_trained.values("topic"))
        .select_related("topic", "batch")
        .order_by("topic__natural_code", "topic__code", "docno", "-pk")
    )
    keys = {grade.value: grade.key for grade in track.protocol.parsed.judging.grades}
    chosen = _in_turn([note for note in notes if note.grade in keys])
    places = PoolEntry.objects.filter(pool__in={note.batch.pool_id for note in chosen})
    texts = {
        (topic, docno): (title or "", body or "")
        for topic, docno, title, body in places.filter(docno__in={note.docno for note in chosen}).values_list(
            "topic", "docno", "document__title", "document__body"
        )
    }
    return [
        GradedExample(
            topic=note.topic.code,
            title=shown(note.topic.title),
            docno=note.docno,
            document_title=shown(texts[note.topic_id, note.docno][0]),
            text=shown(texts[note.topic_id, note.docno][1])[:MOST_CHARACTERS],
            grade=note.grade or 0,
            key=keys[note.grade or 0],
            reason=note.text,
        )
        for note in chosen
        if texts.get((note.topic_id, note.docno), ("", ""))[1]
    ]


def _in_turn(notes: list[DiscussionNote]) -> list[DiscussionNote]:
    """One note of each grade, then another of each; the newest of a document."""
    newest = {(note.topic_id, note.docno): note for note in reversed(notes)}
    seen: dict[int, int] = {}
    ranked: list[tuple[int, int, int, DiscussionNote]] = []
    for note in reversed(newest.values()):
        grade = note.grade or 0
        seen[grade] = seen.get(grade, 0) + 1
        ranked.append((seen[grade], grade, len(ranked), note))
    return [note for *_, note in sorted(ranked, key=lambda row: row[:3])[:MOST]]
