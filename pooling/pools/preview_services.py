"""Requests the preview of a pool, and computes it in a job: it reads every run. The result is stored with the job."""

import base64
import zlib
from typing import Any

from django.db import transaction

from accounts.models import User
from assay.pools.preview import Preview
from jobs import services as jobs
from jobs.models import Job
from pooling.models import Pool
from pooling.pools import previews
from pooling.pools.errors import PoolRefused
from pooling.pools.selectors import runs_to_pool
from tracks.models import Track
from tracks.tracks import services as track_services


@transaction.atomic
def request(*, track: Track, tops_up: Pool | None, most: int | None = None, by: User) -> Job:
    """Queue the job that previews a pool of the runs submitted so far, of at most `most` runs per team.

    A job that already previews these runs, or has done so, is returned instead.
    """
    track = track_services.lock(track.pk)
    job = previews.job_of(track, tops_up, most)
    if job is not None and job.state != Job.State.FAILED:
        return job
    return jobs.request(
        kind=previews.KIND,
        title=f"Preview a pool of {track}"[:200],
        arguments={
            "track_id": track.pk,
            "tops_up_id": tops_up.pk if tops_up else None,
            "most": most,
            "key": previews.key_of(track, tops_up, most),
        },
        by=by,
        subject=track,
    )


@jobs.handler(previews.KIND)
def compute(
    progress: jobs.Progress, *, track_id: int, tops_up_id: int | None, key: str, most: int | None = None
) -> dict[str, Any]:
    """Compute a preview. Safe to repeat: it writes nothing but the result of the job.

    Jobs of an earlier version have no `most`.

    Raises
    ------
    PoolRefused
        As `previews.preview`; or the runs or formulas have changed since the preview was requested.
    JobLost
        Another worker has taken over the job.
    """
    track = Track.objects.select_related("collection", "protocol").get(pk=track_id)
    tops_up = None if tops_up_id is None else Pool.objects.get(pk=tops_up_id)
    if previews.key_of(track, tops_up, most) != key:
        raise PoolRefused("The runs or formulas changed after the preview was requested. Compute it again.")
    total = runs_to_pool(track).count() + 2
    report = lambda n, step: progress.update(n, total, step)  # noqa: E731
    return packed(previews.preview(track, tops_up=tops_up, most=most, report=report))


def packed(preview: Preview) -> dict[str, Any]:
    """A preview as plain values, for the result of a job; `previews.unpacked` reads it."""
    sizes = zlib.compress(preview.sizes.astype("<i4").tobytes())
    return {
        "topics": preview.topics.tolist(),
        "sizes": base64.b64encode(sizes).decode(),
        "depths": dict(preview.depths),
        "judges": preview.judges,
    }
