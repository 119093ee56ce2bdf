"""A lab with two scales, a stance and qrels of each, from the import of its files to its archive."""

import json
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from assay import samples
from assay.formats.declaration import Declaration
from assessment.judging import services as task_services
from assessment.judgments import services as judgment_services
from assessment.models import Batch, Judgment
from corpus.imports import recognition
from corpus.imports.services import start_import
from corpus.models import Collection
from jobs import services as jobs
from participation.teams import services as team_services
from pooling.models import Pool
from pooling.pools import services as pool_services
from pooling.runs import services as run_services
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard, Qrels
from scoring.qrels import services as qrels_services
from scoring.qrels.selectors import qrels_tsv
from tests.helpers.factories import make_assessor, make_collection, make_organizer
from tests.helpers.judging import make_batch
from tests.helpers.remembered import remembered
from tests.publishing.archives.conftest import archive_of, written
from tests.publishing.archives.test_services import findings_of, load
from tracks.models import Organizer, Track
from tracks.protocols import services as protocol_services
from tracks.topics.services import import_topics

TOPICS = {"1": "Should school uniforms be required?", "2": "Should zoos be closed?"}
TEXTS = (
    ("Yes, without doubt. Uniforms spare families money, and pupils look at each other instead of labels.", "pro"),
    ("No. A rule about clothes teaches obedience, and nothing else. Three studies found no better grades.", "con"),
    ("Both sides have a point, and the effect depends on the place.", "neutral"),
    ("The weather will be fine tomorrow.", ""),
    ("BUY CHEAP WATCHES", "spam"),
)  # fmt: skip

ARGUMENTS = tuple(text for text, _ in TEXTS)
LAB = samples.path("arguments-lab.toml").read_text()


class Campaign(NamedTuple):
    """Ada judges everything, and Bob a part of it again."""

    track: Track
    pool: Pool
    main: Batch
    dual: Batch
    organizer: User
    ada: User
    bob: User


EVIDENCE = """
[[judging.question]]
key = "evidence"
label = "Which words show it?"
kind = "span"
after = ["highly-relevant"]
required = false
choice = [{ key = "claim", label = "Claim" }]

"""


def run(job_id: int | None) -> None:
    assert job_id is not None
    jobs.run(job_id)


@remembered
def build_campaign(
    protocol_text: str = LAB, topic_file: str = "", texts: Sequence[str] = ARGUMENTS
) -> Campaign:
    """Import everything, build the pool and open the batches."""
    organizer = make_organizer()
    documents = [
        {"id": f"{topic}-{n}", "title": f"{title} Reply {n}", "text": text}
        for topic, title in TOPICS.items()
        for n, text in enumerate(texts)
    ]
    collection = make_collection("debates", status=Collection.Status.EMPTY)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "documents.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in documents))
        run(start_import(collection=collection, sources=recognition.sources_of([path]), by=organizer).pk)
    collection.refresh_from_db()
    protocol = protocol_services.store(text=protocol_text, by=organizer)
    track = Track.objects.create(
        slug="touche", name="Arguments", collection=collection, protocol=protocol, status=Track.Status.DRAFT
    )
    Organizer.objects.create(track=track, user=organizer)
    topics = "".join(
        json.dumps({"id": code, "title": title}) + "\n" for code, title in TOPICS.items()
    ).encode()
    if topic_file:
        topics = samples.path(topic_file).read_bytes()
    import_topics(track=track, data=topics, name=topic_file or "topics.jsonl")
    Track.objects.filter(pk=track.pk).update(status=Track.Status.OPEN)
    track.refresh_from_db()
    for team, order in (("Owls", "01234"), ("Gulls", "43210")):
        lines = [
            f"{code} Q0 {code}-{n} {rank} {9 - rank} {team.lower()}\n"
            for code in TOPICS
            for rank, n in enumerate(order, 1)
        ]
        run_services.submit(
            track=track,
            team=team_services.create(track=track, name=team, members=[]),
            by=organizer,
            file=BytesIO("".join(lines).encode()),
            file_name=f"{team}.txt",
            declared=Declaration(kind="primary"),
        )
    pool = pool_services.request(track=track, name="Pool", seed=7, depth={}, by=organizer)
    run(pool.job_id)
    pool.refresh_from_db()
    ada, bob = make_assessor(track, "ada-of-debates"), make_assessor(track, "bob-of-debates")
    first, second = track.topics.order_by("code")
    main = make_batch(pool, {ada: [first, second]})
    dual = make_batch(pool, {bob: [first]}, kind=Batch.Kind.DUAL)
    return Campaign(track, pool, main, dual, organizer, ada, bob)


def judge_all(batch: Batch, assessor: User, *, is_strict: bool) -> None:
    """Judge the units that are left by their texts; who is strict finds less quality."""
    while task := task_services.accept_next(batch=batch, assessor=assessor):
        stance = TEXTS[int(task.entry.docno[-1])][1]
        choice = {"": "not-relevant", "spam": "spam", "neutral": "relevant"}.get(stance, "highly-relevant")
        answers: dict[str, Any] = {
            "quality": "sufficient" if is_strict else "high",
            "stance": stance,
            "appeals": ["facts"],
        }
        if stance == "neutral":
            answers.pop("appeals")
        if batch.pool.protocol.parsed.judging.marks_text:
            marked = [{"start": 0, "length": 2, "choice": "claim"}]
            answers |= {"evidence": marked} if choice == "highly-relevant" else {}
        asked = answers if choice in {"relevant", "highly-relevant"} else {}
        judgment_services.submit(task=task, choice=choice, answers=asked, request_id=uuid4())


def scored(campaign: Campaign) -> Leaderboard:
    qrels = qrels_services.freeze_judgments(pool=campaign.pool, by=campaign.organizer)
    board = leaderboard_services.request_with_parts(qrels=qrels, by=campaign.organizer, seed=1)
    for each in Leaderboard.objects.filter(track=campaign.track).order_by("pk"):
        run(each.job_id)
    board.refresh_from_db()
    return board


@pytest.mark.django_db
def test_a_lab_with_two_scales_and_a_stance_is_verified_and_loaded(tmp_path: Path) -> None:
    campaign = build_campaign(LAB.replace("[[qrels.set]]", f"{EVIDENCE}[[qrels.set]]", 1))
    judge_all(campaign.main, campaign.ada, is_strict=False)
    judge_all(campaign.dual, campaign.bob, is_strict=True)
    scored(campaign)
    path = written(archive_of(campaign.track, campaign.organizer), tmp_path)

    findings = findings_of(path)
    loaded = load(path, campaign.organizer, slug="again")

    assert [finding for finding in findings if not finding.is_right] == []
    again = Track.objects.get(slug="again")
    assert loaded.track == again
    versions = [
        list(Qrels.objects.filter(track=track).order_by("version")) for track in (campaign.track, again)
    ]
    assert [each.report.get("set", "") for each in versions[1]] == ["", "quality", "stance", "good-pro"]
    assert [qrels_tsv(each) for each in versions[1]] == [qrels_tsv(each) for each in versions[0]]
    measures = [
        list(Leaderboard.objects.filter(track=track).order_by("pk").values_list("measures", flat=True))
        for track in (campaign.track, again)
    ]
    assert measures == [[["nDCG@5", "P@5"], ["nDCG@5", "P@5"], ["P@5"], ["nDCG@5"]]] * 2
    answers = [
        list(Judgment.objects.filter(track=track).order_by("pk").values_list("docno", "answers"))
        for track in (campaign.track, again)
    ]
    assert sorted(map(str, answers[1])) == sorted(map(str, answers[0]))
    assert any(given.get("evidence") for _, given in answers[1])


@pytest.mark.django_db
def test_agreement_and_disagreements_are_for_the_grade_and_each_question_with_choices(tmp_path: Path) -> None:
    campaign = build_campaign()
    judge_all(campaign.main, campaign.ada, is_strict=False)
    judge_all(campaign.dual, campaign.bob, is_strict=True)
    client = Client()
    client.force_login(campaign.organizer)
    agreement, disagreements, adjudication = (
        reverse(f"assessment:{name}", args=[campaign.track.slug])
        for name in ("agreement", "disagreements", "new_adjudication")
    )

    page, of_quality, of_stance, of_facts = (
        client.get(agreement, {"scale": scale}) for scale in ("", "quality", "stance", "appeals:facts")
    )
    differ = [
        client.get(disagreements, {"scale": scale}).context["rows"].paginator.count
        for scale in ("", "quality", "stance")
    ]
    client.post(
        f"{adjudication}?scale=quality",
        {
            "rule": "any",
            "scale": "quality",
            "name": "Again",
            "adjudicators": [campaign.ada.pk],
            "minutes_allotted": 60,
        },
    )

    keys = ["", "quality", "stance", "appeals:facts", "appeals:values", "appeals:fear"]
    assert [scale.key for scale in page.context["scales"]] == keys
    assert [each.context["pairs"][0].kappa.observed for each in (page, of_quality, of_stance)] == [1, 0, 1]
    assert [each.name for each in of_stance.context["alphas"]] == ["nominal"]
    assert of_facts.context["pairs"][0].kappa.n == 2
    assert "“How well is it written?”: 2 High, 1 Sufficient, 0 Low." in of_quality.content.decode()
    assert "0 Pro, 1 Con, 2 Neutral." in of_stance.content.decode()
    assert differ == [0, 3, 0]
    assert Batch.objects.get(kind=Batch.Kind.ADJUDICATION).selected.count() == 3
    assert client.get(agreement, {"scale": "color"}).status_code == 404
