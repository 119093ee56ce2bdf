"""The point of the archive in the checklist of a campaign."""

from collections.abc import Iterator

from publishing.models import Archive
from scoring.checklist import boards_of, qrels_of
from tracks.checklist.points import Campaign, Phase, Point, Problem, points
from tracks.models import Track
from web.pages import counted


def archives_of(track: Track) -> list[Archive]:
    """The archives that are ready, newest first."""
    return list(Archive.objects.filter(track=track, status=Archive.Status.READY).order_by("-pk"))


@points(Phase.RESULTS, 30)
def archive(campaign: Campaign) -> Iterator[Point]:
    """An archive is done as long as no qrels and no leaderboard came after it."""
    archives = campaign.rows(archives_of)
    results = [*campaign.rows(boards_of)[:1], campaign.rows(qrels_of)]
    later = [each for each in results if archives and each and each.created_at > archives[0].created_at]
    problem = "Qrels or a leaderboard came after the newest archive. Make another one."
    yield Point(
        "Archive",
        f"{counted(len(archives), 'archive')}{', outdated' if later else ''}" if archives else "none yet",
        campaign.address("publishing:archives"),
        bool(archives) and not later,
        (Problem(problem),) if later else (),
        action="Make an archive",
        is_optional=True,
    )
