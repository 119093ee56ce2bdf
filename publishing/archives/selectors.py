"""Archives, and what their pages show."""

from dataclasses import dataclass

from django.db.models import Q, QuerySet

from accounts.models import User
from accounts.selectors import orcids_of
from jobs.models import Job
from publishing.models import Archive, LoadedArchive
from tracks.models import Track

SHOWN = 100


@dataclass(frozen=True)
class ArchivesPage:
    """The archives of a track, newest first."""

    track: Track
    archives: list[Archive]
    is_building: bool


def archives_page(track: Track) -> ArchivesPage:
    rows = list(track.archives.select_related("job", "created_by"))
    is_building = any(
        archive.status == Archive.Status.BUILDING
        or (archive.job is not None and archive.job.state in Job.UNFINISHED)
        for archive in rows
    )
    return ArchivesPage(track, rows, is_building)


def identified_authors(track: Track) -> str:
    """The organizers of a track who have proved their ORCID iD, a line each, as authors of an archive."""
    organizers = User.objects.filter(organizer_of__track=track, organizer_of__is_chair=False)
    orcids = orcids_of(organizers.values("pk"))
    users = organizers.filter(pk__in=orcids).order_by("pk") if orcids else []
    return "\n".join(
        f"{user.get_full_name() or user.username} https://orcid.org/{orcids[user.pk]}" for user in users
    )


def archives() -> QuerySet[Archive]:
    return Archive.objects.select_related("track", "job", "created_by")


def loaded_archives(user: User) -> QuerySet[LoadedArchive]:
    """The archives that a user loaded, or that became a track of theirs, newest first; administrators see all."""
    loaded = LoadedArchive.objects.select_related("track", "job", "created_by")
    if user.is_administrator:
        return loaded
    return loaded.filter(Q(created_by=user) | Q(track__in=[*user.roles]))
