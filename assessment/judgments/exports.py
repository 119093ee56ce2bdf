"""Judgments as files: CSV for spreadsheets, or lines of JSON, in the form of `assay.formats.judgments`.

Everything streams: the memory does not grow with the number of judgments.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

from django.db.models import Exists, OuterRef, QuerySet

from assay.formats.judgments.rows import WrittenRow, as_csv, as_jsonl
from assay.preferences.votes import Vote, as_graph, as_lines, as_trec_eval
from assessment.judgments.pairs import votes_of
from assessment.judgments.results import results_of
from assessment.models import Batch, Judgment, TopicAssignment

CHUNK = 2_000
Form = Literal["csv", "jsonl", "turkle", "prefj", "trec_eval", "pgc"]
FORMS: dict[Form, Callable[[Iterable[WrittenRow]], Iterator[str]]] = {"csv": as_csv, "jsonl": as_jsonl}
TURKLE: Form = "turkle"  # the columns of its results: current judgments only
# Of pairs: the preferences that count, as other programs read them.
VOTE_FORMS: dict[Form, Callable[[Iterable[Vote]], Iterator[str]]] = {
    "prefj": as_lines,
    "trec_eval": as_trec_eval,
    "pgc": as_graph,
}


def file_name(slug: str, form: Form) -> str:
    """The name of the file of a track's judgments."""
    if form == TURKLE:
        return f"judgments-{slug}-turkle.csv"
    return f"preferences-{slug}-{form}.txt" if form in VOTE_FORMS else f"judgments-{slug}.{form}"


FIELDS = (
    "pk", "batch_id", "topic_id", "assessor_id", "topic__code", "docno", "task__entry__docno", "task__entry__position",
    "left", "assessor__username", "task__seat", "choice", "grade", "comment", "answers", "guidelines__number", "order",
    "task__accepted_at", "created_at", "seconds", "is_current", "replaces_id", "replaced_by", "is_adjudicated",
    "is_check", "source",
)  # fmt: skip


def lines_of(
    judgments: QuerySet[Judgment],
    form: Form,
    *,
    names: Mapping[int, str] | None = None,
    has_comments: bool = True,
) -> Iterator[str]:
    """The parts of a file of judgments, oldest first, with those that were replaced; Turkle's has current ones only.

    `names` are the names of the assessors by the id of their account, instead of their usernames. The forms of
    preferences have the current ones only, without those of training.
    """
    if form in VOTE_FORMS:
        counted = judgments.filter(is_current=True).exclude(batch__kind=Batch.Kind.TRAINING)
        return VOTE_FORMS[form](votes_of(counted, names))
    if form == TURKLE:
        return results_of(judgments, names=names, has_comments=has_comments)
    return FORMS[form](_rows(judgments, names, has_comments=has_comments))


def _rows(
    judgments: QuerySet[Judgment], names: Mapping[int, str] | None, *, has_comments: bool
) -> Iterator[dict[str, Any]]:
    """A row per judgment. Judgments are numbered from 1 in each file, since ids mean nothing elsewhere."""
    of_tracks = Batch.objects.filter(pool__track__in=judgments.order_by().values("track")).order_by("pk")
    batches = {
        batch.pk: batch for batch in of_tracks.select_related("pool__protocol").defer("pool__statistics")
    }
    n_rounds, rounds = Counter[int](), {}  # training rounds, numbered in the order of their creation
    for batch in batches.values():
        if batch.kind == Batch.Kind.TRAINING:
            n_rounds[batch.pool.track_id] += 1
            rounds[batch.pk] = n_rounds[batch.pool.track_id]
    taken = TopicAssignment.objects.filter(batch__in=list(batches), is_withdrawn=True)
    withdrawn = set(taken.values_list("batch", "topic", "assessor"))
    adjudications = Judgment.objects.filter(
        topic=OuterRef("topic"), docno=OuterRef("docno"), is_current=True, batch__kind=Batch.Kind.ADJUDICATION
    )
    rows = judgments.annotate(is_adjudicated=Exists(adjudications)).order_by("pk").values_list(*FIELDS)
    numbers: dict[int, int] = {}  # of judgments whose revision has not come yet
    for number, row in enumerate(rows.iterator(chunk_size=CHUNK), 1):
        values = dict(zip(FIELDS, row, strict=True))
        if values["replaced_by"] is not None:
            numbers[values["pk"]] = number
        batch, assessor = batches[values["batch_id"]], values["assessor_id"]
        yield {
            "judgment": number,
            "pool": batch.pool.name,
            "batch": batch.name,
            "kind": batch.kind,
            "round": rounds.get(batch.pk),
            "topic": values["topic__code"],
            "docno": values["docno"],
            "unit": values["task__entry__docno"],
            "left": values["left"],
            "position": values["task__entry__position"],
            "assessor": values["assessor__username"] if names is None else names[assessor],
            "seat": values["task__seat"],
            "choice": values["choice"],
            "label": batch.pool.protocol.as_written.judging.label_of(values["choice"], values["docno"]),
            "grade": values["grade"],
            "comment": values["comment"] if has_comments else "",
            "answers": values["answers"],
            "guidelines": values["guidelines__number"],
            "order": values["order"],
            "accepted_at": values["task__accepted_at"].isoformat(timespec="seconds"),
            "judged_at": values["created_at"].isoformat(timespec="seconds"),
            "seconds": values["seconds"],
            "is_current": values["is_current"],
            "replaces": numbers.pop(values["replaces_id"], None),
            "is_withdrawn": (values["batch_id"], values["topic_id"], assessor) in withdrawn,
            "is_adjudicated": values["is_adjudicated"],
            "is_check": values["is_check"],
            "source": values["source"],
        }
