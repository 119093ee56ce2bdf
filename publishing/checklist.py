"""The point of the archive in the checklist of a campaign."""

from collections.abc import Iterator
from typing import Any

from django.db.models import OuterRef, Subquery

from publishing.models import Archive
from scoring.checklist import boards_of, qrels_of
from tracks.checklist.points import Campaign, Phase, Point, Problem, n_of, numbers, points
from web.pages import counted


@numbers
def _numbers() -> dict[str, Any]:
    ready = Archive.objects.filter(status=Archive.Status.READY)
    newest = ready.filter(track=OuterRef("pk")).order_by("-pk")
    return {"n_archives": n_of(ready), "archived_at": Subquery(newest.values("created_at")[:1])}


@points(Phase.RESULTS, 30)
def archive(campaign: Campaign) -> Iterator[Point]:
    """An archive is done as long as no qrels and no leaderboard came after it."""
    n, archived_at = campaign.numbers["n_archives"], campaign.numbers["archived_at"]
    results = [*campaign.rows(boards_of)[:1], *campaign.rows(qrels_of)]
    later = [result for result in results if n and result.created_at > archived_at]
    problem = "Qrels or a leaderboard came after the newest archive. Make another one."
    yield Point(
        "Archive",
        f"{counted(n, 'archive')}{', outdated' if later else ''}" if n else "none yet",
        campaign.address("publishing:archives"),
        n > 0 and not later,
        (Problem(problem),) if later else (),
        action="Make an archive",
        detail="The campaign is complete. An archive keeps all of it in one file, if you like.",
        is_optional=True,
    )
