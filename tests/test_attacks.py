"""Requests that no page sends, at every address: no server error, and nobody gets further than the pages let them."""

import re
from collections.abc import Iterator
from itertools import cycle
from typing import Any, NamedTuple

import pytest
from django.db import transaction
from django.test import Client

from tests.scoring.conftest import Scene
from tests.test_access import (
    MATRIX,
    PEOPLE,
    UNUSED_LINK,
    addresses,
    empty_refusals,
    known,
    letter,
    own_files,
    rows_of,
    scene,
)

__all__ = ["addresses", "empty_refusals", "own_files", "scene"]  # fixtures

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_refusals")]

OF_EVERY_USER = {
    *("logout", "end_other_sessions", "assessment:accepting", "assessment:highlighting"),
    "tracks:accept_agreement",
}
BUTTONS_OF_MEMBERS = {
    *("publishing:consent", "publishing:change_document", "pooling:move", "pooling:read_start"),
    *(
        "participation:change_member",
        "participation:edit_team",
        "participation:invite_member",
        "participation:leave_team",
    ),
}
FOR_ANY_TEAM = {  # the first asks whether the team is the user's; the second reads only what is sent
    ("chair", "participation:leave_team"),
    ("member of another team", "pooling:read_start"),
}
BUTTONS_OF_ADMINISTRATORS = {  # people, collections and jobs of all tracks: ADR 65
    *("corpus:start_clustering", "jobs:cancel", "jobs:retry"),
    *("turkle:discard_project_import", "turkle:run_project_import"),
    *(
        f"participation:{name}"
        for name in ("create_team", "invite_person", "make_login_link", "remove_assessor")
    ),
    *(f"participation:{name}" for name in ("set_groups", "set_organizer")),
}
BUTTONS_OF_THE_ASSESSOR = {f"assessment:{name}" for name in ("extend", "give_back", "next", "skip", "undo")}
OF_THE_ASSESSOR = {*BUTTONS_OF_THE_ASSESSOR, "assessment:task", "assessment:done", "assessment:own_judgments"}
FORM = "application/x-www-form-urlencoded"
FIELDS = (
    "name", "slug", "tag", "kind", "file", "upload", "action", "choice", "comment", "request_id", "seconds", "shown",
    "sent", "proof", "team", "topic", "pool", "seed", "batch", "docno", "code", "measure", "run", "other", "board",
    "level", "release", "username", "password", "next", "new_password1", "old_password", "depth", "order", "path",
    "index_version", "n_units", "assessors", "reason", "minutes_allotted", "docnos", "topics",
    "adjudicators", "rule", "steps", "tops_up", "holds", "minutes", "status", "is_blind", "collection",
)  # fmt: skip
PARAMETERS = (
    "page", "after", "measure", "code", "docno", "sort", "topic", "run", "other", "k", "q", "kind", "n", "board",
    "from", "show", "tops_up", "steps",
)  # fmt: skip
BAD_VALUES = ("9" * 40, "-1", "%C2%B2")  # the last is a digit, but no number
BAD_QUERIES = tuple(
    "&".join(["rule=steps", *(f"{name}={value}" for name in PARAMETERS)]) for value in BAD_VALUES
)


class Attack(NamedTuple):
    method: str
    body: bytes = b""
    content_type: str = FORM
    query: str = ""


def form(value: str) -> bytes:
    return "&".join(f"{field}={value}" for field in FIELDS).encode()


QUERIES = [Attack("GET", query=query) for query in BAD_QUERIES]
BODIES = [
    Attack("POST"),
    Attack("POST", form("%00")),
    Attack("POST", form("9" * 40)),
    Attack("POST", form("-1")),
    Attack("POST", form("\U0001f4a9" * 500)),
    Attack(
        "POST",
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a\x00\xff/../b"\r\n\r\n\x00\xff\r\n--x--\r\n',
        "multipart/form-data; boundary=x",
    ),
]
# Django reads these before any page does, so each address gets one of them.
READ_BY_DJANGO = [
    Attack("GET", query=form("%ff").decode()),
    Attack("POST", form("%ff%fe")),
    Attack("POST", b"{]", "application/json"),
    Attack("POST", b"\xff\x00", "text/plain"),
    Attack("POST", b"garbage", "multipart/form-data; boundary=x"),
    Attack("POST", b"garbage", "multipart/form-data"),
]


def clients(scene: Scene) -> dict[str, Client]:
    made = {}
    for name, user in zip(PEOPLE, (None, *known(scene)), strict=True):
        made[name] = Client(raise_request_exception=False)
        if user is not None:
            made[name].force_login(user)
    return made


def sent(client: Client, address: str, attack: Attack) -> Any:
    """The response, read to its end; whatever the request changed is undone."""
    where = f"{address}{'?' if attack.query else ''}{attack.query}"
    with transaction.atomic():
        response: Any = client.generic(attack.method, where, attack.body, content_type=attack.content_type)
        for _ in response:
            pass
        transaction.set_rollback(True)
    return response


def status(client: Client, address: str, attack: Attack) -> int:
    response = sent(client, address, attack)
    is_login = response.status_code == 302 and response["Location"].startswith("/login/")
    return 401 if is_login else int(response.status_code)


def attacked(client: Client, address: str, other: Attack) -> Iterator[tuple[Attack, int]]:
    """Attacks and their statuses: all with a query if the page reads it, all with a body if a POST reads that."""
    for attacks, places in ((QUERIES, {"GET"}), (BODIES, {"_post", "_body"})):
        for attack in attacks:
            response = sent(client, address, attack)
            yield attack, response.status_code
            if not places & vars(response.wsgi_request).keys():
                break
    for attack in (Attack("PUT", b"{}", "application/json"), other):
        yield attack, status(client, address, attack)


def elsewhere(address: str) -> Iterator[str]:
    """The address with ids and names that do not exist."""
    if (other := re.sub(r"/\d+/", f"/{'9' * 25}/", address)) != address:
        yield other
    yield re.sub(r"/[^/]+/$", "/%ff%fe/", address)


@pytest.mark.long
def test_no_request_is_a_server_error(scene: Scene, addresses: dict[str, str]) -> None:
    known = clients(scene)
    targets = [("organizer", each) for name, each in addresses.items() if name != "logout"]
    targets += [("assessor", each) for name, each in addresses.items() if name in OF_THE_ASSESSOR]
    others = cycle(READ_BY_DJANGO)
    answers = [
        (person, address, *answer)
        for person, address in targets
        for answer in attacked(known[person], address, next(others))
    ]
    answers += [
        (person, other, Attack("GET"), status(known[person], other, Attack("GET")))
        for person, address in targets
        for other in elsewhere(address)
    ]
    failed = [
        f"{person}: {attack.method} {address}?{attack.query} {attack.content_type} {attack.body[:60]!r}"
        for person, address, attack, answer in answers
        if answer >= 500
    ]

    assert failed == []


def test_every_form_needs_its_csrf_token(scene: Scene, addresses: dict[str, str]) -> None:
    organizer = Client(enforce_csrf_checks=True)
    organizer.force_login(scene.organizer)
    posted = {name: status(organizer, address, Attack("POST", b"a=1")) for name, address in addresses.items()}

    assert {name: answer for name, answer in posted.items() if answer != 403} == {}


def test_nobody_gets_further_with_another_method(scene: Scene, addresses: dict[str, str]) -> None:
    known = clients(scene)
    closed = [
        (person, method, name, status(known[person], addresses[name], Attack(method)))
        for name, row in rows_of(MATRIX).items()
        for person, letter in zip(PEOPLE, row, strict=True)
        for method in (("POST", "PUT") if person == "member" else ("POST",))
        if letter in "L34"
    ]

    assert [each for each in closed if each[-1] not in {401, 403, 404, 405}] == []


def test_buttons_work_only_for_those_who_see_them(scene: Scene, addresses: dict[str, str]) -> None:
    known = clients(scene)
    buttons = [
        name for name, row in rows_of(MATRIX).items() if set(row) == {"5"} and name not in OF_EVERY_USER
    ]
    further = [
        (person, name, answer)
        for name in buttons
        for person in PEOPLE
        if person != ("assessor" if name in BUTTONS_OF_THE_ASSESSOR else "organizer")
        and not (person == "member" and name in BUTTONS_OF_MEMBERS)
        and not (person == "administrator" and name in BUTTONS_OF_ADMINISTRATORS | BUTTONS_OF_MEMBERS)
        and (person, name) not in FOR_ANY_TEAM
        and (answer := status(known[person], addresses[name], Attack("POST"))) not in {401, 403, 404}
    ]

    assert further == []


def test_head_has_the_status_of_get(scene: Scene, addresses: dict[str, str]) -> None:
    """For visitors; `test_api_and_pages` asks for all that an organizer gets."""
    visitor = Client()
    expected = {name: row[0] for name, row in rows_of(MATRIX).items()} | UNUSED_LINK

    answers = {name: letter(visitor.head(addresses[name])) for name in rows_of(MATRIX)}

    assert answers == expected
