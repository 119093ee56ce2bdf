"""Current judgments with the columns of Turkle's results, for programs that read these.

A task is a unit of a pool, an assignment the task of an assessor. The fields of a row are the inputs, with its topic
and docno; the choice, the comment and the answers to questions are the answers.
"""

from collections.abc import Iterator, Mapping

from django.db.models import Func, QuerySet

from assay.formats.judgments.turkle import TIME, results_lines
from assay.protocols.schema import ANSWERED
from assessment.models import Batch, Judgment
from tracks.models import Row

CHUNK = 2_000
FIELDS = (
    "task__entry_id", "batch_id", "batch__created_at", "task_id", "assessor_id", "assessor__username",
    "task__accepted_at", "created_at", "seconds", "topic_id", "topic__code", "docno", "choice", "comment", "answers",
)  # fmt: skip


def results_of(
    judgments: QuerySet[Judgment], *, names: Mapping[int, str] | None = None, has_comments: bool = True
) -> Iterator[str]:
    """The parts of the file. It is read twice: for the names of the answers, and for the judgments."""
    current = judgments.filter(is_current=True).order_by("task__entry", "pk")
    keys = current.order_by().annotate(key=Func("answers", function="jsonb_object_keys"))
    answers = set(keys.values_list("key", flat=True).distinct())
    of_tracks = Batch.objects.filter(pool__track__in=judgments.order_by().values("track"))
    batches = {
        batch.pk: batch for batch in of_tracks.select_related("pool__protocol").defer("pool__statistics")
    }
    forms = [batch.pool.protocol.as_written.judging.form for batch in batches.values()]
    inputs = {"topic", "docno"}.union(*(form.fields for form in forms if form))
    has_choices = any(
        batch.pool.protocol.as_written.judging.choices != (ANSWERED,) for batch in batches.values()
    )
    answers |= {"choice"} if has_choices else set()
    answers |= {"comment"} if has_comments else set()
    return results_lines(sorted(inputs), sorted(answers), _rows(current, batches, names))


def _rows(
    judgments: QuerySet[Judgment], batches: Mapping[int, Batch], names: Mapping[int, str] | None
) -> Iterator[dict[str, object]]:
    rows = judgments.values(*FIELDS).iterator(chunk_size=CHUNK)
    while part := [row for row, _ in zip(rows, range(CHUNK), strict=False)]:
        docnos, topics = {row["docno"] for row in part}, {row["topic_id"] for row in part}
        known = Row.objects.filter(topic__in=topics, docno__in=docnos)
        fields = {
            (topic, docno): inputs for topic, docno, inputs in known.values_list("topic", "docno", "fields")
        }
        for row in part:
            batch = batches[row["batch_id"]]
            name = row["assessor__username"] if names is None else names[row["assessor_id"]]
            inputs = {
                **fields.get((row["topic_id"], row["docno"]), {}),
                "topic": row["topic__code"],
                "docno": row["docno"],
            }
            answers = {**row["answers"], "choice": row["choice"], "comment": row["comment"]}
            yield {
                "HITId": row["task__entry_id"],
                "HITTypeId": batch.pk,
                "Title": batch.name,
                "CreationTime": f"{batch.created_at:{TIME}}",
                "MaxAssignments": batch.n_judges,
                "AssignmentDurationInSeconds": 60 * batch.minutes_allotted,
                "AssignmentId": row["task_id"],
                "WorkerId": name,
                "AcceptTime": f"{row['task__accepted_at']:{TIME}}",
                "SubmitTime": f"{row['created_at']:{TIME}}",
                "WorkTimeInSeconds": row["seconds"],
                "Turkle.Username": name,
                **{f"Input.{key}": text for key, text in inputs.items()},
                **{f"Answer.{key}": answer for key, answer in answers.items()},
            }
