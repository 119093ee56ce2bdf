"""Sessions: recorded and announced, listed and ended by their user, and ended by themselves."""

import time
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as configured
from django.contrib.sessions.models import Session
from django.core import mail
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts import tasks
from accounts.models import Event, Login, User
from accounts.services import path_of_link
from accounts.sessions import services
from tests.helpers.factories import PASSWORD, make_user
from tests.helpers.letters import deliver_at_once, links_in

pytestmark = pytest.mark.django_db
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
CHROME = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
HOUR = 3600


def logged_in(user: User, agent: str = FIREFOX, address: str = "198.51.100.1") -> Client:
    client = Client(REMOTE_ADDR=address, headers={"User-Agent": agent})
    client.post(reverse("login"), {"username": user.username, "password": PASSWORD})
    return client


def is_in(client: Client) -> bool:
    return client.get(reverse("account")).status_code == 200


def test_user_sees_where_they_are_logged_in_and_ends_one_session() -> None:
    ada, eve = make_user("ada"), make_user("eve")
    here, there, foreign = logged_in(ada), logged_in(ada, CHROME, "203.0.113.9"), logged_in(eve)
    login = Login.objects.get(user=ada, address="203.0.113.9")

    page = here.get(reverse("sessions")).content.decode()
    answers = [each.post(reverse("end_session", args=[login.pk])) for each in (foreign, here)]

    assert page.index("Firefox on Linux") < page.index("Chrome on Windows")
    assert ("198.51.100.1" in page, "203.0.113.9" in page) == (True, True)
    assert page.count("Log out there") == 1, "not for this session"
    assert here.session.session_key not in page
    assert [answer.status_code for answer in answers] == [404, 302]
    assert [is_in(each) for each in (here, there, foreign)] == [True, False, True]
    assert "203.0.113.9" not in here.get(reverse("sessions")).content.decode()
    assert Event.objects.get(action="session.ended").by == ada


def test_user_ends_all_other_sessions_also_those_that_no_page_lists() -> None:
    ada = make_user("ada")
    here, there = logged_in(ada), logged_in(ada)
    Login.objects.filter(session_key=there.session.session_key).delete()  # begun with an earlier version

    here.post(reverse("end_other_sessions"))

    assert (is_in(here), is_in(there)) == (True, False)
    assert here.get(reverse("sessions")).content.decode().count("here</span></td>") == 1


def test_new_password_keeps_the_own_session_in_the_list_and_no_other() -> None:
    ada = make_user("ada")
    here, _ = logged_in(ada), logged_in(ada)
    new = {"new_password1": "quintic-9-roots", "new_password2": "quintic-9-roots"}

    here.post(reverse("password_change"), {"old_password": PASSWORD} | new)

    page = here.get(reverse("sessions")).content.decode()
    assert (page.count("here</span></td>"), page.count("Log out there")) == (1, 0)


def test_login_from_a_new_place_is_announced(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    deliver_at_once(settings, monkeypatch)
    ada = make_user("ada", email="ada@example.org", language="de")
    logged_in(ada)
    logged_in(ada)
    assert mail.outbox == [], "the first login, and the same place again"

    logged_in(ada, CHROME, "203.0.113.9")

    (letter,) = mail.outbox
    assert letter.to == ["ada@example.org"]
    assert "203.0.113.9" in letter.body
    assert "Chrome on Windows" in letter.body
    assert "Passwort" in letter.body
    assert links_in(letter.body) == [reverse("sessions")]


def test_logins_and_failures_are_in_the_audit_log_without_addresses_and_passwords(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ada = make_user("ada")
    logged_in(ada)
    ada.refresh_from_db()
    Client().post(path_of_link(ada))
    for name in ("ada", "hunter2"):
        Client().post(reverse("login"), {"username": name, "password": "guess"}, REMOTE_ADDR="203.0.113.9")

    events = Event.objects.filter(action__startswith="login.").order_by("pk")

    assert [(event.action, event.subject, event.by, event.details) for event in events] == [
        ("login.succeeded", "ada", ada, {"page": "login"}),
        ("login.succeeded", "ada", ada, {"page": "login_link"}),
        ("login.failed", "ada", None, {"page": "login"}),
    ]
    assert f"login failed: account {ada.pk} from 203.0.113.9" in caplog.text
    assert "hunter2" not in caplog.text


def test_nobody_fills_the_audit_log_with_failures() -> None:
    cache.clear()
    make_user("ada")
    for n in range(services.MOST_FAILED + 2):
        form = {"username": "ada", "password": "guess"}
        Client().post(reverse("login"), form, REMOTE_ADDR=f"203.0.113.{n}")

    assert Event.objects.filter(action="login.failed").count() == services.MOST_FAILED


def test_session_that_nobody_uses_ends_and_one_in_use_goes_on(settings: Any) -> None:
    settings.SESSION_COOKIE_AGE = 2 * HOUR
    used, unused = logged_in(make_user("ada")), logged_in(make_user("eve"))
    sessions = Session.objects.all()
    begun = {each.session_key: each.expire_date for each in sessions}
    assert all(timedelta(hours=1.9) < each - timezone.now() <= timedelta(hours=2) for each in begun.values())
    assert is_in(used)
    assert sessions.get(pk=used.session.session_key).expire_date == begun[used.session.session_key]

    sessions.update(expire_date=timezone.now() + timedelta(hours=1))  # an hour later
    answer = used.get(reverse("account"))
    sessions.exclude(pk=used.session.session_key).update(expire_date=timezone.now())

    assert sessions.get(pk=used.session.session_key).expire_date > timezone.now() + timedelta(hours=1.9)
    assert answer.cookies[configured.SESSION_COOKIE_NAME]["max-age"] == 2 * HOUR
    assert (is_in(used), is_in(unused)) == (True, False)


def test_session_ends_some_days_after_its_login_although_it_is_used(settings: Any) -> None:
    settings.SESSION_COOKIE_AGE, settings.SESSION_MAX_SECONDS = 48 * HOUR, 72 * HOUR
    client = logged_in(make_user("ada"))
    session = client.session
    session[services.BEGUN] = int(time.time()) - 71 * HOUR
    session.save()

    is_in(client)

    assert Session.objects.get().expire_date <= timezone.now() + timedelta(hours=1)
    session[services.BEGUN] -= 2 * HOUR
    session.save()
    assert not is_in(client)


def test_old_logins_are_forgotten_unless_their_session_goes_on() -> None:
    ada = make_user("ada")
    logged_in(ada)
    ended = logged_in(ada)
    ended.post(reverse("logout"))
    Login.objects.update(at=timezone.now() - Login.KEPT - timedelta(days=1))
    logged_in(ada)

    tasks.clear_expired()

    assert Login.objects.count() == 2
