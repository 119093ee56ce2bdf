"""Make, revoke and accept invitations."""

from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from accounts.letters import services as letters
from accounts.models import User
from audit import services as audit
from pooling.invitations.errors import InvitationGone, InvitationRefused
from pooling.invitations.selectors import invitation_by, open_invitations
from pooling.invitations.tokens import digest_of, make_token, new_nonce
from pooling.models import Invitation, InvitationUse, Team
from pooling.teams import services as team_services
from tracks.assessors import services as assessor_services
from tracks.models import Track
from tracks.tracks.services import lock

USUAL_DAYS = 14
MAX_DAYS = 90
MAX_USES = 500
MAX_OPEN = 200  # invitations to a team at a time


@dataclass(frozen=True, slots=True)
class Place:
    """To what an invitation leads: a team, the assessors of a track in one of their groups, or an account."""

    track: Track
    team: Team | None = None
    may_submit: bool = True
    group: str = ""
    user: User | None = None

    @property
    def role(self) -> Invitation.Role:
        if self.user is not None:
            return Invitation.Role.ACCOUNT
        return Invitation.Role.MEMBER if self.team is not None else Invitation.Role.ASSESSOR


@dataclass(frozen=True, slots=True)
class Terms:
    """Who may use a link, how often and for how long. With an e-mail address, the link is for one account with it."""

    name: str = ""
    email: str = ""
    max_uses: int = 1
    days: int = USUAL_DAYS


@transaction.atomic
def invite(*, place: Place, terms: Terms, by: User, site: str = "", is_mailed: bool = False) -> Invitation:
    """Make an invitation. `site` is the origin of the link in the e-mail, if it is mailed.

    Raises
    ------
    InvitationRefused
        The terms are out of range, or a team has too many open invitations.
    TrackRefused
        The protocol does not define the group.
    """
    track = lock(place.track.pk)
    _check(place, terms)
    assessor_services.check_group(track=track, group=place.group)
    nonce = new_nonce()
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
        mail(invitation=invitation, site=site)
    audit.record(action="invitation.made", track=track, details=_described(invitation), by=by)
    return invitation


def _described(invitation: Invitation) -> dict[str, str | int]:
    """What the audit log keeps of an invitation; not its link."""
    to = str(invitation.team or invitation.user or invitation.group)
    return {"role": invitation.get_role_display(), "to": to, "people": invitation.max_uses}


def _check(place: Place, terms: Terms) -> None:
    if not 1 <= terms.max_uses <= MAX_USES or not 1 <= terms.days <= MAX_DAYS:
        raise InvitationRefused(
            f"A link is for 1 to {MAX_USES} people and 1 to {MAX_DAYS} days; "
            f"got {terms.max_uses} and {terms.days}."
        )
    if terms.email and terms.max_uses != 1:
        raise InvitationRefused("A link for an e-mail address is for one person.")
    if place.team is not None and open_invitations().filter(team=place.team).count() >= MAX_OPEN:
        raise InvitationRefused(f"{place.team} has {MAX_OPEN} open invitations. Revoke some of them first.")


def mail(*, invitation: Invitation, site: str) -> Invitation:
    """Send an invitation to its address. Without a mail server, nothing is sent."""
    letter = letters.post(kind="pooling.invitation", data={"invitation": invitation.pk}, site=site)
    invitation.letter = letter
    invitation.save(update_fields=["letter"])
    return invitation


@transaction.atomic
def revoke(*, invitation: Invitation) -> None:
    """End the validity of an invitation. Who accepted it keeps their place."""
    rows = Invitation.objects.filter(pk=invitation.pk, revoked_at=None)
    if rows.update(revoked_at=timezone.now()):
        audit.record(action="invitation.revoked", track=invitation.track, details=_described(invitation))


@transaction.atomic
def accept(*, digest: str, user: User) -> Invitation:
    """Give a user the place of an invitation, and count the use.

    Raises
    ------
    InvitationGone
        It can no longer be accepted; of two who accept the last use at once, one gets it.
    InvitationRefused
        It is for another e-mail address, or for the user of another account.
    Refused
        The user cannot have this place: nobody is both a member of a team and an assessor of its track.
    """
    invitation = _locked(digest)
    if invitation.role == Invitation.Role.ACCOUNT:
        raise InvitationRefused(f"This link is for the first login of {invitation.user}. Log out first.")
    if invitation.email and invitation.email.lower() != user.email.lower():
        raise InvitationRefused(
            "This invitation is for another e-mail address than that of your account. Log out and register with "
            "the link, or ask who invited you for a link without an address."
        )
    _give_place(invitation, user)
    _count_use(invitation, user)
    return invitation


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


def _give_place(invitation: Invitation, user: User) -> None:
    if invitation.team is not None:
        team_services.add_member(team=invitation.team, user=user, may_submit=invitation.may_submit)
    else:
        assessor_services.add(track=invitation.track, user=user, group=invitation.group)


def _count_use(invitation: Invitation, user: User) -> None:
    """Count a user once, however often they accept."""
    _, is_new = InvitationUse.objects.get_or_create(invitation=invitation, user=user)
    if is_new:
        invitation.n_uses += 1
        invitation.save(update_fields=["n_uses"])


@dataclass(frozen=True, slots=True)
class NewAccount:
    """What a person enters to register."""

    username: str
    password: str
    first_name: str
    last_name: str
    email: str


@transaction.atomic
def register(*, digest: str, account: NewAccount) -> User:
    """Create the account of an invited person, and accept the invitation. If it has an address, the account gets it.

    Raises
    ------
    InvitationGone, InvitationRefused
        As in `accept`; also if the user name cannot be used.
    """
    invitation = _locked(digest)
    if User.objects.filter(username__iexact=account.username).exists():
        raise InvitationRefused(f"The user name {account.username} cannot be used. Choose another one.")
    user = User.objects.create_user(
        username=account.username,
        email=invitation.email or account.email,
        password=account.password,
        first_name=account.first_name,
        last_name=account.last_name,
    )
    accept(digest=digest, user=user)
    return user


@transaction.atomic
def set_up(*, digest: str, password: str) -> User:
    """Set the first password of an account that an organizer created; the link is then used up.

    Raises
    ------
    InvitationGone
        It can no longer be accepted, or the account already has a password.
    """
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
