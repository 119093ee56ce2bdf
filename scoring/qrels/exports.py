"""Qrels and their judgments as packages for others, each with a README and checksums."""

from collections.abc import Iterator
from dataclasses import replace

from django.db.models import Q, QuerySet

from assay.errors import plural
from assay.formats.judgments.rows import cell_of
from assay.formats.qrels.cites import is_answer
from assay.formats.qrels.columns import Cited, QrelsColumns
from assay.formats.qrels.exports import CITES, Part, forms_of, package, sealed, split_at_random, zipped
from assay.formats.spreadsheet import as_csv
from assay.formats.topics import writer
from assessment.judgments.services import note_export
from assessment.models import Batch, Judgment
from scoring.models import Qrels
from scoring.qrels.selectors import qrels_columns
from tracks.assessors.selectors import code_names
from tracks.models import Track

DEFAULT_SEED = 1
JUDGMENTS = ("topic", "docno", "assessor", "round", "choice", "grade", "seconds", "answers")
ONE_WORD = {"one-of", "yes-no", "number"}  # kinds of questions whose answers XML has as attributes
ROUNDS = [
    kind.value for kind in (Batch.Kind.TRAINING, Batch.Kind.DUAL, Batch.Kind.MAIN, Batch.Kind.ADJUDICATION)
]


def qrels_package(qrels: Qrels, *, to: str, test_share: float | None, seed: int | None) -> bytes:
    """A zip of a version in a format, optionally split into train and test topics.

    Raises:
        SplitError: One of the parts would be empty.
    """
    columns = qrels_columns(qrels)
    if to == CITES:
        columns = replace(columns, cited=_answers(qrels, columns))
    title = f"Qrels of {qrels.track}, {qrels}"
    notes = [
        f"Protocol {qrels.protocol.slug}, sha256 {qrels.protocol_digest}.",
        f"sha256 of the version: {qrels.sha256}.",
    ]
    if qrels.supersedes is not None:
        notes.append(f"It corrects {qrels.supersedes}: {qrels.supersedes_reason}")
    left_out = qrels.report.get("left_out_topics", ())
    notes += [f"Topic {topic['topic']} is left out: {topic['reason']}" for topic in left_out]
    if qrels.machine_name:
        notes.insert(0, f"The grades are those of a machine, {qrels.machine_name}, and not of people.")
    if test_share is None:
        parts = [Part("qrels", "All entries of the version.", columns)]
    else:
        seed = DEFAULT_SEED if seed is None else seed
        train, test = split_at_random(columns, test_share, seed)
        parts = [Part("train", "Topics to train on.", train), Part("test", "Topics to test on.", test)]
        notes.append(
            f"A share of {test_share:g} of the topics was chosen at random for the test part (seed {seed})."
        )
    return zipped(
        package(parts, forms_of(qrels.protocol.parsed, qrels.set_key)[to], title=title, notes=notes),
        file_stem(qrels),
    )


def _answers(qrels: Qrels, columns: QrelsColumns) -> dict[tuple[bytes, bytes], Cited]:
    """The answers that go with the grades of citations, by topic and docno; those of the last round count.

    A text that an assessor wrote is left out, as a comment is. So are answers that go with another grade.
    """
    grades = {(topic.encode(), docno): grade for topic, docno, grade in columns.rows()}
    questions = qrels.protocol.parsed.judging.questions
    keys = [question.key for question in questions if question.kind in ONE_WORD and is_answer(question.key)]
    judgments = _judgments(qrels).exclude(answers={}).order_by("pk")
    rows = list(judgments.values_list("topic__code", "docno", "batch__kind", "grade", "answers"))
    cited = {}
    for topic, docno, _, grade, answers in sorted(rows, key=lambda row: _place(row[2])):
        unit = topic.encode(), docno.encode()
        if grades.get(unit) == grade:
            cited[unit] = Cited({key: str(answers[key]) for key in keys if key in answers}, "")
    return cited


def _place(kind: str) -> int:
    return ROUNDS.index(kind) if kind in ROUNDS else 0


def complete_topics(track: Track) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the topics with the parts that participants did not see: BOLT's XML, and JSON lines."""
    topics = [topic.facts for topic in track.topics.order_by("code")]
    if xml := writer.as_bolt(topics):
        yield f"{track.slug}-topics.xml", xml
    yield f"{track.slug}-topics.jsonl", writer.as_jsonl(topics)


def file_stem(qrels: Qrels) -> str:
    return f"qrels.{qrels.track.slug}.v{qrels.version}{'.machine' if qrels.machine_id else ''}"


def noted_package(qrels: Qrels) -> tuple[bytes, str]:
    """The package of judgments and its name. The audit log records that it was made."""
    note_export(track=qrels.track, content={"format": "zip", "code names": True, "comments": False})
    return judgments_package(qrels), f"judgments.{qrels.track.slug}.v{qrels.version}.zip"


def _judgments(qrels: Qrels) -> QuerySet[Judgment]:
    """The current judgments of the version's track: of people, or of the machine whose version it is."""
    judgments = Judgment.objects.filter(track=qrels.track, is_current=True)
    by_machine = Q(batch__kind=Batch.Kind.MACHINE)
    if qrels.machine is None:
        return judgments.exclude(by_machine)
    return judgments.filter(by_machine, assessor=qrels.machine.assessor.user_id)


def judgments_package(qrels: Qrels) -> bytes:
    """A zip of the current judgments of the version's track, with code names of assessors and without comments.

    The code names are those of every export
    of the track; a machine keeps its name.
    """
    fields = ("topic__code", "docno", "assessor_id", "batch__kind", "choice", "grade", "seconds", "answers")
    rows = list(_judgments(qrels).order_by("topic__code", "docno", "pk").values_list(*fields))
    names = code_names(qrels.track)
    n_assessors = len({row[2] for row in rows})
    table = as_csv(JUDGMENTS, ((*row[:2], names[row[2]], *row[3:-1], cell_of(row[-1])) for row in rows))
    size = f"{plural(len(rows), 'current judgment')} by {plural(n_assessors, 'assessor')}"
    readme = "\n".join(
        [
            f"# Judgments of {qrels.track}",
            "",
            f"{size}. Codes replace names; there are no comments.",
            "",
            "`judgments.csv` has a line per judgment: topic, docno, assessor, round (training, main, dual,",
            "adjudication or machine), choice, grade (empty for a non-answer), seconds on the page,",
            "and the answers to the questions of the protocol, as JSON.",
            "",
        ]
    )
    return zipped(sealed({"judgments.csv": table.encode(), "README.md": readme.encode()}), "judgments")
