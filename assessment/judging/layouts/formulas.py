"""Formulas on the judging page, in their posts or alone: one, or the instances of one with a choice each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from django.utils.html import strip_tags
from django.utils.safestring import SafeString
from django.utils.translation import gettext_noop

from assay.html import highlight
from assay.html.sanitize import plain
from assay.protocols.schema import JudgingRules
from assessment.judging.keys import Keys
from assessment.judging.layouts.documents import SAMPLE_TEXT, Layout, thread_of
from assessment.judgments.answers import ShownQuestion, fields_of, questions_of, shown_questions
from assessment.judgments.selectors import EarlierJudgment, earlier_judgments, members_to_judge
from assessment.models import Judgment, Task
from corpus.models import Collection, Document
from corpus.threads.selectors import address, comment_with, resolve_links, safe_html
from pooling.models import PoolMember
from pooling.pools.entries import excerpt, latex_of

SAMPLE_LATEX = r"\sum_{n=1}^{\infty} \frac{1}{n^2}"
MAX_OPEN = 1_200  # characters of a post that is shown at once


class ShownMember(NamedTuple):
    """A member on the judging page. `body` is its post with the formula marked; empty if the post is not shown.

    `title` is the title of the post if the formula is in it, and `remark` the comment on the post that contains it.
    """

    key: str
    docno: str
    latex: str
    excerpt: str
    body: SafeString
    title: SafeString
    remark: SafeString
    post: str
    address: str
    choice: str
    comment: str
    shown: int
    answers: Mapping[str, Any] = MappingProxyType({})
    earlier: Sequence[EarlierJudgment] = ()
    questions: Sequence[ShownQuestion] = ()

    @property
    def is_short(self) -> bool:
        """True if the page shows the post at once, in place of the part with the formula."""
        return 0 < len(strip_tags(self.body)) <= MAX_OPEN


def shown_members(task: Task, *, in_context: bool) -> list[ShownMember]:
    """The members to judge, as the page shows them: with their posts, or without."""
    members = members_to_judge(task)
    collection = task.batch.pool.track.collection
    latex = latex_of(collection, [member.docno for member in members])
    judgments = Judgment.objects.filter(task=task.pk).order_by("pk")
    own = {judgment.docno: judgment for judgment in judgments}  # the latest of each
    earlier = earlier_judgments(
        task, [member.docno for member in members], task.batch.pool.protocol.parsed.judging
    )
    return [
        _shown(member, collection, latex, own.get(member.docno), in_context)._replace(
            earlier=earlier.get(member.docno, ())
        )
        for member in members
    ]


def _shown(
    member: PoolMember,
    collection: Collection | None,
    latex: dict[str, str],
    own: Judgment | None,
    in_context: bool,
) -> ShownMember:
    document = member.document if in_context else None
    title, body, remark = marked_texts(document, member.docno)
    return ShownMember(
        key=str(member.pk),
        docno=member.docno,
        latex=latex.get(member.docno, ""),
        excerpt=excerpt(document, member.docno),
        body=body,
        title=title,
        remark=remark,
        post=member.post,
        address=""
        if document is None or collection is None
        else address(collection, document.thread, document.docno, formula=member.docno),
        choice=own.choice if own else "",
        comment=own.comment if own else "",
        shown=own.pk if own else 0,
        answers=own.answers if own else {},
    )


def marked_texts(document: Document | None, formula: str) -> tuple[SafeString, SafeString, SafeString]:
    """The title, body and comment of a post with one formula marked; title and comment only if they contain it.

    Links lead to threads of the collection only. One query, and two more if neither title nor body has the formula.
    """
    if document is None:
        return safe_html(""), safe_html(""), safe_html("")
    collections = [document.collection]
    title, body = highlight.mark(document.title, formula), highlight.mark(document.body, formula)
    [shown] = resolve_links([body], collections)
    if title != document.title:
        return safe_html(title), shown, safe_html("")
    if body != document.body:
        return safe_html(""), shown, safe_html("")
    [remark] = resolve_links([highlight.mark(comment_with(document, formula), formula)], collections)
    return safe_html(""), shown, remark


@dataclass(frozen=True, kw_only=True)
class Formula(Layout):
    """A single formula, shown as a member: with its post, or without."""

    text = "assessment/judging/_formula.html"

    noun: str = gettext_noop("Formula")
    formula: ShownMember

    @classmethod
    def of(cls, task: Task, rules: JudgingRules) -> Layout:
        entry, collection = task.entry, task.batch.pool.track.collection
        member = PoolMember(docno=entry.docno, document=entry.document, entry=entry)
        latex = latex_of(collection, [entry.docno])
        shown = _shown(member, collection, latex, None, rules.in_context)
        return cls(task=task, rules=rules, formula=shown)

    @classmethod
    def sample(cls, task: Task, rules: JudgingRules) -> Layout:
        task.entry.document = None
        return cls(task=task, rules=rules, formula=_sample(1))

    @property
    def thread(self) -> str:
        entry = self.task.entry
        return thread_of(entry.document, formula=entry.docno) if self.rules.in_context else ""

    def as_unit(self, *, is_html: bool) -> dict[str, object]:
        return super().as_unit(is_html=is_html) | {"latex": self.formula.latex}


class UnitMember(NamedTuple):
    """A document in the unit, which gets its own choice, as a program gets it."""

    docno: str
    latex: str
    text: str


@dataclass(frozen=True, kw_only=True)
class FormulaInstances(Layout):
    """The instances of a formula that the assessor judges."""

    template = "assessment/judging/members.html"
    text = "assessment/judging/_member_text.html"
    by_member = True
    grade_can_submit = False

    noun: str = gettext_noop("Formula")
    members: Sequence[ShownMember]

    @classmethod
    def of(cls, task: Task, rules: JudgingRules) -> Layout:
        members = shown_members(task, in_context=rules.in_context)
        return cls(task=task, rules=rules, members=members) if members else Layout.of(task, rules)

    @classmethod
    def sample(cls, task: Task, rules: JudgingRules) -> Layout:
        return cls(task=task, rules=rules, members=[_sample(1), _sample(2)])

    @property
    def texts(self) -> Sequence[object]:
        return self.members

    def with_answers(
        self, keys: Keys, entered: Mapping[str, object], questions: Sequence[ShownQuestion]
    ) -> Self:
        """The members with their questions, and with what was entered and is not stored."""
        rules, members = self.rules, list[ShownMember]()
        by_member = questions_of(self.task, rules, [member.docno for member in self.members])
        for member in self.members:
            suffix = f"-{member.key}"
            stored = {f"choice{suffix}": member.choice, f"comment{suffix}": member.comment}
            values = stored | fields_of(rules, member.answers, suffix) | dict(entered)
            choice, comment = str(values[f"choice{suffix}"]), str(values[f"comment{suffix}"])
            shown = shown_questions(rules, by_member[member.docno], values, keys.of_questions, suffix)
            members.append(member._replace(choice=choice, comment=comment, questions=shown))
        return replace(self, members=members)

    def as_unit(self, *, is_html: bool) -> dict[str, object]:
        shown = str if is_html else plain
        members = [UnitMember(member.docno, member.latex, shown(str(member.body))) for member in self.members]
        return super().as_unit(is_html=is_html) | {"members": members}


def _sample(n: int) -> ShownMember:
    """A formula in its post."""
    none = safe_html("")
    return ShownMember(
        key=str(n),
        docno=f"formula-{n}",
        latex=SAMPLE_LATEX,
        excerpt="",
        body=safe_html(SAMPLE_TEXT),
        title=none,
        remark=none,
        post="",
        address="",
        choice="",
        comment="",
        shown=0,
    )
