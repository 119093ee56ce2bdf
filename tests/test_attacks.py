"""Other methods than GET, by every kind of person, at every address: nobody gets further than the pages let them."""

from typing import Any, NamedTuple

import pytest
from django.db import transaction
from django.test import Client

from tests.scoring.conftest import Scene
from tests.test_access import MATRIX, PEOPLE, addresses, rows_of, scene

__all__ = ["addresses", "scene"]  # fixtures

pytestmark = pytest.mark.django_db

FORM = "application/x-www-form-urlencoded"


class Attack(NamedTuple):
    method: str
    body: bytes = b""
    content_type: str = FORM
    query: str = ""


def clients(scene: Scene) -> dict[str, Client]:
    users = (None, scene.stranger, scene.member, scene.other, scene.ada, scene.bob, scene.organizer)
    made = {}
    for name, user in zip(PEOPLE, users, strict=True):
        made[name] = Client(raise_request_exception=False)
        if user is not None:
            made[name].force_login(user)
    return made


def status(client: Client, address: str, attack: Attack) -> int:
    """The status of the response; whatever the request changed is undone."""
    where = f"{address}{'?' if attack.query else ''}{attack.query}"
    with transaction.atomic():
        response: Any = client.generic(attack.method, where, attack.body, content_type=attack.content_type)
        for _ in response:
            pass
        transaction.set_rollback(True)
    is_login = response.status_code == 302 and response["Location"].startswith("/login/")
    return 401 if is_login else int(response.status_code)


def test_nobody_gets_further_with_another_method(scene: Scene, addresses: dict[str, str]) -> None:
    known = clients(scene)
    closed = [
        (person, method, name, status(known[person], addresses[name], Attack(method)))
        for name, row in rows_of(MATRIX).items()
        for person, letter in zip(PEOPLE, row, strict=True)
        for method in ("POST", "PUT")
        if letter in "L34"
    ]

    assert [each for each in closed if each[-1] not in {401, 403, 404, 405}] == []


OF_THE_ASSESSOR = {"assessment:extend", "assessment:give_back", "assessment:next", "assessment:skip"}


def test_buttons_work_only_for_those_who_see_them(scene: Scene, addresses: dict[str, str]) -> None:
    known = clients(scene)
    buttons = [name for name, row in rows_of(MATRIX).items() if set(row) == {"5"} and name != "logout"]
    further = [
        (person, name, answer)
        for name in buttons
        for person in PEOPLE
        if person != ("assessor" if name in OF_THE_ASSESSOR else "organizer")
        and (answer := status(known[person], addresses[name], Attack("POST"))) not in {401, 403, 404}
    ]

    assert further == []


STATUSES = {"L": 401, "3": 403, "4": 404, "5": 405, "9": 410, "0": 200, "R": 302}


def test_head_has_the_status_of_get(scene: Scene, addresses: dict[str, str]) -> None:
    known = clients(scene)
    other = [
        (person, name)
        for name, row in rows_of(MATRIX).items()
        for person, letter in zip(PEOPLE, row, strict=True)
        if person in {"visitor", "organizer"}
        and status(known[person], addresses[name], Attack("HEAD")) != STATUSES[letter]
    ]

    assert other == []
