"""The point of the archive in the checklist of a campaign."""

from collections.abc import Iterator
from typing import Any

from django.db.models import OuterRef, Subquery

from publishing.models import Archive
from scoring.checklist import boards_of, is_over, qrels_of
from tracks.checklist.points import Campaign, Phase, Point, Problem, n_of, numbers, points
from tracks.models import Download
from web.links import address_of
from web.pages import counted


@numbers
def _numbers() -> dict[str, Any]:
    ready = Archive.objects.filter(status=Archive.Status.READY)
    newest = ready.filter(track=OuterRef("pk")).order_by("-pk")
    offered = Download.objects.filter(track=OuterRef("pk"), sha256__in=ready.values("sha256")).order_by("-pk")
    return {
        "n_archives": n_of(ready),
        "newest_archive": Subquery(newest.values("pk")[:1]),
        "archived_at": Subquery(newest.values("created_at")[:1]),
        "hidden_archive": Subquery(offered.filter(released_at=None).values("pk")[:1]),
        "n_published": n_of(
            Download.objects.exclude(released_at=None).filter(sha256__in=ready.values("sha256"))
        ),
    }


@points(Phase.RESULTS, 30)
def archive(campaign: Campaign) -> Iterator[Point]:
    """An archive is recommended after the release, and done as long as no qrels and no leaderboard came after it."""
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
        detail="One file keeps the whole campaign, so that others can check it and build on it.",
        is_optional=not is_over(campaign),
        skip="archive",
    )
    if n:
        yield _publication(campaign)


def _publication(campaign: Campaign) -> Point:
    """An archive among the released downloads: only organizers have the others."""
    n, hidden = campaign.numbers["n_published"], campaign.numbers["hidden_archive"]
    newest = campaign.numbers["newest_archive"]
    address = campaign.address("tracks:downloads")
    if hidden and not n:
        address = address_of("tracks:edit_download", campaign.track.slug, hidden)
    elif not n:
        address = address_of("publishing:offer_archive", newest)
    return Point(
        "Published archive",
        counted(n, "archive") if n else "for organizers only",
        address,
        n > 0,
        action="Publish the archive" if hidden else "Add to downloads",
        detail="Only organizers can get the archive. Others get it from the downloads once it is released.",
        is_form=not (n or hidden),
        is_optional=True,
        skip="publication",
    )
