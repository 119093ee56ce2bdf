"""Kinds of run in the words of a protocol: what follows from each, through pages, API and leaderboard."""

import json
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from assay.formats.runs.metadata import header
from assay.protocols.loader import parse_protocol, shipped_text
from pooling.models import Run
from scoring.models import Leaderboard
from tests.helpers.api import api, call
from tests.helpers.browser import excess_width, log_in, violations
from tests.helpers.runs import run_bytes
from tests.pooling.runs.test_submission import Desk
from tests.scoring.conftest import QRELS, build_scene
from tests.scoring.conftest import Scene as Scoring
from tracks.models import StoredProtocol, Track

KINDS = """
[[runs.kind]]
key = "primary"
depth = 3

[[runs.kind]]
key = "contrastive"
title = "contrastive system"
pooled_as = "primary"
pooled_as_by_tag = { shallow = "reference" }
max_per_team = 1

[[runs.kind]]
key = "reference"
depth = 1
scored = false
submitted_by = "organizers"
baseline = true

"""


@pytest.fixture
def scene(db: None, folder: Path) -> Scoring:
    """A track with kinds of run of its own."""
    scene = build_scene()
    text = shipped_text("arqmath-2020-task1")
    text = text[: text.index("[[runs.kind]]")] + KINDS.lstrip() + text[text.index("[pool]") :]
    StoredProtocol.objects.filter(pk=scene.track.protocol_id).update(
        text=text, digest=parse_protocol(text, name="x").digest
    )
    scene.track.refresh_from_db()
    return scene


def client_of(scene: Scoring, name: str) -> Client:
    client = Client()
    client.force_login(getattr(scene, name))
    return client


def send(scene: Scoring, tag: str, kind: str, user: str = "member", **fields: str) -> str:
    """The page after submitting a run."""
    desk = Desk(scene.track, scene.ours, getattr(scene, user), client_of(scene, user))
    first = 100 + Run.objects.count()
    answer = desk.send(run_bytes(topics=list(scene.topics), first=first, tag=tag), kind=kind, **fields)
    return "" if answer.status_code == 302 else answer.content.decode()


def test_words_of_the_protocol_are_on_the_submission_page_and_decide_what_is_accepted(scene: Scoring) -> None:
    address = reverse("pooling:submit", args=[scene.track.slug])

    of_team = client_of(scene, "member").get(address).content.decode()
    of_organizer = client_of(scene, "organizer").get(address).content.decode()
    first, second = send(scene, "one", "contrastive"), send(scene, "two", "contrastive")
    refused = send(scene, "three", "reference")

    assert '<option value="contrastive">contrastive system</option>' in of_team
    assert 'value="reference"' not in of_team
    assert "pooled_as" not in of_team
    assert "A team submits at most one contrastive system run." in of_team
    assert "Reference runs are not scored." in of_team
    assert '<option value="reference">as reference</option>' in of_organizer
    assert first == ""
    assert "already has 1 contrastive system run" in second
    assert "“reference” is not in it" in refused
    runs = client_of(scene, "member").get(reverse("pooling:runs", args=[scene.track.slug]), follow=True)
    assert "contrastive system" in runs.content.decode()


def test_kinds_decide_depths_scores_and_filters(scene: Scoring) -> None:
    client = client_of(scene, "organizer")
    for tag, kind, pooled_as in (
        ("main", "primary", ""),
        ("shallow", "contrastive", ""),
        ("base", "reference", ""),
    ):
        assert send(scene, tag, kind, "organizer", pooled_as=pooled_as) == ""
    form = client.get(reverse("pooling:new_pool", args=[scene.track.slug])).content.decode()

    pool = {"name": "P", "seed": "1", "order": "random", "depth_primary": "2", "depth_reference": "1"}
    client.post(reverse("pooling:new_pool", args=[scene.track.slug]), pool)
    scene.leaderboard(scene.qrels(QRELS))
    board = Leaderboard.objects.get()
    page = client.get(board.get_absolute_url()).content.decode()
    primary = client.get(f"{board.get_absolute_url()}?show=kind-primary").content.decode()

    assert "Depth for contrastive" not in form
    depths = scene.track.pools.get(name="P").pool_runs.values_list("run__tag", "depth")
    assert dict(depths) == {"main": 2, "shallow": 1, "base": 1}
    assert ">main</a>" in page
    assert ">shallow</a>" in page
    assert ">base</a>" not in page
    assert "Contrastive system runs" in page
    assert "pooled as reference" in page
    assert ">shallow</a>" not in primary


def test_api_names_the_kinds(scene: Scoring) -> None:
    kinds = client_of(scene, "member").get(f"/api/v1/tracks/{scene.track.slug}/").json()["kinds"]

    assert [(kind["kind"], kind["name"]) for kind in kinds] == [
        ("primary", "primary"),
        ("contrastive", "contrastive system"),
    ]


@pytest.mark.parametrize(
    "line", ["", 'uses = { scans = "page images", full-text = "full text" }\n'], ids=["none", "words"]
)
def test_what_a_run_uses_is_asked_and_shown_in_the_words_of_the_protocol(scene: Scoring, line: str) -> None:
    text = scene.track.protocol.text
    start = text.index("uses = {")
    text = text[:start] + line + text[text.index("\n", start) + 1 :]
    StoredProtocol.objects.filter(pk=scene.track.protocol_id).update(text=text)
    scene.track.refresh_from_db()
    client, slug = client_of(scene, "organizer"), scene.track.slug

    form = client.get(reverse("pooling:submit", args=[slug])).content.decode()
    api = client.post(
        f"/api/v1/tracks/{slug}/runs/",
        {"kind": "primary", "team": scene.ours.name, "uses": "math", "file": BytesIO(run_bytes())},
    )
    assert send(scene, "one", "primary", uses="scans" if line else "") == ""
    assert send(scene, "two", "primary", "organizer", uses="full-text") == ""
    scene.leaderboard(scene.qrels(QRELS))
    board = Leaderboard.objects.get()
    pages = {
        "page": client.get(Run.objects.get(tag="one").get_absolute_url()),
        "list": client.get(reverse("pooling:runs", args=[slug])),
        "board": client.get(reverse("scoring:leaderboard_file", args=[board.pk, "tsv"])),
        "json": client.get(reverse("scoring:leaderboard_file", args=[board.pk, "json"])),
        "table": client.get(reverse("papers:table_file", args=[slug, "runs", "tex"])),
        "results": client.get(reverse("papers:table_file", args=[slug, "results", "tex"])),
        "run": client.get(f"/api/v1/runs/{Run.objects.get(tag='one').pk}/"),
        "track": client.get(f"/api/v1/tracks/{slug}/"),
    }
    texts = {name: page.content.decode() for name, page in pages.items()}

    assert api.status_code == 409
    assert ("use scans or full-text" if line else "the protocol does not ask for it") in api.json()["detail"]
    if line:
        assert '<option value="full-text" selected>full text</option>' in form
        assert "uses page images" in texts["page"]
        assert "automatic, uses full text" in texts["list"]
        assert "\tscans\t" in texts["board"]
        assert '"uses": "full-text"' in texts["json"]
        assert "Scans" in texts["table"]
        assert "Full-text" in texts["results"]
        assert pages["run"].json()["uses"] == "scans"
        assert pages["track"].json()["uses"] == {"scans": "page images", "full-text": "full text"}
    else:
        assert Run.objects.get(tag="one").uses == ""
        assert 'name="uses"' not in form
        assert not [name for name in ("page", "list", "board", "json") if "uses" in texts[name].lower()]
        assert not [name for name in ("table", "results") if "Data" in texts[name]]
        assert (pages["run"].json()["uses"], pages["track"].json()["uses"]) == ("", {})


QUESTIONS = """
[[runs.question]]
key = "models"
label = "Which models does it use?"
help = "Names and versions."
public = true

[[runs.question]]
key = "data"
label = "Which data was it trained on?"
kind = "any-of"
required = false

[[runs.question.choice]]
key = "train"
label = "the training topics"

[[runs.question.choice]]
key = "other"
label = "other data"

[[runs.question]]
key = "hours"
label = "How many hours did it take?"
kind = "number"
required = false

"""


@pytest.fixture
def asking(scene: Scoring) -> Scoring:
    """The track, whose protocol asks about runs."""
    text = scene.track.protocol.text.replace("[pool]\n", f"{QUESTIONS.lstrip()}[pool]\n", 1)
    digest = parse_protocol(text, name="x").digest
    StoredProtocol.objects.filter(pk=scene.track.protocol_id).update(text=text, digest=digest)
    scene.track = Track.objects.get(pk=scene.track.pk)
    return scene


def test_questions_about_a_run_are_asked_checked_and_shown(asking: Scoring) -> None:
    member, address = client_of(asking, "member"), reverse("pooling:submit", args=[asking.track.slug])
    page = member.get(address).content.decode()

    missing = send(asking, "one", "primary")
    wrong = send(asking, "one", "primary", **{"answer-models": "BM25", "answer-hours": "many"})
    accepted = {"answer-models": "BM25", "answer-data": ["train", "other"], "answer-hours": "2.5"}
    right = send(asking, "one", "primary", **accepted)  # type: ignore[arg-type]

    run = Run.objects.get(tag="one")
    shown = member.get(run.get_absolute_url()).content.decode()
    describe = reverse("pooling:describe", args=[run.pk])
    form = member.get(describe).content.decode()
    member.post(describe, {"description": "", "answer-models": "BM25 and ColBERT"})
    changed = call(api(asking.member), "get", "run", run.pk).json()
    refused = call(
        api(asking.member), "patch", "run", run.pk, data={"description": "", "answers": {"gpu": "2"}}
    )
    assert all(
        text in page for text in ("Which models does it use?", "Names and versions.", "the training topics")
    )
    assert "Which models does it use?: Fill in this field." in missing
    assert "“many” is not an answer to “How many hours did it take?”" in wrong
    assert (right, run.answers) == ("", {"models": "BM25", "data": ["train", "other"], "hours": "2.5"})
    assert "<dt>Which data was it trained on?</dt>" in shown
    assert "the training topics, other data" in shown
    assert 'value="BM25"' in form
    assert changed["answers"] == {"models": "BM25 and ColBERT"}
    assert "How many hours did it take?: 2.5" in changed["changes"][0]["text"]
    assert (refused.status_code, "“gpu” is not a question; use models, data" in refused.json()["detail"]) == (
        409,
        True,
    )


def test_header_of_a_run_answers_questions_and_leaves_with_the_run(scene: Scoring) -> None:
    asked = QUESTIONS.replace("public = true", 'header = "method.retrieval.name"', 1)
    text = scene.track.protocol.text.replace("[pool]\n", f"{asked.lstrip()}[pool]\n", 1)
    digest = parse_protocol(text, name="x").digest
    StoredProtocol.objects.filter(pk=scene.track.protocol_id).update(text=text, digest=digest)
    lines = run_bytes(topics=list(scene.topics), tag="one")
    fields = {"method.retrieval.name": "BM25", "answers.data": "the training topics", "platform.os": "Linux"}
    address, member = reverse("api:runs", args=[scene.track.slug]), api(scene.member)

    def submit(stated: dict[str, str], data: bytes, **answers: object) -> Any:
        sent = {"file": BytesIO(header(stated) + data), "kind": "primary", "answers": json.dumps(answers)}
        return member.post(address, sent)

    refused = [
        submit(fields, lines, models="TF-IDF"),
        submit(fields | {"answers.data": "secret"}, lines),
        submit({"tag": "one"}, lines),
    ]
    accepted = submit(fields, lines, models="bm25")
    run = Run.objects.get()
    page = client_of(scene, "member").get(run.get_absolute_url()).content.decode()
    of_page = client_of(scene, "member").get(
        reverse("pooling:run_file", args=[run.pk]), {"header": "ir_metadata"}
    )
    of_api = member.get(reverse("api:run_file", args=[run.pk]), {"header": "ir_metadata"})
    form = client_of(scene, "member").get(reverse("pooling:submit", args=[scene.track.slug])).content.decode()

    problems = [each.json()["detail"] for each in refused]
    assert problems[0] == (
        "line 6: method.retrieval.name of the header is “BM25”, and “Which models does it use?” is answered with "
        "“TF-IDF”. Change one of them."
    )
    assert problems[1].startswith("line 3: answers.data of the header: “secret” is not")
    assert "Which models does it use?" in problems[2]
    assert (accepted.status_code, run.answers) == (201, {"models": "bm25", "data": ["train"]})
    assert "In the format ir_metadata: the description, the run with the description as a header" in re.sub(
        r"\s+", " ", re.sub("<[^>]*>", "", page)
    )
    assert "Names and versions. Empty: method.retrieval.name of the file" in form
    sent = b"".join(of_page.streaming_content)
    assert sent == b"".join(of_api.streaming_content)
    assert sent == header(
        {**fields, "method.retrieval.name": "bm25", "answers.data": "train", "tag": "one", "method.automatic": "true",
         "actor.team": run.team.name}
    ) + lines  # fmt: skip
    assert member.post(f"/api/v1/runs/{run.pk}/withdraw/", content_type="application/json").status_code == 200
    again = member.post(address, {"file": BytesIO(sent), "kind": "primary"})
    assert again.json()["answers"] == run.answers


def test_files_of_a_leaderboard_have_the_answers_to_public_questions(asking: Scoring) -> None:
    submission = {"file": BytesIO(run_bytes(topics=list(asking.topics), tag="one")), "kind": "primary"}
    answers = '{"models": "BM25", "data": ["train"]}'
    address = reverse("api:runs", args=[asking.track.slug])

    refused = api(asking.member).post(address, {**submission, "answers": "BM25"})
    submission["file"].seek(0)
    accepted = api(asking.member).post(address, {**submission, "answers": answers})
    board = asking.leaderboard()

    organizer = client_of(asking, "organizer")
    file, latex = [
        organizer.get(reverse("scoring:leaderboard_file", args=[board.pk, kind])) for kind in ("csv", "tex")
    ]
    header, row = file.getvalue().decode().splitlines()
    tables = reverse("papers:tables", args=[asking.track.slug])
    printed = [organizer.get(f"{tables}results.csv{query}") for query in ("", "?question=models")]
    refused_key = organizer.get(tables, {"question": "hours"}).content.decode()
    results = [each.content.decode().splitlines() for each in printed]
    assert (refused.status_code, accepted.status_code) == (409, 201)
    assert "The answers are no JSON object, such as" in refused.json()["detail"]
    assert accepted.json()["answers"] == {"models": "BM25", "data": ["train"]}
    assert (header.endswith(",models"), row.endswith(",BM25")) == (True, True)
    assert "Models: Which models does it use?" in latex.getvalue().decode()
    assert r"Team & Run & Models & P & M" in latex.getvalue().decode()
    assert results[0][0].startswith("team,Run,Data,Models,")
    assert results[0][1].startswith("Ours,one,Both,BM25,")
    assert results[0] == results[1]
    assert "“hours” is not in it" in refused_key, "it is not public"


def public_data(asking: Scoring) -> None:
    """Let everyone who sees a leaderboard get the answers about the data, too."""
    text = asking.track.protocol.text.replace('kind = "any-of"\n', 'kind = "any-of"\npublic = true\n')
    digest = parse_protocol(text, name="x").digest
    StoredProtocol.objects.filter(pk=asking.track.protocol_id).update(text=text, digest=digest)
    asking.track = Track.objects.get(pk=asking.track.pk)


def test_answers_are_columns_and_filters_of_runs_and_leaderboard(asking: Scoring) -> None:
    public_data(asking)
    for tag, data, hours in (("one", ["train"], "1.5"), ("two", ["train", "other"], "7"), ("three", [], "")):
        stated: Any = {"answer-models": f"Model {tag}", "answer-data": data, "answer-hours": hours}
        assert send(asking, tag, "primary", **stated) == ""
    board = asking.leaderboard()
    board.release, board.released_at = "public", timezone.now()
    board.save()
    organizer, anyone = client_of(asking, "organizer"), Client()
    runs = reverse("pooling:runs", args=[asking.track.slug])
    query = "?column=models&column=hours&answer=data:other&sort=team&show=all"

    plain, chosen = (organizer.get(f"{runs}{each}").content.decode() for each in ("", query))
    nobody = organizer.get(f"{runs}?answer=data:nothing&column=nothing").content.decode()
    page = anyone.get(f"{board.get_absolute_url()}{query}").content.decode()
    empty = anyone.get(f"{board.get_absolute_url()}?answer=data:other&show=best").content.decode()

    assert "Model one" not in plain
    assert all(text in plain for text in ("<summary>Answers about the runs</summary>", "only other data"))
    assert ("Model two" in chosen, "Model one" in chosen, ">7</td>" in chosen) == (True, False, True)
    assert '<option value="data:other" selected>' in chosen
    assert all(f">{tag}</a>" in nobody for tag in ("one", "two", "three")), "what is no filter is skipped"
    assert ("Model two" in page, "Model one" in page) == (True, False)
    assert "How many hours" not in page, "it is not public"
    assert "sort=run&amp;show=all&amp;column=models&amp;answer=data%3Aother" in page
    assert "No run has these answers." in empty or ">two</a>" in empty


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_rows_of_runs_with_questions_are_as_wide_as_the_window(
    asking: Scoring, live_server: LiveServer, new_page: Callable[..., Page]
) -> None:
    page = new_page(viewport={"width": 1280, "height": 900})
    log_in(page, live_server.url, asking.organizer)
    page.goto(f"{live_server.url}{reverse('pooling:submit', args=[asking.track.slug])}")

    page.get_by_role("button", name="Add another run").click()

    page.wait_for_selector(".run-row + .run-row")
    assert (excess_width(page), violations(page)) == (0, [])


def test_program_filters_runs_and_leaderboard_by_answers(asking: Scoring) -> None:
    public_data(asking)
    for tag, data in (("one", ["train"]), ("two", ["train", "other"])):
        stated: Any = {"answer-models": f"Model {tag}", "answer-data": data, "answer-hours": "2"}
        assert send(asking, tag, "primary", **stated) == ""
    board = asking.leaderboard()
    slug, client = asking.track.slug, client_of(asking, "organizer")
    runs, leaderboard = f"/api/v1/tracks/{slug}/runs/", f"/api/v1/leaderboards/{board.pk}/"

    both = client.get(f"{runs}?answer=data:train").json()["results"]
    other = client.get(f"{runs}?answer=data:train&answer=data:other").json()["results"]
    rows = client.get(f"{leaderboard}?answer=data:other").json()["runs"]
    refused = [client.get(f"{each}?answer=data:nothing") for each in (runs, leaderboard)]
    hidden = client.get(f"{leaderboard}?answer=hours:2")

    assert [each["tag"] for each in both] == ["one", "two"]
    assert [each["tag"] for each in other] == ["two"]
    assert [(each["tag"], each["answers"]) for each in rows] == [
        ("two", {"models": "Model two", "data": ["train", "other"]})
    ]
    assert [each.status_code for each in [*refused, hidden]] == [400, 400, 400]
    assert "Accepted: data:train, data:other." in refused[0].content.decode()


def test_answers_of_the_first_row_are_those_of_all_rows_if_wanted(asking: Scoring) -> None:
    client, address = client_of(asking, "member"), reverse("pooling:submit", args=[asking.track.slug])

    def files(*tags: str) -> list[BytesIO]:
        sent = [
            run_bytes(topics=list(asking.topics), first=100 * n, tag=tag) for n, tag in enumerate(tags, 1)
        ]
        return [BytesIO(each) for each in sent]

    def post(first: BytesIO, second: BytesIO, **more: Any) -> str:
        row = {"kind": "primary", "made": "automatic", "uses": "both", "tag": "", "description": ""}
        rows = {f"2-{name}": value for name, value in row.items()} | {"row": "2", "2-file": second}
        answers = {"answer-models": "BM25", "answer-data": ["train", "other"]}
        form = {"team": asking.ours.pk, "file": first, "action": "submit", **row, **rows, **answers, **more}
        return client.post(address, form).content.decode()

    several = client.get(f"{address}?rows=2").content.decode()
    missing = post(*files("one", "two"))
    same = post(*files("three", "four"), same_answers="on")

    of_runs = dict(Run.objects.values_list("tag", "answers"))
    assert "Which models does it use?: Fill in this field." in missing
    assert set(of_runs) == {"one", "three", "four"}
    assert of_runs["four"] == of_runs["three"] == {"models": "BM25", "data": ["train", "other"]}
    assert 'name="same_answers" checked' in same
    assert several.count("Use these answers for all rows") == 1
    second = several.partition('name="2-answer-models"')[2].partition(">")[0]
    assert "required" not in second, "the browser must not insist on it"
