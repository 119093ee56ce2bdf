"""A task as a program gets it: the texts of its topic and its document, and what can be chosen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple

from assay.formats.topics.subtopics import labels_of
from assay.html.sanitize import clean_text, plain
from assay.protocols.questions import choices_of, questions_for
from assessment.judging.layouts.answers import UnitAnswer
from assessment.judging.layouts.citations import UnitCitation
from assessment.judging.layouts.pairs import UnitSide, as_shown
from assessment.judging.page import unit_parts
from assessment.judgments.answers import questions_of
from assessment.models import Judgment, Task
from tracks.rows.selectors import parts_of, values_of


class UnitMember(NamedTuple):
    """A document in the unit, which gets its own choice."""

    docno: str
    latex: str
    text: str


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
    rules, track = as_shown(task.batch.pool.protocol.parsed.judging, task), task.batch.pool.track
    topic, document, passage = task.entry.topic, task.entry.document, task.entry.passage
    shown = str if is_html else plain
    parts = unit_parts(task, rules)
    # Members can be in several languages; then all questions can be asked.
    questions = questions_for(rules, labels=topic.labels, subtopics=labels_of(topic.subtopics))
    if not rules.has_members:
        questions = questions_of(task, rules, [task.entry.docno])[task.entry.docno]
    row = values_of(topic, task.entry.docno) if rules.form else {}
    text = shown(document.body) if document else ""
    if rules.form and not rules.form.frame:
        text = shown("".join(part.html for part in parts_of(rules.form, row)))
    if passage and not parts.generated:
        text = escape(passage, quote=False) if is_html else passage
    unit = ShownUnit(
        topic=topic.code,
        title=shown(topic.title),
        description=shown(topic.body),
        narrative=shown(topic.narrative),
        scenario=shown(clean_text(topic.scenario)),
        criteria=shown(clean_text(topic.criteria)),
        docno=task.entry.docno,
        row=row,
        document_title=shown(document.title) if document else "",
        text=text,
        latex=parts.formula.latex if parts.formula else "",
        citation=parts.citation and parts.citation.as_unit(is_html=is_html),
        generated=parts.generated and parts.generated.as_unit(),
        members=[UnitMember(member.docno, member.latex, shown(str(member.body))) for member in parts.members],
        pair=[side.as_unit(is_html=is_html) for side in parts.pair],
        guidelines=track.guidelines.text if track.guidelines else "",
        **choices_of(rules, questions, task.entry.docno),
    )
    own = Judgment.objects.filter(task=task.pk).select_related("topic", "assessor", "batch").order_by("pk")
    return ShownTask(task, unit, list(own))
