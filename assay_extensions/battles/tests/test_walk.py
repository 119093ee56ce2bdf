"""Tracks like RAG 2026 from their runs to one table of systems in Chromium: battles, rubrics, support, and a program.

Pictures of each page go to the folder that `WALK_PICTURES` names, at two widths, light and dark.
"""

import json
import os
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.urls import reverse
from playwright.sync_api import Page, expect

from accounts.models import User
from assay import samples
from assay.formats.declaration import Declaration
from assessment.judging import services as task_services
from assessment.models import Batch
from assessment.nuggets import services as nugget_services
from corpus.models import Document
from jobs import services as jobs
from jobs.models import Job
from maintenance.campaign_walk import BATCH, Organizer
from participation.teams import services as team_services
from pooling.models import PoolEntry
from pooling.runs import services as run_services
from tests.helpers.answer_runs import Sentences
from tests.helpers.browser import log_in, violations
from tests.helpers.factories import make_assessor, make_collection, make_document, make_organizer
from tests.helpers.judging import judge, make_machine
from tracks.models import Topic, Track
from tracks.protocols import services as protocol_services

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.nightly]

SYSTEMS = ("ants", "bats", "cats", "dogs")  # from the best to the worst
TOPICS = {"bees": "How do bees tell each other where food is?", "tea": "How do kinds of tea differ?", "owls": "How do owls hunt?"}  # fmt: skip # noqa: E501
FACTS = (
    "comes first in the telling",
    "is told by three witnesses",
    "was measured in spring",
    "holds in every year",
)
WIDTHS, SCHEMES = (1280, 390), ("light", "dark")
LEADERBOARD = re.compile(r"/leaderboards/\d+/$")


def docno_of(topic: str, n: int) -> str:
    return f"shard_{[*TOPICS].index(topic):05}_{n}"


def answer_of(system: str, topic: str) -> Sentences:
    """The better a system, the more facts does its answer have; the dogs' answer cites nothing."""
    facts = FACTS[: len(FACTS) - SYSTEMS.index(system)]
    own = f"Here is what {len(facts)} studies say about the question, in short."
    return [
        (own, []),
        *((f"The fact of {topic} {fact}.", [docno_of(topic, n)]) for n, fact in enumerate(facts[1:], 1)),
    ]


def line_of(system: str, topic: str) -> str:
    """A line of a run of RAG 2026."""
    sentences = answer_of(system, topic)
    facts = {"team_id": system.title(), "narrative_id": topic, "narrative": TOPICS[topic], "run_id": system}
    cited = list(dict.fromkeys(docno for _, docnos in sentences for docno in docnos))
    answer = [{"text": text, "citations": docnos} for text, docnos in sentences]
    content = {"metadata": facts | {"run_desc": "made"}, "references": cited, "answer": answer}
    return json.dumps(content) + "\n"


class Walk:
    """The organizer at a browser; teams, assessors and workers use services."""

    def __init__(self, organizer: Organizer, user: User) -> None:
        self.organizer, self.user, self.n_pictures = organizer, user, 0
        self.page, self.site = organizer.page, organizer.site

    def open(self, name: str, *arguments: object) -> None:
        self.page.goto(self.site + reverse(name, args=arguments))

    def work(self) -> None:
        for job in Job.objects.filter(state=Job.State.QUEUED).order_by("pk"):
            jobs.run(job.pk)
            job.refresh_from_db()
            assert job.state == Job.State.DONE, job.error
        self.organizer.look()

    def picture(self, name: str) -> None:
        """No violation of accessibility; and pictures, if somebody wants them."""
        assert violations(self.page) == []
        folder = os.environ.get("WALK_PICTURES")
        if folder is None:
            return
        self.n_pictures += 1
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": 800})
            for scheme in SCHEMES:
                self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                path = Path(folder, f"{self.n_pictures:02}-{name}-{width}-{scheme}.png")
                self.page.screenshot(path=path, full_page=True)
        self.page.set_viewport_size({"width": 1280, "height": 800})
        self.page.emulate_media(color_scheme="light")

    def track(self, name: str, protocol: str, topics: Path) -> Track:
        """Create a track by its pages, with its teams, runs and an assessor."""
        slug = name.lower().replace(" ", "-")
        self.open("tracks:new_track")
        self.organizer.type(name=name, slug=slug)
        self.organizer.choose("protocol", protocol)
        self.organizer.choose("collection", "Segments")
        self.organizer.upload("topics", topics)
        self.organizer.press("Create track")
        Track.objects.filter(slug=slug).update(status=Track.Status.OPEN)
        track = Track.objects.get(slug=slug)
        for system in SYSTEMS:
            self.submit(track, system)
        make_assessor(track, f"ada-{slug}")
        return track

    def submit(self, track: Track, system: str) -> None:
        team = team_services.create(track=track, name=system.title(), members=[])
        lines = "".join(line_of(system, topic) for topic in TOPICS)
        file, declared = BytesIO(lines.encode()), Declaration(kind="rag")
        name = f"{system}.jsonl"
        run_services.submit(
            track=track, team=team, by=self.user, file=file, file_name=name, declared=declared
        )

    def pool(self, track: Track) -> None:
        self.open("pooling:new_pool", track.slug)
        self.picture(f"{track.slug}-new-pool")
        self.organizer.press("Build pool", re.compile(r"/pools/\d+/$"))
        self.work()
        self.picture(f"{track.slug}-pool")

    def batch(self, track: Track, better: Callable[[PoolEntry], str]) -> None:
        """A batch of everything, of which the assessor judges two units at the browser, by keys."""
        self.open("assessment:new_batch", track.slug)
        self.organizer.press("Create and open the batch", BATCH)
        batch = Batch.objects.get(pool__track=track)
        ada = User.objects.get(username=f"ada-{track.slug}")
        if track.protocol.parsed.judged.has_votes:
            self.by_keys(ada)
        while task := task_services.accept_next(batch=batch, assessor=ada):
            judge(task, better(task.entry))
        log_in(self.page, self.site, self.user)

    def by_keys(self, assessor: User) -> None:
        log_in(self.page, self.site, assessor)
        self.open("assessment:mine")
        self.picture("desk")
        self.page.get_by_role("button", name="judging").first.click()
        for n in range(2):
            self.page.wait_for_selector("html[data-judging=ready]", state="attached")
            if n == 0:
                self.picture("battle")
            before = self.page.url
            texts = [self.page.locator(f"#side-{side}").inner_text() for side in ("left", "right")]
            n_facts = [len(text) for text in texts]
            self.page.keyboard.press("1" if n_facts[0] > n_facts[1] else "3")
            self.page.keyboard.press("Enter")
            expect(self.page).not_to_have_url(before)

    def score(self, track: Track, machine: bool = False) -> None:
        self.open("scoring:freeze", track.slug)
        if machine:
            self.organizer.choose("machine", "Llama judge")
            self.organizer.press("Update the preview")
        self.picture(f"{track.slug}-freeze")
        self.organizer.press("Freeze and score", LEADERBOARD)
        self.work()
        self.picture(f"{track.slug}-leaderboard")


def longer(entry: PoolEntry) -> str:
    """The choice of somebody who prefers the answer with more facts, but not about tea if it has one more."""
    answers = entry.pool.answers.filter(topic=entry.topic)
    first, second = (answers.get(digest=docno.removeprefix("answer:")) for docno in entry.docno.split("|"))
    ahead = len(first.sentences) - len(second.sentences)
    ahead = -ahead if entry.topic.code == "tea" and abs(ahead) == 1 else ahead
    return "first" if ahead > 0 else "second"


def supported(entry: PoolEntry) -> str:
    """The choice about a nugget of an answer, or about a citation."""
    text = " ".join(text for text, _ in entry.answer.sentences) if entry.answer and not entry.document else ""
    return "support" if entry.document or entry.passage in text else "not_support"


def test_walk_from_runs_to_one_table_of_systems(
    live_server: object,
    new_page: Callable[..., Page],
    settings: LazySettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    protocol_services.load_shipped()
    user = make_organizer("olga")
    text = samples.path("battles-lab.toml").read_text().replace("rag-2024", "rag-2026")
    protocol_services.store(text=text, by=user)
    collection = make_collection("segments", name="Segments")
    for code in TOPICS:
        for n, fact in enumerate(FACTS):
            docno, body = docno_of(code, n), f"<p>The fact of {code} {fact}.</p>"
            make_document(collection, docno, kind=Document.Kind.DOCUMENT, thread=docno, body=body)
    topics = tmp_path / "topics.tsv"
    topics.write_text("".join(f"{code}\t{title}\n" for code, title in TOPICS.items()))
    walk = Walk(Organizer(new_page(), str(live_server)), user)
    log_in(walk.page, walk.site, user)

    battles = walk.track("Battles", "battles-of-answers", topics)
    walk.pool(battles)
    walk.batch(battles, longer)
    walk.score(battles)
    rubrics = walk.track("Rubrics", "trec-rag-2026", topics)
    for topic in Topic.objects.filter(track=rubrics):
        for fact, weight in zip(FACTS[1:], (5, 3, 1), strict=True):
            text = f"The fact of {topic.code} {fact}."
            nugget_services.add(topic=topic, text=text, importance="vital", weight=weight, by=user)
        text = "It repeats a rumor."
        nugget_services.add(topic=topic, text=text, importance="okay", weight=-3, by=user)
        nugget_services.freeze(topic=topic, by=user)
    walk.pool(rubrics)
    walk.batch(rubrics, supported)
    walk.score(rubrics)
    machine = make_machine(battles, user)
    lines = "".join(
        f"{topic},{left},{right},model_a\n"
        for topic in TOPICS
        for left, right in (("ants", "dogs"), ("cats", "bats"), ("dogs", "cats"), ("bats", "ants"))
    )
    arena = tmp_path / "arena.csv"
    arena.write_text(f"topic,model_a,model_b,winner\n{lines}")
    walk.open("assessment:imports", battles.slug)
    walk.picture("import")
    walk.organizer.upload("upload", arena)
    walk.organizer.choose("kind", "machine")
    walk.organizer.press("Check file")
    walk.picture("import-who")
    walk.organizer.choose("assessors-0", machine.assessor.user.username)
    walk.organizer.press("Check again")
    walk.picture("import-checked")
    walk.organizer.press("Import 12 judgments")
    walk.picture("import-done")
    walk.score(battles, machine=True)

    board = battles.leaderboards.filter(qrels__machine=None).get()
    walk.open("scoring:leaderboard", board.pk)
    walk.organizer.follow("Systems by battles")
    walk.picture("systems-by-battles")
    walk.open("scoring:leaderboard", board.pk)
    walk.organizer.follow("Systems in one table")
    walk.picture("systems-in-one-table")
    walk.page.get_by_text("Choose measures").click()
    for name in ("Rubric_strict", "Rubric_answers", "V_strict", "A_strict", "W_strict", "V", "A", "W"):
        walk.page.get_by_label(name, exact=True).uncheck()
    walk.organizer.press("Show")
    walk.picture("systems-with-three-measures")
    row = walk.page.get_by_role("row", name=re.compile("^ants"))
    expect(row).to_contain_text("1.0000")
    expect(walk.page.get_by_role("columnheader", name="Rubric", exact=True)).to_be_visible()
