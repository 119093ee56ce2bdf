"""One small campaign, wholly by `assay` over HTTP, and wholly by commands: the same qrels and leaderboard to the byte.

The sample files are the campaign: topics, collection, four runs, and the judgments of ines. The test runs the jobs in
the place of a worker.
"""

import csv
import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.cache import cache
from django.core.management import call_command
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from assay import samples
from assay.cli.main import main
from assay.client.server import Server
from assay.digests import sha256_of
from assessment.models import Judgment
from jobs import console
from jobs import services as jobs
from jobs.models import Job
from pooling.models import Run
from tests.helpers.api import make_token
from tests.helpers.database import of_the_next_release
from tests.helpers.factories import make_organizer, make_user
from tracks.models import Fetch
from tracks.protocols import services as protocol_services

pytestmark = pytest.mark.django_db(transaction=True)

PEOPLE = [
    {"name": "Pat", "email": "pat@example.org", "role": "contact", "team": "Abacus"},
    {"name": "Lee", "email": "lee@example.org", "role": "contact", "team": "Lemma"},
    {"name": "Olga", "email": "olga@example.org", "role": "contact", "team": "Organizers"},
    {"name": "Ines", "email": "ines@example.org", "role": "assessor"},
]
SUBMITTERS = {"Abacus": "pat", "Lemma": "lee", "Organizers": "olga"}
POOL_SEED, SCORE_SEED = 7, 11
Files = tuple[bytes, bytes]  # qrels and leaderboard


def manifest() -> list[dict[str, str]]:
    with samples.path("manifest.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def judgments() -> dict[tuple[str, str], dict[str, str]]:
    """The judgments of ines, by topic and document."""
    with samples.path("judgments.csv").open(newline="") as file:
        return {
            (row["topic"], row["docno"]): row for row in csv.DictReader(file) if row["assessor"] == "ines"
        }


class Program:
    """A person's scripts: the command `assay`, and an assessor's program, which judges."""

    def __init__(self, site: str, user: User, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.site, self.token, self.monkeypatch = site, make_token(user), monkeypatch
        self.answer = folder / f"{user.username}.json"

    def assay(self, *words: object) -> int:
        with self.monkeypatch.context() as patch:
            patch.setenv("ASSAY_SERVER", self.site)
            patch.setenv("ASSAY_TOKEN", self.token)
            return main(list(map(str, words)))

    def run(self, operation: str, *words: object) -> Any:
        """The answer to an operation of the site."""
        assert self.assay("site", operation, *words, "--output", self.answer) == 0
        return json.loads(self.answer.read_text())


def work() -> None:
    """Run the jobs that are queued, as a worker does."""
    for job in Job.objects.filter(state=Job.State.QUEUED):
        console.follow(job)


def by_api(site: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Files:
    olga, pat, lee, ines = (
        Program(site, User.objects.get(username=name), monkeypatch, folder.parent)
        for name in ("olga", "pat", "lee", "ines")
    )
    documents, protocol, topics = map(samples.path, ("documents.jsonl", "protocol.toml", "topics.jsonl"))
    job = olga.run("import_collection", "slug=api-posts", "name=Posts", "--file", f"files={documents}")
    work()
    assert olga.assay("watch", f"jobs/{job['id']}") == 0
    olga.run("create_protocol", "--file", f"text={protocol}")
    olga.run("create_track", "slug=api", "name=Math", "protocol=math-example", "collection=api-posts")
    olga.run("import_topics", "slug=api", "--file", f"file={topics}")
    olga.run("create_people", "slug=api", f"people={json.dumps(PEOPLE)}")
    olga.run("open_track", "slug=api")
    for row in manifest():
        person = {"Abacus": pat, "Lemma": lee, "Organizers": olga}[row["team"]]
        more = ["--pooled-as", row["pooled_as"]] if row["pooled_as"] else []
        words = [
            "submit",
            "api",
            samples.path(row["file"]),
            "--kind",
            row["kind"],
            "--team",
            row["team"],
            *more,
        ]
        assert [person.assay(*words), person.assay(*words)] == [0, 0], (
            "a repeated command submits nothing twice"
        )
    row = manifest()[0]
    person = {"Abacus": pat, "Lemma": lee, "Organizers": olga}[row["team"]]
    tag = Run.objects.get(file_name=Path(row["file"]).name, track__slug="api").tag
    again = ["submit", "api", samples.path(row["file"]), "--kind", row["kind"], "--team", row["team"]]
    again += ["--pooled-as", row["pooled_as"]] if row["pooled_as"] else []
    metadata = folder.parent / "metadata.yaml"
    metadata.write_text("method:\n  models:\n    - gpt-4o; gpt\n")
    again += ["--metadata", metadata]
    assert [person.assay(*again, "--replaces", each) for each in ("nothing", tag)] == [1, 0]
    assert list(Run.objects.filter(tag=tag).order_by("pk").values_list("status", flat=True)) == [
        "withdrawn",
        "submitted",
    ]
    assert Run.objects.get(tag=tag, status="submitted").models_used == "gpt-4o; gpt"
    olga.run("close_track", "slug=api")
    pool = olga.run("create_pool", "slug=api", "name=Pool", f"seed={POOL_SEED}")
    work()
    assert olga.assay("watch", pool["url"]) == 0
    created = olga.run("create_batch", "slug=api", f"pool={pool['id']}", "name=Round 1")
    batch = f"batch_id={created['id']}"
    assert olga.assay("site", "share_topics", batch, "assessors=ines") == 0
    olga.run("open_batch", batch)
    judge(ines, batch.partition("=")[2])
    olga.run("close_batch", batch)
    preview = olga.run("preview_qrels", "slug=api", f"pool={pool['id']}")
    sha256 = f"sha256={preview['sha256']}"
    qrels = olga.run("freeze_qrels", "slug=api", f"pool={pool['id']}", sha256)
    board = olga.run("score_runs", f"qrels_id={qrels['id']}", f"seed={SCORE_SEED}")
    work()
    assert olga.assay("watch", board["url"]) == 0
    assert pat.assay("results", "api") == 1, "not released"
    olga.run("release_leaderboard", f"board_id={board['id']}", "released_to=participants")
    run = Run.objects.get(track__slug="api", tag="abacus", status="submitted")
    assert pat.assay("watch", f"runs/{run.pk}") == 0, "scored, and released to its team"
    with redirect_stdout(StringIO()) as printed:
        assert pat.assay("results", "api") == 0
    values = [float(line.split("\t")[3]) for line in printed.getvalue().splitlines()[1:]]
    assert len(values) > 1
    assert values == sorted(values, reverse=True), "the best run in the main measure is first"
    assert pat.assay("results", "api", "--by-topic") == 0
    assert pat.assay("download", "api", "qrels", "leaderboard", "--to", folder) == 0
    resume(pat, folder / "api-topics.tsv")
    take_away(olga, folder / "track.zip")
    return (
        (folder / "qrels.api.v1.tsv").read_bytes(),
        (folder / f"api-leaderboard-{board['id']}.tsv").read_bytes(),
    )


def take_away(organizer: Program, target: Path) -> None:
    """Make the archive of the track, and check it without the site."""
    archive = organizer.run("create_archive", "slug=api", "has_names=false")
    work()
    words = ["download_archive", f"archive_id={archive['id']}", "--output", target]
    assert organizer.assay("site", *words) == 0
    assert organizer.assay("archive", "verify", target) == 0


def resume(person: Program, target: Path) -> None:
    """Download a file again whose first bytes are there: the site sends the rest, and records no second download."""
    words = ["download", "api", target.name, "--to", target.parent]
    assert person.assay(*words) == 0
    content = target.read_bytes()
    part = target.with_name(f"{target.name}.{sha256_of(content)[:12]}.part")
    target.unlink()
    part.write_bytes(content[:100])

    assert person.assay(*words) == 0

    assert target.read_bytes() == content
    assert Fetch.objects.filter(name=target.name).count() == 1
    assert not part.exists()


def judge(assessor: Program, batch: str) -> None:
    """Judge all tasks as ines did, by a program that uses the library."""
    wanted = judgments()
    with Server(assessor.site, assessor.token) as server:
        while task := server.post(f"batches/{batch}/next/", is_repeatable=True):
            row = wanted[task["unit"]["topic"], task["unit"]["docno"]]
            choice = {"choice": row["choice"], "comment": row["comment"]}
            server.post(f"tasks/{task['id']}/judgments/", choice, is_repeatable=True)


def by_commands(folder: Path) -> Files:
    by = ("--by", "olga")
    call_command("import_collection", "cmd-posts", str(samples.path("documents.jsonl")))
    protocol = str(samples.path("protocol.toml"))
    call_command(
        "create_track", "cmd", "--name", "Math", "--protocol", protocol, "--collection", "cmd-posts", *by
    )
    call_command("import_topics", "cmd", str(samples.path("topics.jsonl")))
    lines = [";".join(person.get(key, "") for key in ("name", "email", "role", "team")) for person in PEOPLE]
    people = folder / "people.txt"
    people.write_text("\n".join(lines))
    call_command("add_people", "cmd", str(people), *by)
    call_command("track_status", "cmd", "open")
    for row in manifest():
        more = ["--pooled-as", row["pooled_as"]] if row["pooled_as"] else []
        words = [row["team"], str(samples.path(row["file"])), "--kind", row["kind"], *more]
        call_command("submit_run", "cmd", *words, "--by", SUBMITTERS[row["team"]])
    call_command("track_status", "cmd", "closed")
    call_command("build_pool", "cmd", "--name", "Pool", "--seed", str(POOL_SEED), *by)
    judged = folder / "judgments.jsonl"
    fields = ("topic", "docno", "assessor", "choice", "comment")
    rows = [json.dumps({name: row[name] for name in fields}) for row in judgments().values()]
    judged.write_text("".join(f"{row}\n" for row in rows))
    call_command("import_judgments", "cmd", str(judged), "--pool", "Pool", "--batch", "Round 1", *by)
    qrels, board = folder / "qrels.tsv", folder / "leaderboard.tsv"
    call_command("freeze_qrels", "cmd", "--pool", "Pool", "--output", str(qrels), *by)
    call_command("score_runs", "cmd", "--seed", str(SCORE_SEED), "--output", str(board), *by)
    call_command("release_leaderboard", "cmd", "participants", *by)
    return qrels.read_bytes(), board.read_bytes()


def test_campaign_by_assay_over_http_equals_that_by_commands(
    live_server: LiveServer, settings: LazySettings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    cache.clear()
    make_organizer("olga", email="olga@example.org")
    for name in ("pat", "lee", "ines"):
        make_user(name, email=f"{name}@example.org")
    protocol_services.load_shipped()

    with of_the_next_release():  # as during a rolling upgrade, whose first step changes the tables
        from_api = by_api(live_server.url, monkeypatch, tmp_path / "api")
    from_commands = by_commands(tmp_path)

    assert from_api == from_commands
    assert from_api[0].count(b"\n") == 27, "28 units, of which ines could not read one"
    assert Judgment.objects.filter(is_current=True).count() == 2 * 28
    assert Run.objects.filter(status="submitted").count() == 2 * len(manifest())
