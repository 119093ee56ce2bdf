"""The page for programs, and `assay check --track` with the address of a public track."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from assay.cli.commands import check as command
from assay.cli.main import main
from assay.client import tracks as client_tracks
from assay.client.server import Server
from assay.formats.runs.guide import run_schema
from assay.protocols.loader import load_protocol
from participation.teams import services as team_services
from tests.helpers.factories import make_topic, make_track, make_user
from tests.helpers.runs import BROKEN, GOOD
from tests.pooling.conftest import Scene
from tracks.models import Download, Track

pytestmark = pytest.mark.django_db
SITE = "http://testserver"
RULES = ": formats, rules, an example and the check; the track is"
OF_LINES = ": of a line of a run in JSON lines"


class Visitor(httpx.BaseTransport):
    """Sends the requests of a program to the site, as those of somebody without a login."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        assert request.url.host == "testserver"
        assert "Authorization" not in request.headers
        path = request.url.raw_path.decode()
        self.paths.append(path)
        answer = Client().get(path, headers={"accept": request.headers["accept"]})
        return httpx.Response(answer.status_code, headers=dict(answer.headers), content=answer.content)


@pytest.fixture
def visitor(monkeypatch: pytest.MonkeyPatch) -> Visitor:
    transport = Visitor()
    monkeypatch.setattr(command, "Server", lambda url, token: Server(url, token, transport=transport))
    return transport


def address(track: Track) -> str:
    return f"{SITE}{track.get_absolute_url()}"


def reports(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, Any, str]:
    status = main(["check", "--format", "json", *map(str, arguments)])
    printed = capsys.readouterr()
    return status, json.loads(printed.out or "null"), printed.err


def page_reports(track: Track, team: Any, member: Any, file: Path, **fields: str) -> Any:
    """The report of the submission page on a file."""
    client = Client()
    client.force_login(member)
    data = {
        "team": team.pk,
        "kind": "primary",
        "made": "automatic",
        "uses": "both",
        "action": "check",
        **fields,
    }
    upload = SimpleUploadedFile(file.name, file.read_bytes())
    answer = client.post(reverse("pooling:submit", args=[track.slug]), data | {"file": upload})
    return json.loads(json.dumps(answer.context["answers"][0].report.as_json()))


CASES = ["header only", "four columns in one line", "commas", "both forms in one file", "score NaN", "rank a word",
         "repeated document", "whole file twice", "unknown topic"]  # fmt: skip


def test_check_without_a_login_reports_what_the_submission_page_reports(
    scene: Scene, visitor: Visitor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Track.objects.filter(pk=scene.track.pk).update(collection=None)
    files = []
    for number, content in enumerate([GOOD, *(BROKEN[case].make() for case in CASES)]):
        files.append(tmp_path / f"run-{number}.tsv")
        files[-1].write_bytes(content)

    arguments = ("--track", address(scene.track), "--kind", "primary", "--team", "Ours")
    status, checked, err = reports(capsys, *arguments, *files)

    assert (status, err) == (1, "")
    assert [report["errors"] for report in checked[:1]] == [[]]
    assert all(report["errors"] for report in checked[1:])
    assert checked == [page_reports(scene.track, scene.ours, scene.member, file) for file in files]


def make_rag_track() -> Track:
    """A track of RAG 2026 with two topics whose texts answers repeat."""
    track = make_track("rag", protocol="trec-rag-2026", collection=None)
    make_topic(track, "r-0", title="Why do <b>owls</b> &amp; crows sing?")
    make_topic(track, "r-1", title="", body="<p>Where do owls sleep?</p>")
    return track


def rag_line(topic: str, narrative: str, **more: object) -> str:
    metadata = {
        "team_id": "Ours",
        "run_id": "one",
        "run_desc": "Made.",
        "narrative_id": topic,
        "narrative": narrative,
    }
    return json.dumps(
        {"metadata": metadata, "references": ["d1"], "answer": [{"text": "A", "citations": [0]}]} | more
    )


def test_answers_are_checked_against_the_public_texts_of_topics(
    db: None, visitor: Visitor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    track, member = make_rag_track(), make_user("ada")
    team = team_services.create(track=track, name="Ours", members=[member])
    good = [rag_line("r-0", "Why do owls & crows sing?"), rag_line("r-1", "Where do owls sleep?")]
    long = rag_line("r-1", "Where do owls sleep?", answer=[{"text": "word " * 1025, "citations": []}])
    files = []
    for name, lines in (
        ("good", good),
        ("copied", [rag_line("r-0", "Why?"), good[1]]),
        ("long", [good[0], long]),
    ):
        files.append(tmp_path / f"{name}.jsonl")
        files[-1].write_text("\n".join(lines))

    status, checked, err = reports(capsys, "--track", address(track), "--team", "Ours", *files)

    assert (status, err) == (1, "")
    assert [[error["code"] for error in report["errors"]] for report in checked] == [
        [],
        ["narrative"],
        ["too-many-words"],
    ]
    assert checked == [page_reports(track, team, member, file, kind="rag") for file in files]


def test_page_has_an_example_that_the_track_accepts_and_the_schema(db: None) -> None:
    track, client = make_rag_track(), Client()
    page = reverse("pooling:programs", args=[track.slug])

    markdown = client.get(page, {"format": "markdown"})
    html = client.get(page).content.decode()

    assert markdown["Content-Type"] == "text/markdown; charset=utf-8"
    text = markdown.content.decode()
    assert f"assay check --track {address(track)} FILE" in text
    assert '"narrative": "Why do owls & crows sing?"' in text
    assert "A run has lines for 2 topics, from `r-0` to `r-1`." in text
    assert "<li>An answer has at most 1,024 words.</li>" in html
    assert client.get(page, {"format": "schema"}).json() == run_schema(load_protocol("trec-rag-2026"))
    assert page in client.get(track.get_absolute_url()).content.decode()


def test_page_says_nothing_of_topics_that_are_not_released(
    db: None, visitor: Visitor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    track, client = make_track("adhoc", protocol="trec-adhoc"), Client()
    make_topic(track, "secret-1")
    Download.objects.create(track=track, kind=Download.Kind.TOPICS, description="Topics", released_at=None)
    page, file = reverse("pooling:programs", args=["adhoc"]), tmp_path / "run.txt"
    file.write_text("any Q0 d1 1 2.0 run\n")

    answer = client.get(page, {"format": "markdown"}).content.decode()
    status, _, err = reports(capsys, "--track", address(track), file)

    assert "secret-1" not in answer
    assert f"curl '{address(track)}runs/programs/?format=schema'" in answer
    assert "Ids are looked up in the collection" in answer
    assert client.get(page, {"format": "schema"}).json() == run_schema(load_protocol("trec-adhoc"))
    assert status == 0
    assert err == (
        "Not checked: The topics are not public yet, so any topic passes.\n"
        f"Not checked: Ids are not looked up in the collection {track.collection.slug}. Log in, and use assay check "  # type: ignore[union-attr]
        "--track adhoc.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--track", "https://x.test/other/arq/"],
            "is not the address of a track; use https://SITE/tracks/TRACK/",
        ),
        (
            ["--track", "https://x.test/tracks/arq/", "--protocol", "trec-adhoc"],
            "--protocol is for a check without",
        ),
        (
            ["--track", "https://x.test/tracks/arq/", "--server", "https://y.test"],
            "--server is for a track by its name",
        ),
    ],
)
def test_addresses_that_cannot_be_used(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.txt"
    file.write_bytes(GOOD)

    assert main(["check", *arguments, str(file)]) == 2
    assert message in capsys.readouterr().err


def other_site(request: httpx.Request) -> httpx.Response:
    """A site that is not, or not only, what it should be; the track's name says how."""
    how = request.url.path.split("/tracks/")[1].split("/")[0]
    if how == "moved":
        return httpx.Response(302, headers={"Location": "https://elsewhere.test/api/v1/tracks/moved/"})
    if how == "large":
        return httpx.Response(200, content=b"[" + b" " * client_tracks.MAX_ANSWER + b"]")
    if how == "missing":
        problem = {"detail": "No track matches.", "code": "not-checked"}
        return httpx.Response(404, json=problem, headers={"Content-Type": "application/problem+json"})
    return httpx.Response(200, json={"protocol": ["x"]} if how == "odd" else [])


@pytest.mark.parametrize(
    ("how", "status", "message"),
    [
        ("moved", 4, "leads to https://elsewhere.test/api/v1/tracks/moved/: give that address of the site"),
        ("large", 4, "the answer has more than 2,000,000 bytes"),
        ("missing", 1, "No track matches."),
        ("list", 4, "this is not the API of Assay, or of another version"),
    ],
)
def test_sites_that_answer_otherwise_are_refused(
    how: str,
    status: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    transport = httpx.MockTransport(other_site)
    monkeypatch.setattr(command, "Server", lambda url, token: Server(url, token, transport=transport))
    file = tmp_path / "run.txt"
    file.write_bytes(GOOD)

    assert main(["check", "--track", f"https://site.test/lab/tracks/{how}/topics/", str(file)]) == status
    assert message in capsys.readouterr().err


def test_index_for_programs_has_what_visitors_see(db: None, django_assert_num_queries: Any) -> None:
    make_track("adhoc", protocol="trec-adhoc", name="Ad hoc [1]")
    make_track("closed", protocol="arqmath-2021-task2", name="Formulas", status=Track.Status.CLOSED)
    make_track("draft", protocol="trec-adhoc", name="Draft", status=Track.Status.DRAFT)

    with django_assert_num_queries(1):
        answer = Client().get("/llms.txt")

    text = answer.content.decode()
    links = re.findall(r"^- \[(.+)\]\((\S+)\)(.*)$", text, re.MULTILINE)
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert text.startswith("# Assay\n\n> ")
    assert [link for link in links if "/tracks/" in link[1]] == [
        ("Ad hoc (1)", f"{SITE}/tracks/adhoc/runs/programs/?format=markdown", f"{RULES} open"),
        ("Ad hoc (1), JSON Schema", f"{SITE}/tracks/adhoc/runs/programs/?format=schema", OF_LINES),
        ("Formulas", f"{SITE}/tracks/closed/runs/programs/?format=markdown", f"{RULES} closed"),
    ]
    for _, address, _ in links:
        path = address.removeprefix(SITE)
        if path.startswith("/help/"):
            page = Path("docs", path.removeprefix("/help/")).with_suffix(".md")
            assert page.exists(), page
        else:
            assert Client().get(path, headers={"host": "testserver"}).status_code == 200, path
