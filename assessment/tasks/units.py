"""A task as a program gets it: the texts of its topic and its document, and what can be chosen."""

from dataclasses import dataclass, field
from html import escape
from typing import Any

from assay.html.sanitize import clean_text, plain
from assay.judging.units import choices_of
from assessment.judgments.rules import has_members, judging_rules
from assessment.models import Judgment, Task
from assessment.tasks.members import shown_formula, shown_members


@dataclass(frozen=True)
class Member:
    """A document in a unit, if a unit has several: each gets its own choice."""

    document: str
    latex: str
    text: str


@dataclass(frozen=True)
class TaskUnit:
    """What is asked. The names are those of the lines that `assay judge` gives to a program."""

    topic: str
    title: str
    description: str
    narrative: str
    scenario: str
    criteria: str
    document: str
    document_title: str
    text: str
    latex: str
    members: list[Member]
    guidelines: str
    grades: list[dict[str, Any]]
    non_answers: list[dict[str, Any]]
    follow_ups: list[dict[str, Any]]


@dataclass(frozen=True)
class ShownTask:
    """A task with its unit and the assessor's judgments of it, oldest first."""

    task: Task
    unit: TaskUnit
    judgments: list[Judgment] = field(default_factory=list)


def _text(task: Task, *, is_html: bool) -> str:
    """The text of the document; of a citation, the passage."""
    if task.entry.passage:
        return escape(task.entry.passage, quote=False) if is_html else task.entry.passage
    document = task.entry.document
    if document is None:
        return ""
    return document.body if is_html else plain(document.body)


def shown_task(task: Task, *, is_html: bool) -> ShownTask:
    """A task for the assessor who took it, as plain text or as HTML."""
    rules, track = judging_rules(task.batch.pool.protocol), task.batch.pool.track
    topic, document = task.entry.topic, task.entry.document
    shown = str if is_html else plain
    formula = shown_formula(task, in_context=rules.in_context) if rules.layout == "formula" else None
    members = shown_members(task, in_context=rules.in_context) if has_members(rules) else []
    unit = TaskUnit(
        topic=topic.code,
        title=shown(topic.title),
        description=shown(topic.body),
        narrative=shown(topic.narrative),
        scenario=shown(clean_text(topic.scenario)),
        criteria=shown(clean_text(topic.criteria)),
        document=task.entry.docno,
        document_title=shown(document.title) if document else "",
        text=_text(task, is_html=is_html),
        latex=formula.latex if formula else "",
        members=[Member(each.docno, each.latex, shown(str(each.body))) for each in members],
        guidelines=track.guidelines.text if track.guidelines else "",
        follow_ups=[
            {"key": each.key, "label": each.label, "after": list(each.after), "choices": dict(each.choices)}
            for each in rules.follow_ups
        ],
        **choices_of(rules),
    )
    own = Judgment.objects.filter(task=task.pk).select_related("topic", "assessor", "batch").order_by("pk")
    return ShownTask(task, unit, list(own))
