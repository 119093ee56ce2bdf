"""A task as a program gets it: the texts of its topic and its document, and what can be chosen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from assay.formats.topics.subtopics import labels_of
from assay.html.sanitize import clean_text, plain
from assay.protocols.questions import choices_of, questions_for
from assessment.judging.layouts import shown_unit
from assessment.judging.layouts.answers import UnitAnswer
from assessment.judging.layouts.citations import UnitCitation
from assessment.judging.layouts.formulas import UnitMember
from assessment.judging.layouts.pairs import UnitSide
from assessment.judgments.answers import questions_of
from assessment.models import Judgment, Task


class ShownUnit(NamedTuple):
    """A unit with its texts and choices; its fields are the keys of the lines that `assay judge` gives to a program."""

    topic: str
    title: str
    description: str
    narrative: str
    scenario: str
    criteria: str
    docno: str
    document_title: str
    text: str
    thread_question: str
    latex: str
    citation: UnitCitation | None
    generated: UnitAnswer | None
    members: list[UnitMember]
    pair: list[UnitSide]
    row: Mapping[str, str]
    guidelines: str
    grades: list[dict[str, Any]]
    non_answers: list[dict[str, Any]]
    questions: list[dict[str, Any]]
    has_other_answers: bool


@dataclass(frozen=True)
class ShownTask:
    """A task with its unit and the assessor's judgments of it, oldest first."""

    task: Task
    unit: ShownUnit
    judgments: list[Judgment] = field(default_factory=list)


def shown_task(task: Task, *, is_html: bool) -> ShownTask:
    """A task for the assessor who took it, as plain text or as HTML."""
    shown, in_layout = (str if is_html else plain), shown_unit(task)
    rules, topic, track = in_layout.rules, task.entry.topic, task.batch.pool.track
    # Members can be in several languages; then all questions can be asked.
    questions = questions_for(rules, labels=topic.labels, subtopics=labels_of(topic.subtopics))
    if not rules.judged.has_members:
        questions = questions_of(task, rules, [task.entry.docno])[task.entry.docno]
    texts: dict[str, Any] = {
        "thread_question": "",
        "latex": "",
        "citation": None,
        "generated": None,
        "members": [],
        "pair": [],
        "row": {},
        **in_layout.as_unit(is_html=is_html),
    }
    unit = ShownUnit(
        topic=topic.code,
        title=shown(topic.title),
        description=shown(topic.body),
        narrative=shown(topic.narrative),
        scenario=shown(clean_text(topic.scenario)),
        criteria=shown(clean_text(topic.criteria)),
        docno=task.entry.docno,
        **texts,
        guidelines=track.guidelines.text if track.guidelines else "",
        **choices_of(rules, questions, task.entry.docno),
    )
    own = Judgment.objects.filter(task=task.pk).select_related("topic", "assessor", "batch").order_by("pk")
    return ShownTask(task, unit, list(own))
