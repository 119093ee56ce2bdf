"""A unit made up for a protocol that nobody uses yet, so that its judging page can be seen. Nothing of it is stored."""

from dataclasses import replace

from accounts.models import User
from assay.answers import NUGGET
from assay.errors import plural
from assay.protocols.schema import FormRules, JudgingRules, Protocol
from assessment.joining.selectors import Preview
from assessment.judging.keys import keys_of
from assessment.judging.layouts.formulas import ShownMember, filled_in
from assessment.judging.layouts.pairs import Side
from assessment.judging.page import ShownRow, TaskPage, task_page
from assessment.models import Batch, Task
from corpus.models import Collection, Document
from corpus.threads.selectors import render_document, safe_html
from pooling.models import Pool, PooledAnswer, PoolEntry
from tracks.models import StoredProtocol, Topic, Track
from tracks.rows.selectors import parts_of

TITLE = "Why does this sum converge?"
BODY = "<p>A sample topic. Topics of your track will be here, with all that assessors see of them.</p>"
TEXT = (
    "<p>A sample unit. The texts of your collection will be here.</p><p>The terms fall faster than those of a "
    "geometric series, so the sum converges by comparison. Its value follows from the known series.</p>"
)
LATEX = r"\sum_{n=1}^{\infty} \frac{1}{n^2}"


def sample_batch(protocol: Protocol) -> Batch:
    """A batch of a track that is not stored."""
    stored = StoredProtocol(slug=protocol.slug, title=protocol.title, text=protocol.text)
    track = Track(slug="sample", name=protocol.title, protocol=stored)
    pool = Pool(track=track, protocol=stored)
    return Batch(pool=pool, name=protocol.title, judges=protocol.judging.judges)


def sample_values(form: FormRules) -> dict[str, str]:
    """The values of a row: each is the name of its column."""
    return {**{name: f"value of {name}" for name in form.fields}, "topic": "1", "docno": "sample-1"}


def sample_facts(rules: JudgingRules) -> list[str]:
    """The hint of the preview at the questions, which the page shows after a grade."""
    n = len(rules.questions)
    return [f"Choose a grade to see {plural(n, 'question')}"] if n and rules.has_grades else []


def sample_preview(protocol: Protocol, user: User) -> Preview:
    """The judging page of the protocol with a made-up unit."""
    rules = protocol.judging
    task = _task(protocol, user)
    page = _with_parts(task_page(task, user, entered={}, is_new=True), rules, user)
    return Preview(page, 1, 1, can_choose=False, can_accept=False)


def _task(protocol: Protocol, user: User) -> Task:
    batch, rules = sample_batch(protocol), protocol.judging
    labels = {name: values[0] if values else "word" for name, values in protocol.topics.labels.items()}
    topic = Topic(track=batch.pool.track, code="1", title=TITLE, body=BODY, labels=labels)
    topic.narrative = topic.scenario = topic.criteria = topic.split = ""
    numbers = (1, 2) if rules.asks_about_subtopics else ()
    topic.subtopics = [{"number": str(n), "text": f"Sample subtopic {n}"} for n in numbers]
    collection = Collection(slug="sample", name="Sample")
    document = Document(
        collection=collection, docno="sample-1", kind=Document.Kind.DOCUMENT, title=TITLE, body=TEXT
    )
    entry = PoolEntry(
        pool=batch.pool, topic=topic, docno="sample-1", document=document, passage="The sum converges."
    )
    if rules.layout == "formula":
        entry.document = None
    if rules.judges_pairs:
        entry.docno, entry.document = "sample-1|sample-2", None
    if protocol.is_of_answers:
        entry.docno = f"{NUGGET}sample:1"
        entry.answer = PooledAnswer(pool=batch.pool, topic=topic, sentences=[[entry.passage, []]])
    return Task(batch=batch, entry=entry, assessor_id=user.pk, status=Task.Status.EXPIRED)


def _with_parts(page: TaskPage, rules: JudgingRules, user: User) -> TaskPage:
    """A page with the parts of a unit that are usually read from the database."""
    if rules.layout == "formula":
        return replace(page, formula=_member(1))
    if rules.has_members:
        keys = keys_of(user, rules)
        return replace(page, members=filled_in(page.task, [_member(1), _member(2)], rules, keys, {}))
    if rules.judges_pairs:
        document = render_document(Document(collection=Collection(), docno="sample", title=TITLE, body=TEXT))
        return replace(page, pair=[Side(side.name, side.docno, document, "") for side in page.pair])
    if rules.form is not None and not rules.form.frame:
        marked = {shown.question.field for shown in page.questions if shown.question.kind == "span"}
        questions = {shown.question.key: shown for shown in page.questions}
        return replace(page, row=ShownRow(parts_of(rules.form, sample_values(rules.form), questions, marked)))
    return page


def _member(n: int) -> ShownMember:
    """A formula in its post."""
    none = safe_html("")
    return ShownMember(
        key=str(n),
        docno=f"formula-{n}",
        latex=LATEX,
        excerpt="",
        body=safe_html(TEXT),
        title=none,
        remark=none,
        post="",
        address="",
        choice="",
        comment="",
        shown=0,
    )
