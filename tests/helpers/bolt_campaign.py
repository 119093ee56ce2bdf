"""A campaign with BOLT's protocol on the sample files: threads, topics, and the runs of two teams."""

from io import BytesIO
from typing import NamedTuple

from accounts.models import User
from assay import samples
from assay.formats.declaration import Declaration
from corpus.imports import recognition
from corpus.imports.services import start_import
from corpus.models import Collection
from jobs import services as jobs
from participation.teams import services as team_services
from pooling.models import Pool
from pooling.pools import services as pool_services
from pooling.runs import services as run_services
from tests.helpers.factories import make_assessor, make_collection, make_organizer, make_track
from tests.helpers.remembered import remembered
from tracks.models import Track
from tracks.topics.services import import_topics

RUNS = (("Owls", "evaluation", "runs/bolt-owls.xml"), ("Harbor", "baseline", "runs/bolt-harbor.xml"))


class Campaign(NamedTuple):
    """Ada judges."""

    track: Track
    collection: Collection
    pool: Pool
    organizer: User
    ada: User


@remembered
def build_campaign() -> Campaign:
    """Import everything, and build the pool."""
    organizer = make_organizer()
    collection = make_collection("forum", status=Collection.Status.EMPTY)
    threads = recognition.sources_of([samples.path("bolt-threads.xml")])
    _run(start_import(collection=collection, sources=threads, by=organizer).pk)
    collection.refresh_from_db()
    track = make_track("owls", protocol="bolt-ir-p3", collection=collection, status=Track.Status.DRAFT)
    import_topics(track=track, data=samples.path("bolt-topics.xml").read_bytes(), name="topics.xml")
    Track.objects.filter(pk=track.pk).update(status=Track.Status.OPEN)
    track.refresh_from_db()
    for team, kind, name in RUNS:
        _submit(track, organizer, team, kind, name)
    pool = pool_services.request(track=track, name="Pool", seed=7, depth={}, by=organizer)
    _run(pool.job_id)
    pool.refresh_from_db()
    return Campaign(track, collection, pool, organizer, make_assessor(track, "ada-of-owls"))


def _submit(track: Track, by: User, name: str, kind: str, file: str) -> None:
    team = team_services.create(track=track, name=name, members=[])
    run_services.submit(
        track=track,
        team=team,
        by=by,
        file=BytesIO(samples.path(file).read_bytes()),
        file_name=file,
        declared=Declaration(kind=kind),
    )


def _run(job_id: int | None) -> None:
    assert job_id is not None
    jobs.run(job_id)
