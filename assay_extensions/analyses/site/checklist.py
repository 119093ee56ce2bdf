"""The point of analyses in the checklist of a campaign."""

from collections.abc import Iterator

from scoring.checklist import boards
from tracks.checklist.points import Campaign, Phase, Point, points
from web.links import address_of
from web.pages import counted


@points(Phase.RESULTS, 21)
def reliability(campaign: Campaign) -> Iterator[Point]:
    if not campaign.protocol.takes_runs:
        return
    board = next(iter(campaign.once(boards)), None)
    n_analyses = board.n_analyses if board else 0
    reports = address_of("analyses:reports", board.pk) if board else ""
    yield Point(
        "Reliability of the numbers",
        counted(n_analyses, "analysis,analyses") if n_analyses else "none yet",
        reports or campaign.address("scoring:leaderboards"),
        n_analyses > 0,
        is_optional=True,
    )
