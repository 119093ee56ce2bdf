"""A task as a program gets it: the texts of its topic and its document, and what can be chosen."""

from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from typing import Any

from assay.html.sanitize import clean_text, plain
from assay.judging.units import choices_of
from assay.protocols.schema import JudgingRules
from assessment.judgments.follow_ups import questions_for
from assessment.judgments.rules import has_members, judging_rules
from assessment.models import Judgment, Task
from assessment.tasks.citations import ShownCitation, shown_citation
from assessment.tasks.members import shown_formula, shown_members


@dataclass(frozen=True)
class Member:
    """A document in a unit, if a unit has several: each gets its own choice."""

    document: str
    latex: str
    text: str


@dataclass(frozen=True)
class ThreadPost:
    """A post of the thread of a citation."""

    document: str
    author: str
    published_at: datetime | None
    text: str
    is_cited: bool


@dataclass(frozen=True)
class CitedPost:
    """A citation in its thread: the words of the collection that it cites, and the posts around them."""

    words: str
    language: str
    thread_title: str
    posts: list[ThreadPost]
    is_outside: bool


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
    citation: CitedPost | None
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


def _citation(citation: ShownCitation, *, is_html: bool) -> CitedPost:
    """The citation as a program gets it. In HTML, the cited words are marked in their post."""
    shown = str if is_html else plain
    return CitedPost(
        words=escape(citation.original, quote=False) if is_html else citation.original,
        language=citation.language,
        thread_title=shown(citation.headline),
        posts=[
            ThreadPost(post.docno, post.author, post.published_at, shown(str(post.body)), post.is_cited)
            for post in citation.posts
        ],
        is_outside=citation.is_outside,
    )


def _follow_ups(task: Task, rules: JudgingRules) -> list[dict[str, Any]]:
    """The questions that can be asked of this unit; if it has members in several languages, all of them."""
    document = task.entry.document
    language = document.language if document and not has_members(rules) else ""
    return [
        {"key": each.key, "label": each.label, "after": list(each.after), "choices": dict(each.choices)}
        for each in questions_for(rules, language)
    ]


def shown_task(task: Task, *, is_html: bool) -> ShownTask:
    """A task for the assessor who took it, as plain text or as HTML."""
    rules, track = judging_rules(task.batch.pool.protocol), task.batch.pool.track
    topic, document = task.entry.topic, task.entry.document
    shown = str if is_html else plain
    formula = shown_formula(task, in_context=rules.in_context) if rules.layout == "formula" else None
    citation = shown_citation(task.entry, in_context=rules.in_context) if rules.layout == "citation" else None
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
        citation=citation and _citation(citation, is_html=is_html),
        members=[Member(each.docno, each.latex, shown(str(each.body))) for each in members],
        guidelines=track.guidelines.text if track.guidelines else "",
        follow_ups=_follow_ups(task, rules),
        **choices_of(rules),
    )
    own = Judgment.objects.filter(task=task.pk).select_related("topic", "assessor", "batch").order_by("pk")
    return ShownTask(task, unit, list(own))
