"""The pages of a campaign of BOLT, of NTCIR and of ARQMath's formulas: words for people, no codes of files."""

import re
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Literal, NamedTuple, get_args, get_origin
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.test import Client
from lxml import html

from accounts.models import User
from assay.formats.declaration import Declaration
from assay.protocols import schema
from assay.protocols.measures import parse_measure
from assay.protocols.questions import asked, questions_for
from assessment.judging import services as task_services
from assessment.judgments import services as judgment_services
from assessment.judgments.selectors import members_to_judge
from assessment.models import Batch, Task
from assessment.rounds import services as round_services
from corpus.models import Collection, Document, Formula
from jobs import services as jobs
from participation.interaction import services as interaction_services
from participation.models import Team
from participation.teams import services as team_services
from pooling.models import Pool
from pooling.pools import services as pool_services
from pooling.runs import services as run_services
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard
from scoring.qrels import services as qrels_services
from tests.helpers.bolt_campaign import build_campaign
from tests.helpers.factories import (
    make_assessor,
    make_collection,
    make_document,
    make_organizer,
    make_topic,
    make_track,
    make_user,
)
from tests.helpers.formula_scene import build_formula_scene
from tests.helpers.judging import make_batch
from tracks.models import Assessor, Track


class Lab(NamedTuple):
    """A campaign that was judged twice, frozen and scored. Ada has tasks left; the member is of the first team."""

    track: Track
    organizer: User
    ada: User
    member: User
    pool: Pool
    board: Leaderboard


def bolt_lab() -> Lab:
    """Passages in three languages, an interaction session that is planned, and one that is over."""
    campaign = build_campaign()
    track, owls = campaign.track, Team.objects.get(name="Owls")
    member = make_user("olive-of-owls", email="olive@example.org")
    owls.members.add(member)
    codes = list(track.topics.order_by("code").values_list("code", flat=True))
    interaction_services.nominate(team=owls, codes=codes, by=member)
    interaction_services.plan(team=owls, n=2, assessor=campaign.ada, by=campaign.organizer)
    return _finished(track, campaign.organizer, campaign.ada, member, campaign.pool)


def formula_lab() -> Lab:
    """Task 2 of ARQMath 2021: visually distinct formulas, each judged by its instances."""
    scene = build_formula_scene()
    member = make_user("abel")
    scene.teams[0].members.add(member)
    scene.submit("abacus", [0, 4, 8, 12, 16, 20, 1, 5, 2])
    scene.submit("base", [3, 7, 0, 2, 6], team=1)
    pool = _pool(scene.track, scene.organizer)
    return _finished(
        scene.track, scene.organizer, make_assessor(scene.track, "ada-of-formulas"), member, pool
    )


def ntcir_lab(latex: Iterable[str] = (r"x + \qvar{y}", r"\frac{\qvar{a}}{\sqrt{\qvar{b1}}}")) -> Lab:
    """NTCIR-12's formulas of Wikipedia, with wildcards in the topics."""
    collection = make_collection("wiki")
    track = make_track("wiki", protocol="ntcir-12-wikipedia", collection=collection)
    topics = [
        make_topic(track, f"NTCIR12-{n}", title="", latex=f, body="", tags=[]) for n, f in enumerate(latex, 1)
    ]
    for n in range(12):
        _article(collection, n)
    organizer, member = make_organizer("ona"), make_user("nina")
    for number, name in enumerate(("Rings", "Fields")):
        team = team_services.create(track=track, name=name, members=[member] if number == 0 else [])
        lines = [
            f"{topic.code} xxx Article_{(n + number) % 12}:0 {n} {1 / n} {name}\n"
            for topic in topics
            for n in range(1, 9)
        ]
        _submit(team, organizer, f"{name}.txt", "".join(lines), track.protocol.parsed.runs.keys[0])
    return _finished(track, organizer, make_assessor(track, "ada-of-wiki"), member, _pool(track, organizer))


def _article(collection: Collection, n: int) -> None:
    latex = [r"x^{%d}+y", r"\frac{a}{\sqrt{b}}", r"\sum_{i=1}^{n} i^{%d}"][n % 3].replace("%d", str(n + 2))
    formula = (
        f'<span class="math-container" data-formula-id="Article_{n}:0" data-display="inline">{latex}</span>'
    )
    words = "Words of the article. "  # so many that the beginning that lists show ends inside the formula
    body = f"<h1>Article {n}</h1><p>{words * 10}Then {formula} follows.</p><p>{words * 60}</p>"
    make_document(
        collection,
        f"Article_{n}",
        kind=Document.Kind.DOCUMENT,
        thread=f"Article_{n}",
        body=body,
        title=f"Article {n}",
    )
    Formula.objects.create(
        collection=collection, code=f"Article_{n}:0", post=f"Article_{n}", thread=f"Article_{n}",
        place=Formula.Place.DOCUMENT, latex=latex, visual=f"v{n % 3}",
    )  # fmt: skip


def _submit(team: Team, by: User, name: str, text: str, kind: str) -> None:
    run_services.submit(
        track=team.track,
        team=team,
        by=by,
        file=BytesIO(text.encode()),
        file_name=name,
        declared=Declaration(kind=kind, tag=name.removesuffix(".txt")),
    )


def _pool(track: Track, by: User) -> Pool:
    pool = pool_services.request(track=track, name="Pool", seed=7, depth={}, by=by)
    jobs.run(pool.job_id or 0)
    pool.refresh_from_db()
    assert pool.status == Pool.Status.READY, pool.job and pool.job.error
    return pool


def _finished(track: Track, organizer: User, ada: User, member: User, pool: Pool) -> Lab:
    """Judge a training round twice and half of a main batch, freeze, and score."""
    topics = list(track.topics.order_by("code"))
    bob = make_assessor(track, f"bob-of-{track.slug}")
    training = round_services.create_training(
        pool=pool, name="Round 1", topics=topics, assessors=[ada, bob], n_units=3, is_open=True, by=organizer
    )
    groups = track.protocol.parsed.judging.groups
    for assessor, group in zip((ada, bob), groups, strict=False):
        Assessor.objects.filter(track=track, user=assessor).update(group=group)
    main = make_batch(pool, dict.fromkeys((ada, bob) if groups else (ada,), topics), name="Main")
    for batch, assessor, shift in ((training, ada, 0), (training, bob, 1), (main, ada, 0), (main, bob, 1)):
        _judge(batch, assessor, shift, most=pool.entries.count() // (2 if batch == main else 1))
    qrels = qrels_services.freeze_judgments(pool=pool, by=organizer)
    board = leaderboard_services.request(qrels=qrels, by=organizer)
    jobs.run(board.job_id or 0)
    board.refresh_from_db()
    return Lab(track, organizer, ada, member, pool, board)


def _judge(batch: Batch, assessor: User, shift: int, most: int) -> None:
    """Judge at most so many units, with all grades in turn."""
    grades = [grade.key for grade in batch.pool.protocol.parsed.judging.grades]
    for number in range(most):
        task = task_services.accept_next(batch=batch, assessor=assessor)
        if task is None:
            break
        _answer(task, grades[(number + shift) % len(grades)], "" if number % 3 else "Is $x^2$ enough?")


def _answer(task: Task, choice: str, comment: str) -> None:
    """Judge a task with the first choice of each question that is asked, and all of its members alike."""
    document, rules = task.entry.document, task.batch.pool.protocol.parsed.judging
    questions = questions_for(rules, language=document.language if document else "")
    given = {each.key: each.choices[0].key for each in asked(rules, questions, choice=choice, answers={})}
    answer = judgment_services.Answer(choice, comment, answers=given)
    request_id = uuid4()
    if members := members_to_judge(task):
        of_all = {each.docno: answer for each in members}
        judgment_services.submit_members(task=task, answers=of_all, request_id=request_id, seconds=20)
    else:
        judgment_services.submit(
            task=task, choice=choice, comment=comment, request_id=request_id, seconds=20, answers=given
        )


pytestmark = pytest.mark.django_db

# Every value list of the protocol schema: a new one joins by itself. Values of one word are words for people too.
LISTS = [values for values in vars(schema).values() if get_origin(values) is Literal]
OTHERS = {"arz", "cmn", "eng", "ara", "phase2", "asks-about", "asks-for", "not-acceptable", "not-relevant"}
CODES = {code for values in LISTS for code in get_args(values) if "-" in code} - {"known-item"} | OTHERS
INDEX = r"formulas-[a-z]+-v\d[a-z-]*"  # the forms of formula indexes, see assay.formats.documents.indexes
CODE = re.compile(rf"(?<![\w:/.-])({'|'.join(sorted(CODES))}|{INDEX})(?![\w:/-])", re.IGNORECASE)
# What a program reads, or what a person writes for one
HIDDEN = "//head | //script | //style | //pre | //code | //template | //*[contains(@class, 'mono')]"
RAW_LATEX = re.compile(r"\\[a-zA-Z]+|\w\^\{?\w+|\$[^$ ][^$]*\$")
IN_CHARACTERS = re.compile(r"\bchar(?:P|R|F|AP|Rprec)\b")
MOST = 120  # pages of a person
OF_SITE = re.compile(r"/(?:help|api|admin|account|audit-log|jobs|protocol/new|builds|imports|login|logout)/")
FILE = re.compile(r"\.(?:tsv|csv|json|jsonl|xml|zip|tex|toml|ics|gz)$|/(?:file|export)/$|SHA256SUMS")


@pytest.fixture(params=[bolt_lab, ntcir_lab, formula_lab], ids=["bolt", "ntcir", "formulas"])
def lab(
    request: pytest.FixtureRequest, settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Lab:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    build: Callable[[], Lab] = request.param
    return build()


def test_pages_have_words_for_codes_explain_measures_in_characters_and_typeset_formulas(
    lab: Lab, pytestconfig: pytest.Config
) -> None:
    """Of pages that differ by a number, one; two in a nightly run, which also reads those of a member of a team."""
    alike, people = 1, [lab.organizer, lab.ada]
    if pytestconfig.getoption("--nightly"):
        alike, people = 2, [*people, lab.member]
    pages = {user.username: dict(_pages(user, lab, alike)) for user in people}

    codes = {
        f"{user} {address}: {match[0]} in “{text[max(0, match.start() - 40) : match.end() + 40]}”"
        for user, texts in pages.items()
        for address, (text, _) in texts.items()
        for match in CODE.finditer(text)
    }
    latex = [
        f"{user} {address}: {each}"
        for user, texts in pages.items()
        for address, (_, raw) in texts.items()
        for each in raw
    ]
    named = {
        address: text
        for address, (text, _) in pages[lab.organizer.username].items()
        if IN_CHARACTERS.search(text)
    }

    assert not codes, "\n".join(sorted(codes))
    assert not latex, "\n".join(latex)
    assert bool(named) == any(parse_measure(name).in_characters for name in lab.board.measures)
    assert [address for address, text in named.items() if "in characters" not in text] == []


def _pages(user: User, lab: Lab, alike: int) -> Iterator[tuple[str, tuple[str, list[str]]]]:
    """The addresses of the pages of `_walk`, each with its visible text and the LaTeX in it that no script typesets."""
    for address, page in _walk(user, lab, alike):
        formulas = page.find_class("math-container")
        is_typeset = page.xpath("//script[contains(@src, 'corpus/math')]") or not formulas
        text = _visible(page)
        for element in (*formulas, *page.iter("textarea", "option")):
            element.drop_tree()
        rest = " ".join(" ".join(page.itertext()).split())
        raw = [rest[max(0, match.start() - 20) : match.end()] for match in RAW_LATEX.finditer(rest)]
        yield address, (text, raw if is_typeset else ["no script typesets its formulas", *raw])


def _walk(user: User, lab: Lab, alike: int) -> Iterator[tuple[str, html.HtmlElement]]:
    """The pages that a person reaches from the track; of pages that differ by a number, so many."""
    client = Client()
    client.force_login(user)
    waiting, seen, n_alike = [lab.track.get_absolute_url()], set[str](), dict[str, int]()
    while waiting and len(seen) < MOST:
        address = waiting.pop(0)
        kind = re.sub(r"\d+", "#", address)
        if address in seen or n_alike.get(kind, 0) >= alike:
            continue
        seen.add(address)
        n_alike[kind] = n_alike.get(kind, 0) + 1
        response = client.get(address, follow=True)
        if response.headers["Content-Type"].startswith("text/html"):
            page = html.fromstring(response.content.decode())
            links = [re.sub(r"#.*|\?(?!track=).*", "", link.get("href", "")) for link in page.iter("a")]
            waiting += [link for link in links if link.startswith("/") and _is_page(link)]
            yield address, page


def _is_page(address: str) -> bool:
    return not OF_SITE.match(address) and not FILE.search(address)


def _visible(page: html.HtmlElement) -> str:
    for element in page.xpath(HIDDEN):
        element.drop_tree()
    return " ".join(" ".join(page.itertext()).split())
