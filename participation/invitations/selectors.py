"""Invitations that can still be accepted, and their links.

Only a digest of a link's token is stored, and still the link can be shown or sent again: a token is the HMAC of the
row's random nonce under the secret key of the site. Who reads the database alone can neither make a link nor use one.
"""

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac

from accounts.models import User
from participation.models import Invitation, InvitationUse
from participation.teams.selectors import managed_teams
from tracks.models import Track

SALT = "participation.invitations"


def make_token(nonce: str, key: str | None = None) -> str:
    """The token for a nonce: 43 letters, digits, `-` and `_`. `key` is by default the secret key of the site."""
    mac = salted_hmac(SALT, nonce, secret=key or settings.SECRET_KEY, algorithm="sha256").digest()
    return base64.urlsafe_b64encode(mac).rstrip(b"=").decode()


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def token_of(nonce: str, digest: str) -> str | None:
    """The token of a row; None if it was made under a secret key that the site no longer knows."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    tokens = (make_token(nonce, key) for key in keys)
    return next((token for token in tokens if digest_of(token) == digest), None)


def sent_key(track: Track, newest: int) -> str:
    """The key under which a track stores that nobody has to send its links. A later link has another key."""
    keys = (key.removesuffix(":done") for key in track.skipped if key.startswith("links-"))
    marked = [key for key in keys if int(key[6:]) >= newest]
    return marked[0] if marked else f"links-{newest}"


def open_invitations() -> QuerySet[Invitation]:
    """The invitations that can be accepted now: one to a new account only until it has a password."""
    never_logged_in = Q(user__is_active=True, user__password__startswith=UNUSABLE_PASSWORD_PREFIX)
    return Invitation.objects.filter(
        Q(user=None) | never_logged_in,
        revoked_at=None,
        expires_at__gt=Now(),
        n_uses__lt=F("max_uses"),
    ).select_related("track__protocol", "team", "user", "created_by", "letter")


def invitations_of(track: Track) -> QuerySet[Invitation]:
    """The invitations of a track that can be accepted now."""
    return open_invitations().filter(track=track)


def revocable_by(user: User) -> Q:
    """The invitations that a user may revoke: to tracks that they organize, and to teams that they manage."""
    if user.is_administrator:
        return Q()
    return Q(track__in=user.organized) | Q(team__in=managed_teams(user))


def invitation_by(digest: str) -> Invitation | None:
    """The invitation with the digest of a token, if it can be accepted now."""
    return open_invitations().filter(digest=digest).first()


def guest_by(digest: str) -> InvitationUse | None:
    """The guest with the digest of the token of their own link, if they can still judge."""
    uses = InvitationUse.objects.filter(user__is_active=True, user__guest_until__gt=timezone.now())
    return uses.select_related("user", "invitation").filter(digest=digest).exclude(digest="").first()


def link_of(invitation: Invitation | InvitationUse, site: str) -> str:
    """The link of an invitation, or of a guest; empty if the secret key of the site was replaced since."""
    token = token_of(invitation.nonce, invitation.digest)
    return f"{site}{reverse('participation:invitation_link', args=[token])}" if token else ""


@dataclass(frozen=True)
class SharedLink:
    """An invitation with its link, for those who may pass it on."""

    invitation: Invitation
    link: str


def shared_links(invitations: QuerySet[Invitation], site: str) -> list[SharedLink]:
    """The links of invitations, in the order in which they were made. One query."""
    return [SharedLink(invitation, link_of(invitation, site)) for invitation in invitations.order_by("pk")]


LINK_COLUMNS = ("name", "email", "role", "team", "group", "user", "link")


def link_rows(links: Iterable[SharedLink]) -> list[tuple[object, ...]]:
    """Invitations with their links, as rows of `LINK_COLUMNS`."""
    return [
        (row.name, row.email, row.get_role_display(), row.team or "", row.group, row.user or "", shared.link)
        for shared in links
        for row in [shared.invitation]
    ]
