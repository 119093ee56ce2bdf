"""The point about topics that the collection gives away."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from django.db.models import F, Func, IntegerField, QuerySet

from assay_extensions.building.site.leaks.selectors import is_outdated, verdict
from tracks.checklist.points import Campaign, Phase, Point, Problem, listed, points
from tracks.models import LeakCheck, Track


@listed
def latest_checks(track: Any) -> QuerySet[LeakCheck]:
    """The latest complete check."""
    checks = LeakCheck.objects.filter(track=track, is_complete=True)
    shown = checks.only("track", "n_forbidden", "n_topics", "reason", "digest")
    length = partial(Func, function="jsonb_array_length", output_field=IntegerField())
    return shown.annotate(n_leaks=length(F("leaks")), n_unknown=length(F("unknown")))[:1]


@points(Phase.SET_UP, 110)
def leaks(campaign: Campaign) -> Iterator[Point]:
    """The result of the latest check for leaks in the collection of the topics."""
    track, address = campaign.track, campaign.address("building:leaks")
    if track.collection is None or not campaign.protocol.takes_runs:
        return
    if not campaign.rows(latest_checks):
        yield Point(
            "Leaked topics",
            "not checked",
            address,
            False,
            action="Check for leaks",
            detail="Documents of the collection could give a topic away.",
            skip="leaks",
            lasts=True,
        )
        return
    [check] = campaign.rows(latest_checks)
    result = verdict(check, check.n_leaks, check.n_unknown)
    problems, is_draft = [], track.status == Track.Status.DRAFT
    if result.state == "stop":
        text = "The collection gives topics away, so the track cannot be opened."
        problems.append(Problem(text, action="See the leaks" if is_draft else ""))
    elif result.state == "look" and is_draft:  # who opens the track has accepted it
        problems.append(Problem(result.detail))
    text = "Topics or the collection changed after the check. Check again."
    yield Point(
        "Leaked topics",
        result.label,
        address,
        result.state != "stop",
        tuple(problems),
        is_optional=True,
        look=lambda: [Problem(text)] if is_outdated(check) else [],
    )
