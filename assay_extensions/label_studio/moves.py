"""Makes a lab of Label Studio's tasks, and votes of its comparisons."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from assay.errors import InputError
from assay.formats.moving import SKIPPED, MovedRow, Project, lab_toml
from assay.formats.rows import MEAN, NAME, ONE_TOPIC
from assay.preferences.votes import BAD, TIE, Vote, as_lines, parse_votes
from assay.protocols.form_rules import FIELD, ROW_COLUMNS
from assay.protocols.schema import ANSWERED, FormRules
from assay_extensions.label_studio.config import Config, Pairwise
from assay_extensions.label_studio.tasks import UNKNOWN, Task, TaskFile

SOURCE = "label-studio"
DOCNO = {"left": "left_docno", "right": "right_docno"}  # keys of data that name the compared documents


@dataclass
class Moved:
    """A lab, if there are questions; votes and the texts of their documents, if there is a comparison."""

    project: Project | None = None
    votes: list[Vote] = field(default_factory=list)
    documents: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def move(config: Config, file: TaskFile, *, slug: str, title: str, batch: str) -> Moved:
    """Make a lab, votes, or both.

    Args:
        batch: its name, in which the tasks were annotated.

    Raises:
        InputError: Two tasks have the same topic and docno, or the sides of a pair are the same document.
    """
    moved = Moved(notes=list(config.notes))
    left_out = {
        "predictions, because only people judge": file.n_predictions,
        "results of controls without a counterpart, and relations": file.n_left_out,
        "annotations of people who annotated the task again": file.n_repeated,
        "regions that became one with another region of the same label": file.n_joined,
    }
    moved.notes += [f"left out: {words}: {n:,}" for words, n in left_out.items() if n]
    changed = {
        f"annotations without an annotator, who is called {UNKNOWN}": file.n_unknown,
        "texts with half of a surrogate pair, which is U+FFFD now": file.n_replaced,
    }
    moved.notes += [f"{words}: {n:,}" for words, n in changed.items() if n]
    if config.controls:
        moved.project = _project(config, file, moved.notes, slug=slug, title=title, batch=batch)
    if config.pairwise is not None:
        _compare(config.pairwise, file, moved)
    return moved


def _topic(data: dict[str, str]) -> str:
    topic = data.get("topic", "")
    return topic if NAME.fullmatch(topic) and topic != MEAN else ONE_TOPIC


def _project(
    config: Config, file: TaskFile, notes: list[str], *, slug: str, title: str, batch: str
) -> Project:
    keys = dict.fromkeys([*config.variables, *(key for task in file.tasks for key in task.data)])
    fields = [key for key in keys if key not in ROW_COLUMNS and FIELD.fullmatch(key)]
    wrong = [key for key in keys if key not in ROW_COLUMNS and not FIELD.fullmatch(key)]
    if wrong:
        notes.append(f"data.{wrong[0][:60]} cannot be a field, and is left out")
    judges = max((len(task.annotations) for task in file.tasks), default=1) or 1
    rows: list[MovedRow] = []
    judgments: list[dict[str, str]] = []
    place_of: dict[tuple[str, str], str] = {}
    for n, task in enumerate(file.tasks, 1):
        docno = next((name for name in (task.data.get("docno", ""), task.id) if NAME.fullmatch(name)), str(n))
        row = MovedRow(_topic(task.data), docno, {name: task.data.get(name, "") for name in fields})
        if (first := place_of.setdefault((row.topic, docno), task.place)) != task.place:
            raise InputError(f"{task.place}: {row.topic} {docno} is there already, in {first}")
        rows.append(row)
        judgments += [
            {
                "batch": batch,
                "kind": "dual" if judges > 1 else "main",
                "topic": row.topic,
                "docno": row.docno,
                "assessor": annotation.by,
                "choice": SKIPPED if annotation.is_skipped else ANSWERED.key,
                "answers": json.dumps(annotation.answers, ensure_ascii=False),
                "accepted_at": "",
                "judged_at": annotation.created,
                "seconds": annotation.seconds,
                "source": SOURCE,
            }
            for annotation in task.annotations
        ]
    protocol = lab_toml(
        slug,
        title,
        FormRules(tuple(fields), config.html),
        [control.question for control in config.controls.values()],
        source="A project of Label Studio.",
        judges=judges,
        can_skip=any(judgment["choice"] == SKIPPED for judgment in judgments),
    )
    return Project(protocol, rows, judgments)


def _compare(pairwise: Pairwise, file: TaskFile, moved: Moved) -> None:
    """Add the votes, the last of a person on a pair, and the texts of the documents."""
    numbers: dict[str, str] = {}
    votes: dict[tuple[str, ...], Vote] = {}
    n_without = n_again = 0
    for task in file.tasks:
        left, right = (_document(task, side, pairwise, numbers, moved.documents) for side in DOCNO)
        if left == right:
            raise InputError(f"{task.place}: both sides are the same document, {left}")
        for annotation in task.annotations:
            winner = {"left": left, "right": right, "tie": TIE, "bad": BAD}.get(annotation.side, "")
            vote = Vote(_topic(task.data), left, right, winner, annotation.by)
            key = (*vote[:3], vote.assessor)
            n_without += not winner
            n_again += bool(winner) and key in votes
            votes |= {key: vote} if winner else {}
    moved.votes = list(votes.values())
    if moved.votes:
        parse_votes("".join(as_lines(moved.votes)), "votes.txt")  # refuses what the file could not say
    counts = {
        "annotations that prefer no side": n_without,
        "votes of people who compared the pair again": n_again,
    }
    moved.notes += [f"left out: {words}: {n:,}" for words, n in counts.items() if n]


def _document(
    task: Task, side: str, pairwise: Pairwise, numbers: dict[str, str], documents: dict[str, str]
) -> str:
    """The docno of a side: that of the task, or else a number; equal texts are one document."""
    text = task.data[pairwise.left if side == "left" else pairwise.right]
    given = task.data.get(DOCNO[side], "")
    docno = given if NAME.fullmatch(given) else numbers.setdefault(text, f"document-{len(numbers) + 1}")
    if documents.setdefault(docno, text) != text:
        raise InputError(f"{task.place}.data.{DOCNO[side]}: {docno} has another text in an earlier task")
    return docno


def documents_lines(documents: dict[str, str]) -> Iterator[str]:
    """The documents as lines of JSON, for the import of a collection."""
    return (
        json.dumps({"docno": docno, "text": text}, ensure_ascii=False) + "\n"
        for docno, text in documents.items()
    )
