"""The letters of invitations, of requests to join and of the answers to them, which workers write."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.urls import reverse

from accounts.letters import services as letters
from accounts.letters.services import Mail
from accounts.selectors import organizers_to_mail, user_by_id
from pooling.invitations.selectors import link_of, open_invitations
from pooling.models import JoinRequest
from pooling.requests.selectors import open_requests
from tracks.models import Track
from web.counting import counted


@letters.writer("pooling.invitation")
def invitation(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """An invitation with its link; nothing if it was revoked or used meanwhile."""
    for each in open_invitations().filter(pk=data["invitation"]):
        address = each.email or (each.user.email if each.user else "")
        context = {"invitation": each, "link": link_of(each, site)}
        if address and context["link"]:
            yield Mail(
                address, f"Invitation to {each.track}", "pooling/invitations/mail_invitation.txt", context
            )


@letters.writer("pooling.request_decided")
def request_decided(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """The answer to a request: accepted, with a link for who has no account, or refused, with the reason."""
    asked = JoinRequest.objects.select_related("track", "invitation").get(pk=data["request"])
    address = reverse("tracks:track", args=[asked.track.slug])
    link = link_of(asked.invitation, site) if asked.invitation else f"{site}{address}"
    context = {"asked": asked, "link": link}
    yield Mail(
        asked.email, f"Your request to join {asked.track}", "pooling/requests/mail_decided.txt", context
    )


@letters.writer("pooling.requests")
def requests(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """Tell the organizers which requests wait; nothing if all are decided."""
    track = Track.objects.get(pk=data["track"])
    waiting = list(open_requests(track))
    link = f"{site}{reverse('pooling:people', args=[track.slug])}"
    context = {"track": track, "requests": waiting, "link": link}
    for user in organizers_to_mail() if waiting else ():
        subject = f"{counted(len(waiting), 'open request')} to join {track}"
        yield Mail(user.email, subject, "pooling/requests/mail_open.txt", context | {"user": user})


@letters.writer("pooling.added")
def added(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """Tell a person with an account that an organizer gave them a role."""
    user, track = user_by_id(data["user"]), Track.objects.get(pk=data["track"])
    context = {"user": user, "track": track, "role": data["role"], "team": data["team"]}
    link = f"{site}{reverse('tracks:track', args=[track.slug])}"
    yield Mail(user.email, f"Your role in {track}", "pooling/people/mail_added.txt", context | {"link": link})
