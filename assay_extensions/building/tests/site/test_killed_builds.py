"""A build whose workers are killed ends with the bytes of an undisturbed one; two workers convert its formulas."""

import io
import zipfile
from pathlib import Path

import pytest
from django.core.files.base import ContentFile

from assay_extensions.building.settings import Settings
from assay_extensions.building.site.builds import services
from corpus.models import Build, ConversionPart
from jobs.models import Job
from tests.fixtures import Factory, Running, wait_until
from tests.helpers.dumps import dump, question
from tests.helpers.factories import make_organizer
from tests.test_killed_workers import held, is_done

pytestmark = pytest.mark.django_db(transaction=True)

FORMULAS = 11_000  # three parts
PER_POST = 100
BODIES = (
    "".join(f"<p>$x_{{{n}}}$</p>" for n in range(first, first + PER_POST))
    for first in range(0, FORMULAS, PER_POST)
)
POSTS = dump("posts", *(question(n, Body=body) for n, body in enumerate(BODIES, 1))).encode()


def request(slug: str, posts: bytes = POSTS) -> Build:
    return services.request(
        new={"slug": slug},
        settings=Settings(has_pages=False),
        converter="latex2mathml",
        uploads=[ContentFile(posts, name="Posts.xml")],
        by=make_organizer(slug),
    )


def formulas_of(build: Build) -> dict[str, bytes]:
    """The files of the index in Presentation MathML."""
    file = build.files.get(name__endswith="formulas-slt.zip")
    with file.file.open("rb") as stored, zipfile.ZipFile(io.BytesIO(stored.read())) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def built(build: Build) -> Build:
    assert build.job is not None
    wait_until(lambda: is_done(build.job), seconds=400, reason="the collection is built")
    build.refresh_from_db()
    return build


def holders() -> int:
    """The number of jobs that hold parts now."""
    parts = ConversionPart.objects.filter(results=None, holder__state=Job.State.RUNNING)
    return parts.values("holder").distinct().count()


@pytest.mark.nightly
def test_two_workers_convert_and_another_takes_over_from_a_killed_one(
    worker: Factory, beat: Factory, tmp_path: Path
) -> None:
    beat()
    workers: list[Running] = [worker(), worker()]
    build = request("disturbed")
    wait_until(lambda: holders() == 2, seconds=400, reason="two jobs convert parts")

    with held("corpus_conversionpart") as is_waited_for:
        wait_until(is_waited_for, reason="a worker is about to store what it converted")
        workers[0].kill()
    worker()
    disturbed = built(build)
    undisturbed = built(request("undisturbed"))

    assert formulas_of(disturbed) == formulas_of(undisturbed)
    assert disturbed.conversion == undisturbed.conversion
    assert disturbed.conversion["formulas"] == FORMULAS
    assert not ConversionPart.objects.exists()
