"""A client that openapi-python-client makes from the description of the API has every operation, and they work."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from jobs.models import Job
from pooling.models import Run
from tests.helpers.api import make_token
from tests.helpers.factories import make_track
from tests.scoring.conftest import Scene
from tests.test_api_access import scene
from tracks.models import Track

__all__ = ["scene"]  # a fixture
HOWTO = Path(__file__).resolve().parents[1] / "docs/howto/use-the-api.md"
GENERATE = (sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning", "--meta", "none")


def fetch_description() -> Any:
    return Client().get("/api/schema/")


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The package of a client, made with the settings that the documentation gives; its code is not formatted."""
    folder = tmp_path_factory.mktemp("generated")
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
    from openapi_spec_validator import validate  # it takes half a second, in every process of the tests

    validate(fetch_description().json())


def test_generated_client_has_every_operation(generated: str) -> None:
    paths = fetch_description().json()["paths"]
    described = [each for path in paths.values() for each in path.values()]

    functions = [operation(generated, each["tags"][0], each["operationId"]) for each in described]

    assert len(functions) > 200
    assert all(map(callable, functions))


@pytest.mark.django_db(transaction=True)
def test_generated_client_submits_a_run_and_adds_a_machine(
    generated: str, scene: Scene, live_server: LiveServer
) -> None:
    models, types = import_module(f"{generated}.models"), import_module(f"{generated}.types")
    api = import_module(generated).AuthenticatedClient
    run = "".join(f"{topic}\t10\t1\t9.5\tbm25\n" for topic in scene.topics)
    file = types.File(payload=io.BytesIO(run.encode()), file_name="bm25.tsv")
    slug = scene.track.slug

    with api(base_url=live_server.url, token=make_token(scene.member)) as member:
        submitted = operation(generated, "runs", "submit_run")(
            slug, client=member, body=models.RunSubmissionRequest(file=file, kind="primary", is_manual=True)
        )
    with api(base_url=live_server.url, token=make_token(scene.organizer)) as organizer:
        added = operation(generated, "machines", "add_machine")(
            slug, client=organizer, body=models.NewMachineRequest(name="Llama judge", version="3.1")
        )
        manual, automatic = (
            operation(generated, "runs", "list_runs")(slug, client=organizer, is_manual=is_manual)
            for is_manual in (True, False)
        )

    assert [answer.status_code for answer in (submitted, added, manual, automatic)] == [201, 201, 200, 200]
    assert Run.objects.get().pk == submitted.parsed.id
    assert (added.parsed.name, added.parsed.version) == ("Llama judge", "3.1")
    assert [each.tag for each in manual.parsed.results] == ["bm25"]
    assert automatic.parsed.results == []


@pytest.mark.django_db(transaction=True)
def test_generated_client_imports_posts_and_topics_and_builds_a_pool(
    generated: str, scene: Scene, live_server: LiveServer
) -> None:
    models, types = import_module(f"{generated}.models"), import_module(f"{generated}.types")
    api = import_module(generated).AuthenticatedClient
    make_track("next", status=Track.Status.DRAFT)
    scene.submit(scene.theirs, "good", "1 2 3")
    posts, topics = (
        types.File(payload=io.BytesIO(text), file_name=name)
        for name, text in {
            "more.jsonl": b'{"docno": "d1", "text": "One"}\n',
            "topics.jsonl": b'{"code": "A.7", "title": "Which?"}\n',
        }.items()
    )

    with api(base_url=live_server.url, token=make_token(scene.organizer)) as organizer:
        imported = operation(generated, "collections", "import_collection")(
            client=organizer, body=models.ImportRequest(slug="more", name="More", files=[posts])
        )
        added = operation(generated, "topics", "import_topics")(
            "next", client=organizer, body=models.TopicFileRequest(file=topics)
        )
        pool = operation(generated, "pools", "request_pool")(
            scene.track.slug, client=organizer, body=models.PoolRequestRequest(name="By a client", seed=7)
        )

    assert [answer.status_code for answer in (imported, added, pool)] == [202, 200, 202]
    assert {imported.parsed.url, pool.parsed.job} == {
        f"/api/v1/jobs/{job.pk}/" for job in Job.objects.order_by("-pk")[:2]
    }
    assert (added.parsed.n_topics, added.parsed.n_new, added.parsed.n_removed) == (1, 1, 0)
    assert (pool.parsed.name, pool.parsed.seed) == ("By a client", 7)
