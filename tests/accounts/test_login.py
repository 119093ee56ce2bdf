"""Logging in, and the limit on wrong passwords."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.celery import app
from tests.helpers.factories import PASSWORD, make_organizer, make_user

pytestmark = pytest.mark.django_db


def log_in(client: Client, name: str, password: str, url_name: str = "login") -> int:
    return client.post(reverse(url_name), {"username": name, "password": password}).status_code


def test_right_password_logs_in_after_some_wrong_ones(client: Client) -> None:
    make_user("ada")

    wrong = [log_in(client, "ada", "guess") for _ in range(9)]

    assert set(wrong) == {200}, "the form again"
    assert log_in(client, "ada", PASSWORD) == 302
    assert log_in(Client(), "ada", "guess") == 200, "the count starts again at zero"


def test_login_page_keeps_the_page_asked_for(client: Client) -> None:
    address, wanted = reverse("login"), "/account/tokens/"

    asked = client.get(f"{address}?next={wanted}").content.decode()

    assert f"{address}?next" not in asked
    assert f'name="next" value="{wanted}"' in asked


@pytest.mark.parametrize("url_name", ["login", "admin:login"])
def test_ten_wrong_passwords_lock_that_user_name_only(client: Client, url_name: str) -> None:
    make_organizer("ada")
    make_user("emmy")

    for _ in range(10):
        log_in(client, "ada", "guess", url_name)
    locked = client.post(reverse("login"), {"username": "ada", "password": PASSWORD})

    assert locked.status_code == 429
    assert "Wait 15 minutes" in locked.content.decode()
    assert log_in(client, "emmy", PASSWORD) == 302


def test_wrong_current_passwords_lock_as_at_the_login(client: Client) -> None:
    """Somebody at a computer that its user left open guesses no more often than anybody else."""
    ada, address = make_user("ada"), reverse("password_change")
    new = {"new_password1": "quintic-9-roots", "new_password2": "quintic-9-roots"}
    client.force_login(ada)

    wrong = [client.post(address, {"old_password": f"guess {n}"} | new).status_code for n in range(10)]
    locked = client.post(address, {"old_password": PASSWORD} | new)

    assert wrong == [200] * 9 + [429]
    assert (locked.status_code, log_in(Client(), "ada", PASSWORD)) == (429, 429)
    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)


def test_very_long_names_are_wrong_like_any_other(client: Client) -> None:
    assert log_in(client, "x" * 300, "guess") == 200
    assert log_in(client, "x" * 300, "guess", "admin:login") == 200


def test_page_view_of_an_organizer_unlocks_nobody(client: Client) -> None:
    make_user("ada")
    for _ in range(10):
        log_in(client, "ada", "guess")
    other = Client()
    other.force_login(make_organizer())

    assert other.get("/").status_code == 200
    assert log_in(client, "ada", PASSWORD) == 429


def test_message_does_not_show_whether_the_user_name_exists(client: Client) -> None:
    make_user("ada")

    wrong_password = client.post(reverse("login"), {"username": "ada", "password": "guess"}).content.decode()
    unknown_name = client.post(reverse("login"), {"username": "nobody", "password": "guess"}).content.decode()

    assert "The user name or the password is wrong." in wrong_password
    assert "The user name or the password is wrong." in unknown_name


def test_beat_clears_expired_sessions_only() -> None:
    for days in (-1, 1):
        session = SessionStore()
        session["since"] = days
        session.set_expiry(timezone.now() + timedelta(days=days))
        session.save()
    scheduled = settings.CELERY_BEAT_SCHEDULE["clear-expired"]["task"]

    app.loader.import_default_modules()
    app.tasks[scheduled].run()

    assert [session.get_decoded()["since"] for session in Session.objects.all()] == [1]
