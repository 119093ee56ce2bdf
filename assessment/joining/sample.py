"""A unit made up for a protocol that nobody uses yet, so that its judging page can be seen. Nothing of it is stored."""

from accounts.models import User
from assay.errors import plural
from assay.protocols.schema import JudgingRules, Protocol
from assessment.joining.selectors import Preview
from assessment.judging.layouts import LAYOUTS
from assessment.judging.layouts.documents import SAMPLE_TEXT, SAMPLE_TITLE
from assessment.judging.page import task_page
from assessment.models import Batch, Task
from corpus.models import Collection, Document
from pooling.models import Pool, PoolEntry
from tracks.models import StoredProtocol, Topic, Track

BODY = "<p>A sample topic. Topics of your track will be here, with all that assessors see of them.</p>"


def sample_batch(protocol: Protocol) -> Batch:
    """A batch of a track that is not stored."""
    stored = StoredProtocol(slug=protocol.slug, title=protocol.title, text=protocol.text)
    track = Track(slug="sample", name=protocol.title, protocol=stored)
    pool = Pool(track=track, protocol=stored)
    return Batch(pool=pool, name=protocol.title, judges=protocol.judging.judges)


def sample_facts(rules: JudgingRules) -> list[str]:
    """The hint of the preview at the questions, which the page shows after a grade."""
    n = len(rules.questions)
    return [f"Choose a grade to see {plural(n, 'question')}"] if n and rules.has_grades else []


def sample_preview(protocol: Protocol, user: User) -> Preview:
    """The judging page of the protocol with a made-up unit."""
    task = _task(protocol, user)
    unit = LAYOUTS[protocol.judging.layout].sample(task, protocol.judging)
    page = task_page(task, user, entered={}, is_new=True, unit=unit)
    return Preview(page, 1, 1, can_choose=False, can_accept=False)


def _task(protocol: Protocol, user: User) -> Task:
    batch, rules = sample_batch(protocol), protocol.judging
    labels = {name: values[0] if values else "word" for name, values in protocol.topics.labels.items()}
    topic = Topic(track=batch.pool.track, code="1", title=SAMPLE_TITLE, body=BODY, labels=labels)
    topic.narrative = topic.scenario = topic.criteria = topic.split = ""
    numbers = (1, 2) if rules.asks_about_subtopics else ()
    topic.subtopics = [{"number": str(n), "text": f"Sample subtopic {n}"} for n in numbers]
    collection = Collection(slug="sample", name="Sample")
    document = Document(
        collection=collection,
        docno="sample-1",
        kind=Document.Kind.DOCUMENT,
        title=SAMPLE_TITLE,
        body=SAMPLE_TEXT,
    )
    entry = PoolEntry(
        pool=batch.pool, topic=topic, docno="sample-1", document=document, passage="The sum converges."
    )
    return Task(batch=batch, entry=entry, assessor_id=user.pk, status=Task.Status.EXPIRED)
