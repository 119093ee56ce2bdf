"""Request checks for leaks, and accept what one found."""

from collections.abc import Iterator
from functools import partial

from django.db import transaction
from django.db.models import Q
from django.urls import reverse

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import Refused
from assay_extensions.building.site.leaks.jobs import KIND
from assay_extensions.building.site.leaks.selectors import is_outdated, latest_check
from corpus.imports.services import checks_import
from corpus.models import Collection
from jobs import services as jobs
from jobs.models import Job
from tracks.models import LeakCheck, Track
from tracks.tracks import services as track_services
from tracks.tracks.selectors import says_before
from web.confirmation import Check, refusals
from web.pages import counted

leaks_refused = partial(Refused, code="leaks-refused", title="Leaks of topics")


@transaction.atomic
def request(*, track: Track, overlap: float, by: User) -> LeakCheck:
    """Queue a check of the topics of a track against its collection.

    Raises:
        Refused: The track has no topics or no collection, or a check is running.
    """
    current = track_services.lock(track.pk)
    if current.collection is None or not current.topics.exists():
        raise leaks_refused(f"{current} needs topics and a collection before it can be checked for leaks.")
    if current.leak_checks.filter(job__state__in=Job.UNFINISHED).exists():
        raise leaks_refused(f"A check of {current} for leaks is running. Wait until it is finished.")
    check = LeakCheck(track=current, overlap=overlap)
    check.job = jobs.request(
        kind=KIND,
        title=f"Check {current} for leaks",
        arguments={},  # the row names its job
        by=by,
        subject=current,
    )
    check.save()
    return check


@transaction.atomic
def accept(*, track: Track, reason: str, by: User) -> LeakCheck:
    """Let a track open with the leaks that its latest check found.

    Raises:
        Refused: There is no such check, or it found none that matters.
    """
    current = track_services.lock(track.pk)
    check = latest_check(current)
    if check is None or not check.n_forbidden:
        raise leaks_refused(f"The latest check of {current} found nothing that must be accepted.")
    check.reason, check.accepted_by = reason, by
    check.save(update_fields=["reason", "accepted_by"])
    details = {"leaks": check.n_forbidden, "reason": reason}
    audit.record(action="leaks.accepted", subject=current, track=current, details=details, by=by)
    return check


@checks_import
def check_import(*, collection: Collection) -> None:
    """Refuse to import into a collection of a checked draft that opens by itself."""
    for track in Track.objects.filter(Q(collection=collection) | Q(topic_collection=collection)).order_by(
        "pk"
    ):
        track_services.check_not_settled(track)


@track_services.checks_opening
def check_opening(*, track: Track) -> None:
    """Refuse to open a draft whose latest check is outdated, or a track whose leaks nobody accepted."""
    check = latest_check(track)
    if check is None:
        return
    if track.status == Track.Status.DRAFT and is_outdated(check):
        raise leaks_refused(
            f"The topics or the collection of {track} changed after the latest check for leaks. Check again on the "
            "page Leaks."
        )
    if check.n_forbidden and not check.reason:
        raise leaks_refused(
            f"The collection of {track} gives topics away: {counted(check.n_forbidden, 'leak')} in the latest check. "
            "Remove the posts or the topics and check again, or accept the leaks with a reason on the page Leaks."
        )


@says_before("opening")
def leaks_that_block(track: Track) -> Iterator[Check]:
    """Say before the opening what is refused, with the page that solves it."""
    address = reverse("building:leaks", args=[track.slug])
    return refusals(partial(check_opening, track=track), address=address, link="Go to the leaks")
