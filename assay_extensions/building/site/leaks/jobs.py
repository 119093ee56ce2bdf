"""The job that checks the topics of a track against its collection, by the rules of the command `assay`.

It copies what the check reads into a store of the library in a temporary folder: the documents, comments and links of
the collection, the candidates, among which the own questions of the topics are, and the threads of these questions, if
the track has a collection of its topics.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings

from assay.candidates.reader import Candidate
from assay.formats.topics.facts import TopicFacts
from assay_extensions.building import leaks
from assay_extensions.building.site.leaks.selectors import checked_digest, verdict
from assay_extensions.building.store import Store, refusals
from corpus.collections.selectors import has_threads
from corpus.models import BuildFile, Collection, Comment, Document, DocumentLink
from jobs import services as jobs
from tracks.models import LeakCheck, Track

KIND = "tracks.leaks.check"
ROWS_AT_ONCE = 2_000
READING = "reading the collection"
QUESTION = ("id", "title", "body", "duplicates", "related")  # what is read of each candidate
_POSTS = "INSERT OR IGNORE INTO posts (docno, kind, thread, role, created, title, body) VALUES (?, ?, ?, ?, '', ?, ?)"
_COMMENTS = (
    "INSERT INTO comments (code, post, text, score, owner, author, created) VALUES (?, ?, ?, '', '', '', '')"
)
_LINKS = "INSERT INTO links (source, target, kind, is_late, line) VALUES (?, ?, ?, ?, '')"


@jobs.handler(KIND, words=lambda result: f"The topics are checked for leaks: {result['verdict']}.")
def check_leaks(progress: jobs.Progress) -> dict[str, Any]:
    """Check the topics of a track against its collection, and store the report."""
    check = LeakCheck.objects.select_related("track__collection").get(job_id=progress.job_id)
    track, folder = check.track, Path(settings.VAR_DIR, "leaks")
    folder.mkdir(parents=True, exist_ok=True)
    digest = checked_digest(track)  # before anything is read: a change meanwhile makes the check outdated
    rows = list(track.topics.order_by("natural_code"))
    prints = {leaks.text_print(topic.title, topic.body): topic.code for topic in rows}

    def report(done: int, total: int) -> None:
        progress.update(done, total, "comparing texts")

    with TemporaryDirectory(dir=folder) as place, refusals(folder):
        store = Store(Path(place, "build.sqlite"))
        try:
            own = _fill(store, track, progress, prints)
            _fill_threads(store, track, {row.thread or own.get(row.code, "") for row in rows})
            topics = [
                TopicFacts(row.code, row.title, row.body, thread=row.thread or own.get(row.code, ""))
                for row in rows
            ]
            result = leaks.check(store, topics, report, overlap=check.overlap)
        finally:
            store.close()
    assert track.collection is not None
    check.unknown = result.unknown if has_threads(track.collection) else []  # documents have no own threads
    check.leaks, check.n_topics = result.leaks, len(topics)
    check.digest = digest
    check.n_forbidden, check.is_complete = sum(leak.is_forbidden for leak in result.leaks), True
    with progress.storing():
        check.save(update_fields=["leaks", "unknown", "n_topics", "digest", "n_forbidden", "is_complete"])
    label = verdict(check, len(check.leaks), len(check.unknown)).label
    return {"leaks": len(check.leaks), "forbidden": check.n_forbidden, "verdict": label}


def _fill(store: Store, track: Track, progress: jobs.Progress, prints: Mapping[int, str]) -> dict[str, str]:
    """Copy what the check reads. Return the own question of each topic whose words a candidate has.

    `prints` has the topics by the print of their words.
    """
    collection = track.collection
    assert collection is not None
    documents = Document.objects.filter(collection=collection)
    total = documents.count()
    posts = documents.order_by("pk").values_list("docno", "kind", "thread", "title", "body")
    comments = Comment.objects.filter(document__collection=collection).order_by("pk")
    links = DocumentLink.objects.filter(source__collection=collection).order_by("pk")
    published = links.values_list("source__docno", "target__docno", "kind").iterator(ROWS_AT_ONCE)
    own: dict[str, str] = {}
    with store.writing():
        rows = progress.counting(posts.iterator(ROWS_AT_ONCE), total, READING)
        store.insert(
            _POSTS,
            (
                (docno, kind, thread or docno, "collection", title, body)
                for docno, kind, thread, title, body in rows
            ),
        )
        texts = comments.values_list("code", "document__docno", "text").iterator(ROWS_AT_ONCE)
        store.insert(_COMMENTS, progress.counting(texts, None, READING))
        store.insert(_LINKS, ((*link, 0) for link in published))
        for question in _questions(track, collection):
            if code := prints.get(leaks.text_print(question.title, question.body), ""):
                own.setdefault(code, question.id)
            store.execute(
                _POSTS, (question.id, "question", question.id, "topic", question.title, question.body)
            )
            linked = [("duplicate", question.duplicates), ("related", question.related)]
            late = ((question.id, target, kind, 1) for kind, targets in linked for target in targets)
            store.insert(_LINKS, late)
    return own


def _fill_threads(store: Store, track: Track, questions: set[str]) -> None:
    """Copy the posts of the topics' own threads, so that the address of an answer is found too."""
    if track.topic_collection is None:
        return
    posts = track.topic_collection.documents.filter(thread__in=questions).order_by("pk")
    rows = posts.values_list("docno", "kind", "thread", "title", "body").iterator(ROWS_AT_ONCE)
    with store.writing():
        store.insert(_POSTS, ((*row[:3], "topic", *row[3:]) for row in rows))


def _questions(track: Track, collection: Collection) -> Iterator[Candidate]:
    """The candidates of the track; without any, those of the build of its collection, if it has one."""
    rows = track.candidates.order_by("pk").values_list("docno", *QUESTION[1:])
    if rows:
        yield from (Candidate(**dict(zip(QUESTION, row, strict=True))) for row in rows.iterator(ROWS_AT_ONCE))
        return
    file = BuildFile.objects.filter(build__collection=collection, name__endswith="-candidates.jsonl").first()
    if file is not None:
        with file.file.open("rb") as lines:
            for row in map(json.loads, lines):
                yield Candidate(**{name: row[name] for name in QUESTION})
