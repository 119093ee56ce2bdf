"""Invitations that can still be accepted, and their links."""

from dataclasses import dataclass

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db.models import F, Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from pooling.invitations.tokens import token_of
from pooling.models import Invitation
from tracks.models import Track


def open_invitations() -> QuerySet[Invitation]:
    """The invitations that can be accepted now: one to a new account only until it has a password."""
    never_logged_in = Q(user__is_active=True, user__password__startswith=UNUSABLE_PASSWORD_PREFIX)
    return Invitation.objects.filter(
        Q(user=None) | never_logged_in,
        revoked_at=None,
        expires_at__gt=timezone.now(),
        n_uses__lt=F("max_uses"),
    ).select_related("track__protocol", "team", "user", "created_by", "letter")


def invitation_by(digest: str) -> Invitation | None:
    """The invitation with the digest of a token, if it can be accepted now."""
    return open_invitations().filter(digest=digest).first()


def link_of(invitation: Invitation, site: str) -> str:
    """The link of an invitation; empty if the secret key of the site was replaced since."""
    token = token_of(invitation.nonce, invitation.digest)
    return f"{site}{reverse('pooling:invitation_link', args=[token])}" if token else ""


@dataclass(frozen=True)
class SharedLink:
    """An invitation with its link, for those who may pass it on."""

    invitation: Invitation
    link: str


def shared_links(invitations: QuerySet[Invitation], site: str) -> list[SharedLink]:
    """The links of invitations, newest first. One query."""
    return [SharedLink(each, link_of(each, site)) for each in invitations.order_by("-pk")]


def invitations_of(track: Track) -> QuerySet[Invitation]:
    """The invitations of a track that can be accepted now."""
    return open_invitations().filter(track=track)
