"""Login links: another way in while wrong passwords lock an account, and what its user learns of them."""

import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts import services
from accounts.models import Lockout, User
from tests.helpers.factories import PASSWORD, make_organizer, make_user
from tests.helpers.letters import deliver_at_once, links_in

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _mails(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    deliver_at_once(settings, monkeypatch)


def lock(name: str, *, address: str = "198.51.100.1") -> None:
    for _ in range(10):
        Client().post(reverse("login"), {"username": name, "password": "guess"}, REMOTE_ADDR=address)


def log_in(client: Client, name: str, *, address: str = "198.51.100.1") -> int:
    form = {"username": name, "password": PASSWORD}
    return client.post(reverse("login"), form, REMOTE_ADDR=address).status_code


def test_locked_user_gets_an_e_mail_and_gets_in_by_a_link(client: Client) -> None:
    ada = make_user("ada", email="ada@example.org")
    lock("ada")
    assert log_in(client, "ada") == 429

    (report,) = mail.outbox
    link = links_in(report.body)[0]
    answer = client.get(link, REMOTE_ADDR="198.51.100.1")
    asked = answer.content.decode()
    page = client.post(link, REMOTE_ADDR="198.51.100.1", follow=True).content.decode()

    assert report.to == ["ada@example.org"]
    assert "from 198.51.100.1" in report.body
    assert "Log in as <strong>ada</strong>" in asked
    assert answer["Referrer-Policy"] == "strict-origin", "no request may carry the link on"
    assert "You are logged in." in page
    assert "from 198.51.100.1" in page, "the account page names the lockout"
    assert client.session["_auth_user_id"] == str(ada.pk)
    assert log_in(Client(), "ada") == 302, "the password works again"


def test_link_works_once_and_only_for_half_an_hour(client: Client, settings: Any) -> None:
    make_user("ada", email="ada@example.org")
    client.post(reverse("request_link"), {"name": "ADA@example.org"})
    link = links_in(mail.outbox[0].body)[0]

    assert Client().post(link).status_code == 302
    assert Client().post(link).status_code == 410

    User.objects.update(link_sent_at=None)
    client.post(reverse("request_link"), {"name": "ada"})
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert Client().get(links_in(mail.outbox[1].body)[0]).status_code == 410


@pytest.mark.parametrize("change", [{"is_active": False}, {"email": "eve@example.org"}, {"password": "x"}])
def test_link_is_void_once_the_account_changes(client: Client, change: dict[str, Any]) -> None:
    ada = make_user("ada", email="ada@example.org")
    client.post(reverse("request_link"), {"name": "ada"})
    User.objects.filter(pk=ada.pk).update(**change)

    assert client.post(links_in(mail.outbox[0].body)[0]).status_code == 410


def test_request_sends_few_mails_and_shows_nothing_about_accounts(client: Client) -> None:
    make_user("ada", email="ada@example.org")
    make_user("bob")
    make_user("eve", email="eve@example.org", is_active=False)

    names = ["ada", "ada", "bob", "eve", "nobody"]
    sent = [client.post(reverse("request_link"), {"name": name}).content.decode() for name in names]
    pages = {re.sub(r"[A-Za-z0-9]{64}", "CSRF token", page) for page in sent}

    assert len(pages) == 1
    assert [message.to for message in mail.outbox] == [["ada@example.org"]]


def test_lockouts_from_many_addresses_send_one_mail_an_hour() -> None:
    ada = make_user("ada", email="ada@example.org")

    for n in range(3):
        lock("ada", address=f"198.51.100.{n}")
    Lockout.objects.update(locked_at=timezone.now() - timedelta(hours=2))
    lock("ada", address="198.51.100.9")

    assert len(mail.outbox) == 2
    assert ada.lockouts.count() == 4


def test_lockout_of_an_unknown_name_stores_nothing_and_looks_the_same() -> None:
    lock("nobody")

    assert not Lockout.objects.exists()
    assert log_in(Client(), "nobody") == 429


def test_user_of_a_link_sets_a_new_password_without_the_old_one(client: Client) -> None:
    ada = make_user("ada", email="ada@example.org")
    client.post(reverse("request_link"), {"name": "ada"})
    client.post(links_in(mail.outbox[0].body)[0])

    form = {"new_password1": "quintic-9-roots", "new_password2": "quintic-9-roots"}
    changed = client.post(reverse("password_change"), form)
    again = client.post(reverse("password_change"), form)

    ada.refresh_from_db()
    assert ada.check_password("quintic-9-roots")
    assert (changed.status_code, again.status_code) == (302, 200), "once"


def test_site_without_a_mail_server_names_the_other_ways(client: Client, settings: Any) -> None:
    settings.SENDS_MAIL = False
    make_user("ada", email="ada@example.org")
    lock("ada")

    page = client.post(reverse("request_link"), {"name": "ada"}).content.decode()

    assert "Ask an organizer for a login link" in page
    assert "howto/deploy.html#too-many-wrong-passwords" in page
    assert mail.outbox == []


def test_organizer_creates_a_link_but_not_for_a_superuser(client: Client) -> None:
    make_user("ada")
    root = make_user("root", is_staff=True, is_superuser=True)
    client.force_login(make_organizer())
    chosen = {"action": "make_link", "_selected_action": [user.pk for user in User.objects.all()]}

    page = client.post(reverse("admin:accounts_user_changelist"), chosen, follow=True).content.decode()
    paths = re.findall(r"<code>http://testserver(/[^<]+)</code>", page)

    assert "You cannot create a login link for root." in page
    assert [Client().post(path).status_code for path in paths] == [302, 302]
    assert not any(f"/{root.pk}/" in path for path in paths)


def test_admin_shows_when_an_account_was_locked(client: Client) -> None:
    ada = make_user("ada")
    lock("ada")
    client.force_login(make_organizer())

    page = client.get(reverse("admin:accounts_user_change", args=[ada.pk])).content.decode()

    assert "UTC from 198.51.100.1" in page


def test_command_prints_a_link(client: Client) -> None:
    make_user("ada")
    output = StringIO()

    call_command("login_link", "ada", site="http://testserver/", stdout=output)

    assert client.post(links_in(output.getvalue())[0]).status_code == 302
    with pytest.raises(CommandError, match="There is no active user bob"):
        call_command("login_link", "bob")


def test_beat_deletes_old_lockouts() -> None:
    ada = make_user("ada")
    for days in (1, 31):
        moment = timezone.now() - timedelta(days=days)
        Lockout.objects.create(user=ada, address=f"198.51.100.{days}", locked_at=moment)

    services.clear_expired()

    assert [lockout.address for lockout in ada.lockouts.all()] == ["198.51.100.1"]


def test_link_has_the_address_of_the_site_whatever_host_the_request_names(settings: Any) -> None:
    settings.SITE_URL = "https://assay.example.org"
    settings.ALLOWED_HOSTS = ["assay.example.org", *settings.LOCAL_HOSTS]
    make_user("ada", email="ada@example.org")
    asks = Client()

    answers = [
        asks.post(reverse("request_link"), {"name": "ada"}, HTTP_HOST=host).status_code
        for host in ("127.0.0.1:6666", "localhost", "[::1]:80", "LOCALHOST.", "assay.example.org:6666")
    ]

    assert answers == [400, 400, 400, 400, 200]
    (sent,) = mail.outbox
    assert re.findall(r"https?://[^/\s]+", sent.body) == ["https://assay.example.org"]
    assert asks.get("/health/", HTTP_HOST="127.0.0.1:8000").status_code == 200


def test_link_has_the_host_of_the_request_where_the_site_has_no_address(settings: Any) -> None:
    settings.ALLOWED_HOSTS = settings.LOCAL_HOSTS
    make_user("ada", email="ada@example.org")

    for site in ("", "http://localhost:8000"):
        settings.SITE_URL = site
        assert (
            Client().post(reverse("request_link"), {"name": "ada"}, HTTP_HOST="127.0.0.1:8000").status_code
            == 200
        )
        User.objects.update(link_sent_at=None)

    hosts = [re.findall(r"https?://[^/\s]+", message.body) for message in mail.outbox]
    assert hosts == [["http://127.0.0.1:8000"], ["http://localhost:8000"]]


def test_link_of_an_administrator_has_the_address_of_the_site(client: Client, settings: Any) -> None:
    settings.SITE_URL = "https://assay.example.org"
    ada = make_user("ada")
    client.force_login(make_organizer(is_superuser=True))

    form = {"action": "make_link", "_selected_action": ada.pk}
    page = client.post(reverse("admin:accounts_user_changelist"), form, follow=True).content.decode()

    assert "<code>https://assay.example.org/" in page
