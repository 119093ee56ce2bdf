"""Every command that README and documentation show prints what they show."""

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from assay.cli.main import COMMANDS
from jobs import services as jobs
from jobs.models import Job
from maintenance.docs.notebooks import as_text, executed, notebooks
from maintenance.docs.outputs import ENVIRONMENT, ROOT, SAMPLES, actual, blocks, commands, pages
from participation.models import JoinRequest
from tests.helpers.api import make_token
from tracks.downloads.contents import sample_runs
from tracks.models import Track

pytest.importorskip("assay_extensions.turkle")

PAGES = {str(page.relative_to(ROOT)): page.read_text().splitlines() for page in pages()}
LANGUAGES = {name: {block.language for block in blocks(page)} for name, page in PAGES.items()}
OF_THE_DEMO = (
    "howto/take-part-by-command",
    *(f"reference/commands/{name}" for name in ("topics", "runs", "watch", "results", "download", "site")),
)
VARYING = re.compile(r"http://localhost:\d+|\d{4}-\d\d-\d\dT[\d:.]+Z?|cursor=[^&\"]+|[0-9a-f]{64}")
GUIDES = (
    "use-the-api",
    "judge-with-a-program",
)  # in this order: the second judges in the campaign of the first
PEOPLE = {"As a participant": "pat", "As an organizer": "organizer", "As an assessor": "ada"}
PEOPLE |= {"Many judgments at once": "ada"}
CURL = """
uuidgen() { echo key; }
curl() { command curl --silent --write-out '\\n%{http_code}' "$@"; }
"""
NO_SESSIONS = {"", "text", "toml", "json", "xml", "yaml", "python", "sh"}  # sh: requests to a site with curl


@pytest.mark.parametrize("name", [name for name in PAGES if "console" in LANGUAGES[name]])
def test_page_shows_the_actual_output(name: str) -> None:
    page = PAGES[name]

    assert actual(page) == page, "to update it: python -m maintenance.docs.outputs --write"


def test_no_output_has_one_of_several() -> None:
    wrong = re.compile(
        r"(?<![-+\w.,=/])1 (?:\w+ )?(?:bytes|columns|documents|errors|files|formulas|grades|instances|judgments|lines"
        r"|nuggets|pairs|ranks|rows|runs|scores|tasks|topics|units|votes|warnings)\b"
    )
    lines = {name: (ROOT / name).read_text().splitlines() for name in PAGES}
    outputs = [
        (name, line) for name, page in lines.items() for block in blocks(page) for line in block.lines(page)
    ]

    assert len(outputs) > 1000
    assert [(name, line) for name, line in outputs if wrong.search(line)] == []


@pytest.mark.django_db(transaction=True, reset_sequences=True)
def test_commands_on_the_demo_campaign_print_what_pages_show(live_server: LiveServer, tmp_path: Path) -> None:
    call_command("demo", stdout=StringIO())
    token = make_token(User.objects.get(username="pat"), "read", "runs")
    settings = ENVIRONMENT | {
        "ASSAY_SERVER": live_server.url,
        "ASSAY_TOKEN": token,
        "XDG_CACHE_HOME": str(tmp_path),
    }

    for name in OF_THE_DEMO:
        page = (ROOT / "docs" / f"{name}.md").read_text().splitlines()
        shown = actual(page, reason="needs a site", settings=settings)
        assert [VARYING.sub("…", line) for line in shown] == [VARYING.sub("…", line) for line in page]


def requests() -> Iterator[tuple[str, str, Any]]:
    """The requests of the guides to the API: who sends each, and the JSON that the guide shows after it."""
    for name in GUIDES:
        page = (ROOT / f"docs/howto/{name}.md").read_text().splitlines()
        yield from requests_of(page)


def requests_of(page: list[str]) -> Iterator[tuple[str, str, Any]]:
    every = list(blocks(page))
    for block, after in zip(every, [*every[1:], every[0]], strict=True):
        above = (line for line in reversed(page[: block.start]) if re.match("##+ ", line))
        heading = next(above, "").lstrip("# ")
        if block.language == "sh" and heading in PEOPLE:
            lines = "\n".join(block.lines(page)).replace("\\\n", "").splitlines()
            names = "; ".join(line for line in lines if not line.startswith("curl"))
            *others, last = (f"{names}\n{line}" for line in lines if line.startswith("curl"))
            yield from ((PEOPLE[heading], command, None) for command in others)
            shown = "\n".join(after.lines(page)) if after.language == "json" else "null"
            yield PEOPLE[heading], last, json.loads(VARYING.sub("…", shown))


def answer(command: str, person: str, folder: Path, site: str) -> tuple[int, Any]:
    """The status of a request by curl, and its content if that is JSON."""
    token = make_token(User.objects.get(username=person))
    result = subprocess.run(
        ["bash", "-c", CURL + command],
        cwd=folder,
        env=ENVIRONMENT | {"SITE": site, "TOKEN": token},
        capture_output=True,
        text=True,
        check=False,
    )
    content, _, status = result.stdout.rpartition("\n")
    return int(status), json.loads(VARYING.sub("…", content)) if content[:1] in {"{", "["} else None


@pytest.mark.django_db(transaction=True, reset_sequences=True)
def test_requests_of_the_guides_to_the_api_are_answered_as_they_show(
    live_server: LiveServer, tmp_path: Path
) -> None:
    call_command("demo", stdout=StringIO())
    [sample] = sample_runs(Track.objects.get(slug="demo-2026"))
    assert sample.content
    run = re.sub(rb"\S+$", b"titles", sample.content, flags=re.MULTILINE)
    lines = run.splitlines(keepends=True)
    wrong = b"".join([*lines[:16], b"A.206 1011 1\n", *lines[17:]]).replace(b"titles", b"other")
    files = {"run.tsv": run, "run.tsv.gz": gzip.compress(run), "qrels.txt": b"A.201\t0\t1011\t2\n"}
    files |= {path.name: path.read_bytes() for path in (SAMPLES / "topics.xml", SAMPLES / "dump/Posts.xml")}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)

    for person, command, shown in requests():
        if "--data-binary" in command:
            (tmp_path / "run.tsv").write_bytes(wrong)
        if command.endswith("arq-2027/join-requests/"):
            track = Track.objects.get(slug="arq-2027")
            for name in ("Owl", "Eel"):
                JoinRequest.objects.create(
                    track=track, name=name, email=f"{name}@example.org", team_name=name
                )
        status, content = answer(command, person, tmp_path, live_server.url)
        if shown is None:
            assert 200 <= status < 300, (command, content)
        else:
            assert content == shown, command
        for job in Job.objects.filter(state=Job.State.QUEUED):
            jobs.run(job.pk)


def test_commands_are_only_in_blocks_that_run() -> None:
    for name, page in PAGES.items():
        for block in blocks(page):
            lines, place = block.lines(page), f"{name}, line {block.start}"
            assert block.language in {"console", *NO_SESSIONS} or block.language.startswith("{"), place
            if block.language == "console":
                assert commands(lines), f"{place}: a console block without a command"
            else:
                assert not any(re.match(r"(\$ )?(assay|make|python) ", line) for line in lines), place


@pytest.mark.parametrize("name", [name for name in PAGES if "python" in LANGUAGES[name]])
def test_python_examples_run(name: str) -> None:
    page = PAGES[name]

    for block in blocks(page):
        if block.language == "python":
            code = "\n".join(block.lines(page))
            command = [sys.executable, "-c", code]
            process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            assert process.returncode == 0, f"line {block.start}: {process.stderr}"


def test_commands_in_the_text_exist() -> None:
    mentioned = {
        (name, command)
        for name, page in PAGES.items()
        for command in re.findall(r"`assay ([a-z_-]+)", "\n".join(page))
    }

    assert {(name, command) for name, command in mentioned if command not in COMMANDS} == set()


def test_every_command_has_a_page() -> None:
    folder = ROOT / "docs" / "reference" / "commands"

    assert {page.stem for page in folder.glob("*.md")} == {*COMMANDS, "index"}


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.name)
def test_notebook_shows_the_actual_output(path: Path) -> None:
    text = path.read_text()

    actual_text = as_text(executed(json.loads(text)))

    assert actual_text == text, "to update it: python -m maintenance.docs.notebooks --write"


def test_a_cell_shows_what_it_prints_and_its_last_value() -> None:
    cell = {
        "cell_type": "code",
        "source": ["print(1)\n", "x = 2\n", "x"],
        "outputs": [],
        "execution_count": None,
    }

    (shown,) = executed({"cells": [cell]})["cells"]

    assert [output["output_type"] for output in shown["outputs"]] == ["stream", "execute_result"]
    assert shown["outputs"][1]["data"] == {"text/plain": ["2"]}


def test_a_different_output_is_noticed() -> None:
    page = ["```console", "$ head -1 topics.txt", "A.2", "```"]

    assert actual(page) == ["```console", "$ head -1 topics.txt", "A.1", "```"]


def test_a_block_that_is_marked_does_not_run() -> None:
    page = ["<!-- not run: needs a database -->", "```console", "$ exit 3", "```"]

    assert actual(page) == page
    assert [block.not_run for block in blocks(page)] == ["needs a database"]


def test_commands_of_a_page_share_folder_and_status() -> None:
    page = [
        "```console",
        "$ echo a > file; false",
        "$ echo $?",
        "```",
        "",
        "```console",
        "$ cat \\",
        "> file",
        "```",
    ]

    assert actual(page)[3:] == ["1", "```", "", "```console", "$ cat \\", "> file", "a", "```"]


def test_sample_files_are_not_changed(tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in (ROOT / "assay" / "samples").rglob("*.t*")}

    actual(["```console", "$ rm -r *", "```"])

    assert {path: path.read_bytes() for path in before} == before
