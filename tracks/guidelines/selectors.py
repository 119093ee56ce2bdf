"""Guidelines, and who may read them: the assessors of a track, and organizers."""

from dataclasses import dataclass
from itertools import pairwise

from django.db.models import Count, Q, QuerySet
from django.http import Http404
from django.utils.safestring import SafeString, mark_safe

from accounts.models import User
from assay.protocols.loader import starter_guidelines
from assay.protocols.schema import JudgingRules
from tracks.assessors.selectors import is_assessor, tracks_judged_by
from tracks.guidelines.differences import Hunk
from tracks.models import GuidelinesDraft, GuidelinesReading, GuidelinesVersion, Track
from web.statements import Prepared, is_among

WIDE = ("text", "html")  # columns that lists do not load


def guidelines_to_read(user: User) -> QuerySet[Track]:
    """The tracks with guidelines for which a user judges, newest first."""
    return tracks_judged_by(user, Track.objects.exclude(guidelines=None)).only("slug", "name").order_by("-pk")


_TRACK = Prepared(
    lambda slug: Track.objects.select_related("protocol", "collection", "guidelines__published_by").filter(
        slug=slug
    )
)


def track_or_404(user: User, slug: str) -> Track:
    """A track whose guidelines a user may read.

    Raises:
        Http404: There is no such track.
    """
    track = _TRACK.first(slug=slug)
    if track is None or not (user.oversees(track.pk) or is_assessor(user, track)):
        raise Http404("No track matches.")
    return track


def versions_of(track: Track) -> QuerySet[GuidelinesVersion]:
    """The published versions of a track, newest first."""
    return track.guidelines_versions.select_related("published_by").order_by("-number")


def html_of(version: GuidelinesVersion | None) -> SafeString:
    """The HTML of a version, which was sanitized before it was stored."""
    return mark_safe(version.html if version else "")  # noqa: S308


def unread(track: Track, user: User) -> GuidelinesVersion | None:
    """The version in force, if the user has not opened it. One query; none if the track has no guidelines."""
    if track.guidelines_id is None:
        return None
    in_force = GuidelinesVersion.objects.filter(pk=track.guidelines_id).exclude(readings__user=user)
    return in_force.defer(*WIDE).first()


_NEWS = Prepared(
    lambda tracks, user: (
        GuidelinesVersion.objects.filter(
            pk__in=Track.objects.filter(is_among("pk", tracks)).order_by().values("guidelines")
        )
        .exclude(readings__user=user)
        .defer(*WIDE)
    )
)


def tracks_with_news(tracks: set[int], user: User) -> dict[int, GuidelinesVersion]:
    """The versions in force that a user has not opened, by track. One query."""
    return {version.track_id: version for version in _NEWS(tracks=[*tracks], user=user.pk)}


@dataclass(frozen=True)
class GuidelinesPage:
    """A version of the guidelines with the meaning of each grade. `last_read` is the number of an older version."""

    track: Track
    version: GuidelinesVersion | None
    html: SafeString
    judging: JudgingRules
    is_in_force: bool
    last_read: int | None


def guidelines_page(track: Track, user: User, version: GuidelinesVersion | None) -> GuidelinesPage:
    """One query, and none if there is no version."""
    return GuidelinesPage(
        track=track,
        version=version,
        html=html_of(version),
        judging=track.protocol.parsed.judging,
        is_in_force=version is not None and version.pk == track.guidelines_id,
        last_read=None if version is None else last_read_before(version, user),
    )


def last_read_before(version: GuidelinesVersion, user: User) -> int | None:
    """The newest version before one that a user has opened; None if they have read this one, or none."""
    readings = GuidelinesReading.objects.filter(user=user, version__track=version.track_id)
    numbers = set(readings.values_list("version__number", flat=True))
    return (
        None if version.number in numbers else max((n for n in numbers if n < version.number), default=None)
    )


@dataclass(frozen=True)
class ListedVersion:
    """A version in the history. `n_readers` of the track's assessors have opened it; `previous` is the one before."""

    version: GuidelinesVersion
    n_readers: int
    previous: int | None


@dataclass(frozen=True)
class VersionsPage:
    """The history of a track's guidelines, newest first."""

    track: Track
    versions: list[ListedVersion]
    n_assessors: int


def versions_page(track: Track) -> VersionsPage:
    """In three queries."""
    versions = list(versions_of(track).defer(*WIDE))
    by_assessors = Q(user__assessor_of__track=track, user__assessor_of__ended_at=None)
    readings = GuidelinesReading.objects.filter(by_assessors, version__track=track).order_by()
    n_readers = dict(readings.values_list("version").annotate(n=Count("user", distinct=True)))
    numbers = [version.number for version in versions]
    previous: dict[int, int] = dict(pairwise(numbers))
    listed = [
        ListedVersion(version, n_readers.get(version.pk, 0), previous.get(version.number))
        for version in versions
    ]
    return VersionsPage(track, listed, track.assessors.filter(ended_at=None).count())


@dataclass(frozen=True)
class ChangesPage:
    """The changes from one version to a later one."""

    track: Track
    old: GuidelinesVersion
    new: GuidelinesVersion
    hunks: list[Hunk]


def draft_of(track: Track) -> GuidelinesDraft:
    """The text that organizers are writing; not stored if nobody has saved one.

    The first one begins with the starter of the protocol.
    """
    draft = GuidelinesDraft.objects.select_related("edited_by").filter(track=track).first()
    text = track.guidelines.text if track.guidelines else starter_guidelines(track.protocol.slug)
    return draft or GuidelinesDraft(track=track, text=text)
