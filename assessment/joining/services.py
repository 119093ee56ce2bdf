"""Links with which people without an account judge a batch: make and revoke them, admit people, exclude their work.

A link is an invitation of participation. Who comes by one is a guest: an account without a password that has topics of
one batch, and is a visitor everywhere else. Decision: ADR 58.
"""

from django.db import transaction

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import Refused
from assessment.batches.services import lock_for_managing, return_tasks
from assessment.joining.selectors import arrival_by, link_in_force
from assessment.models import Batch, BatchLink
from assessment.planning import services as assignments
from assessment.planning.rules import Change
from participation.errors import InvitationGone
from participation.invitations import services as invitations
from participation.invitations.services import Place, Terms
from participation.models import InvitationUse
from tracks.guidelines import services as guidelines
from tracks.tracks import services as tracks


@transaction.atomic
def create(*, batch: Batch, terms: Terms, asks_name: bool, by: User) -> BatchLink:
    """Make the link of a batch that is open to join. Everyone who has it can read the units of the batch.

    Raises:
        Refused: The batch is not open to join, or has a link already.
    """
    tracks.lock(batch.pool.track_id)
    locked = lock_for_managing(batch.pk)
    if not locked.is_shared:
        raise Refused(
            f"The batch “{locked}” is not open to join. Only in such a batch, nobody has to plan topics.",
            code="not-open-to-join",
        )
    if link_in_force(locked) is not None:
        raise Refused(
            f"The batch “{locked}” has a link already. Revoke it to make another one.", code="has-link"
        )
    place = Place(track=locked.pool.track, is_for_guests=True)
    invitation = invitations.invite(place=place, terms=terms, by=by)
    return BatchLink.objects.create(batch=locked, invitation=invitation, asks_name=asks_name)


def revoke(*, link: BatchLink) -> None:
    """End a link, and with it the work of everyone who came by it, at their next request. Their judgments count."""
    invitations.revoke(invitation=link.invitation)


@transaction.atomic
def admit(*, digest: str, name: str = "") -> InvitationUse:
    """Make a guest and give them the topics of the batch.

    Raises:
        Refused: The link is not valid any more, the batch is not open, or nothing of it is left.
    """
    arrival = arrival_by(digest)
    if arrival is None or arrival.guest is not None:
        raise InvitationGone
    use = invitations.admit(digest=digest, name=name)
    batch = arrival.link.batch
    assignments.join(batch=batch, assessor=use.user)
    if batch.pool.track.guidelines is not None:  # the page before has shown them
        guidelines.mark_read(version=batch.pool.track.guidelines, user=use.user)
    return use


@transaction.atomic
def exclude(*, batch: Batch, worker: User, reason: str) -> int:
    """Let nothing count that a guest judged in a batch, and end their work; returns the number of judgments.

    Their units need a judge again. The judgments are kept, with the reason in the audit log. It cannot be undone.
    """
    tracks.lock(batch.pool.track_id)
    locked = lock_for_managing(batch.pk)
    held = locked.topic_assignments.filter(assessor=worker, is_withdrawn=False).select_related("topic")
    changes = [Change(assignment.topic, worker, is_withdrawn=True) for assignment in held]
    assignments.change(batch=locked, changes=changes)
    n = locked.judgments.filter(assessor=worker, is_current=True).update(is_current=False)
    return_tasks(locked.tasks.filter(assessor=worker, is_check=False))
    locked.topic_assignments.filter(is_withdrawn=False).update(cursor=0)
    User.objects.filter(pk=worker.pk).update(is_active=False)
    details = {"judgments": n, "reason": reason}
    audit.record(action="worker.excluded", subject=worker, track=locked.pool.track, details=details)
    return n
