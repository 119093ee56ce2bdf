"""The letters of people who take part, which workers write."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.urls import reverse
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy

from accounts.mail import letters
from accounts.mail.letters import Mail
from accounts.selectors import language_of, organizers_to_mail, user_by_id
from participation.announcements.selectors import recipients
from participation.announcements.services import MAIL as ANNOUNCEMENT
from participation.interaction import selectors as sessions
from participation.interaction.services import HELD, PLANNED
from participation.invitations.selectors import link_of, open_invitations
from participation.models import Announcement, Interaction, JoinRequest, Nomination
from participation.requests.selectors import open_requests, open_requests_for
from participation.requests.services import OF_TEAM
from participation.teams.selectors import deciders, team_by_id
from tracks.models import Track
from web.pages import counted


@letters.writer("participation.invitation")
def invitation_mail(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """An invitation with its link; nothing if it was revoked or used meanwhile.

    A person whose language is not known gets that of the account that invites.
    """
    for invitation in open_invitations().filter(pk=data["invitation"]):
        address = invitation.email or (invitation.user.email if invitation.user else "")
        by = invitation.created_by.get_full_name() or invitation.created_by.username
        context = {"invitation": invitation, "link": link_of(invitation, site), "by": by}
        if address and context["link"]:
            template = "participation/invitations/mail_invitation.txt"
            subject = format_lazy(gettext_lazy("Invitation to {track}"), track=invitation.track)
            language = language_of(invitation.user, address) or invitation.created_by.language
            yield Mail(address, subject, template, context, language)


@letters.writer("participation.request_decided")
def request_decided(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """The answer to a request: accepted, with a link for people without an account, or refused, with the reason."""
    asked = JoinRequest.objects.select_related("track", "invitation").get(pk=data["request"])
    link = link_of(asked.invitation, site) if asked.invitation else _track_link(asked.track, site)
    context = {"asked": asked, "link": link}
    subject = f"Your request to join {asked.track}"
    yield Mail(asked.email, subject, "participation/requests/mail_decided.txt", context)


@letters.writer("participation.requests")
def requests(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """Tell the organizers which requests wait; nothing if all are decided."""
    track = Track.objects.get(pk=data["track"])
    waiting = list(open_requests(track))
    link = f"{site}{reverse('participation:people', args=[track.slug])}"
    context = {"track": track, "requests": waiting, "link": link}
    for user in organizers_to_mail(track.pk) if waiting else ():
        subject = f"{counted(len(waiting), 'open request')} to join {track}"
        yield Mail(user.email, subject, "participation/requests/mail_open.txt", context | {"user": user})


@letters.writer(OF_TEAM)
def team_requests(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """Tell who manages a team which requests to join it wait; nothing if all are decided."""
    team = team_by_id(data["team"])
    waiting = open_requests_for(team)
    context = {
        "track": team.track,
        "team": team,
        "requests": waiting,
        "link": f"{site}{team.get_absolute_url()}",
    }
    for user in deciders(team) if waiting else ():
        if user.email and user.is_active:
            subject = f"{counted(len(waiting), 'open request')} to join the team {team}"
            template = "participation/requests/mail_team.txt"
            yield Mail(user.email, subject, template, context | {"user": user})


@letters.writer("participation.added")
def added(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """Tell a person with an account that an organizer gave them a role."""
    user, track = user_by_id(data["user"]), Track.objects.get(pk=data["track"])
    context = {"user": user, "track": track, "role": data["role"], "team": data["team"]}
    context["link"] = _track_link(track, site)
    subject = format_lazy(gettext_lazy("Your role in {track}"), track=track)
    yield Mail(user.email, subject, "participation/people/mail_added.txt", context, user.language)


@letters.writer(ANNOUNCEMENT)
def announcement(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """An announcement; nothing if it was withdrawn meanwhile, or the person left or wants no such e-mails any more."""
    current = Announcement.objects.select_related("track").get(pk=data["announcement"])
    if current.withdrawn_at is None:
        for user in recipients(current.track, current.audiences).filter(pk=data["user"]):
            link = f"{site}{current.get_absolute_url()}"
            context = {"user": user, "announcement": current, "link": link}
            subject = f"{current.track}: {current.title}"
            yield Mail(user.email, subject, "participation/announcements/mail.txt", context, user.language)


def _track_link(track: Track, site: str) -> str:
    return f"{site}{reverse('tracks:track', args=[track.slug])}"


@letters.writer(PLANNED)
def planned(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """Sessions of a team are planned."""
    user, team = user_by_id(data["user"]), team_by_id(data["team"])
    stored = Interaction.objects.filter(team=team).first()
    context = {
        "user": user.username,
        "team": team,
        "topics": data["topics"],
        "window": data["window"],
        "rules": sessions.rules_of(team.track),
        "has_page": stored is not None and bool(stored.address),
    }
    subject = f"{team}: sessions of the interaction"
    yield Mail(user.email, subject, "participation/interaction/mail_planned.txt", context)


@letters.writer(HELD)
def held(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """The sessions of a team are over; nothing if another one was started since, is planned or runs."""
    nominations = Nomination.objects.select_related("team__track__protocol")
    user, nomination = user_by_id(data["user"]), nominations.get(pk=data["nomination"])
    if sessions.is_last(nomination):
        team = nomination.team
        context = {"user": user.username, "team": team, "rules": sessions.rules_of(team.track)}
        subject = f"{team}: the sessions are over"
        yield Mail(user.email, subject, "participation/interaction/mail_held.txt", context)
