"""A made lab of generated answers: two topics, segments whose relevance another track judged, and lists of nuggets."""

from io import BytesIO
from typing import NamedTuple

from accounts.models import User
from assay.formats.declaration import Declaration
from assessment.judging import services as task_services
from assessment.models import Batch
from assessment.nuggets import services as nugget_services
from corpus.models import Document
from jobs import services as jobs
from participation.teams import services as team_services
from pooling.models import Pool, PoolEntry, Run
from pooling.pools import services as pool_services
from pooling.runs import services as run_services
from tests.helpers.answer_runs import Sentences, answer_run
from tests.helpers.factories import (
    make_assessor,
    make_collection,
    make_document,
    make_organizer,
    make_topic,
    make_track,
    make_user,
)
from tests.helpers.judging import accept, judge, make_batch, make_pool
from tests.helpers.remembered import remembered
from tracks.models import Topic, Track

SEGMENTS = {
    "bees#1": "Honey bees tell each other where food is. A bee that returns dances on the comb.",
    "bees#2": "The angle of the waggle dance points to the food, measured from the sun.",
    "bees#3": "The longer a bee waggles, the farther away the food is.",
    "tea#1": "Green tea is not fermented. Its leaves are heated soon after they are picked.",
    "tea#2": "Black tea is fermented for some hours, until its leaves are dark.",
}
NUGGETS = {
    "bees": [
        ("A bee dances on the comb", "vital", ["bees#1"]),
        ("The angle of the dance points to the food", "vital", ["bees#2"]),
        ("A longer dance means that food is farther away", "okay", ["bees#3"]),
    ],
    "tea": [
        ("Green tea is not fermented", "vital", ["tea#1"]),
        ("Black tea is fermented", "okay", ["tea#2"]),
    ],
}


class AnswersLab(NamedTuple):
    """The track, the people, and the track that judged relevance."""

    track: Track
    relevance: Track
    bees: Topic
    tea: Topic
    organizer: User
    ada: User
    bob: User


@remembered
def answers_lab() -> AnswersLab:
    """A track whose segments were judged: the segments of a topic are relevant to it, and the others are not."""
    collection = make_collection("segments", name="Segments")
    for docno, text in SEGMENTS.items():
        make_document(collection, docno, kind=Document.Kind.DOCUMENT, thread=docno, body=f"<p>{text}</p>")
    track = make_track("answers", name="Answers", protocol="trec-rag-2024", collection=collection)
    relevance = make_track("retrieval", name="Retrieval", protocol="trec-adhoc", collection=collection)
    titles = {
        "bees": "How do honey bees tell each other where food is?",
        "tea": "How do kinds of tea differ?",
    }
    bees, tea = (make_topic(track, code, title=title, body="", tags=[]) for code, title in titles.items())
    organizer = make_organizer("olga")
    lab = AnswersLab(
        track, relevance, bees, tea, organizer, make_assessor(track, "ada"), make_assessor(track, "bob")
    )
    _judge_relevance(lab, titles)
    return lab


def _judge_relevance(lab: AnswersLab, titles: dict[str, str]) -> None:
    judge_of_segments = make_assessor(lab.relevance, "rosa")
    topics = [make_topic(lab.relevance, code, title=title) for code, title in titles.items()]
    pool = make_pool(lab.relevance, {})
    documents = {each.docno: each for each in Document.objects.filter(collection=lab.track.collection)}
    PoolEntry.objects.bulk_create(
        PoolEntry(pool=pool, topic=topic, docno=docno, document=documents[docno], position=place)
        for topic in topics
        for place, docno in enumerate(SEGMENTS)
    )
    batch = make_batch(pool, {judge_of_segments: topics})
    for _ in range(2 * len(SEGMENTS)):
        task = accept(batch, judge_of_segments)
        is_relevant = task.entry.docno.startswith(task.entry.topic.code)
        judge(task, "highly-relevant" if is_relevant else "not-relevant")


def write_nuggets(lab: AnswersLab, *, is_frozen: bool = True) -> None:
    """Give each topic its nuggets, and freeze the lists."""
    for topic in (lab.bees, lab.tea):
        for text, importance, sources in NUGGETS[topic.code]:
            nugget_services.add(topic=topic, text=text, importance=importance, sources=sources, by=lab.ada)
        if is_frozen:
            nugget_services.freeze(topic=topic, by=lab.organizer)


DANCE, ANGLE = "Honey bees dance on the comb.", "The angle of their dance points to the food."
FAR, GREEN = "They dance longer if it is far away.", "Green tea is not fermented, and black tea is."
RUNS: dict[str, dict[str, Sentences]] = {
    "owls": {
        "bees": [(DANCE, ["bees#1"]), (ANGLE, ["bees#2", "bees#1"]), (FAR, [])],
        "tea": [(GREEN, ["tea#1"])],
    },
    "crows": {"bees": [(DANCE, ["bees#3"])], "tea": [(GREEN, ["tea#1"])]},
}
# What is true of a unit: the words of a nugget or sentence, those of the answer or the cited segment, and the choice
TRUTHS = [
    ("A bee dances", DANCE, "support"),
    ("The angle of the dance", ANGLE, "support"),
    ("A longer dance", FAR, "partial_support"),
    ("tea is", GREEN, "support"),
    (DANCE, "A bee that returns", "support"),
    (ANGLE, "measured from the sun", "partial_support"),
    (GREEN, "not fermented", "partial_support"),
]


def submit_answers(lab: AnswersLab, *tags: str) -> list[Run]:
    """Submit the runs, each of a team of its own that has its name."""
    return [submit_file(lab, tag, answer_run(RUNS[tag], tag=tag)) for tag in tags or RUNS]


def submit_file(lab: AnswersLab, tag: str, data: bytes) -> Run:
    """Submit the file of a run of a new team, which has the name of the tag."""
    team = team_services.create(track=lab.track, name=tag.title(), members=[make_user(f"member-of-{tag}")])
    return run_services.submit(
        track=lab.track,
        team=team,
        by=lab.organizer,
        file=BytesIO(data),
        file_name=f"{tag}.jsonl",
        declared=Declaration(kind="rag"),
    )


def pool_answers(lab: AnswersLab, name: str = "Pool", tops_up: Pool | None = None) -> Pool:
    """Build a pool of the submitted runs."""
    pool = pool_services.request(
        track=lab.track, name=name, seed=7, depth={}, by=lab.organizer, tops_up=tops_up
    )
    jobs.run(pool.job_id or 0)
    pool.refresh_from_db()
    assert pool.status == Pool.Status.READY, pool.job and pool.job.error
    return pool


def true_choice(entry: PoolEntry) -> str:
    """The choice that is right for a unit of the lab."""
    assert entry.answer is not None
    shown = entry.document.body if entry.document else " ".join(text for text, _ in entry.answer.sentences)
    choices = (choice for judged, seen, choice in TRUTHS if judged in entry.passage and seen in shown)
    return next(choices, "not_support")


def judge_answers(lab: AnswersLab, pool: Pool) -> Batch:
    """Let Ada judge everything in a pool."""
    batch = make_batch(pool, {lab.ada: [lab.bees, lab.tea]})
    while task := task_services.accept_next(batch=batch, assessor=lab.ada):
        judge(task, true_choice(PoolEntry.objects.select_related("answer", "document").get(pk=task.entry_id)))
    return batch
