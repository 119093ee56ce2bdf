"""Ask to join a track, and decide on it."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from accounts.audit import services as audit
from accounts.mail import letters
from accounts.models import User
from participation.errors import request_refused
from participation.invitations import services as invitation_services
from participation.invitations.services import Place, Terms
from participation.models import JoinRequest, Team
from participation.requests.selectors import open_requests, takes_requests
from participation.teams import services as team_services
from participation.teams.selectors import deciders, team_named
from tracks.models import Track
from tracks.tracks.services import lock

MAX_OPEN = 500  # requests to a track
OF_TEAM = "participation.team_requests"  # the letters to the manager of a team
GATHERED = timedelta(minutes=10)  # in which further requests go into the same e-mail to the organizers


@transaction.atomic
def ask(*, track: Track, asked: JoinRequest, user: User | None, site: str = "") -> None:
    """Store a request, and tell the organizers. An open one of the same person or address stays as it is.

    An assessor of the track cannot join a team of it.
    """
    current = lock(track.pk)
    if not takes_requests(current):
        raise request_refused(f"{current} takes no requests: it is {current.get_status_display()}.")
    if user is not None:
        team_services.check_members(track=current, members=[user])
    waiting = open_requests(current)
    is_known = waiting.filter(email__iexact=asked.email).exists()
    if is_known or (user is not None and waiting.filter(user=user).exists()):
        return
    if waiting.count() >= MAX_OPEN:
        raise request_refused(f"{current} has {MAX_OPEN} open requests. Write to the organizers.")
    asked.track, asked.user = current, user
    asked.save(force_insert=True)
    letters.post_gathered(kind="participation.requests", data={"track": current.pk}, site=site, wait=GATHERED)
    if team := team_named(current, asked.team_name):
        letters.post_gathered(kind=OF_TEAM, data={"team": team.pk}, site=site, wait=GATHERED)


@transaction.atomic
def accept(*, request: JoinRequest, team_name: str, by: User, site: str = "") -> JoinRequest:
    """Put the person into the team with this name, creating it if needed. A visitor gets an invitation to it.

    Raises:
        Refused: The team has members, and another person than its manager accepts: who asks would see its runs.
    """
    current = _locked(request)
    _check_decider(current.track, team_named(current.track, team_name.strip()), by)
    team = team_services.named_or_new(track=current.track, name=team_name, organization=current.organization)
    if current.user is not None:
        team_services.add_member(team=team, user=current.user)
    else:
        current.invitation = invitation_services.invite(
            place=Place(track=current.track, team=team),
            terms=Terms(name=current.name, email=current.email),
            by=by,
        )
    return _decide(current, JoinRequest.State.ACCEPTED, by, site)


@transaction.atomic
def refuse(*, request: JoinRequest, reason: str, by: User, site: str = "") -> JoinRequest:
    """Refuse a request. The person gets the reason."""
    if not reason.strip():
        raise request_refused("Enter the reason: the person gets it.")
    current = _locked(request)
    current.reason = reason.strip()
    return _decide(current, JoinRequest.State.REFUSED, by, site)


def _check_decider(track: Track, team: Team | None, by: User) -> None:
    managers = deciders(team) if team else []
    if by in managers:
        return
    if not (by.is_administrator or by.organizes(track.pk)):
        raise request_refused("You decide who joins your own team only.")
    if managers:
        names = ", ".join(user.get_full_name() or user.username for user in managers)
        raise request_refused(
            f"The team {team} takes part already. Who joins it is decided by {names} on the page of the team. "
            "Name another team, or wait."
        )


def _locked(request: JoinRequest) -> JoinRequest:
    lock(request.track_id)
    rows = JoinRequest.objects.select_for_update(of=("self",)).select_related("track__protocol", "user")
    current = rows.get(pk=request.pk)
    if current.state != JoinRequest.State.OPEN:
        raise request_refused(f"The request of {current.name} is already {current.get_state_display()}.")
    return current


def _decide(request: JoinRequest, state: JoinRequest.State, by: User, site: str) -> JoinRequest:
    request.state, request.decided_by, request.decided_at = state, by, timezone.now()
    request.save()
    request.letter = letters.post(
        kind="participation.request_decided", data={"request": request.pk}, site=site
    )
    request.save(update_fields=["letter"])
    details = {"team": request.team_name} | ({"reason": request.reason} if request.reason else {})
    audit.record(
        action=f"request.{state.value}", subject=request.name, track=request.track, details=details, by=by
    )
    return request
