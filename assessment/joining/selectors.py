"""A unit of a batch as its assessors will see it, before anything is stored; links to a batch, and who came by them."""

from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from django.conf import settings
from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext

from accounts.models import User
from assessment.batches.selectors import batches_for_organizer, batches_to_join, entries_of
from assessment.judging.layouts.rows import Row
from assessment.judging.page import TaskPage, task_page
from assessment.judging.selectors import DeskBatch, desk_batch
from assessment.models import Batch, BatchLink, Judgment, Task
from participation.invitations.selectors import guest_by, invitation_by, link_of
from participation.models import InvitationUse
from pooling.models import PoolEntry
from web.pages import counted

UNIT = "topic", "document__collection"
CODE_SALT = "assessment.joining.code"
CODE_LENGTH = 8


@dataclass(frozen=True)
class Preview:
    """A unit of a batch with its form. `number` is its place among the units, from 1.

    `can_choose` says whether other units can be looked at too; `can_accept`, whether the reader may join the batch.
    """

    page: TaskPage
    number: int
    n_units: int
    can_choose: bool
    can_accept: bool

    @property
    def previous(self) -> int:
        return self.number - 1

    @property
    def following(self) -> int:
        return self.number + 1 if self.number < self.n_units else 0


def batches_to_preview(user: User) -> QuerySet[Batch]:
    """The batches of which a user may see a unit before it is judged: those of tracks overseen, and those to join."""
    if not (overseen := [*user.roles]):
        return batches_to_join(user)
    to_join = batches_to_join(user).order_by().values("pk")
    return batches_for_organizer().filter(Q(pool__track__in=overseen) | Q(pk__in=to_join))


def facts_of(batch: Batch) -> list[str]:
    """Facts that a person wants to know before they accept: the units, the people per unit and the time for a task."""
    people = counted(batch.n_judges, "person,people")
    return [
        counted(entries_of(batch).count(), "unit"),
        gettext("{people} per unit").format(people=people)
        if batch.kind == Batch.Kind.MAIN
        else gettext("{kind} batch").format(kind=gettext(batch.get_kind_display())),
        gettext("{time} for each").format(time=counted(batch.minutes_allotted, "minute")),
    ]


def unit_of(batch: Batch, number: int = 1) -> tuple[PoolEntry | None, int]:
    """The unit with a number in the order of judging, and the number of units. Three queries."""
    entries = entries_of(batch).order_by("topic__natural_code", "topic__code", "position")
    n = entries.count()
    if not n:
        return None, 0
    return entries.select_related(*UNIT)[min(max(number, 1), n) - 1], n


def unsaved_task(batch: Batch, entry: PoolEntry, user: User) -> Task:
    """A task for a preview, which nobody has taken."""
    if entry.document is not None and entry.document.collection_id == batch.pool.track.collection_id:
        batch.pool.track.collection = entry.document.collection
    return Task(batch=batch, entry=entry, assessor_id=user.pk, status=Task.Status.EXPIRED)


def preview_of(batch: Batch, user: User, *, number: int = 1, can_accept: bool) -> Preview | None:
    """A unit with its form; None if the batch has no units. Without an account, the user is one that is not stored."""
    entry, n_units = unit_of(batch, number)
    if entry is None:
        return None
    page = task_page(unsaved_task(batch, entry, user), user, entered={}, is_new=True)
    place = min(max(number, 1), n_units)
    if isinstance(page.unit, Row) and page.unit.frame:
        page = replace(page, unit=replace(page.unit, frame=f"{page.unit.frame}?unit={place}"))
    return Preview(page, place, n_units, can_choose=user.oversees(batch.pool.track_id), can_accept=can_accept)


def code_of(guest: User) -> str:
    """The completion code of a guest, by which an organizer finds their judgments: `7F3A-90C2`."""
    mac = salted_hmac(CODE_SALT, str(guest.pk), algorithm="sha256", secret=settings.SECRET_KEY).digest()
    text = sha256(mac).hexdigest()[:CODE_LENGTH].upper()
    return f"{text[:4]}-{text[4:]}"


class Worker(NamedTuple):
    """A guest of a batch, for its organizers. Somebody excluded has nothing that counts."""

    user: User
    name: str
    code: str
    began_at: datetime
    last_at: datetime | None
    n_judged: int
    is_excluded: bool


def guests_of(batch: Batch) -> QuerySet[User]:
    """Everyone who came by a link of a batch."""
    uses = InvitationUse.objects.filter(invitation__batch_link__batch=batch)
    return User.objects.filter(pk__in=uses.values("user"))


@dataclass(frozen=True)
class GuestPage:
    """The work of somebody who judges by a link, between two tasks. `address` is their own link to come back."""

    item: DeskBatch
    address: str
    code: str
    until: datetime | None


def guest_page(guest: User, site: str) -> GuestPage:
    use = InvitationUse.objects.select_related("invitation__batch_link").get(user=guest)
    batch = batches_for_organizer().get(pk=use.invitation.batch_link.batch_id)
    return GuestPage(desk_batch(batch, guest), link_of(use, site), code_of(guest), guest.guest_until)


@dataclass(frozen=True)
class LinkPage:
    """The link of a batch that is in force, if there is one, and everyone who came by one of its links."""

    batch: Batch
    link: BatchLink | None
    address: str
    workers: list[Worker]


def link_in_force(batch: Batch) -> BatchLink | None:
    """The link of a batch that is not revoked and whose time is not over."""
    links = batch.links.filter(invitation__revoked_at=None, invitation__expires_at__gt=timezone.now())
    return links.select_related("invitation").first()


def link_page(batch: Batch, site: str) -> LinkPage:
    link = link_in_force(batch)
    return LinkPage(batch, link, link_of(link.invitation, site) if link else "", workers_of(batch))


def workers_of(batch: Batch) -> list[Worker]:
    """Everyone who came by a link of a batch, in the order in which they came. Three queries."""
    uses = (
        InvitationUse.objects.filter(invitation__batch_link__batch=batch)
        .select_related("user")
        .order_by("pk")
    )
    judged = Judgment.objects.filter(batch=batch, assessor__in=uses.values("user"), is_check=False).order_by()
    counts = judged.values_list("assessor").annotate(
        last=Max("created_at"), n=Count("task", distinct=True, filter=Q(is_current=True))
    )
    of_user = {pk: (last, n) for pk, last, n in counts}
    held = set(batch.topic_assignments.filter(is_withdrawn=False).values_list("assessor", flat=True))
    return [
        Worker(
            use.user,
            use.user.first_name,
            code_of(use.user),
            use.used_at,
            *of_user.get(use.user_id, (None, 0)),
            is_excluded=use.user_id not in held,
        )
        for use in uses
    ]


class Arrival(NamedTuple):
    """The destination of a link. `guest` is somebody who comes back with their own link."""

    link: BatchLink
    guest: User | None


def arrival_by(digest: str) -> Arrival | None:
    """The batch of a link, or of a guest's own link, by the digest of its token; None if it is not valid."""
    use, invitation = guest_by(digest), invitation_by(digest)
    if use is not None:
        invitation = use.invitation
    links = BatchLink.objects.select_related("batch__pool__track", "batch__pool__protocol", "invitation")
    link = links.filter(invitation=invitation).first() if invitation is not None else None
    if link is None:
        return None
    return Arrival(link, use.user if use is not None else None)
