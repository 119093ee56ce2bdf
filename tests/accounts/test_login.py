"""The login: in with the right password, and not by guessing."""

import pytest
from django.test import Client
from django.urls import reverse

from tests.helpers.factories import PASSWORD, make_organizer, make_user

pytestmark = pytest.mark.django_db


def attempt(client: Client, name: str, password: str, door: str = "login") -> int:
    return client.post(reverse(door), {"username": name, "password": password}).status_code


def test_right_password_lets_in_also_after_some_wrong_ones(client: Client) -> None:
    make_user("ada")

    wrong = [attempt(client, "ada", "guess") for _ in range(9)]

    assert set(wrong) == {200}, "the form again"
    assert attempt(client, "ada", PASSWORD) == 302
    assert attempt(Client(), "ada", "guess") == 200, "and the count begins anew"


@pytest.mark.parametrize("door", ["login", "admin:login"])
def test_ten_wrong_passwords_make_that_name_wait_and_no_other(client: Client, door: str) -> None:
    make_organizer("ada")
    make_user("emmy")

    for _ in range(10):
        attempt(client, "ada", "guess", door)
    locked = client.post(reverse("login"), {"username": "ada", "password": PASSWORD})

    assert locked.status_code == 429
    assert "Wait a quarter of an hour" in locked.content.decode()
    assert attempt(client, "emmy", PASSWORD) == 302


def test_organizer_unlocks_nobody_by_being_logged_in(client: Client) -> None:
    make_user("ada")
    for _ in range(10):
        attempt(client, "ada", "guess")
    other = Client()
    other.force_login(make_organizer())

    assert other.get("/").status_code == 200
    assert attempt(client, "ada", PASSWORD) == 429


def test_wrong_password_says_so_without_saying_which_part_was_wrong(client: Client) -> None:
    make_user("ada")

    page = client.post(reverse("login"), {"username": "ada", "password": "guess"}).content.decode()
    unknown = client.post(reverse("login"), {"username": "nobody", "password": "guess"}).content.decode()

    assert "do not go together" in page
    assert "do not go together" in unknown
