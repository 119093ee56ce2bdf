"""Invitations: made, opened, accepted or refused, used up, revoked and expired."""

import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.core import mail
from django.db import connection
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page

from accounts.models import User
from assay.errors import Refused
from participation.invitations import services
from participation.invitations.selectors import digest_of, link_of, make_token, token_of
from participation.invitations.services import Place, Terms
from participation.models import Invitation, InvitationUse
from participation.teams import services as team_services
from tests.helpers.browser import log_in, violations
from tests.helpers.factories import make_user
from tests.helpers.letters import deliver_at_once, latest_link
from tests.pooling.conftest import Scene, build_scene
from tracks.assessors.selectors import is_assessor
from tracks.models import Track
from web import throttling

PASSWORD = "quintic-9-roots"
PERSON = {
    "first_name": "Eve",
    "last_name": "Ray",
    "email": "eve@example.org",
    "username": "eve",
    "password": PASSWORD,
}


def as_user(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def invite(scene: Scene, place: Place | None = None, **terms: Any) -> Invitation:
    place = place or Place(track=scene.track, team=scene.ours)
    return services.invite(place=place, terms=Terms(**terms), by=scene.organizer)


def accept(client: Client, link: str, **form: str) -> Any:
    """Open a link, and send the form of the page to which it leads."""
    client.get(link)
    return client.post("/join/", form)


def test_invited_person_registers_and_is_in_the_team(scene: Scene) -> None:
    client = Client()
    opened = client.get(link_of(invite(scene, max_uses=2), ""), follow=True)

    response = client.post("/join/", PERSON)

    eve = User.objects.get(username="eve")
    assert "the team <strong>Ours</strong>" in opened.content.decode()
    assert response["Location"] == f"/teams/{scene.ours.pk}/"
    assert client.session["_auth_user_id"] == str(eve.pk)
    assert eve.check_password(PASSWORD)
    assert scene.ours.memberships.get(user=eve).may_submit
    assert Invitation.objects.get().n_uses == 1


def test_user_accepts_with_the_account_and_is_counted_once(scene: Scene) -> None:
    invitation = invite(scene, Place(track=scene.track), max_uses=2)
    client = as_user(scene.stranger)

    first = accept(client, link_of(invitation, ""))
    accept(client, link_of(invitation, ""))

    invitation.refresh_from_db()
    assert first["Location"] == "/start/"
    assert is_assessor(scene.stranger, scene.track)
    assert invitation.n_uses == 1


@pytest.mark.parametrize("end", ["unknown", "used", "revoked", "expired"])
def test_link_that_is_no_longer_valid_says_the_same_whatever_the_reason(scene: Scene, end: str) -> None:
    invitation = invite(scene)
    link = link_of(invitation, "")
    if end == "used":
        accept(as_user(make_user()), link)
    elif end == "revoked":
        services.revoke(invitation=invitation)
    elif end == "expired":
        Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    else:
        link = f"/join/{make_token('0' * 32)}/"

    response = accept(as_user(scene.stranger), link)

    assert response.status_code == 410
    assert "it was used, it expired, or it was revoked" in response.content.decode()
    assert not scene.stranger.teams.exists()


def test_nobody_becomes_member_and_assessor_by_a_link(scene: Scene) -> None:
    to_team = accept(as_user(scene.assessor), link_of(invite(scene), ""))
    to_judging = accept(as_user(scene.member), link_of(invite(scene, Place(track=scene.track)), ""))

    assert (to_team.status_code, to_judging.status_code) == (409, 409)
    assert "jane is an assessor of ARQ" in to_team.content.decode()
    assert "ada is a member of a team of ARQ" in to_judging.content.decode()
    assert set(Invitation.objects.values_list("n_uses", flat=True)) == {0}


def test_link_for_an_address_is_for_an_account_with_it(scene: Scene) -> None:
    link = link_of(invite(scene, email="eve@example.org"), "")
    other = accept(as_user(make_user(email="sam@example.org")), link)
    client = Client()

    accept(client, link, **PERSON | {"email": "mallory@example.org"})

    assert other.status_code == 409
    assert "for another e-mail address" in other.content.decode()
    assert User.objects.get(username="eve").email == "eve@example.org", "the address of the invitation"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"username": "ADA"}, "The user name ADA cannot be used."),
        ({"username": "аda"}, "The user name аda cannot be used."),  # the first letter is Cyrillic
        ({"username": "мia"}, "The user name мia cannot be used."),
        ({"username": "𝐚𝐝𝐚"}, "The user name 𝐚𝐝𝐚 cannot be used."),
        ({"username": "\u3164"}, "Use at least one character that can be seen."),
        ({"username": "b\u202eob"}, "Enter a valid username."),
        ({"first_name": "Eve\u202e"}, "Remove the character U+202E RIGHT-TO-LEFT OVERRIDE"),
        ({"first_name": "\u3164"}, "Use at least one character that can be seen."),
        ({"last_name": "Ray\x07"}, "Remove the character U+0007"),
        ({"last_name": " "}, "Fill in this field."),
        ({"password": "12345678"}, "This password is too common."),
        ({"username": "no spaces"}, "Enter a valid username."),
    ],
)
def test_registration_is_refused_and_stores_nothing(
    scene: Scene, change: dict[str, str], message: str
) -> None:
    n_users = User.objects.count()

    page = accept(Client(), link_of(invite(scene), ""), **PERSON | change).content.decode()

    assert message in page
    assert User.objects.count() == n_users
    assert not InvitationUse.objects.exists()


def test_new_account_gets_its_password_by_the_link_once(scene: Scene) -> None:
    user = User.objects.create_user("zoe", email="zoe@example.org")
    link = link_of(invite(scene, Place(track=scene.track, user=user)), "")
    form = {"new_password1": PASSWORD, "new_password2": PASSWORD}
    client = Client()
    team_services.add_member(team=scene.ours, user=user)

    shown = client.get(link, follow=True).content.decode()
    first = accept(client, link, **form)
    again = accept(
        Client(), link, **form | {"new_password1": "other-9-roots", "new_password2": "other-9-roots"}
    )

    user.refresh_from_db()
    assert "You are in the team <strong>Ours</strong>." in shown
    assert first.status_code == 302
    assert again.status_code == 410
    assert user.check_password(PASSWORD)


def test_person_invited_to_a_draft_reads_that_it_is_not_open_yet(scene: Scene) -> None:
    Track.objects.update(status=Track.Status.DRAFT)
    user = User.objects.create_user("zoe", email="zoe@example.org")
    link = link_of(invite(scene, Place(track=scene.track, user=user)), "")
    client = Client()
    client.get(link)

    page = client.post("/join/", {"new_password1": PASSWORD, "new_password2": PASSWORD}, follow=True)

    assert f"{scene.track} is not open yet. It appears among your tracks" in page.content.decode()


def test_address_of_a_link_is_not_passed_on_and_the_token_not_stored(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="django.request")
    invitation = invite(scene)
    token = link_of(invitation, "").split("/")[2]
    client = Client()

    response = client.get(f"/join/{token}/")

    assert (response["Location"], response["Referrer-Policy"]) == ("/join/", "strict-origin")
    assert "no-store" in response["Cache-Control"]
    assert invitation.digest == digest_of(token)
    assert token not in str(Invitation.objects.values().get())
    assert token not in str(dict(client.session))
    assert token not in caplog.text


def test_links_made_before_the_secret_key_changed_work_and_show_again_with_the_old_key(
    scene: Scene, settings: Any
) -> None:
    invitation = invite(scene, max_uses=2)
    link, old = link_of(invitation, ""), settings.SECRET_KEY
    settings.SECRET_KEY = "another key of the site, with enough characters"

    hidden = link_of(invitation, "")
    settings.SECRET_KEY_FALLBACKS = [old]

    assert (hidden, link_of(invitation, "")) == ("", link)
    assert token_of(invitation.nonce, "0" * 64) is None
    assert accept(as_user(scene.stranger), link).status_code == 302


def test_many_attempts_from_one_address_are_stopped(scene: Scene) -> None:
    client = Client(REMOTE_ADDR="203.0.113.7")
    client.get(link_of(invite(scene), ""))
    answers = [client.post("/join/", PERSON | {"username": "ada"}).status_code]
    for _ in range(throttling.OF_A_CLASS - 2):
        throttling.count("join:203.0.113.7", throttling.HOUR)

    answers += [client.post("/join/", PERSON | {"username": "ada"}).status_code for _ in range(3)]

    assert answers == [200, 200, 429, 429]


def test_contact_person_sends_an_invitation_by_mail(
    scene: Scene, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver_at_once(settings, monkeypatch)
    form = {"email": "eve@example.org", "max_uses": 5, "days": 7, "may_submit": "on"}

    page = as_user(scene.member).post(f"/teams/{scene.ours.pk}/invite/", form, follow=True).content.decode()
    response = accept(Client(), latest_link(), **PERSON)

    assert "The link is on its way to eve@example.org." in page
    assert mail.outbox[0].to == ["eve@example.org"]
    assert response.status_code == 302
    assert Invitation.objects.get().max_uses == 1, "a link for an address is for one person"


def test_only_managers_and_organizers_invite_and_revoke(scene: Scene) -> None:
    form = {"email": "", "max_uses": 1, "days": 7}
    for person, status in (
        (scene.other, 404),
        (scene.assessor, 404),
        (scene.stranger, 404),
        (scene.member, 302),
    ):
        assert as_user(person).post(f"/teams/{scene.ours.pk}/invite/", form).status_code == status
    revoke = f"/invitations/{Invitation.objects.get().pk}/revoke/"

    refused = as_user(scene.other).post(revoke)
    done = as_user(scene.organizer).post(revoke, {"next": f"/teams/{scene.ours.pk}/"})

    assert (refused.status_code, done["Location"]) == (404, f"/teams/{scene.ours.pk}/")
    assert Invitation.objects.get().revoked_at is not None


@pytest.mark.parametrize("terms", [{"max_uses": 0}, {"days": 91}, {"email": "a@example.org", "max_uses": 2}])
def test_terms_out_of_range_are_refused(scene: Scene, terms: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        invite(scene, **terms)


@pytest.mark.django_db(transaction=True)
def test_of_two_who_accept_the_last_use_at_once_one_gets_it(folder: Path) -> None:
    scene = build_scene()
    invitation = invite(scene)
    people = [make_user(), make_user()]
    start = threading.Barrier(2)
    refused: list[str] = []

    def attempt(user: User) -> None:
        try:
            start.wait()
            services.accept(digest=invitation.digest, user=user)
        except Refused as refusal:
            refused.append(refusal.title)
        finally:
            connection.close()

    threads = [threading.Thread(target=attempt, args=[user]) for user in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    invitation.refresh_from_db()
    assert refused == ["This invitation is no longer valid"]
    assert invitation.n_uses == 1
    assert scene.ours.members.count() == 2


@pytest.mark.django_db
def test_wrong_link_stores_no_session(client: Client) -> None:
    answer = client.get("/join/anything/")

    assert answer.status_code == 410
    assert not Session.objects.exists()


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_copied_link_registers_a_member_and_is_no_referrer(
    folder: Path, live_server: Any, new_page: Callable[..., Page]
) -> None:
    scene = build_scene()
    manager = new_page(permissions=["clipboard-read", "clipboard-write"])
    log_in(manager, live_server.url, scene.member)
    manager.goto(f"{live_server.url}/teams/{scene.ours.pk}/")
    manager.get_by_role("button", name="Make a link").click()
    manager.get_by_role("button", name="Copy link").click()
    manager.get_by_role("button", name="Copied").wait_for()
    link = manager.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{live_server.url}/join/")

    page = new_page(viewport={"width": 390, "height": 800})
    referrers: list[str] = []
    page.on("request", lambda request: referrers.append(request.headers.get("referer", "")))
    page.goto(link)
    assert page.url == f"{live_server.url}/join/"
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == []
    fields = {
        "First name": "Eve",
        "Last name": "Ray",
        "E-mail address": "eve@example.org",
        "User name": "eve",
    }
    for label, value in fields.items():
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_label("Password", exact=True).fill("quintic-9-roots")
    page.get_by_role("button", name="Register and accept").click()
    page.get_by_text("You are in the team Ours of ARQ.").wait_for()

    token = link.rstrip("/").rpartition("/")[2]
    assert not any(token in referrer for referrer in referrers)
    assert User.objects.get(username="eve") in scene.ours.members.all()
