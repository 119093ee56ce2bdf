"""Tracks like RAG 2026 from their runs to one table of systems in Chromium: battles, rubrics, support, a program.

The documentation has three of its pictures, on 1280 px: battle, criterion (rubric-judging) and systems-by-battles.
"""

import json
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from django.conf import LazySettings
from playwright.sync_api import Page, expect

from accounts.models import User
from assay import samples
from assay.formats.declaration import Declaration
from assessment.judging import services as task_services
from assessment.models import Batch, Task
from assessment.nuggets import services as nugget_services
from corpus.models import Document
from jobs import services as jobs
from maintenance.campaign_walk import BATCH, Organizer
from participation.teams import services as team_services
from pooling.models import PoolEntry
from pooling.runs import services as run_services
from tests.helpers.answer_runs import Sentences
from tests.helpers.browser import log_in
from tests.helpers.factories import make_assessor, make_collection, make_document, make_organizer
from tests.helpers.judging import judge, make_machine
from tests.helpers.walks import Walk
from tracks.models import Topic, Track
from tracks.protocols import services as protocol_services

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.nightly]

SYSTEMS = ("ants", "bats", "cats", "dogs")  # from the best to the worst
TOPICS = {
    "bees": "How do bees tell each other where food is?",
    "tea": "How do kinds of tea differ?",
    "owls": "How do owls hunt?",
}
FACTS = {
    "bees": (
        "A bee that found food dances on the comb.",
        "The angle of the dance to the vertical is that of the food to the **sun**.",
        "The longer the waggle, the farther away is the food.",
        "Other bees follow the dancer and smell the pollen on her.",
    ),
    "tea": (
        "All kinds of tea come from one plant.",
        "Green tea is heated soon, so its leaves do **not** oxidize.",
        "Black tea is oxidized in full.",
        "Oolong is oxidized in part.",
    ),
    "owls": (
        "Owls hunt at dusk and at night.",
        "Their ears are at **different heights**, which locates a sound.",
        "Soft edges of their feathers make their flight silent.",
        "They swallow small prey whole.",
    ),
}
LEADERBOARD = re.compile(r"/leaderboards/\d+/$")


def docno_of(topic: str, n: int) -> str:
    return f"shard_{[*TOPICS].index(topic):05}_{n}"


def answer_of(system: str, topic: str) -> Sentences:
    """The better a system, the more facts does its answer have; the dogs' answer cites nothing."""
    facts = FACTS[topic][: len(SYSTEMS) - SYSTEMS.index(system)]
    own = f"Studies about the question: {len(facts)}."
    items = [(f"- {fact}", [docno_of(topic, n)]) for n, fact in enumerate(facts[1:], 1)]
    return [("## In short", []), (own, []), *items]


def line_of(system: str, topic: str) -> str:
    """A line of a run of RAG 2026."""
    sentences = answer_of(system, topic)
    facts = {"team_id": system.title(), "narrative_id": topic, "narrative": TOPICS[topic], "run_id": system}
    cited = list(dict.fromkeys(docno for _, docnos in sentences for docno in docnos))
    answer = [{"text": text, "citations": docnos} for text, docnos in sentences]
    content = {"metadata": facts | {"run_desc": "made"}, "references": cited, "answer": answer}
    return json.dumps(content) + "\n"


class AnswersWalk(Walk):
    """Teams and most assessors use services."""

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
        Track.objects.filter(slug=slug).update(status=Track.Status.CLOSED)
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
        self.by_keys(ada, has_sides=track.protocol.parsed.judged.has_votes)
        while task := task_services.accept_next(batch=batch, assessor=ada):
            judge(task, better(task.entry))
        log_in(self.page, self.site, self.user)

    def by_keys(self, assessor: User, *, has_sides: bool) -> None:
        log_in(self.page, self.site, assessor)
        self.open("assessment:mine")
        self.picture("desk")
        self.page.get_by_role("button", name="judging").first.click()
        for n in range(2):
            self.page.wait_for_selector("html[data-judging=ready]", state="attached")
            if n == 0:
                self.picture("battle" if has_sides else "criterion")
            before = self.page.url
            if has_sides:
                left, right = (self.page.locator(f"#side-{side}").inner_text() for side in ("left", "right"))
                self.page.keyboard.press("1" if len(left) > len(right) else "3")
            else:
                task = Task.objects.get(pk=re.search(r"/tasks/(\d+)/", before)[1])  # type: ignore[index]
                self.page.keyboard.press("2" if supported(task.entry) == "support" else "0")
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
    return "support" if entry.document or entry.passage in text.replace("**", "") else "not_support"


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
        for n, fact in enumerate(FACTS[code]):
            docno, body = docno_of(code, n), f"<p>{fact.replace('**', '')}</p>"
            make_document(collection, docno, kind=Document.Kind.DOCUMENT, thread=docno, body=body)
    topics = tmp_path / "topics.tsv"
    topics.write_text("".join(f"{code}\t{title}\n" for code, title in TOPICS.items()))
    walk = AnswersWalk(Organizer(new_page(), str(live_server)), user)

    battles = walk.track("Battles", "battles-of-answers", topics)
    walk.pool(battles)
    walk.batch(battles, longer)
    walk.score(battles)
    rubrics = walk.track("Rubrics", "trec-rag-2026", topics)
    for topic in Topic.objects.filter(track=rubrics):
        for fact, weight in zip(FACTS[topic.code][1:], (5, 3, 1), strict=True):
            text = fact.replace("**", "")
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
