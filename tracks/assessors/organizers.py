"""Appoint and dismiss the organizers and chairs of a track. A track always keeps an organizer. Decision: ADR 65."""

from django.db import transaction

from accounts.audit import services as audit
from accounts.models import User
from tracks.models import Organizer, Track
from tracks.tracks import services as track_services
from tracks.tracks.services import track_refused

ROLES = ("organizer", "chair")


@transaction.atomic
def appoint(*, track: Track, user: User, role: str, by: User | None = None, reason: str = "") -> Organizer:
    """Make a user an organizer or a chair of a track, or change between the two. Repeated, it changes nothing.

    The audit log keeps the `reason`, which somebody in a team of the track needs.

    Raises:
        Refused: There is no such role, the user is a machine or deactivated, there is no reason for a member of a
            team, or the last organizer would become a chair.
    """
    current = track_services.lock(track.pk)
    if role not in ROLES:
        raise track_refused(f"{role} is not a role in a track; use {' or '.join(ROLES)}.")
    check(user=user)
    row = Organizer.objects.filter(track=current, user=user).first()
    if row is not None and row.role == role:
        return row
    before = row.role if row is not None else ""
    if row is None:
        check_teams(track=current, user=user, reason=reason)
        row = Organizer(track=current, user=user)
    elif not row.is_chair:
        _check_others(current, user)
    row.is_chair = role == "chair"
    row.save()
    details = {"role": {"from": before, "to": role}} | ({"reason": reason.strip()} if reason.strip() else {})
    audit.record(action="organizer.appointed", subject=user, track=current, details=details, by=by)
    return row


@transaction.atomic
def dismiss(*, track: Track, user: User, by: User | None = None) -> None:
    """Take the role of an organizer or chair from a user. What they made stays.

    Raises:
        Refused: The user has no such role, or is the last organizer.
    """
    current = track_services.lock(track.pk)
    row = check_dismissal(track=current, user=user)
    row.delete()
    audit.record(action="organizer.dismissed", subject=user, track=current, details={"role": row.role}, by=by)


def check_dismissal(*, track: Track, user: User) -> Organizer:
    """The row of an organizer or chair whose role can be taken.

    Raises:
        Refused: As `dismiss`.
    """
    row = Organizer.objects.filter(track=track, user=user).first()
    if row is None:
        raise track_refused(f"{user.named} neither organizes nor chairs {track}.")
    if not row.is_chair:
        _check_others(track, user)
    return row


def check(*, user: User) -> None:
    """Refuse who cannot log in.

    Raises:
        Refused: The user is a machine or deactivated.
    """
    if user.is_machine or not user.is_active:
        raise track_refused(f"{user.named} cannot log in, and so can neither organize nor chair a track.")


def check_teams(*, track: Track, user: User, reason: str = "") -> None:
    """Refuse members of teams of the track without a reason: with the role, they see the runs and scores of all teams.

    Raises:
        Refused: There is no reason.
    """
    team = user.teams.filter(track=track).first()
    if team is not None and not reason.strip():
        raise track_refused(
            f"{user.named} is a member of the team {team}, and would see the runs and scores of all teams of {track}. "
            "Give a reason, which the audit log keeps."
        )


def _check_others(track: Track, user: User) -> None:
    """Refuse to take the role from the last organizer who can log in."""
    others = track.organizers.filter(is_chair=False, user__is_active=True).exclude(user=user)
    if not others.exists():
        raise track_refused(f"{user.named} is the only organizer of {track}. Appoint another one first.")
