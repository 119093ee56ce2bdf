"""Record the consents of teams, and publish the runs of a finished track as one archive, made by a job."""

import os
from tempfile import TemporaryFile
from typing import Any, BinaryIO, cast

from django.core.files import File
from django.db import transaction

from accounts.audit import services as audit
from accounts.models import User
from assay.digests import sha256_of_file
from assay.errors import Refused
from jobs import services as jobs
from jobs.files import storage
from participation.models import Team
from participation.teams.selectors import may_submit_for
from pooling.models import Run
from publishing.errors import publication_refused
from publishing.models import Consent, Publication
from publishing.published_runs import archive, selectors
from tracks.models import Track
from tracks.tracks import services as track_services
from web.pages import counted

PUBLISH = "publishing.publish_runs"  # kind of the job


@transaction.atomic
def record_consent(*, team: Team, is_given: bool, by: User) -> Consent:
    """Record whether a team agrees to the publication of its runs. Earlier answers are kept.

    Raises:
        Refused: The user is neither a member of the team with the right to submit nor an organizer.
    """
    track = track_services.lock(team.track_id)
    if not may_submit_for(by, team):
        raise Refused(
            f"{by.named} is not a member of {team} with the right to submit runs.",
            code="consent-refused",
            title="The consent was not recorded",
        )
    consent = Consent.objects.create(team=team, is_given=is_given, by=by)
    action = "consent.given" if is_given else "consent.withdrawn"
    audit.record(action=action, subject=f"publication of the runs of {team}", track=track, by=by)
    return consent


@transaction.atomic
def request(*, track: Track, by: User) -> Publication:
    """Queue the job that makes the archive and publishes it. It contains the teams that agree when the job runs.

    Raises:
        Refused: The track is not closed, no team agrees, or an archive is being made.
    """
    track = track_services.lock(track.pk)
    if track.status != Track.Status.CLOSED:
        raise publication_refused(f"{track} is not closed. Publish the runs when the campaign is finished.")
    if not any(consent.is_given for consent in selectors.consents(track)):
        raise publication_refused(f"No team of {track} with runs agrees to their publication yet.")
    if track.publications.filter(status=Publication.Status.BUILDING).exists():
        raise publication_refused("An archive is already being made. Wait until that has finished.")
    publication = Publication.objects.create(track=track, created_by=by)
    title = f"Publish the runs of {track}"
    jobs.request_for(publication, "publication_id", kind=PUBLISH, title=title, by=by, subject=track)
    audit.record(action="publication.requested", subject=f"runs of {track}", track=track, by=by)
    return publication


BUILDING, FAILED = Publication.Status.BUILDING, Publication.Status.FAILED


@jobs.handler(
    PUBLISH,
    failed=jobs.changing_status(Publication, "publication_id", BUILDING, FAILED),
    retried=jobs.changing_status(Publication, "publication_id", FAILED, BUILDING),
    words=lambda _: "The runs are published.",
)
def publish(progress: jobs.Progress, *, publication_id: int) -> dict[str, Any]:
    """Make the archive and publish it in place of an earlier one.

    The consents are read again under the lock of the track when it is stored, so that no team is published that has
    withdrawn its consent meanwhile.

    Raises:
        Refused: A stored run is damaged, no team agrees, or the consents changed meanwhile.
        JobLost: Another worker has taken over the job.
    """
    publication = Publication.objects.select_related("track__protocol").get(pk=publication_id)
    # An earlier attempt stored it, but did not finish the job.
    if publication.status == Publication.Status.READY:
        return {"publication": publication.pk}
    track = publication.track
    runs = _runs(track)
    paths = archive.paths_of(runs)
    rows = [archive.metadata_of(run, paths[run.pk]) for run in runs]
    left_out = selectors.left_out(track)
    with TemporaryFile() as target, storage.storing() as store:
        progress.update(0, None, f"packing {counted(len(runs), 'run')}")
        archive.write_tar_gz(cast("BinaryIO", target), archive.files_of(track, runs, rows, left_out))
        n_bytes = target.seek(0, os.SEEK_END)
        target.seek(0)
        publication.sha256 = sha256_of_file(cast("BinaryIO", target))
        target.seek(0)
        publication.file.name = store("publications", File(target))
        publication.n_bytes, publication.runs, publication.left_out = n_bytes, rows, left_out
        with progress.storing():
            # published only if it still has the runs of the teams that agree
            track = track_services.lock(publication.track_id)
            if not runs or [run.pk for run in _runs(track)] != [run.pk for run in runs]:
                raise publication_refused(
                    "The runs or the consents of the teams changed meanwhile. Publish them again."
                )
            _withdraw_all(track)
            storage.claim(str(publication.file))
            publication.status = Publication.Status.READY
            publication.save(update_fields=["status", "file", "sha256", "n_bytes", "runs", "left_out"])
    return {"publication": publication.pk, "runs": len(runs)}


def _runs(track: Track) -> list[Run]:
    agreeing = [consent.team.pk for consent in selectors.consents(track) if consent.is_given]
    return list(selectors.published_runs(track).filter(team__in=agreeing))


@transaction.atomic
def withdraw(*, track: Track, by: User) -> None:
    """Withdraw the published archive. Its record stays, its file is deleted."""
    track = track_services.lock(track.pk)
    _withdraw_all(track)
    audit.record(action="publication.withdrawn", subject=f"runs of {track}", track=track, by=by)


def _withdraw_all(track: Track) -> None:
    current = list(track.publications.filter(status=Publication.Status.READY))
    storage.discard([str(publication.file) for publication in current])
    track.publications.filter(pk__in=[publication.pk for publication in current]).update(
        status=Publication.Status.WITHDRAWN, file=""
    )
