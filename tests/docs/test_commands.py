"""Every command that README and documentation show prints what they show."""

import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from assay.cli.main import COMMANDS
from maintenance.docs.outputs import ENVIRONMENT, ROOT, actual, blocks, commands, pages
from tests.helpers.api import make_token

PAGES = [str(page.relative_to(ROOT)) for page in pages()]
OF_THE_DEMO = (
    "howto/take-part-by-command",
    *(f"reference/commands/{name}" for name in ("topics", "runs", "watch", "results", "download")),
)
VARYING = re.compile(r"http://localhost:\d+|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
NO_SESSIONS = {"", "text", "toml", "json", "xml", "python", "sh"}  # sh: requests to a site with curl


@pytest.mark.parametrize("name", PAGES)
def test_page_shows_the_actual_output(name: str) -> None:
    page = (ROOT / name).read_text().splitlines()

    assert actual(page) == page, "to update it: python -m maintenance.docs.outputs --write"


@pytest.mark.django_db(transaction=True, reset_sequences=True)
def test_commands_on_the_demo_campaign_print_what_pages_show(live_server: LiveServer) -> None:
    call_command("demo", stdout=StringIO())
    token = make_token(User.objects.get(username="pat"), "read", "runs")
    settings = ENVIRONMENT | {"ASSAY_SERVER": live_server.url, "ASSAY_TOKEN": token}

    for name in OF_THE_DEMO:
        page = (ROOT / "docs" / f"{name}.md").read_text().splitlines()
        shown = actual(page, reason="needs a site", settings=settings)
        assert [VARYING.sub("…", line) for line in shown] == [VARYING.sub("…", line) for line in page]


@pytest.mark.parametrize("name", PAGES)
def test_commands_are_only_in_blocks_that_run(name: str) -> None:
    page = (ROOT / name).read_text().splitlines()

    for block in blocks(page):
        lines = block.lines(page)
        assert block.language == "console" or block.language in NO_SESSIONS or block.language.startswith("{")
        if block.language == "console":
            assert commands(lines), f"line {block.start}: a console block without a command"
        else:
            assert not any(re.match(r"(\$ )?(assay|make|python) ", line) for line in lines), (
                f"line {block.start}"
            )


@pytest.mark.parametrize("name", PAGES)
def test_python_examples_run(name: str) -> None:
    page = (ROOT / name).read_text().splitlines()

    for block in blocks(page):
        if block.language == "python":
            code = "\n".join(block.lines(page))
            command = [sys.executable, "-c", code]
            process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            assert process.returncode == 0, f"line {block.start}: {process.stderr}"


@pytest.mark.parametrize("name", PAGES)
def test_commands_in_the_text_exist(name: str) -> None:
    text = (ROOT / name).read_text()

    mentioned = set(re.findall(r"`assay ([a-z_]+)", text))

    assert mentioned <= set(COMMANDS)


def test_every_command_has_a_page() -> None:
    folder = ROOT / "docs" / "reference" / "commands"

    assert {page.stem for page in folder.glob("*.md")} == {*COMMANDS, "index"}


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
