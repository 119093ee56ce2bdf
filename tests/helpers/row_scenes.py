"""A lab that judges the rows of a table: a form of Assay's controls, or a frame with a template of its own."""

from dataclasses import dataclass

from accounts.models import User
from assay import samples
from assay.protocols.loader import parse_protocol
from assessment.models import Batch
from jobs import services as jobs
from pooling.models import Pool
from pooling.pools import services as pool_services
from tests.helpers.factories import make_assessor, make_organizer
from tests.helpers.judging import make_batch
from tests.helpers.remembered import remembered
from tracks.models import Organizer, StoredProtocol, Topic, Track
from tracks.rows.services import import_rows

CAPTIONS = samples.path("captions-lab.toml").read_text()
SPAN = """
[[judging.question]]
key = "wrong"
label = "Mark the wrong words"
kind = "span"
field = "translation"
choice = [{ key = "omitted", label = "Omitted" }, { key = "added", label = "Added" }]
after = ["errors:term"]
required = false

[judging.form]
"""
MARKED = CAPTIONS.replace("\n[judging.form]\n", SPAN).replace(
    "${question.fluent}", "${question.wrong}\n${question.fluent}"
)
TURKLE = '''
slug = "sentiment"
title = "Sentiment, with a template of Turkle"
source = "Written for the tests; nothing has been published with it."
unit = "document"
pool = { strategy = "rows" }

[judging]
layout = "form"

[[judging.question]]
key = "mood"
label = "mood"
required = false
choice = [{ key = "good", label = "good" }, { key = "bad", label = "bad" }]

[judging.form]
fields = ["text"]
frame = true
html = """
<p id="text">${text}</p>
<label><input type="radio" name="mood" value="good" required> Good</label>
<label><input type="radio" name="mood" value="bad"> Bad</label>
<label><input type="checkbox" name="why" value="words"> Words</label>
<label><input type="checkbox" name="why" value="tone"> Tone</label>
<textarea name="note"></textarea>
<input type="hidden" name="probe" id="probe">
<script>SCRIPT</script>
"""
'''
ROWS = samples.path("captions.csv").read_text()


@dataclass
class RowScene:
    """A track with rows, a pool and a batch of two assessors."""

    track: Track
    pool: Pool
    batch: Batch
    organizer: User
    ada: User
    bob: User


def store_protocol(text: str) -> StoredProtocol:
    parsed = parse_protocol(text, name="lab.toml")
    return StoredProtocol.objects.create(
        slug=parsed.slug, title=parsed.title, text=text, digest=parsed.digest
    )


def make_row_track(text: str = CAPTIONS, rows: str = ROWS) -> Track:
    stored = store_protocol(text)
    track = Track.objects.create(slug=stored.slug, name=stored.title, protocol=stored)
    staff = User.objects.filter(is_staff=True)
    Organizer.objects.bulk_create(Organizer(track=track, user=user) for user in staff)
    if rows:
        import_rows(track=track, data=rows.encode(), name="rows.csv")
    return track


def build_pool(track: Track, by: User, name: str = "Pool", **options: object) -> Pool:
    pool = pool_services.request(track=track, name=name, seed=7, depth={}, by=by, **options)  # type: ignore[arg-type]
    jobs.run(pool.job_id or 0)
    pool.refresh_from_db()
    assert pool.status == Pool.Status.READY, pool.job and pool.job.error
    return pool


@remembered
def build_rows(text: str = CAPTIONS, rows: str = ROWS) -> RowScene:
    track, organizer = make_row_track(text, rows), make_organizer("ona")
    pool = build_pool(track, organizer)
    ada, bob = make_assessor(track, "ada"), make_assessor(track, "bob")
    topics = list(Topic.objects.filter(track=track))
    judges = [ada, bob][: track.protocol.parsed.judging.judges]
    batch = make_batch(pool, dict.fromkeys(judges, topics))
    return RowScene(track, pool, batch, organizer, ada, bob)
