"""Make, revoke and accept invitations."""

import itertools
import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from accounts.audit import services as audit
from accounts.mail import letters
from accounts.models import User
from participation.errors import InvitationGone, InvitationRefused
from participation.invitations.selectors import digest_of, invitation_by, make_token, open_invitations
from participation.models import Invitation, InvitationUse, Team
from participation.teams import services as team_services
from tracks.assessors import services as assessor_services
from tracks.models import Track
from tracks.tracks.services import lock

USUAL_DAYS = 14
MAX_DAYS = 90
MAX_USES = 500
MAX_NAME = 100  # characters of what a guest is called
MAX_OPEN = 200  # invitations to a team at a time


@dataclass(frozen=True, slots=True)
class Place:
    """To what an invitation leads: a team, the assessors of a track in one of their groups, an account, or work."""

    track: Track
    team: Team | None = None
    may_submit: bool = True
    group: str = ""
    user: User | None = None
    is_for_guests: bool = False

    @property
    def role(self) -> Invitation.Role:
        if self.is_for_guests:
            return Invitation.Role.GUEST
        if self.user is not None:
            return Invitation.Role.ACCOUNT
        return Invitation.Role.MEMBER if self.team is not None else Invitation.Role.ASSESSOR


@dataclass(frozen=True, slots=True)
class Terms:
    """The users of a link, and its validity. With an e-mail address, it is for one account with this address."""

    name: str = ""
    email: str = ""
    max_uses: int = 1
    days: int = USUAL_DAYS


@transaction.atomic
def invite(*, place: Place, terms: Terms, by: User, site: str = "", is_mailed: bool = False) -> Invitation:
    """Make an invitation. `site` is the origin of the link in the e-mail, if it is mailed."""
    track = lock(place.track.pk)
    if not 1 <= terms.max_uses <= MAX_USES or not 1 <= terms.days <= MAX_DAYS:
        raise InvitationRefused(
            f"A link is for 1 to {MAX_USES} people and 1 to {MAX_DAYS} days; "
            f"got {terms.max_uses} and {terms.days}."
        )
    if terms.email and terms.max_uses != 1:
        raise InvitationRefused("A link for an e-mail address is for one person.")
    if place.team is not None and open_invitations().filter(team=place.team).count() >= MAX_OPEN:
        raise InvitationRefused(f"{place.team} has {MAX_OPEN} open invitations. Revoke some of them first.")
    assessor_services.check_group(track=track, group=place.group)
    nonce = secrets.token_hex(16)
    invitation = Invitation.objects.create(
        track=track,
        role=place.role,
        team=place.team,
        may_submit=place.may_submit,
        group=place.group,
        user=place.user,
        name=terms.name,
        email=terms.email,
        nonce=nonce,
        digest=digest_of(make_token(nonce)),
        max_uses=terms.max_uses,
        expires_at=timezone.now() + timedelta(days=terms.days),
        created_by=by,
    )
    if is_mailed:
        data = {"invitation": invitation.pk}
        invitation.letter = letters.post(kind="participation.invitation", data=data, site=site)
        invitation.save(update_fields=["letter"])
    audit.record(action="invitation.made", track=track, details=_described(invitation), by=by)
    return invitation


def _described(invitation: Invitation) -> dict[str, str | int]:
    """Return the details of an invitation for the audit log; not its link."""
    to = str(invitation.team or invitation.user or invitation.group)
    return {"role": invitation.get_role_display(), "to": to, "people": invitation.max_uses}


@transaction.atomic
def revoke(*, invitation: Invitation) -> None:
    """End the validity of an invitation. Who accepted it keeps their place, except guests, whose work ends."""
    rows = Invitation.objects.filter(pk=invitation.pk, revoked_at=None)
    if rows.update(revoked_at=timezone.now()):
        User.objects.filter(pk__in=invitation.uses.values("user")).exclude(guest_until=None).update(
            is_active=False
        )
        audit.record(action="invitation.revoked", track=invitation.track, details=_described(invitation))


@transaction.atomic
def accept(*, digest: str, user: User) -> Invitation:
    """Give a user the place of an invitation, and count the use. Of two who accept the last use at once, one gets it.

    Nobody is both a member of a team and an assessor of its track: the place may be refused too.
    """
    invitation = _locked(digest)
    if invitation.role == Invitation.Role.ACCOUNT:
        message = gettext("This link is for the first login of {user}. Log out first.")
        raise InvitationRefused(message.format(user=invitation.user))
    if invitation.role == Invitation.Role.GUEST:
        raise InvitationRefused(
            gettext(
                "This link is for people without an account. Log out first, or open it in a private window."
            )
        )
    if invitation.email and invitation.email.lower() != user.email.lower():
        raise InvitationRefused(
            gettext(
                "This invitation is for another e-mail address than that of your account. Log out and register with "
                "the link, or ask who invited you for a link without an address."
            )
        )
    if invitation.team is not None:
        team_services.add_member(team=invitation.team, user=user, may_submit=invitation.may_submit)
    else:
        assessor_services.add(track=invitation.track, user=user, group=invitation.group)
    _count_use(invitation, user)
    return invitation


@transaction.atomic
def admit(*, digest: str, name: str = "") -> InvitationUse:
    """Make a guest: an account without a password for somebody who judges by a link, and their own link to come back.

    Raises:
        InvitationGone: The link is not valid, or was used by as many people as it is for.
    """
    invitation = _locked(digest)
    if invitation.role != Invitation.Role.GUEST:
        raise InvitationGone
    # people choose their names, so somebody may have this one already
    names = (f"link-{invitation.pk}-{number}" for number in itertools.count(invitation.n_uses + 1))
    user = User(
        username=next(name for name in names if not User.objects.filter(username__iexact=name).exists()),
        first_name=name[:MAX_NAME],
        guest_until=invitation.expires_at,
    )
    user.set_unusable_password()
    user.save()
    assessor_services.add(track=invitation.track, user=user)
    _count_use(invitation, user)
    use, nonce = InvitationUse.objects.get(invitation=invitation, user=user), secrets.token_hex(16)
    use.nonce, use.digest = nonce, digest_of(make_token(nonce))
    use.save(update_fields=["nonce", "digest"])
    return use


def _locked(digest: str) -> Invitation:
    """The invitation, locked after its track: the same order in every service."""
    known = invitation_by(digest)
    if known is None:
        raise InvitationGone
    lock(known.track_id)
    current = open_invitations().select_for_update(of=("self",)).filter(pk=known.pk).first()
    if current is None:
        raise InvitationGone
    return current


def _count_use(invitation: Invitation, user: User) -> None:
    """Count a user once, however often they accept."""
    _, is_new = InvitationUse.objects.get_or_create(invitation=invitation, user=user)
    if is_new:
        invitation.n_uses += 1
        invitation.save(update_fields=["n_uses"])


@transaction.atomic
def register(
    *, digest: str, username: str, password: str, first_name: str, last_name: str, email: str
) -> User:
    """Create the account of an invited person, and accept the invitation. If it has an address, the account gets it."""
    invitation = _locked(digest)
    if User.has_misleading_name(username):
        message = gettext("The user name {name} cannot be used. Choose another one.")
        raise InvitationRefused(message.format(name=username))
    user = User.objects.create_user(
        username=username,
        email=invitation.email or email,
        password=password,
        first_name=first_name,
        last_name=last_name,
        has_stated_email=not (invitation.email and _is_by_organizer(invitation)),
    )
    accept(digest=digest, user=user)
    return user


def _is_by_organizer(invitation: Invitation) -> bool:
    """Return whether the address was stated by an organizer or administrator, not by a member of a team."""
    by = invitation.created_by
    return by.is_administrator or by.organizes(invitation.track_id)


@transaction.atomic
def set_up(*, digest: str, password: str) -> User:
    """Set the first password of an account that an organizer created; the link is then used up."""
    invitation = _locked(digest)
    if invitation.user is None:
        raise InvitationGone
    user = User.objects.select_for_update().get(pk=invitation.user.pk)
    if user.has_usable_password() or not user.is_active:
        raise InvitationGone
    user.set_password(password)
    user.save(update_fields=["password"])
    _count_use(invitation, user)
    return user
