"""The later runs of a leaderboard: who sees them and may add one, and their values."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from accounts.access import AnyUser, oversees
from accounts.models import User
from assay.measures.scores import ALL, HEADER
from assay.tables import one_word, shown, tsv_lines
from participation.models import Membership, Team
from scoring.models import LaterRun, Leaderboard
from scoring.selectors import LeaderboardPage, shared_page
from tracks.models import Track


@dataclass(frozen=True, kw_only=True)
class LaterPage(LeaderboardPage):
    """`rows` are runs with the mean of each measure. `why_not` says why none can be added."""

    rows: list[tuple[LaterRun, list[tuple[str, str]]]]
    why_not: str


def later_runs_for(user: AnyUser, board: Leaderboard) -> QuerySet[LaterRun]:
    """The later runs of a leaderboard that a user sees: organizers all, others those of their teams."""
    runs = board.later_runs.select_related("team__track", "leaderboard__qrels__machine")
    runs = runs.defer("leaderboard__qrels__report", "leaderboard__statistics")
    if oversees(user, board.track_id):
        return runs
    return runs.filter(team__members=user) if isinstance(user, User) else runs.none()


def later_teams(user: User, track: Track) -> QuerySet[Team]:
    """The teams of other tracks for which a user may submit."""
    teams = Team.objects.exclude(track=track).select_related("track").order_by("track__name", "name")
    own = Membership.objects.filter(user=user, may_submit=True).values("team")
    return teams.filter(Q(pk__in=own) | Q(track__in=user.organized))


def later_page(user: User, board: Leaderboard) -> LaterPage:
    """The page of the later runs. Three queries."""
    rows = [
        (run, [(measure, shown(run.values[ALL][measure])) for measure in board.measures])
        for run in later_runs_for(user, board)
    ]
    why_not = ""
    if board.track.status != Track.Status.CLOSED:
        why_not = f"{board.track} is not closed yet."
    elif not later_teams(user, board.track).exists():
        why_not = "You are in no team of another track with the right to submit runs."
    return LaterPage(**vars(shared_page(user, board)), rows=rows, why_not=why_not)


def later_file(user: AnyUser, board: Leaderboard) -> Iterator[str]:
    """The lines of `assay evaluate`; a run is named by track, team and tag."""
    rows = (
        (one_word(f"{run.team.track.slug}-{run}"), topic, measure, shown(of_topic[measure]))
        for run in later_runs_for(user, board)
        for topic, of_topic in sorted(run.values.items(), key=lambda item: (item[0] == ALL, item[0]))
        for measure in board.measures
    )
    return tsv_lines(HEADER, rows)
