"""Registers the letters of the interaction in every worker."""

from collections.abc import Iterator, Mapping
from typing import Any

from accounts.letters import services as letters
from accounts.letters.services import Mail
from accounts.selectors import user_by_id
from pooling.interaction import notices, selectors
from pooling.teams.selectors import team_by_id


@letters.writer(notices.PLANNED)
def planned(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """Sessions of a team are planned."""
    user, team = user_by_id(data["user"]), team_by_id(data["team"])
    stored = selectors.interaction_of(team)
    context = {
        "user": user.username,
        "team": team,
        "topics": data["topics"],
        "rules": selectors.rules_of(team.track),
        "has_page": stored is not None and bool(stored.address),
    }
    subject = f"{team}: sessions of the interaction"
    yield Mail(user.email, subject, "pooling/interaction/mail_planned.txt", context)


@letters.writer(notices.HELD)
def held(data: Mapping[str, Any], site: str) -> Iterator[Mail]:
    """The sessions of a team are over; nothing if another one was started since, is planned or runs."""
    user, nomination = user_by_id(data["user"]), selectors.nomination_by_id(data["nomination"])
    if selectors.is_last(nomination):
        team = nomination.team
        context = {"user": user.username, "team": team, "rules": selectors.rules_of(team.track)}
        subject = f"{team}: the sessions are over"
        yield Mail(user.email, subject, "pooling/interaction/mail_held.txt", context)
