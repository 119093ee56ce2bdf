"""No request to the API makes it fail, or answer what its description does not contain.

schemathesis makes requests from the description: some as it asks for them, some that break it. An organizer's token
reaches everything; a member of a team, an assessor or a visitor sends the same. `make fuzz` tries many more of them.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from django.urls import resolve
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from config.wsgi import application
from tests.helpers.api import make_token
from tests.scoring.conftest import Scene
from tests.test_api_access import _api, addresses, scene

if TYPE_CHECKING:  # the import takes a third of a second, in every process of the tests
    from schemathesis import APIOperation, Case

pytestmark = pytest.mark.django_db
__all__ = ["addresses", "scene"]  # fixtures

N_EXAMPLES = os.environ.get("FUZZ_EXAMPLES", "")  # of each operation; without it, always the same few
NAMES = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
EXTREMES: tuple[Any, ...] = (
    2**31 - 1,
    2**31,
    2**63,
    -(2**63) - 1,
    10**30,
    1e308,
    "",
    "\0",
    "x" * 100_000,
    None,
    [],
    {},
)
SETTINGS = settings(
    max_examples=int(N_EXAMPLES or 2),
    derandomize=not N_EXAMPLES,
    phases=[Phase.generate],
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def _one_connection() -> Iterator[None]:
    """Let requests share the transaction of the test, as those of Django's test client do."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


def site(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """The site as WSGI application, whose answers are read and closed."""
    body = application(environ, start_response)
    with contextlib.closing(body):
        return list(body)


def known_ids(addresses: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The path of each endpoint in the description -> the ids of existing objects."""
    patterns = {name: _api().reverse_dict[name][0][0] for name in addresses}
    return {
        "/api/" + path % {each: f"{{{each}}}" for each in parameters}: in_json(
            resolve(addresses[name]).kwargs
        )
        for name, (path, parameters) in patterns.items()
    }


def in_json(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value if isinstance(value, int) else str(value) for name, value in parameters.items()}


def spoiled(data: Any, content: Any) -> Any:
    """A JSON content with one value that no database or encoding takes."""
    if not isinstance(content, (dict, list)) or not content:
        return data.draw(st.sampled_from(EXTREMES))
    keys = sorted(content) if isinstance(content, dict) else range(len(content))
    key = data.draw(st.sampled_from(keys))
    changed: Any = content.copy()
    changed[key] = spoiled(data, content[key])
    return changed


@SETTINGS
@given(data=st.data())
def send(
    operation: "APIOperation", ids: Mapping[str, Any], tokens: list[str], faults: dict[str, str], data: Any
) -> None:
    """Send a request of either kind, by the organizer and by somebody else; keep what is wrong with the answers."""
    from schemathesis import GenerationMode
    from schemathesis.checks import CHECKS
    from schemathesis.core.failures import FailureGroup

    cache.clear()  # of limits
    mode = data.draw(st.sampled_from([GenerationMode.POSITIVE, GenerationMode.NEGATIVE]))
    case: Case = data.draw(operation.as_strategy(generation_mode=mode))
    if ids and data.draw(st.integers(0, 3)):
        case.path_parameters = dict(ids)
    if case.media_type == "application/json" and isinstance(case.body, dict) and data.draw(st.booleans()):
        case.body = spoiled(data, case.body)
    for token in (tokens[0], data.draw(st.sampled_from(tokens[1:]))):
        headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {token}"} if token else {})
        with transaction.atomic():
            response = case.call(headers=headers)
            transaction.set_rollback(True)
        try:
            case.validate_response(response, checks=CHECKS.get_by_names(NAMES))
        except FailureGroup as group:
            titles = sorted(failure.title for failure in group.exceptions)
            faults.setdefault(f"{operation.label} {titles} {response.status_code}", str(group))


@pytest.mark.usefixtures("_one_connection")
@pytest.mark.long
def test_no_request_makes_the_api_fail_or_answer_something_undescribed(
    scene: Scene, addresses: dict[str, str]
) -> None:
    from schemathesis import openapi
    from schemathesis.checks import load_all_checks

    load_all_checks()
    schema = openapi.from_wsgi("/api/schema/", site)
    ids, people = known_ids(addresses), (scene.organizer, scene.member, scene.ada)
    tokens = [*map(make_token, people), ""]

    faults: dict[str, str] = {}
    for result in schema.get_all_operations():
        operation = result.ok()
        send(operation, ids[operation.path], tokens, faults)

    assert not faults, "\n\n".join(f"{fault}\n{details}" for fault, details in faults.items())
