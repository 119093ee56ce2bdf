"""Access tokens: their page, and what they let a program do."""

import logging
from datetime import timedelta
from io import StringIO

import pytest
from django.conf import LazySettings
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts import tokens as services
from accounts.models import Token
from tests.helpers.api import api, call, make_token
from tests.helpers.factories import make_role, make_track, make_user
from web.logs import RedactingFormatter
from web.models import KeptAnswer

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_guesses() -> None:
    cache.clear()


def test_page_shows_a_new_token_once_and_revokes_it(client: Client) -> None:
    mia = make_user("mia")
    client.force_login(mia)
    form = {"name": "cluster", "scopes": ["read", "runs"], "days": "90"}

    page = client.post(reverse("tokens"), form)
    text = page.context["new"].text
    works = call(Client(headers={"Authorization": f"Bearer {text}"}), "GET", "jobs").status_code
    again = client.get(reverse("tokens"))
    client.post(reverse("revoke_token", args=[Token.objects.get().pk]))
    refused = call(Client(headers={"Authorization": f"Bearer {text}"}), "GET", "jobs")

    assert (works, refused.status_code) == (200, 401)
    assert text in page.text
    assert text not in again.text
    assert text[:12] in again.text
    assert refused.json()["code"] == "invalid-token"
    assert refused["WWW-Authenticate"] == 'Bearer realm="Assay"'


def test_token_is_limited_to_a_track_of_its_user_on_the_page_by_a_program_and_by_the_command(
    client: Client,
) -> None:
    olga, other = make_role(make_track("arq"), "olga"), make_track("other")
    client.force_login(olga)
    form = {"name": "arq", "scopes": ["read"], "days": "90"}

    wrong = client.post(reverse("tokens"), form | {"track": other.slug})
    page = client.post(reverse("tokens"), form | {"track": "arq"})
    data = {"name": "b", "scopes": ["read"], "track": "arq", "days": 5}
    made = call(api(olga), "POST", "tokens", data=data)
    refused = call(api(olga), "POST", "tokens", data=data | {"name": "c", "track": "other"})
    text = StringIO()
    call_command("create_token", "olga", "--track=arq", stdout=text)

    assert "“other” is not in it" in wrong.text
    assert "read in arq only" in " ".join(page.text.split())
    assert (made.status_code, made.json()["track"], refused.status_code) == (201, "arq", 409)
    assert refused.json()["detail"].startswith("There is no track other in which olga has a role")
    for each in (page.context["new"].text, made.json()["token"], text.getvalue().strip()):
        program = Client(headers={"Authorization": f"Bearer {each}"})
        assert call(program, "GET", "me").json()["token"]["track"] == "arq"
        assert call(program, "GET", "track", "other").status_code == 403


def test_database_has_the_digest_only() -> None:
    text = make_token(make_user("mia"))

    token = Token.objects.get()

    assert text.startswith(token.shown)
    assert len(text) == len(services.PREFIX) + services.SECRET_LENGTH
    assert text not in str(Token.objects.values_list().get())


def test_page_states_why_a_token_is_refused(client: Client) -> None:
    mia = make_user("mia")
    make_token(mia, name="cluster")
    client.force_login(mia)

    page = client.post(reverse("tokens"), {"name": "cluster", "scopes": ["read"], "days": "30"})

    assert "You already have a token named cluster." in page.text
    assert Token.objects.count() == 1


def test_nobody_revokes_the_token_of_another(client: Client) -> None:
    make_token(make_user("mia"))
    client.force_login(make_user("otto"))

    response = client.post(reverse("revoke_token", args=[Token.objects.get().pk]))

    assert response.status_code == 404
    assert Token.objects.get().is_valid


def test_expired_token_and_token_of_a_deactivated_user_are_refused() -> None:
    mia = make_user("mia")
    client = api(mia)
    Token.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    expired = call(client, "GET", "jobs").status_code
    client = api(mia)
    mia.is_active = False
    mia.save()

    assert (expired, call(client, "GET", "jobs").status_code) == (401, 401)


def test_use_is_noted() -> None:
    client = api(make_user("mia"))

    call(client, "GET", "jobs")

    assert Token.objects.get().last_used_at is not None


def test_roles_come_with_the_token_in_its_query() -> None:
    client = api(make_role(make_track("arq"), "olga"))
    call(client, "GET", "pools", "arq")  # notes the use, and prepares the statement

    with CaptureQueriesContext(connection) as queries:
        response = call(client, "GET", "pools", "arq")

    of_roles = [query["sql"] for query in queries if 'FROM "tracks_organizer"' in query["sql"]]
    assert (response.status_code, of_roles) == (200, [])


@pytest.mark.parametrize(
    ("scopes", "method", "name", "status"),
    [(["runs"], "GET", "jobs", 403), (["read"], "GET", "jobs", 200)],
)
def test_scope_limits_a_token(scopes: list[str], method: str, name: str, status: int) -> None:
    response = call(api(make_user("mia"), *scopes), method, name)

    assert response.status_code == status
    if status == 403:
        assert response.json()["detail"] == "This request needs a token with the scope read; yours has runs."


def test_wrong_tokens_are_limited_by_address_and_lock_no_right_one_out() -> None:
    guessing = Client(headers={"Authorization": "Bearer assay_wrong"})

    statuses = [call(guessing, "GET", "jobs").status_code for _ in range(22)]
    limited = call(guessing, "GET", "jobs")
    colleague = call(api(make_user("mia")), "GET", "jobs")

    assert statuses[0] == 401
    assert limited.status_code == 429
    assert 1 <= int(limited["Retry-After"]) <= 60
    assert colleague.status_code == 200


def test_requests_of_a_user_are_limited(settings: LazySettings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 3
    client = api(make_user("mia"))

    statuses = {call(client, "GET", "jobs").status_code for _ in range(8)}  # a minute may end meanwhile

    assert statuses == {200, 429}


def test_session_needs_the_csrf_token() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user("olga", is_staff=True))

    refused = call(client, "POST", "retry_job", 1)
    read = call(client, "GET", "jobs")

    assert (read.status_code, refused.status_code) == (200, 403)
    assert "CSRF" in refused.json()["detail"]


def test_program_creates_a_narrower_token_lists_and_revokes_it() -> None:
    mia = make_user("mia")
    client = api(mia, "read", "manage")
    asked = {"name": "worker", "scopes": ["read"], "days": 7}

    answer = call(client, "POST", "tokens", data=asked)
    worker = Client(headers={"Authorization": f"Bearer {answer.json()['token']}"})
    works = call(worker, "GET", "jobs").status_code
    wider = call(client, "POST", "tokens", data={**asked, "name": "wide", "scopes": ["runs"]})
    longer = call(client, "POST", "tokens", data={**asked, "name": "long", "days": 31})
    by_worker = call(worker, "POST", "tokens", data=asked).status_code
    listed = call(client, "GET", "tokens").json()["results"]
    number = answer.json()["id"]
    of_another = call(api(make_user("otto")), "POST", "revoke_token", number).status_code
    revoked = call(client, "POST", "revoke_token", number)

    assert (answer.status_code, works, by_worker, of_another) == (201, 200, 403, 404)
    assert [token["name"] for token in listed] == ["worker", "token 0"]
    assert answer.json()["token"] not in str(listed)
    for refused in (wider, longer):
        assert refused.status_code == 409
        assert "creates tokens with its own scopes (read, manage)" in refused.json()["detail"]
    assert revoked.json()["revoked_at"] is not None
    assert call(worker, "GET", "jobs").status_code == 401


def test_text_of_a_token_is_not_kept_for_a_repeated_request() -> None:
    client = api(make_user("mia"))
    asked = {"name": "worker", "scopes": ["read"], "days": 7}

    first, again = (call(client, "POST", "tokens", data=asked, HTTP_IDEMPOTENCY_KEY="a") for _ in range(2))

    assert again["Idempotency-Replayed"] == "true"
    assert again.json() == {**first.json(), "token": None}
    assert first.json()["token"] not in str(KeptAnswer.objects.values_list().get())


def test_command_prints_a_token_once_and_refuses_an_unknown_user() -> None:
    make_user("mia")
    out = StringIO()

    call_command("create_token", "mia", "--scope", "read", "--scope", "runs", stdout=out)
    client = Client(headers={"Authorization": f"Bearer {out.getvalue().strip()}"})

    assert call(client, "GET", "me").json()["token"]["scopes"] == ["read", "runs"]
    with pytest.raises(CommandError, match="There is no active user otto"):
        call_command("create_token", "otto")
    with pytest.raises(CommandError, match="already have a token named command"):
        call_command("create_token", "mia")


def test_logs_hide_tokens() -> None:
    text = make_token(make_user("mia"))
    try:
        raise ValueError(f"in the traceback: {text}")
    except ValueError:
        import sys

        record = logging.LogRecord("x", logging.ERROR, "", 1, "in %s", (text,), sys.exc_info())

    line = RedactingFormatter("%(message)s").format(record)

    assert text not in line
    assert line.count("assay_[hidden]") == 2
