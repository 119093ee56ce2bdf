"""A client that openapi-python-client makes from the description of the API has every operation, and they work."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from jsonschema import Draft202012Validator
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from assay import samples
from jobs import services as jobs
from tests.helpers.api import make_token
from tests.helpers.factories import make_organizer, make_user
from tests.test_program import PEOPLE, judgments, manifest, work

HOWTO = Path(__file__).resolve().parents[1] / "docs/howto/use-the-api.md"
GENERATE = (sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning", "--meta", "none")


def fetch_description() -> Any:
    return Client().get("/api/schema/")


@pytest.fixture
def generated(tmp_path: Path) -> Iterator[str]:
    """The package of a client, made with the settings that the documentation gives; its code is not formatted."""
    pytest.importorskip("assay_extensions.turkle")  # the test below calls operations of extensions
    folder = tmp_path / "generated"
    folder.mkdir()
    block = re.search(r"`settings\.json`.*?```json\n(.*?)```", HOWTO.read_text(), re.DOTALL)
    assert block
    (folder / "settings.json").write_text(json.dumps(json.loads(block[1]) | {"post_hooks": []}))
    (folder / "assay.json").write_bytes(fetch_description().content)
    files = ("--path", "assay.json", "--config", "settings.json", "--output-path", "assay_client")
    result = subprocess.run([*GENERATE, *files], check=False, cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield "assay_client"


def operation(package: str, tag: str, name: str) -> Any:
    """The function of an operation, which returns the status and the parsed content of the answer."""
    return import_module(f"{package}.api.{tag.lower().replace(' ', '_')}.{name}").sync_detailed


def test_description_is_valid() -> None:
    from openapi_spec_validator import OpenAPIV31SpecValidator  # half a second, in every process of the tests

    description = fetch_description().json()

    assert list(OpenAPIV31SpecValidator(description).iter_errors()) == []
    del description["info"]["title"]
    assert next(OpenAPIV31SpecValidator(description).iter_errors(), None) is not None


class Generated:
    """A person's program with the generated client. Each answer must be as the description says."""

    def __init__(self, package: str, site: str, username: str) -> None:
        self.package, self.description = package, fetch_description().json()
        self.operations = {
            each["operationId"]: (path, each)
            for path, methods in self.description["paths"].items()
            for each in methods.values()
        }
        self.client = import_module(package).AuthenticatedClient(
            base_url=site,
            token=make_token(User.objects.get(username=username)),
            raise_on_unexpected_status=True,
        )

    def call(
        self,
        name: str,
        /,
        *path: object,
        model: str = "",
        query: Mapping[str, Any] | None = None,
        **body: Any,
    ) -> Any:
        """The parsed answer to an operation, with its content as a model of the client."""
        _, described = self.operations[name]
        function = operation(self.package, described["tags"][0], name)
        content = {"body": self.model(model)(**body)} if model else {}
        answer = function(*path, client=self.client, **content, **(query or {}))
        assert 200 <= answer.status_code < 300, (name, answer.content)
        contents = described["responses"][str(int(answer.status_code))].get("content", {})
        if "application/json" in contents:
            schema = {**contents["application/json"]["schema"], "components": self.description["components"]}
            Draft202012Validator(schema).validate(json.loads(answer.content))
        return answer.parsed

    def file(self, sample: str) -> Any:
        path = samples.path(sample)
        return import_module(f"{self.package}.types").File(io.BytesIO(path.read_bytes()), path.name)

    def model(self, name: str) -> Any:
        return getattr(import_module(f"{self.package}.models"), name)


@pytest.fixture
def person(generated: str, live_server: LiveServer) -> Iterator[Callable[[str], Generated]]:
    """Makes the program of a person, whose connections are closed at the end."""
    with ExitStack() as clients:

        def make(username: str) -> Generated:
            made = Generated(generated, live_server.url, username)
            clients.enter_context(made.client)
            return made

        yield make


@pytest.mark.django_db(transaction=True)
def test_generated_client_has_every_operation_and_runs_a_campaign(
    generated: str,
    person: Callable[[str], Generated],
    settings: LazySettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paths = fetch_description().json()["paths"].values()
    functions = [
        operation(generated, each["tags"][0], each["operationId"]) for path in paths for each in path.values()
    ]
    assert len(functions) > 200
    assert all(map(callable, functions))

    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(jobs, "nudge", lambda job_id: None)
    make_organizer("olga", email="olga@example.org")
    for name in ("pat", "lee", "ines"):
        make_user(name, email=f"{name}@example.org")
    olga, pat, lee, ines = map(person, ("olga", "pat", "lee", "ines"))

    job = olga.call(
        "import_collection",
        model="ImportRequest",
        slug="posts",
        name="Posts",
        files=[olga.file("documents.jsonl")],
    )
    work()
    assert olga.call("get_job", job.id).status == "done"
    text = samples.path("protocol.toml").read_text()
    protocol = olga.call("create_protocol", model="ProtocolTextRequest", text=text)
    olga.call(
        "create_track",
        model="NewTrackRequest",
        slug="math",
        name="Math",
        protocol=protocol.slug,
        collection="posts",
    )
    topics = olga.call("import_topics", "math", model="TopicFileRequest", file=olga.file("topics.jsonl"))
    olga.call(
        "create_people",
        "math",
        model="NewPeopleRequest",
        people=[olga.model("NewPersonRequest")(**each) for each in PEOPLE],
    )
    olga.call("open_track", "math")
    machine = olga.call(
        "create_machine", "math", model="NewMachineRequest", name="Llama judge", version="3.1"
    )
    for row in manifest():
        team = {"Abacus": pat, "Lemma": lee, "Organizers": olga}[row["team"]]
        more = {"pooled_as": row["pooled_as"]} if row["pooled_as"] else {}
        run = {"file": team.file(row["file"]), "team": row["team"], "kind": row["kind"], **more}
        team.call("submit_run", "math", model="RunSubmissionRequest", **run)
    listed = [
        [each.tag for each in olga.call("list_runs", "math", query=query).results]
        for query in ({"is_manual": True}, {"team": "Abacus", "page_size": 1})
    ]
    olga.call("close_track", "math")
    pool = olga.call("create_pool", "math", model="NewPoolRequest", name="Pool", seed=7)
    work()
    batch = olga.call("create_batch", "math", model="NewBatchRequest", pool=pool.id, name="Round 1").id
    olga.call("share_topics", batch, model="ShareRequest", assessors=["ines"])
    olga.call("open_batch", batch)
    wanted = judgments()
    while task := ines.call("take_next_task", batch):
        judged = wanted[task.unit.topic, task.unit.docno]
        submission = {key: judged[key] for key in ("choice", "comment")}
        ines.call("submit_judgment", task.id, model="SubmissionRequest", **submission)
    olga.call("close_batch", batch)
    sha256 = olga.call("preview_qrels", "math", model="ChosenRequest", pool=pool.id).sha256
    qrels = olga.call("freeze_qrels", "math", model="FreezeRequest", pool=pool.id, sha256=sha256)
    board = olga.call("score_runs", qrels.id, model="ScoringRequest", seed=11)
    work()
    olga.call(
        "release_leaderboard",
        board.id,
        model="ReleaseRequest",
        released_to=olga.model("ReleaseRequestReleasedTo").PARTICIPANTS,
    )

    assert (topics.n_topics, machine.name, listed[0], len(listed[1])) == (5, "Llama judge", [], 1)
    assert {row.tag for row in pat.call("get_leaderboard", board.id).runs} == {
        row["tag"] for row in manifest()
    }
    lines = pat.call("download_leaderboard", board.id).splitlines()
    assert len(lines) == 1 + len(manifest())
    assert len(pat.call("download_qrels", qrels.id).splitlines()) == 27
