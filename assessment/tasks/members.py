"""The members of a unit as an assessor judges them: each where it stands, with the choice that stands."""

from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.utils.safestring import SafeString, mark_safe

from assay.html import highlight
from assessment.judgments.elsewhere import judged_elsewhere
from assessment.models import Judgment, Task
from corpus.models import Collection, Document
from corpus.threads.selectors import address, resolve_links
from pooling.models import PoolMember
from pooling.pools.entries import excerpt, latex_of


class ShownMember(NamedTuple):
    """A member on the judging page. `body` is its post with the formula marked; empty where it is judged alone."""

    key: str
    docno: str
    latex: str
    excerpt: str
    body: SafeString
    post: str
    address: str
    choice: str
    comment: str
    shown: int


def members_of(task: Task) -> QuerySet[PoolMember]:
    """The members of a task's unit that are shown, in their order."""
    return PoolMember.objects.filter(entry=task.entry_id, position__gt=0).order_by("position")


def members_to_judge(task: Task) -> list[PoolMember]:
    """Those of them that the assessor is asked for: not what counts in the batch because another one has judged it.

    What they have judged here stays theirs to change.
    """
    members = list(members_of(task).select_related("document__collection"))
    docnos = [member.docno for member in members]
    own = set(Judgment.objects.filter(task=task.pk, docno__in=docnos).values_list("docno", flat=True))
    settled = judged_elsewhere(task, docnos) - own
    return [member for member in members if member.docno not in settled]


def shown_members(task: Task, *, in_context: bool) -> list[ShownMember]:
    """The members to judge as the page shows them: in their posts, or alone."""
    members = members_to_judge(task)
    collection = task.batch.pool.track.collection
    latex = latex_of(collection, [member.docno for member in members])
    own = {one.docno: one for one in task.judgments.order_by("pk")}  # the last one of each stays
    return [_shown(member, collection, latex, own.get(member.docno), in_context) for member in members]


def _shown(
    member: PoolMember,
    collection: Collection | None,
    latex: dict[str, str],
    own: Judgment | None,
    in_context: bool,
) -> ShownMember:
    document = member.document if in_context else None
    return ShownMember(
        key=str(member.pk),
        docno=member.docno,
        latex=latex.get(member.docno, ""),
        excerpt=excerpt(document, member.docno),
        body=marked_body(document, member.docno),
        post=member.post,
        address=""
        if document is None or collection is None
        else address(collection, document.thread, document.docno),
        choice=own.choice if own else "",
        comment=own.comment if own else "",
        shown=own.pk if own else 0,
    )


def marked_body(document: Document | None, formula: str) -> SafeString:
    """A post with one formula marked; its links lead to threads that exist, and nowhere else."""
    if document is None:
        return mark_safe("")
    (body,) = resolve_links([document.body], [document.collection])
    return mark_safe(highlight.mark(body, formula))  # noqa: S308 - sanitized when stored


def shown_formula(task: Task, *, in_context: bool) -> ShownMember:
    """A formula that is a unit by itself: as a member, in its post or alone."""
    entry, collection = task.entry, task.batch.pool.track.collection
    alone = PoolMember(docno=entry.docno, document=entry.document, entry=entry)
    return _shown(alone, collection, latex_of(collection, [entry.docno]), None, in_context)


def filled_in(members: list[ShownMember], entered: dict[str, Any]) -> list[ShownMember]:
    """The members with what was entered and is not stored."""
    return [
        member._replace(
            choice=str(entered.get(f"choice-{member.key}", member.choice)),
            comment=str(entered.get(f"comment-{member.key}", member.comment)),
        )
        for member in members
    ]
