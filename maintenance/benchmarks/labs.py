"""Batches of labs with other units than documents: pairs, generated answers, battles of them, and rows in a frame.

Each is built as on the site, from files of runs or rows to an open batch, with one topic and one assessor.
"""

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any
from uuid import uuid4

from assay import samples

WORDS = "words of a document that somebody reads before they judge it, and that are to the point "
FRAME = '''
slug = "frame-load"
title = "Rows in a frame"
source = "Written for the benchmark."
unit = "document"
pool = { strategy = "rows" }

[judging]
layout = "form"

[judging.form]
fields = ["text"]
frame = true
html = """
<p>${text}</p>
<label><input type="radio" name="mood" value="good" required> Good</label>
<label><input type="radio" name="mood" value="bad"> Bad</label>
"""
'''


def _track(text: str, n_documents: int = 0) -> Any:
    from assay.protocols.loader import parse_protocol
    from corpus.models import Collection, Document
    from tracks.models import StoredProtocol, Topic, Track

    name, parsed = f"lab-{uuid4().hex[:8]}", parse_protocol(text, name="lab.toml")
    fields = {"title": parsed.title, "text": text, "digest": parsed.digest}
    protocol, _ = StoredProtocol.objects.get_or_create(slug=parsed.slug, defaults=fields)
    collection = Collection.objects.create(slug=name, name=name, status="ready")
    Document.objects.bulk_create(
        Document(
            docno=f"d{n}", thread=f"d{n}", collection=collection, kind="document", body=f"<p>{WORDS * 12}</p>"
        )
        for n in range(n_documents)
    )
    track = Track.objects.create(
        slug=name, name=name, protocol=protocol, collection=collection, status="open"
    )
    if n_documents:
        Topic.objects.create(track=track, code="T1", title="A topic")
    return track


def _submit(track: Any, files: dict[str, str], kind: str, by: Any) -> None:
    from assay.formats.declaration import Declaration
    from participation.teams import services as teams
    from pooling.runs import services as runs
    from tracks.models import Organizer

    Organizer.objects.create(track=track, user=by)
    for tag, text in files.items():
        team = teams.create(track=track, name=tag, members=[])
        declared = Declaration(kind=kind, tag=tag)
        runs.submit(
            track=track,
            team=team,
            by=by,
            file=BytesIO(text.encode()),
            file_name=f"{tag}.txt",
            declared=declared,
        )


def pairs(n: int, by: Any) -> tuple[Any, dict[str, int]]:
    """All pairs of so many documents that there are n of them."""
    size = next(k for k in range(2, 1_000) if k * (k - 1) / 2 >= n)
    track = _track(samples.path("pairs-lab.toml").read_text(), size)
    lines = "".join(f"T1 Q0 d{i} {i + 1} {size - i} run\n" for i in range(size))
    _submit(track, {"run": lines}, "primary", by)
    return track, {"primary": size}


def answers(n: int, by: Any) -> tuple[Any, dict[str, int]]:
    """Twenty nuggets in each of n / 20 answers of ten sentences."""
    from assay.protocols.loader import shipped_text
    from assessment.nuggets import services as nuggets

    track = _track(shipped_text("trec-rag-2024"), 10)
    topic = track.topics.get()
    for number in range(20):
        text = f"fact {number} is stated"
        nuggets.add(topic=topic, text=text, importance="vital", sources=[], by=by)
    nuggets.freeze(topic=topic, by=by)
    files = {}
    for run in range(max(1, n // 20)):
        sentences = [
            {"text": f"Sentence {n} of answer {run} has several words.", "citations": [n]} for n in range(10)
        ]
        line = {
            "run_id": f"run{run}",
            "topic_id": "T1",
            "topic": "A topic",
            "references": [f"d{i}" for i in range(10)],
        }
        files[f"run{run}"] = json.dumps(line | {"response_length": 80, "answer": sentences}) + "\n"
    _submit(track, files, "rag", by)
    return track, {}


def rows(n: int, by: Any) -> tuple[Any, dict[str, int]]:
    """So many rows, each in a frame."""
    from tracks.rows.services import import_rows

    track = _track(FRAME)
    lines = "".join(f'T1,{number},"{WORDS}"\n' for number in range(n))
    import_rows(track=track, data=f"topic,docno,text\n{lines}".encode(), name="rows.csv")
    return track, {}


def battles(n: int, by: Any) -> tuple[Any, dict[str, int]]:
    """All battles of so many answers of forty sentences, about 400 words, that there are n of them."""
    size = next(k for k in range(2, 1_000) if k * (k - 1) / 2 >= n)
    text = samples.path("battles-lab.toml").read_text().replace("target = 6", f"target = {n}")
    track = _track(text.replace('"battles-of', '"load-of'), 10)
    files = {}
    for run in range(size):
        sentences = [
            {"text": f"Sentence {i} of answer {run} has nine or ten words.", "citations": [i % 10]}
            for i in range(40)
        ]
        line = {"run_id": f"run{run}", "topic_id": "T1", "topic": "A topic", "response_length": 400}
        files[f"run{run}"] = (
            json.dumps(line | {"references": [f"d{i}" for i in range(10)], "answer": sentences}) + "\n"
        )
    _submit(track, files, "rag", by)
    return track, {}


LABS: dict[str, Callable[[int, Any], tuple[Any, dict[str, int]]]] = {
    "pairs": pairs,
    "answers": answers,
    "rows": rows,
    "battles": battles,
}
# The fields of a submission, besides those that each has.
ANSWERS = {
    "pairs": {"choice": "first"},
    "battles": {"choice": "first"},
    "answers": {"choice": "support"},
    "rows": {"choice": "answered", "answers": json.dumps({"mood": ["good"]})},
}


def lab_batch(lab: str, n: int, person: Any) -> Any:
    """An open batch of about n units of a lab, all of them assigned to one person."""
    from accounts.models import User
    from assessment.batches import services as batches
    from assessment.planning import services as planning
    from jobs import services as jobs
    from pooling.pools import services as pools
    from tracks.models import Assessor

    by, _ = User.objects.get_or_create(username="organizer-of-labs", defaults={"is_staff": True})
    track, depth = LABS[lab](n, by)
    pool = pools.request(track=track, name="Pool", seed=1, depth=depth, by=by)
    jobs.run(pool.job_id or 0)
    pool.refresh_from_db()
    if pool.status != "ready":
        raise SystemExit(f"the pool of {lab} failed: {pool.job and pool.job.error}")
    Assessor.objects.create(track=track, user=person)
    batch = batches.create(pool=pool, name="Load", by=None)
    planning.assign(batch=batch, assessor=person, topics=list(track.topics.all()))
    batches.open_for_judging(batch=batch)
    return batch
