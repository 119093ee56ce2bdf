"""The members of a unit on the judging page: each in its post, with the assessor's current choice."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from django.utils.html import strip_tags
from django.utils.safestring import SafeString

from assay.html import highlight
from assay.protocols.schema import JudgingRules
from assessment.judging.keys import Keys
from assessment.judgments.answers import ShownQuestion, fields_of, questions_of, shown_questions
from assessment.judgments.selectors import EarlierJudgment, earlier_judgments, members_to_judge
from assessment.models import Judgment, Task
from corpus.models import Collection, Document
from corpus.threads.selectors import address, comment_with, resolve_links, safe_html
from pooling.models import PoolMember
from pooling.pools.entries import excerpt, latex_of

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


def shown_formula(task: Task, *, in_context: bool) -> ShownMember:
    """A unit that is a single formula, shown as a member: with its post, or without."""
    entry, collection = task.entry, task.batch.pool.track.collection
    member = PoolMember(docno=entry.docno, document=entry.document, entry=entry)
    return _shown(member, collection, latex_of(collection, [entry.docno]), None, in_context)


def filled_in(
    task: Task, members: list[ShownMember], rules: JudgingRules, keys: Keys, entered: Mapping[str, Any]
) -> list[ShownMember]:
    """The members with their questions, and with what was entered and is not stored."""
    shown, by_member = [], questions_of(task, rules, [member.docno for member in members])
    for member in members:
        suffix = f"-{member.key}"
        stored = {f"choice{suffix}": member.choice, f"comment{suffix}": member.comment}
        values = stored | fields_of(rules, member.answers, suffix) | dict(entered)
        choice, comment = str(values[f"choice{suffix}"]), str(values[f"comment{suffix}"])
        questions = shown_questions(rules, by_member[member.docno], values, keys.of_questions, suffix)
        shown.append(member._replace(choice=choice, comment=comment, questions=questions))
    return shown
