"""The commands that talk to a site, where there is none. `tests/test_program.py` has them at a real one."""

import base64
import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from assay.cli.commands import site as command
from assay.cli.commands import watch
from assay.cli.main import main
from assay.client.server import Server


@pytest.fixture(autouse=True)
def _no_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("ASSAY_SERVER", "ASSAY_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    return main(list(words)), capsys.readouterr().err


def test_missing_httpx_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)

    assert failed(capsys, "runs", "t") == (
        2,
        "assay runs: this command needs httpx: pip install 'assay[client]'\n",
    )


def test_missing_site_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    status, message = failed(capsys, "topics", "t")

    assert (status, message) == (
        2,
        "assay topics: name a site: log in with assay login, set the variable ASSAY_SERVER, or give --server\n",
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["login"], "give --server with the address of the site"),
        (["login", "--server", "site.test"], "it begins with https://"),
        (["login", "--forget"], "there is no login at any site to forget"),
        (["watch", "units/3"], "use jobs/9, pools/3, leaderboards/2 or runs/11"),
        (["submit", "t", "--tag", "x", __file__, __file__], "--tag is for a single run"),
        (["submit", "t", "--metadata", __file__, __file__, __file__], "--metadata is for a single run"),
        (["check", __file__], "give --protocol or --track"),
        (["check", "--kind", "primary", "--protocol", "trec-adhoc", __file__], "--kind is for a site"),
        (
            ["check", "--track", "t", "--protocol", "trec-adhoc", __file__],
            "--protocol is for a check without",
        ),
    ],
)
def test_wrong_options_end_with_2(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    status, error = failed(capsys, *words)

    assert status == 2
    assert message in error


SITE: Mapping[str, Any] = {
    "paths": {
        "/api/v1/runs/": {
            "get": {
                "operationId": "list_runs",
                "summary": "The runs",
                "parameters": [{"in": "query", "name": "cursor", "schema": {"type": "string"}}],
                "responses": {"200": {"content": {"application/json": {}}}},
            },
            "post": {
                "operationId": "import_runs",
                "summary": "Import runs",
                "description": "Organizers of the track.",
                "requestBody": {
                    "content": {"multipart/form-data": {"schema": {"$ref": "#/components/schemas/Form"}}}
                },
                "responses": {"202": {"content": {"application/json": {}}}},
            },
        },
        "/api/v1/text/": {
            "put": {
                "operationId": "set_text",
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Text"}}}
                },
                "responses": {"200": {"content": {"application/json": {}}}},
            },
            "get": {"operationId": "get_text", "responses": {"200": {"content": {"application/json": {}}}}},
        },
        "/api/v1/table/": {
            "get": {"operationId": "get_table", "responses": {"200": {"content": {"text/csv": {}}}}}
        },
    },
    "components": {
        "schemas": {
            "Form": {
                "type": "object",
                "required": ["files"],
                "properties": {
                    "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
                    "form": {"enum": ["a", "b"], "type": "string", "description": "Of the runs."},
                },
            },
            "Text": {"type": "object", "properties": {"text": {"type": "string"}, "n": {"type": "integer"}}},
        }
    },
}
TABLE = b"a,b\n1,2\n"
PROBLEM = {"content-type": "application/problem+json"}


class Site:
    """A site with four operations. `version` is that of its text, and `states` are those of its job, the last one."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.version, self.states, self.digest = 1, ["done"], hashlib.sha256(TABLE).digest()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        noun = request.url.path.removeprefix("/api/").removeprefix("v1/").partition("/")[0]
        answer: httpx.Response = getattr(self, f"{request.method.lower()}_{noun}")(request)
        return answer

    def get_schema(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=dict(SITE))

    def get_runs(self, request: httpx.Request) -> httpx.Response:
        if "cursor" in request.url.params:
            return httpx.Response(200, json={"next": None, "results": [{"id": 2}]})
        return httpx.Response(
            200, json={"next": "https://x.test/?cursor=2&page_size=500", "results": [{"id": 1}]}
        )

    def post_runs(self, request: httpx.Request) -> httpx.Response:
        request.read()
        headers = {"Location": "/api/v1/jobs/9/"}
        return httpx.Response(202, json={"id": 9, "url": "/api/v1/jobs/9/"}, headers=headers)

    def get_jobs(self, request: httpx.Request) -> httpx.Response:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        job = {
            "status": state,
            "title": "Import",
            "result": {"n": 3},
            "error": "No disk.",
            "n_done": 1,
            "n_total": 2,
        }
        return httpx.Response(200, json=job)

    def get_text(self, request: httpx.Request) -> httpx.Response:
        etag = f'"{self.version}"'
        if request.headers.get("If-None-Match") == etag:
            return httpx.Response(304, headers={"ETag": etag})
        return httpx.Response(200, json={"text": "x"}, headers={"ETag": etag})

    def put_text(self, request: httpx.Request) -> httpx.Response:
        if request.headers.get("If-Match", f'"{self.version}"') != f'"{self.version}"':
            problem = {"detail": "Somebody was first.", "code": "precondition-failed"}
            return httpx.Response(412, json=problem, headers=PROBLEM)
        content = json.loads(request.content)
        if content["text"] == "bad":
            errors = [{"line": 3, "message": "It is bad.", "accepted": "Good."}]
            refusal = {"detail": "The text is bad.", "code": "bad", "errors": errors}
            return httpx.Response(422, json=refusal, headers=PROBLEM)
        return httpx.Response(200, json=content)

    def get_table(self, request: httpx.Request) -> httpx.Response:
        digest = base64.b64encode(self.digest).decode()
        return httpx.Response(
            200, content=TABLE, headers={"Repr-Digest": f"sha-256=:{digest}:"} if digest else {}
        )

    head_table = get_table


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Site:
    made = Site()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(watch.time, "sleep", lambda seconds: None)
    transport = httpx.MockTransport(made)
    monkeypatch.setattr(command, "connect", lambda _: Server("https://site.test", "", transport=transport))
    return made


def test_operations_are_listed_searched_and_described(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["site", "operations", "runs", "IMPORT"]) == 0
    assert capsys.readouterr().out == "operation\twhat it does\nimport_runs\tImport runs\n"

    assert main(["site", "operations", "import_runs"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("import_runs: Import runs\nPOST /api/v1/runs/\n\nOrganizers of the track.\n")
    assert "files\trequired\tfile\t\nform\t\ta | b\tOf the runs.\n" in shown

    assert failed(capsys, "site", "operations", "nothing") == (
        2,
        "assay site: no operation contains nothing\n",
    )


def test_files_are_uploaded_and_the_job_is_waited_for(
    site: Site, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    site.states = ["queued", "running", "running", "done"]
    for name in ("a.tsv", "b.tsv"):
        (tmp_path / name).write_text(f"content of {name}")
    files = [word for name in ("a.tsv", "b.tsv") for word in ("--file", f"files={tmp_path / name}")]

    status = main(["site", "import_runs", "form=b", *files, "--wait", "--quiet"])

    sent = next(each for each in site.requests if each.method == "POST")
    assert status == 0
    assert len(sent.headers["Idempotency-Key"]) == 36
    assert b'name="files"; filename="b.tsv"' in sent.content
    assert b"content of a.tsv" in sent.content
    assert b'name="form"\r\n\r\nb' in sent.content
    assert json.loads(capsys.readouterr().out)["status"] == "done"


def test_failed_job_ends_with_1_and_says_why(
    site: Site, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    site.states = ["failed"]
    (tmp_path / "a.tsv").touch()

    status = main(["site", "import_runs", "--file", f"files={tmp_path / 'a.tsv'}", "--wait"])

    assert (status, capsys.readouterr().err) == (1, "jobs/9: failed: Import: No disk.\n")


def test_all_pages_are_lines_of_json(site: Site, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "runs.jsonl"

    assert main(["site", "list_runs", "--all", "--output", str(target)]) == 0
    assert main(["site", "list_runs"]) == 0

    assert target.read_text() == '{"id": 1}\n{"id": 2}\n'
    assert json.loads(capsys.readouterr().out)["results"] == [{"id": 1}]


def test_text_of_a_field_comes_from_a_file_and_words_replace_that_of_json(
    site: Site, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text, fields = tmp_path / "text.txt", tmp_path / "fields.json"
    text.write_text("long\n")
    fields.write_text('{"text": "short", "n": 1}')

    assert main(["site", "set_text", "--fields", str(fields), "--file", f"text={text}", "n=2"]) == 0

    assert json.loads(capsys.readouterr().out) == {"text": "long\n", "n": 2}


def test_etag_reads_only_what_is_newer_and_refuses_to_overwrite(
    site: Site, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["--etag", str(tmp_path / "etag")]

    assert [main(["site", "get_text", *words]) for _ in range(2)] == [0, 0]
    output = capsys.readouterr()
    assert (json.loads(output.out), output.err) == (
        {"text": "x"},
        "assay site: get_text: nothing changed since then\n",
    )
    site.version = 2
    assert failed(capsys, "site", "set_text", "text=y", *words) == (1, "assay site: Somebody was first.\n")
    assert main(["site", "get_text", *words]) == 0
    assert main(["site", "set_text", "text=y", *words]) == 0


def test_refusal_of_the_site_has_its_lines(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert failed(capsys, "site", "set_text", "text=bad") == (
        1,
        "set_text: refused: The text is bad.\n  error: line 3: It is bad.\n      accepted: Good.\n",
    )


@pytest.mark.parametrize("has_digest", [True, False])
def test_file_is_stored_or_printed(
    site: Site, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path, has_digest: bool
) -> None:
    site.digest = site.digest if has_digest else b""
    target = tmp_path / "table.csv"

    assert main(["site", "get_table", "--output", str(target)]) == 0
    shown = capfdbinary.readouterr().out.decode()
    assert main(["site", "get_table"]) == 0

    assert target.read_bytes() == capfdbinary.readouterr().out == TABLE
    assert shown == f"{target}: 8 bytes, sha256 {hashlib.sha256(TABLE).hexdigest()}\n"
    assert [each.name for each in tmp_path.iterdir() if "table" in each.name] == ["table.csv"]


def test_file_with_another_digest_is_not_kept(
    site: Site, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    site.digest = bytes(32)

    status, error = failed(capsys, "site", "get_table", "--output", str(tmp_path / "table.csv"))

    assert status == 4
    assert "what came has another SHA-256" in error
    assert not list(tmp_path.glob("table*"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["set_text", "text"], "'text' is not KEY=VALUE"),
        (["set_text", "n=many"], "n: 'many' is not a whole number"),
        (["set_tex", "n=1"], "the site has no operation set_tex; similar: set_text"),
        (["import_runs", "files=a.tsv"], "files is a file; give --file files=PATH"),
        (["import_runs"], "import_runs needs files"),
        (["import_runs", "--file", "files=missing.tsv"], "missing.tsv: No such file"),
        (["set_text", "--fields", __file__], "is not JSON"),
        (["get_text", "--all"], "--all is for a list in pages; get_text does not return one"),
        (["get_table", "--etag", "x"], "--etag is for what is JSON; get_table is a file"),
    ],
)
def test_wrong_request_is_not_sent(
    site: Site, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    status, error = failed(capsys, "site", *words)

    assert (status, {each.url.path for each in site.requests}) == (2, {"/api/schema/"})
    assert message in error
