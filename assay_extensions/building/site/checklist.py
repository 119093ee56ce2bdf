"""The point about topics that the collection gives away."""

from collections.abc import Iterator
from typing import Any

from django.db.models import F, Func, IntegerField, Q, QuerySet

from assay_extensions.building.site.leaks.selectors import is_outdated
from tracks.checklist.points import Campaign, Phase, Point, Problem, listed, points
from tracks.models import LeakCheck, Track
from web.pages import counted


@listed
def latest_checks(track: Any) -> QuerySet[LeakCheck]:
    """The latest complete check."""
    checks = LeakCheck.objects.filter(track=track, is_complete=True)
    n_leaks = Func(F("leaks"), function="jsonb_array_length", output_field=IntegerField())
    is_by_text = ~Q(unknown=[])
    shown = checks.only("track", "n_forbidden", "reason", "digest")
    return shown.annotate(n_leaks=n_leaks, is_by_text=is_by_text)[:1]


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
            detail="posts of the collection could give a topic away.",
            skip="leaks",
        )
        return
    [check] = campaign.rows(latest_checks)
    is_open = bool(check.n_forbidden) and not check.reason
    problems = []
    if is_open:
        text = "The collection gives topics away, so the track cannot be opened."
        is_draft = track.status == Track.Status.DRAFT
        problems.append(Problem(text, action="See the leaks" if is_draft else ""))
    text = "Topics or the collection changed after the check. Check again."
    n_leaks = counted(check.n_forbidden, "leak")
    none = f"none forbidden, {check.n_leaks:,} reported" if check.n_leaks else "none found"
    none += " by text" if check.is_by_text else ""
    state = n_leaks if is_open else f"{n_leaks}, accepted" if check.reason else none
    yield Point(
        "Leaked topics",
        state,
        address,
        not is_open,
        tuple(problems),
        is_optional=True,
        look=lambda: [Problem(text)] if is_outdated(check) else [],
    )
