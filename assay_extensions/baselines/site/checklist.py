"""The point about baselines, which a track can have as soon as it accepts runs."""

from collections.abc import Iterator

from assay_extensions.baselines.site.selectors import TEAM, kind_of, methods_for
from participation.checklist import teams_of
from pooling.checklist import closing_of, runs_of
from tracks.checklist.points import Campaign, Phase, Point, points
from web.pages import counted


@points(Phase.RUNS, 22)
def baselines(campaign: Campaign) -> Iterator[Point]:
    """The number of baselines, or a step to make one while runs are accepted."""
    rules = campaign.protocol.runs
    if not campaign.protocol.takes_runs or not rules.kinds or not methods_for(campaign.protocol):
        return
    kind, is_open = rules.kind(kind_of(campaign.protocol)), campaign.once(closing_of).is_open
    own = {team.pk for team in campaign.rows(teams_of) if team.name.casefold() == TEAM.casefold()}
    n = sum(run.kind == kind.key and (kind.baseline or run.team_id in own) for run in campaign.rows(runs_of))
    if n or (is_open and campaign.track.collection is not None):
        yield Point(
            "Baselines",
            counted(n, "run") if n else "none yet",
            campaign.address("baselines:baselines"),
            n > 0,
            action="Make a baseline",
            detail="Teams compare their runs with those of known systems, and the pool has their documents too.",
            is_optional=True,
            is_possible=is_open,
        )
