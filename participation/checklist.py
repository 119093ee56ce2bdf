"""The point of the teams in the checklist of a campaign."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db.models import Count, OuterRef, QuerySet, Subquery

from participation.invitations.selectors import open_invitations, sent_key
from participation.models import Announcement, Team
from participation.requests.selectors import undecided
from participation.teams.selectors import KINDS, competes
from tracks.checklist.points import (
    Campaign,
    Phase,
    Point,
    Problem,
    listed,
    n_of,
    named,
    numbers,
    points,
)
from web.pages import counted


@numbers
def _numbers() -> dict[str, Any]:
    announced = Announcement.objects.filter(track=OuterRef("pk"), withdrawn_at=None)
    newest = open_invitations().filter(track=OuterRef("pk")).exclude(user=None).order_by("-pk")
    return {
        "n_requests": n_of(undecided()),
        "announced_at": Subquery(announced.order_by("-published_at").values("published_at")[:1]),
        "n_links": n_of(open_invitations().exclude(user=None)),
        "newest_link": Subquery(newest.values("pk")[:1]),
    }


@listed
def teams_of(track: Any) -> QuerySet[Team]:
    """The teams by name, each with its numbers of members and of runs, and the kinds of its submitted runs."""
    teams = Team.objects.filter(track=track).annotate(
        n_members=Count("members", distinct=True), n_runs=Count("runs", distinct=True), kinds=KINDS
    )
    return teams.only("name").order_by("name")


def competing(campaign: Campaign) -> list[Any]:
    """The teams of `teams_of` that do not only have baselines."""
    return [team for team in campaign.rows(teams_of) if competes(team.kinds, campaign.protocol.runs)]


@points(Phase.SET_UP, 65)
def links(campaign: Campaign) -> Iterator[Point]:
    """The links of people without a password, which organizers send themselves if the site has no mail server."""
    if settings.SENDS_MAIL or not (n_links := campaign.numbers["n_links"]):
        return
    yield Point(
        "Links",
        f"{counted(n_links, 'person has,people have')} not used theirs",
        f"{campaign.address('participation:people')}#links",
        is_done=False,
        action="Send the links",
        detail="With them, people choose a password and log in.",
        skip=sent_key(campaign.track, campaign.numbers["newest_link"]),
        dismiss="Mark as sent",
    )


@points(Phase.SET_UP, 70)
def team_points(campaign: Campaign) -> Iterator[Point]:
    if not campaign.protocol.takes_runs:
        return
    teams, people, problems = campaign.rows(teams_of), campaign.address("participation:people"), []
    if n_requests := campaign.numbers["n_requests"]:
        problems.append(Problem(f"{counted(n_requests, 'request')} to join to decide."))
    n_links = campaign.numbers["n_links"]
    if n_links and settings.SENDS_MAIL:
        text = (
            f"{counted(n_links, 'person has,people have')} not used their link. Send it if you have not yet."
        )
        problems.append(Problem(text, f"{people}#links"))
    empty = [team for team in teams if not team.n_members and not team.n_runs]
    if empty:
        text = f"Teams without members and runs: {named([team.name for team in empty])}."
        problems.append(Problem(text, empty[0].get_absolute_url() if len(empty) == 1 else people))
    yield Point(
        "Teams",
        counted(len(campaign.once(competing)), "team") if teams else "none yet",
        people if teams else campaign.address("participation:add_people"),
        bool(teams),
        tuple(problems),
        action="Add people",
        detail="Runs come from teams, and there are none yet.",
        needed_by=Phase.JUDGING,
    )
