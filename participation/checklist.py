"""The point of the teams in the checklist of a campaign."""

from collections.abc import Iterator
from typing import Any

from django.db.models import Count

from participation.invitations.selectors import open_invitations
from participation.models import Team
from participation.requests.selectors import undecided
from tracks.checklist.points import (
    Campaign,
    Phase,
    Point,
    Problem,
    any_of,
    asked_if,
    n_of,
    named,
    numbers,
    points,
)
from tracks.models import Track
from web.pages import counted


@numbers
def _numbers() -> dict[str, Any]:
    return {
        "has_teams": any_of(Team.objects.all()),
        "n_requests": n_of(undecided()),
        "n_links": n_of(open_invitations().exclude(user=None)),
    }


@asked_if("has_teams")
def teams_of(track: Track) -> list[Team]:
    """The teams by name, each with its number of members."""
    return list(track.teams.annotate(n_members=Count("members")).order_by("name"))


@points(Phase.SET_UP, 100)
def teams(campaign: Campaign) -> Iterator[Point]:
    if not campaign.protocol.takes_runs:
        return
    teams, people, problems = campaign.rows(teams_of), campaign.address("participation:people"), []
    if n_requests := campaign.numbers["n_requests"]:
        problems.append(Problem(f"{counted(n_requests, 'request')} to join to decide."))
    if n_links := campaign.numbers["n_links"]:
        text = (
            f"{counted(n_links, 'person has,people have')} not used their link. Send it if you have not yet."
        )
        problems.append(Problem(text, f"{people}#links"))
    empty: list[Any] = [team for team in teams if not team.n_members]  # type: ignore[attr-defined]
    if empty:
        text = f"Without members: {named([team.name for team in empty])}."
        problems.append(Problem(text, empty[0].get_absolute_url() if len(empty) == 1 else people))
    yield Point(
        "Teams",
        counted(len(teams), "team") if teams else "none yet",
        people if teams else campaign.address("participation:add_people"),
        bool(teams),
        tuple(problems),
        action="Add people",
        needed_by=Phase.JUDGING,
    )
