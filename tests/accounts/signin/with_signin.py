"""The site with two services and a second factor. `test_signin.py` runs this in a process with these settings."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth
from allauth.mfa.utils import decrypt
from allauth.socialaccount.models import SocialAccount
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from accounts import tokens
from accounts.models import Event, User
from accounts.services import path_of_link
from participation.invitations import services as invitations
from participation.invitations.selectors import link_of
from participation.models import Invitation
from publishing.archives.selectors import identified_authors
from tests.fixtures import wait_until
from tests.helpers.away import Way, without_redis
from tests.helpers.browser import assert_accessible
from tests.helpers.factories import PASSWORD, make_organizer, make_role, make_track, make_user
from tests.helpers.judging import make_team
from tests.helpers.openid import OpenIdProvider, running
from tests.helpers.translated import marks_translated, unmarked_pages, walk
from web import caches

__all__ = ["marks_translated"]  # a fixture
pytestmark = pytest.mark.django_db
ADA = {"sub": "ada-at-ghent", "name": "Ada Lovelace", "email": "ada@ghent.test", "email_verified": True}
WAYS = "/account/ways-to-log-in/"
FACTOR = "/account/second-factor/"
MOMENT = 59_000_000  # half minutes since 1970


@pytest.fixture
def provider(settings: Any) -> Iterator[OpenIdProvider]:
    """The provider behind both services, at which Ada is logged in."""
    with running() as started:
        started.person = dict(ADA)
        for service in settings.SIGN_IN_PROVIDERS:
            service["settings"]["server_url"] = started.address
        yield started


@pytest.fixture(autouse=True)
def _one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is limited yet, and all apps show the code of one moment during a test."""
    cache.clear()
    monkeypatch.setattr(auth, "yield_hotp_counters_from_time", lambda: iter([MOMENT]))


def leave(client: Client, service: str = "university", **form: str) -> str:
    """Press the button of a service; the address to which the browser goes."""
    page = client.post(f"/login/with/{service}/", form)
    assert page.status_code == 200, page.headers
    return page["Refresh"].removeprefix("0; url=")


def come_back(client: Client, address: str) -> HttpResponse:
    """Log in at the provider and come back."""
    answer = requests.get(address, allow_redirects=False, timeout=10).headers["Location"]
    return client.get(answer.removeprefix("http://testserver"))


def log_in_with(client: Client, service: str = "university", **form: str) -> HttpResponse:
    return come_back(client, leave(client, service, **form))


def sentences(client: Client) -> str:
    """The sentences of the page after a redirect."""
    return client.get("/login/").content.decode()


def user_of(client: Client) -> int | None:
    key = client.session.get("_auth_user_id")
    return int(key) if key else None


def connected(user: User, service: str = "university") -> SocialAccount:
    return SocialAccount.objects.create(user=user, provider=service, uid=ADA["sub"])


def log_in(client: Client, user: User, **form: str) -> HttpResponse:
    return client.post("/login/", {"username": user.username, "password": PASSWORD} | form)


def confirmed(client: Client, user: User) -> None:
    """Log in, and confirm the password as the next page asks."""
    log_in(client, user)
    client.post(f"/account/confirm/?next={WAYS}", {"password": PASSWORD})


def test_login_page_offers_the_services_and_nothing_else_of_the_package(client: Client) -> None:
    page = client.get("/login/?next=/account/").content.decode()
    gone = ["signup/", "email/", "password/reset/", "3rdparty/", "3rdparty/signup/", "2fa/", "inactive/"]

    assert "Log in with University of Ghent" in page
    assert "Log in with Club" in page
    assert page.count('name="next" value="/account/"') == 3
    assert {client.get(f"/{prefix}{each}").status_code for each in gone for prefix in ("", "accounts/")} == {
        404
    }
    assert client.get("/login/with/university/").status_code == 405
    assert client.post("/login/with/other/").status_code == 404
    assert client.get("/login/with/other/done/").status_code == 404


def test_connected_service_logs_in_and_leads_to_the_requested_page(
    client: Client, provider: OpenIdProvider
) -> None:
    ada = make_user("ada")
    confirmed(client, ada)
    back = log_in_with(client)
    assert back["Location"] == WAYS
    assert "Connected. You can now log in with it." in client.get(WAYS).content.decode()
    client.post("/logout/")
    client.get("/login/")
    client.session.save()
    asked = parse_qs(urlsplit(address := leave(client, next="/account/tokens/")).query)
    earlier = client.session.session_key

    answer = come_back(client, address)

    assert answer["Location"] == "/account/tokens/"
    assert user_of(client) == ada.pk
    assert client.session.session_key != earlier
    assert asked["code_challenge_method"] == ["S256"]
    assert SocialAccount.objects.get().extra_data == {
        "userinfo": {"name": "Ada Lovelace", "email": "ada@ghent.test"}
    }
    assert Event.objects.get(action="account.connected").by == ada


def test_only_a_page_of_this_site_comes_next(client: Client, provider: OpenIdProvider, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    connected(make_user("ada"))

    answer = log_in_with(client, next="https://evil.test/account/")

    assert answer["Location"] == "/start/"


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_browser_goes_to_the_service_and_comes_back(
    browser_page: Page, live_server: LiveServer, provider: OpenIdProvider
) -> None:
    """The policy for forms of the site stops no browser; `browser_page` reports what breaks a policy."""
    connected(make_user("ada"))
    browser_page.goto(f"{live_server.url}/login/?next=/account/tokens/")
    assert_accessible(browser_page)

    browser_page.get_by_role("button", name="Log in with University of Ghent").click()
    browser_page.wait_for_url("**/account/tokens/")

    browser_page.goto(f"{live_server.url}{WAYS}")
    assert_accessible(browser_page)
    assert browser_page.get_by_role("button", name="Disconnect University of Ghent").is_visible()


@pytest.mark.parametrize(
    "fault",
    [
        {"claims": {"nonce": "of another login"}},
        {"claims": {"aud": "another client"}},
        {"claims": {"iss": "https://other.test"}},
        {"claims": {"exp": 1}},
        {"claims": {"sub": None}},
        {"user_info": {"sub": "grace"}},
        {"has_other_key": True},
        {"error": "server_error"},
    ],
)
def test_wrong_answer_logs_nobody_in(client: Client, provider: OpenIdProvider, fault: dict[str, Any]) -> None:
    connected(make_user("ada"))
    for name, value in fault.items():
        setattr(provider, name, value)

    answer = log_in_with(client)

    assert answer["Location"] == "/login/"
    assert user_of(client) is None
    assert "The login with University of Ghent failed." in sentences(client)


def test_answer_of_another_session_or_a_second_time_logs_nobody_in(
    client: Client, provider: OpenIdProvider
) -> None:
    connected(make_user("ada"))
    address = leave(Client())
    other = come_back(client, address)
    first = requests.get(leave(client), allow_redirects=False, timeout=10).headers["Location"]
    path = first.removeprefix("http://testserver")
    client.get(path.replace("/university/", "/club/"))  # the state belongs to one service
    assert user_of(client) is None
    client.get(path)
    assert user_of(client) is not None
    client.post("/logout/")

    again = client.get(path)

    assert (other["Location"], again["Location"]) == ("/login/", "/login/")
    assert user_of(client) is None


def test_canceled_login_and_a_service_that_is_down_say_so(client: Client, provider: OpenIdProvider) -> None:
    provider.error = "access_denied"
    log_in_with(client)
    canceled = sentences(client)
    provider.is_broken = True

    answer = client.post("/login/with/university/")

    assert "You canceled the login with University of Ghent." in canceled
    assert answer["Location"] == "/login/"
    assert "The login with University of Ghent failed." in sentences(client)


def test_unknown_person_is_refused_with_a_sentence(client: Client, provider: OpenIdProvider) -> None:
    answer = log_in_with(client)

    assert answer["Location"] == "/login/"
    assert "No account of this site belongs to your login with University of Ghent." in sentences(client)
    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("service", "fields", "person", "is_in"),
    [
        ("university", {}, {}, True),
        ("university", {}, {"email_verified": False}, False),
        ("university", {}, {"email_verified": None}, False),
        ("club", {}, {}, False),  # nobody said that its addresses are to be trusted
        ("university", {"is_staff": True}, {}, False),
        ("university", {"is_active": False}, {}, False),
        ("university", {"is_machine": True}, {}, False),
    ],
)
def test_verified_address_finds_an_account_only_where_the_administrator_says_so(
    client: Client,
    provider: OpenIdProvider,
    service: str,
    fields: dict[str, Any],
    person: dict[str, Any],
    is_in: bool,
) -> None:
    ada = make_user("ada", email="Ada@Ghent.test", **fields)
    provider.person |= person

    log_in_with(client, service)

    assert user_of(client) == (ada.pk if is_in else None)
    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)
    assert SocialAccount.objects.count() == is_in


def test_address_of_two_accounts_finds_neither(client: Client, provider: OpenIdProvider) -> None:
    make_user("ada", email=ADA["email"])
    make_user("ada-too", email=ADA["email"])

    log_in_with(client)

    assert user_of(client) is None


@pytest.mark.parametrize(
    ("allowed", "person", "sentence"),
    [
        (["anyone"], {}, ""),
        (["anyone"], {"email_verified": False}, ""),
        (["ghent.test", "other.test"], {}, ""),
        (["other.test"], {}, "verified e-mail address of other.test"),
        (["ghent.test"], {"email_verified": False}, "verified e-mail address of ghent.test"),
        (["ghent.test"], {"email": "ada@ghent.test.evil.test"}, "verified e-mail address of ghent.test"),
    ],
)
def test_new_account_follows_the_setting(
    client: Client,
    provider: OpenIdProvider,
    settings: Any,
    allowed: list[str],
    person: dict[str, Any],
    sentence: str,
) -> None:
    settings.SIGN_IN_ACCOUNTS = allowed
    provider.person |= person

    log_in_with(client)

    if sentence:
        assert sentence in sentences(client)
        assert not User.objects.exists()
        return
    user = User.objects.get()
    assert (user.pk, user.get_full_name()) == (user_of(client), "Ada Lovelace")
    assert user.email == (ADA["email"] if provider.person["email_verified"] else "")
    assert not user.has_usable_password()
    assert (user.is_staff, user.is_superuser) == (False, False)
    assert Event.objects.get(action="account.created").details == {"through": "University of Ghent"}


def test_new_account_never_has_the_address_or_the_name_of_another_one(
    client: Client, provider: OpenIdProvider, settings: Any
) -> None:
    settings.SIGN_IN_ACCOUNTS = ["anyone"]
    make_user("ada", email=ADA["email"])
    log_in_with(client, "club")
    refused = sentences(client)
    provider.person |= {"email": "other@ghent.test", "preferred_username": "ada"}

    log_in_with(client, "club")

    assert "An account of this site has your e-mail address already." in refused
    assert User.objects.exclude(username="ada").get().pk == user_of(client)


def test_closed_account_is_refused_with_a_sentence(client: Client, provider: OpenIdProvider) -> None:
    connected(make_user("ada", is_active=False))

    answer = log_in_with(client)

    assert (answer["Location"], user_of(client)) == ("/login/", None)
    assert "This account is closed." in sentences(client)


def test_service_is_connected_and_disconnected_only_after_the_password(
    client: Client, provider: OpenIdProvider
) -> None:
    ada = make_user("ada")
    connection = connected(ada, "club")
    log_in(client, ada)
    asked = client.post(f"{WAYS}{connection.pk}/disconnect/")
    assert asked["Location"].startswith("/account/confirm/")
    wrong = client.post(asked["Location"], {"password": "guess"})
    assert b"Incorrect password." in wrong.content
    assert SocialAccount.objects.exists()

    client.post(asked["Location"], {"password": PASSWORD})

    assert not SocialAccount.objects.exists()
    assert Event.objects.get(action="account.disconnected").details == {"provider": "club"}
    stranger = connected(make_user("grace"))
    client.post(f"{WAYS}{stranger.pk}/disconnect/")
    assert SocialAccount.objects.exists()
    log_in_with(client)
    assert "It belongs to another account of this site." in client.get(WAYS).content.decode()


def test_last_way_in_is_not_disconnected(client: Client, provider: OpenIdProvider, settings: Any) -> None:
    settings.SIGN_IN_ACCOUNTS = ["anyone"]
    log_in_with(client)

    client.post(f"{WAYS}{SocialAccount.objects.get().pk}/disconnect/")

    assert "Your account has no password" in client.get(WAYS).content.decode()
    assert SocialAccount.objects.exists()


def test_proved_orcid_is_shown_and_suggested_for_archives(client: Client) -> None:
    track = make_track()
    ada = make_role(track, "ada")
    User.objects.filter(pk=ada.pk).update(first_name="Ada", last_name="Lovelace")
    make_role(track, "grace")
    for service, uid in (("orcid", "0000-0002-1825-0097"), ("orcid-sandbox", "0000-0001-5109-3700")):
        SocialAccount.objects.create(user=ada, provider=service, uid=uid)
    log_in(client, ada)

    archives = client.get(reverse("publishing:archives", args=[track.slug])).content.decode()

    assert identified_authors(track) == "Ada Lovelace https://orcid.org/0000-0002-1825-0097"
    assert "Ada Lovelace https://orcid.org/0000-0002-1825-0097" in archives
    assert "0000-0002-1825-0097" in client.get(WAYS).content.decode()


def code_now(user: User) -> str:
    """The code that the app of a user shows."""
    return code_of(decrypt(Authenticator.objects.get(user=user, type="totp").data["secret"]))


def code_of(secret: str) -> str:
    return auth.format_hotp_value(auth.hotp_value(secret, MOMENT))


def with_factor(client: Client, user: User, *, is_later: bool = True) -> list[str]:
    """Set up a second factor on its pages; the recovery codes."""
    confirmed(client, user)
    secret = client.get(FACTOR).context["form"].secret
    wrong = client.post(FACTOR, {"code": "000000"})
    assert b"Incorrect code." in wrong.content
    done = client.post(FACTOR, {"code": code_of(secret)}, follow=True)
    codes: list[str] = done.context["unused_codes"]
    assert all(code in done.content.decode() for code in codes)
    assert "****" in str(client.get("/account/recovery-codes/").context["unused_codes"])
    client.post("/logout/")
    if is_later:
        cache.clear()  # the code of another half minute
    return codes


def test_login_asks_for_a_code_that_works_once(
    client: Client, provider: OpenIdProvider, django_capture_on_commit_callbacks: Any
) -> None:
    ada = make_user("ada")
    with django_capture_on_commit_callbacks(execute=True):
        recovery = with_factor(client, ada)
    stored = str([each.data for each in Authenticator.objects.all()])
    first = log_in(client, ada, next="/account/tokens/")
    assert first["Location"] == "/login/code/"
    assert client.get("/account/").status_code == 302
    wrong = client.post("/login/code/", {"code": "12345"})
    empty = client.post("/login/code/", {})
    code = code_now(ada)
    right = client.post("/login/code/", {"code": code})
    assert (right["Location"], user_of(client)) == ("/account/tokens/", ada.pk)
    client.post("/logout/")
    log_in(client, ada)
    reused = client.post("/login/code/", {"code": code})
    by_recovery = client.post("/login/code/", {"code": recovery[0]})
    client.post("/logout/")
    connected(ada)
    through_service = log_in_with(client)
    recovery_again = client.post("/login/code/", {"code": recovery[0]})

    assert b"Incorrect code." in wrong.content
    assert empty.status_code == 200
    assert b"Incorrect code." in reused.content
    assert by_recovery["Location"] == "/start/"
    assert through_service["Location"] == "/login/code/"
    assert b"Incorrect code." in recovery_again.content
    assert user_of(client) is None
    assert recovery[1] not in stored
    actions = set(Event.objects.values_list("action", flat=True))
    assert {"second-factor.added", "recovery-code.used"} <= actions


@pytest.mark.usefixtures("marks_translated")
def test_pages_of_the_second_factor_have_no_word_that_cannot_be_translated(
    provider: OpenIdProvider,
) -> None:
    client = Client(headers={"Accept-Language": "de"})
    ada = make_user("ada")
    client.force_login(ada)
    off = walk(client, WAYS)
    client.logout()
    with_factor(client, ada)
    log_in(client, ada)
    code = {"code": client.get("/login/code/").content.decode()}
    code["wrong"] = client.post("/login/code/", {"code": "12345"}).content.decode()
    client.post("/login/code/", {"code": code_now(ada)})
    confirm = client.get(f"{FACTOR}off/")["Location"]
    asked = {confirm: client.get(confirm).content.decode()}
    client.post(confirm, {"password": PASSWORD})
    pages = walk(client, WAYS, f"{FACTOR}off/", "/account/recovery-codes/", "/account/recovery-codes/new/")
    leaving = {"leaving": client.post("/login/with/club/").content.decode()}

    shown = ["ada", "University of Ghent", "club", "SHA1"]
    for each in (off, code, asked, pages, leaving):
        assert unmarked_pages(each, *shown) == {}
    assert {WAYS, f"{FACTOR}off/", "/account/recovery-codes/"} <= {*pages}


def test_codes_cannot_be_guessed(client: Client) -> None:
    ada = make_user("ada")
    with_factor(client, ada)
    log_in(client, ada)
    for _ in range(5):
        client.post("/login/code/", {"code": "000000"})

    answer = client.post("/login/code/", {"code": code_now(ada)})

    assert b"Too many failed login attempts." in answer.content
    assert user_of(client) is None
    refused = Event.objects.filter(action="code.refused", by=ada)
    assert refused.count() == 5


def test_a_link_does_not_get_past_the_second_factor(client: Client) -> None:
    ada = make_user("ada")
    with_factor(client, ada)
    ada.refresh_from_db()
    asked = client.post(path_of_link(ada))
    assert (asked["Location"], user_of(client)) == ("/login/code/", None)
    client.post("/login/code/", {"code": code_now(ada)})
    assert user_of(client) == ada.pk
    assert "new_password1" in client.get("/account/password/").context["form"].fields
    assert "old_password" not in client.get("/account/password/").context["form"].fields


def test_no_other_page_logs_in_past_the_second_factor(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An invitation to set a first password, for somebody who has only logged in through a service until now."""
    ada = make_user("ada")
    with_factor(client, ada)
    User.objects.filter(pk=ada.pk).update(password="")
    invitation = Invitation(role=Invitation.Role.ASSESSOR, user=ada, track=make_track(), digest="x")
    monkeypatch.setattr("participation.invitations.selectors.invitation_by", lambda _: invitation)
    monkeypatch.setattr("participation.invitations.services.set_up", lambda **_: ada)
    password = "another battery horse staple"

    answer = client.post("/join/", {"new_password1": password, "new_password2": password})

    assert (answer.status_code, user_of(client)) == (409, None)
    assert b"Log in on the login page, with your code." in answer.content


def test_code_that_sets_a_second_factor_up_is_no_code_of_a_login(client: Client) -> None:
    ada = make_user("ada")
    with_factor(client, ada, is_later=False)
    log_in(client, ada)

    answer = client.post("/login/code/", {"code": code_now(ada)})

    assert b"Incorrect code." in answer.content
    assert user_of(client) is None


def test_administrator_without_a_second_factor_has_no_rights_but_to_set_it_up(client: Client) -> None:
    administrator, track = make_organizer("root"), make_track()
    people = reverse("participation:people", args=[track.slug])
    new = tokens.create(
        user=administrator, name="script", scopes=["read"], expires_at=timezone.now() + timedelta(1)
    )
    program = {"headers": {"Authorization": f"Bearer {new.text}"}}
    log_in(client, administrator)

    pages = {client.get(page).get("Location") for page in ("/start/", "/jobs/", people, "/collections/")}
    sent = client.post(people, {"text": ""})
    by_session, by_token = client.get("/api/v1/people/"), Client().get("/api/v1/people/", **program)
    opened = [client.get(page).status_code for page in ("/account/", "/account/password/", WAYS)]
    client.post("/logout/")
    with_factor(client, administrator)
    log_in(client, administrator)
    client.post("/login/code/", {"code": code_now(administrator)})

    assert (pages, sent["Location"]) == ({FACTOR}, FACTOR)
    assert (by_session.status_code, by_token.status_code) == (403, 403)
    assert opened == [200, 200, 200]
    assert client.get(people).status_code == 200
    assert Client().get("/api/v1/people/", **program).status_code == 200


def test_address_that_only_its_user_stated_is_not_that_of_the_person_at_the_university(
    client: Client, provider: OpenIdProvider, settings: Any
) -> None:
    """Somebody registers with the address of another person, and waits for them to log in."""
    track, mallory = make_track(), make_user("mallory")
    team, olga = make_team(track, mallory), make_role(track, "olga")
    for name, by, address in (("eve", olga, ""), ("mat", mallory, ADA["email"])):
        terms = invitations.Terms(email=address)
        link = link_of(invitations.invite(place=invitations.Place(track, team), terms=terms, by=by), "")
        visitor = Client()
        visitor.get(link)
        form = {"first_name": "E", "last_name": "R", "username": name, "password": "quintic-9-roots"}
        visitor.post("/join/", form | {"email": ADA["email"]})
        assert User.objects.get(username=name).email == ADA["email"]

    answer = log_in_with(client)
    assert (answer["Location"], user_of(client)) == ("/login/", None)
    settings.SIGN_IN_ACCOUNTS = ["ghent.test"]
    log_in_with(client)

    assert User.objects.get(pk=user_of(client)).username not in {"eve", "mat"}


def test_admin_opens_only_with_a_second_factor(client: Client) -> None:
    administrator = make_organizer("root")
    visitor = client.get("/admin/login/?next=/admin/")
    log_in(client, administrator)
    without = client.get("/admin/accounts/user/")
    client.post("/logout/")
    with_factor(client, administrator)
    log_in(client, administrator)
    client.post("/login/code/", {"code": code_now(administrator)})

    opened = client.get("/admin/accounts/user/")

    assert visitor["Location"] == "/login/?next=/admin/"
    assert without["Location"] == FACTOR
    assert opened.status_code == 200
    assert b"socialaccount" not in client.get("/admin/").content
    assert client.get("/admin/mfa/authenticator/").status_code == 404


def test_token_of_the_api_needs_no_code(client: Client) -> None:
    ada = make_user("ada")
    with_factor(client, ada)
    new = tokens.create(user=ada, name="script", scopes=["read"], expires_at=timezone.now() + timedelta(1))

    answer = client.get("/api/v1/me/", headers={"Authorization": f"Bearer {new.text}"})

    assert answer.json()["username"] == "ada"


def test_lost_second_factor_is_removed_by_an_administrator_or_a_command(client: Client) -> None:
    ada, administrator = make_user("ada"), make_organizer("root")
    with_factor(client, ada)
    with_factor(client, administrator)
    log_in(client, administrator)
    client.post("/login/code/", {"code": code_now(administrator)})
    form = {"action": "remove_second_factor", "_selected_action": [ada.pk]}
    page = client.post("/admin/accounts/user/", form, follow=True)
    assert b"The second factor of ada is removed." in page.content
    page = client.post("/admin/accounts/user/", form, follow=True)
    assert b"Ada has no second factor that you can remove." in page.content

    call_command("login_link", "root", "--remove-second-factor")

    assert not Authenticator.objects.exists()
    assert Event.objects.filter(action="second-factor.removed").count() == 2
    with pytest.raises(CommandError, match="root has no second factor"):
        call_command("login_link", "root", "--remove-second-factor")


def test_second_factor_is_turned_off_and_codes_renewed_only_after_a_code(client: Client) -> None:
    ada = make_user("ada")
    with_factor(client, ada)
    log_in(client, ada)
    client.post("/login/code/", {"code": code_now(ada)})
    asked = client.get(f"{FACTOR}off/")
    assert asked["Location"].startswith("/account/confirm/")
    client.post(asked["Location"], {"password": PASSWORD})
    renewed = client.post("/account/recovery-codes/new/", follow=True)
    assert len(renewed.context["unused_codes"]) == 10
    assert client.get(f"{FACTOR}off/").status_code == 200

    client.post(f"{FACTOR}off/")

    assert not Authenticator.objects.exists()
    assert log_in(client, ada)["Location"] == "/start/"


def test_change_of_the_second_factor_ends_the_other_sessions(client: Client, settings: Any) -> None:
    ada, before, between = make_user("ada"), Client(), Client()
    log_in(before, ada)
    log_in(client, ada)
    unconfirmed = client.get(FACTOR)
    assert unconfirmed["Location"].startswith("/account/confirm/")
    client.post(unconfirmed["Location"], {"password": PASSWORD})
    secret = client.get(FACTOR).context["form"].secret
    assert before.get("/account/").status_code == 200

    client.post(FACTOR, {"code": code_of(secret)})

    assert before.get("/account/").status_code == 302
    assert client.get("/account/").status_code == 200
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another secret key"
    assert client.get("/account/").status_code == 200
    cache.clear()  # half a minute later
    log_in(between, ada)
    between.post("/login/code/", {"code": code_now(ada)})
    assert between.get("/account/").status_code == 200
    client.post(f"{FACTOR}off/")
    assert not Authenticator.objects.exists()
    assert between.get("/account/").status_code == 302
    assert client.get("/account/").status_code == 200


def test_removed_second_factor_ends_all_sessions(client: Client) -> None:
    ada = make_user("ada")
    with_factor(client, ada)
    log_in(client, ada)
    client.post("/login/code/", {"code": code_now(ada)})
    assert client.get("/account/").status_code == 200

    call_command("login_link", "ada", "--remove-second-factor")

    assert client.get("/account/").status_code == 302


@pytest.mark.parametrize("way", ["stopped", "hanging"])
def test_without_redis_no_code_is_accepted_and_each_page_answers(
    client: Client, monkeypatch: pytest.MonkeyPatch, way: Way
) -> None:
    monkeypatch.setattr(caches.ForgivingRedisCache, "_silent_until", 0.0)
    monkeypatch.setattr(caches, "PAUSE_SECONDS", 0.0)
    ada, inside = make_user("ada"), Client()
    client.raise_request_exception = inside.raise_request_exception = False
    with_factor(client, ada)
    log_in(inside, ada)
    inside.post("/login/code/", {"code": code_now(ada)})
    cache.clear()

    with without_redis(way):
        asked = log_in(client, ada)
        page = client.get("/login/code/")
        answer = client.post("/login/code/", {"code": code_now(ada)})
        confirming = inside.post("/account/confirm/", {"password": PASSWORD})
    assert (asked["Location"], page.status_code) == ("/login/code/", 200)
    for refused in (answer, confirming):
        assert (refused.status_code, refused["Retry-After"]) == (503, "30")
        assert b"Codes and passwords cannot be checked now." in refused.content
    code = {"code": code_now(ada)}
    # a server that hung does what it was asked meanwhile, so a code may be locked for some seconds
    wait_until(lambda: client.post("/login/code/", code).status_code == 302, reason="codes work again")


def test_too_many_confirmations_are_refused_with_a_page_of_the_site(client: Client) -> None:
    ada = make_user("ada")
    log_in(client, ada)

    answers = [client.post("/account/confirm/", {"password": "x"}) for _ in range(12)]

    assert {answer.status_code for answer in answers} == {200, 429}
    assert b"There were too many attempts." in answers[-1].content


def test_replaced_secret_key_is_explained(client: Client, settings: Any) -> None:
    ada = make_user("ada")
    with_factor(client, ada)
    log_in(client, ada)
    code = code_now(ada)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    key = settings.SECRET_KEY
    settings.SECRET_KEY = "x" * 50
    client.cookies.clear()
    log_in(client, ada)
    kept = client.post("/login/code/", {"code": code})
    client.post("/logout/")
    settings.SECRET_KEY_FALLBACKS = []
    log_in(client, ada)
    lost = client.post("/login/code/", {"code": code})
    settings.SECRET_KEY = key

    assert kept["Location"] == "/start/"
    assert lost.status_code == 409
    assert b"Ask its administrator to remove your second factor." in lost.content
