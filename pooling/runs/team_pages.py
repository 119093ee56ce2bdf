"""The runs of one team: states, quota, pools and their order. Its members see it, and organizers."""

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import QuerySet

from accounts.access import AnyUser
from accounts.models import User
from pooling.models import Run, Team
from pooling.runs.selectors import (
    STATE_ORDER,
    PooledTo,
    n_of_kinds,
    pooled,
    runs_of,
)
from pooling.teams.selectors import disk_limit, disk_use, may_submit_for, own_teams
from tracks.deadlines.selectors import State, is_accepting, states_for, why_closed
from tracks.models import Track
from web.counting import size


class RunRow(NamedTuple):
    """A run in the list of its team. `place` is its place among the submitted runs; None in another state."""

    run: Run
    place: int | None
    pools: list[PooledTo]


class Quota(NamedTuple):
    """How many runs of a kind a team has, and may have; `most` is None without a limit."""

    kind: str
    n: int
    most: int | None

    @property
    def left(self) -> int | None:
        return None if self.most is None else max(0, self.most - self.n)


class Disk(NamedTuple):
    """The disk space of a team's runs, in words and in percent of the limit."""

    used: str
    limit: str
    left: str
    percent: int


@dataclass(frozen=True)
class TeamRunsPage:
    """The runs of a team. `teams` are all teams whose runs the user may see."""

    track: Track
    team: Team
    teams: list[Team]
    rows: list[RunRow]
    quotas: list[Quota]
    disk: Disk
    n_submitted: int
    states: list[State]
    is_accepting_runs: bool
    why_closed: str
    may_order: bool
    may_submit: bool
    tab: str = "runs"


def team_of(user: AnyUser, track: Track) -> Team | None:
    """The first team of a user in a track."""
    return own_teams(user, track).order_by("pk").first()


def team_runs_page(user: User, team: Team) -> TeamRunsPage:
    """The page of a team's runs. The number of queries does not grow with the runs."""
    track = team.track
    runs = list(runs_of(user, track).filter(team=team).order_by(STATE_ORDER, "priority", "pk"))
    n_submitted = sum(run.is_submitted for run in runs)
    pools = _pools(team.runs.all())
    of_kinds = states_for(user, track)
    is_open = is_accepting(of_kinds)
    may_submit = may_submit_for(user, team)
    return TeamRunsPage(
        track=track,
        team=team,
        teams=list(own_teams(user, track)) if not user.is_organizer else [],
        rows=[
            RunRow(run, n if run.is_submitted else None, pools.get(run.pk, []))
            for n, run in enumerate(runs, 1)
        ],
        quotas=_quotas(team),
        disk=_disk(team),
        n_submitted=n_submitted,
        states=of_kinds,
        is_accepting_runs=is_open,
        why_closed=why_closed(of_kinds),
        may_order=may_submit and n_submitted > 1 and (is_open or user.is_organizer),
        may_submit=may_submit,
    )


def _pools(runs: QuerySet[Run]) -> dict[int, list[PooledTo]]:
    """The pools of each run, oldest first."""
    of_run: defaultdict[int, list[PooledTo]] = defaultdict(list)
    for run_id, in_pool in pooled(runs):
        of_run[run_id].append(in_pool)
    return of_run


def _quotas(team: Team) -> list[Quota]:
    """The kinds that the team may submit, and those that it has."""
    rules, n_of = team.track.protocol.parsed.runs, n_of_kinds(team)
    kinds = [kind for kind in rules.kinds if kind.submitted_by == "teams" or n_of[kind.key]]
    return [Quota(kind.name, n_of[kind.key], kind.max_per_team) for kind in kinds]


def _disk(team: Team) -> Disk:
    used, limit = disk_use(team), disk_limit(team)
    percent = min(100, round(100 * used / limit)) if limit else 100
    return Disk(size(used), size(limit), size(max(0, limit - used)), percent)
