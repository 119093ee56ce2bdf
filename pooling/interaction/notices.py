"""E-mails to the members of a team about its sessions: to those who chose e-mails about runs on their account page.

They name track, team and topics. They contain no link: a service does not know the address of the site.
"""

from datetime import timedelta

from accounts.letters import services as letters
from pooling.models import Nomination, Team
from pooling.runs.notices import members_to_mail

PLANNED, HELD = "interaction.planned", "interaction.held"  # kinds of letters
AFTER = timedelta(seconds=1)  # the end of a session


def planned(team: Team, topics: list[str]) -> None:
    """Tell a team that sessions on its topics are planned, in the transaction that plans them."""
    for user_id in members_to_mail(team):
        letters.post(kind=PLANNED, data={"user": user_id, "team": team.pk, "topics": topics}, site="")


def will_end(nomination: Nomination, limit: int) -> None:
    """Tell a team when its last planned session is over, however that one ends."""
    wait = timedelta(seconds=limit) + AFTER
    for user_id in members_to_mail(nomination.team):
        data = {"user": user_id, "nomination": nomination.pk}
        letters.post_gathered(kind=HELD, data=data, site="", wait=wait)
