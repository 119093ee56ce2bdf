"""The point of nuggets in the checklist of a campaign."""

from collections.abc import Iterator

from assessment.nuggets.selectors import nugget_counts
from pooling.checklist import pools_of
from pooling.models import Pool
from tracks.checklist.points import Campaign, Phase, Point, points
from web.pages import counted


@points(Phase.RUNS, 40)
def nuggets(campaign: Campaign) -> Iterator[Point]:
    """The frozen lists of nuggets, if answers are judged by them: a topic without one is pooled without nuggets."""
    if not campaign.protocol.judged.has_nuggets:
        return
    n_topics, n_frozen, n_written = nugget_counts(campaign.track)
    yield Point(
        "Nuggets",
        f"lists of {n_frozen} of {counted(n_topics, 'topic')} frozen, {n_written} begun",
        campaign.address("assessment:nuggets"),
        n_topics > 0 and n_frozen == n_topics,
        action="Write and freeze nuggets" if n_written < n_topics else "Freeze nuggets",
        is_optional=any(pool.status == Pool.Status.READY for pool in campaign.rows(pools_of)),
    )
