"""One real campaign, from import to leaderboard, by four people in a browser: real topics, real pages, real runs.

A real worker does the long work. The assessor judges as ARQMath's own assessors did, so that the result can be
compared with the official qrels and with pytrec_eval.
"""

import gzip
import os
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import pytrec_eval
from playwright.sync_api import Locator, Page, expect

from accounts.models import User
from corpus.models import Collection
from tests.fixtures import PAGE_TIMEOUT, Factory
from tests.helpers.browser import log_in
from tests.helpers.factories import make_organizer, make_user
from tests.helpers.math_se_pages import read_dump
from tracks.models import Track
from tracks.protocols import services as protocol_services

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TOPICS = ("A.19", "A.60")  # together, their answers have all four grades, and some have none
WORDS = {3: "High", 2: "Medium", 1: "Low", 0: "Not relevant"}
RUNS = {
    "ensemble": "scm_ensemble-task1.tsv.gz",
    "alpha05": "prim_MathDowsers-task1-alpha05noReRank-auto-both-A.tsv",
}
PEOPLE = "Ada; ada@example.org; assessor\nPat; pat@example.org; contact; Abacus\n"
MOST_CLICKS = 33  # of the organizer, from the first page to the release; one skips second judgments
SHOTS = os.environ.get("ASSAY_SCREENSHOTS")

Qrels = dict[str, dict[str, int]]


class Campaign(NamedTuple):
    """Files to upload, and the judgments of the assessors of 2020."""

    dump: list[Path]
    topics: Path
    runs: dict[str, Path]
    broken: Path
    judged: Qrels


@pytest.fixture
def campaign(data: Path, tmp_path: Path) -> Campaign:
    """Two topics of 2020, those of their judged answers whose pages we have, and real runs reduced to these."""
    arqmath = data / "arqmath"
    official: Qrels = defaultdict(dict)
    for line in (arqmath / "qrels/qrels.arqmath-2020-task1.txt").read_text().splitlines():
        topic, _, docno, grade = line.split()
        if topic in TOPICS:
            official[topic][docno] = int(grade)
    ranked = {tag: _ranked(arqmath / "runs" / name) for tag, name in RUNS.items()}
    wanted = {docno for lines in ranked.values() for _, docno, *_ in lines}
    dump = read_dump(arqmath / "math_se_pages.tar.xz", wanted)
    answers = {docno for docno, row in dump.posts.items() if row["PostTypeId"] == "2"}
    runs = {tag: _cut_down(lines, tmp_path / f"{tag}.tsv", tag, answers) for tag, lines in ranked.items()}
    broken = tmp_path / "broken.tsv"
    broken.write_text(runs["ensemble"].read_text() + "A.19\t1\t2\nA.99\t5\t6\tnan\tensemble\n")
    return Campaign(
        [*dump.write(tmp_path / "dump"), arqmath / "formulas/formula_index_v2_sample.tsv"],
        arqmath / "topics/topics.arqmath-2020-task1-origin.xml",
        runs,
        broken,
        official,
    )


def _ranked(source: Path) -> list[tuple[str, str, str, str]]:
    """Topic, docno, rank and score of the topics' lines of a real run of five or six columns."""
    text = gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()
    rows = [line.split() for line in text.decode().splitlines()]
    return [(row[0], row[-4], row[-3], row[-2]) for row in rows if row[0] in TOPICS]


def _cut_down(lines: list[tuple[str, str, str, str]], target: Path, tag: str, answers: "set[str]") -> Path:
    """The lines that name an answer of the collection, as a run of five columns."""
    kept = ["\t".join((*line, tag)) for line in lines if line[1] in answers]
    target.write_text("\n".join(kept) + "\n")
    return target


class Person:
    """Somebody at a browser of their own. `n_clicks` counts buttons, links, choices in lists, and choices of files."""

    def __init__(self, page: Page, site: str, user: User) -> None:
        self.page, self.site, self.n_clicks = page, site, 0
        log_in(page, site, user)
        self.go("/")

    def go(self, address: str) -> int:
        """Open an address that nobody shows. The organizer's campaign does without."""
        answer = self.page.goto(self.site + address)
        assert answer is not None
        return answer.status

    def press(self, name: str) -> None:
        """Press a button, which may name the remarks that are left."""
        words = re.compile(rf"^\s*{re.escape(name)}( with \d+ remarks? left)?\s*$")
        self._click(self.page.get_by_role("button", name=words))

    def next(self, name: str) -> None:
        """Take the next step of the campaign, which says what it does."""
        step = self.page.locator(".next, .next-line")
        expect(step).to_contain_text(name)
        self._click(step.locator(".btn:visible"))

    def follow(self, name: str) -> None:
        """Follow a link, which ends in an ellipsis if a form comes next."""
        self._click(self.page.get_by_role("link", name=re.compile(rf"^{re.escape(name)}…?$")))

    def _click(self, target: Locator) -> None:
        self.n_clicks += 1
        target.first.click()

    def choose(self, name: str, option: str) -> None:
        self.n_clicks += 1
        field = self.page.locator(f"select[name={name}]")
        value = field.locator("option", has_text=option).first.get_attribute("value")
        field.select_option(value)

    def upload(self, name: str, *files: Path) -> None:
        self.n_clicks += 1
        self.page.locator(f"[type=file][name={name}]").set_input_files(files)

    def type(self, **fields: str) -> None:
        """Type into fields by their names, from one to the next by the keyboard."""
        for name, text in fields.items():
            self.page.locator(f"[name={name}]").fill(text)

    def shot(self, name: str) -> None:
        if SHOTS:
            self.page.screenshot(path=f"{SHOTS}/{name}.png", full_page=True)


def import_collection(organizer: Person, files: list[Path]) -> None:
    """All files of the dump and a formula index at once, as a browser uploads them; a worker reads them in order."""
    page = organizer.page
    organizer.follow("Import a collection")
    organizer.type(slug="math-se", name="Math Stack Exchange pages", hosts="math.stackexchange.com")
    organizer.upload("upload", *files)
    organizer.press("Import files")
    expect(page.locator(".chip.status-done")).to_be_visible(timeout=PAGE_TIMEOUT)
    organizer.shot("import")
    organizer.follow("Math Stack Exchange pages")
    organizer.follow("Show formulas")
    organizer.press("Cluster formulas")
    expect(page.get_by_text("Clustered", exact=True)).to_be_visible(timeout=PAGE_TIMEOUT)
    organizer.shot("formulas")


def make_track(organizer: Person, topics: Path, people: str) -> None:
    """A track with its topics and its people, opened for runs."""
    page = organizer.page
    organizer.follow("Tracks")
    organizer.follow("Create a track")
    organizer.type(name="Answers 2020", slug="answers-2020")
    organizer.choose("protocol", "arqmath-2020-task1")
    organizer.choose("collection", "Math Stack Exchange pages")
    organizer.upload("topics", topics)
    organizer.press("Create track")
    expect(page.get_by_text("98 topics: 98 new")).to_be_visible()
    organizer.shot("track-new")
    organizer.next("Add people")
    organizer.type(text=people)
    organizer.press("Check the list")
    organizer.press("Add 2 people")
    organizer.shot("people")
    organizer.follow("Home")
    organizer.press("Skip all 5")
    organizer.next("Open for runs")
    expect(page.get_by_role("heading", name="What everybody will see")).to_be_visible()
    organizer.press("Open for runs")
    expect(page.get_by_text("is open. Its teams can submit runs.")).to_be_visible()
    organizer.shot("track")


def submit_runs(participant: Person, campaign: Campaign) -> None:
    """A broken file first: it is refused with its lines. Then the runs."""
    page = participant.page
    participant.go("/tracks/answers-2020/runs/submit/")
    page.get_by_label("File").set_input_files(campaign.broken)
    participant.press("Submit")
    report = page.locator("#submission")
    expect(report).to_contain_text("3")
    n_good = len(campaign.runs["ensemble"].read_text().splitlines())
    expect(report).to_contain_text(f"line {n_good + 1}")
    participant.shot("refused")
    participant.go("/tracks/answers-2020/runs/")
    expect(page.locator("main a[href^='/runs/']")).to_have_count(0)
    for tag, file in campaign.runs.items():
        participant.go("/tracks/answers-2020/runs/submit/")
        page.get_by_label("File").set_input_files(file)
        participant.press("Submit")
        page.wait_for_url(re.compile(r"/runs/\d+/$"))
        expect(page.get_by_role("heading", level=1)).to_contain_text(tag)
        participant.shot(f"run-{tag}")


def close_and_build_pool(organizer: Person) -> None:
    page = organizer.page
    organizer.follow("Home")
    expect(page.locator(".stats")).to_contain_text(re.compile(r"Runs\s*2\s*from 1 of \d teams?"))
    organizer.next("Close for runs")
    organizer.press("Close for runs")
    organizer.next("Build pool")
    organizer.press("Build pool")
    expect(page.get_by_text("ready").first).to_be_visible(timeout=PAGE_TIMEOUT)
    organizer.shot("pool")


def assign_topics(organizer: Person) -> None:
    page = organizer.page
    organizer.follow("Create and open the batch")
    organizer.shot("planned")
    organizer.press("Create and open the batch")
    expect(page.get_by_text("open").first).to_be_visible()
    organizer.shot("batch")


def judge_everything(assessor: Person, judged: Qrels) -> int:
    """Choose, with the mouse, what the official qrels say; answers that nobody judged then are not known now."""
    page, n = assessor.page, 0
    assessor.go("/judge/")
    assessor.shot("desk")
    assessor.page.get_by_role("button", name=re.compile(r"^\s*Start judging")).click()
    while "/tasks/" in page.url:
        page.wait_for_selector("html[data-judging=ready]", state="attached")
        address = page.url
        topic, docno = (page.locator("main").get_attribute("data-label") or "").split(", ")
        grade = judged[topic].get(docno)
        if n == 0:
            expect(page.locator(".katex").first).to_be_visible()
            assessor.shot("judging")
        if grade is None:
            page.get_by_text("Do not know", exact=True).click()
            page.get_by_label("Comment").fill("Nobody judged this in 2020.")
        else:
            page.get_by_text(WORDS[grade], exact=True).click()
        page.locator("#submit").click()
        page.wait_for_url(lambda url, old=address: url != old)
        n += 1
    expect(page.get_by_role("heading", level=1)).to_have_text("All judged")
    assessor.shot("all-judged")
    return n


def close_freeze_and_score(organizer: Person) -> None:
    page = organizer.page
    page.reload()  # it was opened before the judging
    organizer.press("Close batch")
    organizer.press("Skip")  # second judgments, which need a second assessor
    organizer.next("Freeze and score")
    expect(page.get_by_text("Nothing is stored yet")).to_be_visible()
    organizer.shot("preview-of-qrels")
    organizer.press("Freeze and score")
    expect(page.get_by_role("link", name="Release to the teams")).to_be_visible(timeout=PAGE_TIMEOUT)
    organizer.shot("leaderboard-hidden")


def release(organizer: Person) -> None:
    organizer.follow("Release to the teams")
    expect(organizer.page.get_by_text("What stays with the organizers")).to_be_visible()
    organizer.shot("release")
    organizer.press("Release to the teams")
    organizer.follow("Home")
    expect(organizer.page.get_by_role("link", name="Announce the results…")).to_be_visible()
    organizer.shot("complete")


def download(person: Person, address: str) -> str:
    response = person.page.request.get(person.site + address)
    assert response.ok, address
    return response.text()


def read_qrels(text: str) -> Qrels:
    qrels: Qrels = defaultdict(dict)
    for line in text.splitlines():
        topic, _, docno, grade = line.split()
        qrels[topic][docno] = int(grade)
    return dict(qrels)


@pytest.mark.long
def test_campaign_from_import_to_leaderboard(
    campaign: Campaign, live_server: object, new_page: Callable[..., Page], worker: Factory, beat: Factory
) -> None:
    site = str(live_server)
    people = {name: make_user(name, email=f"{name}@example.org") for name in ("ada", "pat", "lee")}
    organizer = Person(new_page(), site, make_organizer("olga"))
    visited: list[str] = []
    organizer.page.on("request", lambda request: visited.append(request.url))
    protocol_services.load_shipped()
    worker()
    beat()

    import_collection(organizer, campaign.dump)
    collection = Collection.objects.get()
    assert collection.status == Collection.Status.READY
    make_track(organizer, campaign.topics, PEOPLE)

    participant = Person(new_page(), site, people["pat"])
    submit_runs(participant, campaign)
    close_and_build_pool(organizer)
    assign_topics(organizer)

    assessor = Person(new_page(), site, people["ada"])
    n_judged = judge_everything(assessor, campaign.judged)
    assert assessor.go("/tracks/answers-2020/runs/") == 403, (
        "an assessor does not see which run retrieved a document"
    )

    close_freeze_and_score(organizer)
    track = Track.objects.get()
    board = track.leaderboards.get()
    assert participant.go(board.get_absolute_url()) == 404, "not released yet"
    release(organizer)
    assert participant.go(board.get_absolute_url()) == 200
    participant.shot("leaderboard")
    stranger = Person(new_page(), site, people["lee"])
    assert stranger.go(board.get_absolute_url()) == 404, "released to the teams only"
    assert organizer.n_clicks <= MOST_CLICKS
    assert not [address for address in visited if "/admin/" in address]

    frozen = read_qrels(download(organizer, f"/qrels/{board.qrels_id}/qrels.tsv"))
    pooled = _pooled(campaign)
    expected = {
        topic: {docno: grade for docno, grade in campaign.judged[topic].items() if docno in pooled[topic]}
        for topic in TOPICS
    }
    assert frozen == expected, "the official judgments of the pooled documents, and nothing else"
    assert n_judged == sum(map(len, pooled.values()))
    assert _scores(download(participant, f"/leaderboards/{board.pk}/topics.tsv")) == _reference(
        campaign, frozen
    )


def _pooled(campaign: Campaign) -> dict[str, set[str]]:
    """The pool by the rule: the top 50 of each primary run. No topic has that many."""
    pooled: dict[str, set[str]] = defaultdict(set)
    for file in campaign.runs.values():
        for line in file.read_text().splitlines():
            topic, docno, *_ = line.split("\t")
            pooled[topic].add(docno)
    return dict(pooled)


Scores = dict[tuple[str, str, str], str]
NAMES = {"nDCG'": "ndcg", "AP(rel=2)'": "map", "P(rel=2)@10'": "P_10"}


def _scores(table: str) -> Scores:
    """(run, topic, measure) -> value, from the leaderboard's file of topics."""
    rows = [line.split("\t") for line in table.splitlines()[1:]]
    return {(run, topic, measure): value for run, topic, measure, value in rows if measure in NAMES}


def _reference(campaign: Campaign, qrels: Qrels) -> Scores:
    """The same values from pytrec_eval, on runs without unjudged documents."""
    graded = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg"})
    binary = pytrec_eval.RelevanceEvaluator(qrels, {"map", "P_10"}, relevance_level=2)
    scores_by_run: Scores = {}
    for tag, file in campaign.runs.items():
        run: dict[str, dict[str, float]] = {topic: {} for topic in qrels}
        for line in file.read_text().splitlines():
            topic, docno, _, score, _ = line.split("\t")
            if docno in qrels.get(topic, {}):
                run[topic][docno] = float(score)
        by_topic = {topic: graded.evaluate(run)[topic] | binary.evaluate(run)[topic] for topic in qrels}
        for measure, name in NAMES.items():
            values = {topic: scores[name] for topic, scores in by_topic.items()}
            scores_by_run |= {(tag, topic, measure): f"{value:.4f}" for topic, value in values.items()}
            scores_by_run[tag, "all", measure] = f"{sum(values.values()) / len(values):.4f}"
    return scores_by_run
