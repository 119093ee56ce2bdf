"""Announcements: who sees them, who gets them by e-mail, and how organizers write, edit and withdraw them."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from accounts.mail import letters
from accounts.models import Event, Letter, User
from config.celery import app
from participation.announcements.services import edit
from participation.models import Announcement, AnnouncementMail
from tests.helpers.api import api, call
from tests.helpers.factories import make_deadline, make_track
from tests.helpers.judging import make_announcement
from tests.scoring.conftest import Scene, build_scene
from tracks.guidelines import services as guidelines_services
from tracks.markdown import TextChanged
from tracks.models import Track

NEW = "/tracks/arq/announcements/new/"
FORM = {"title": "Topics", "text": "They are *out*.", "audiences": "everyone", "revision": "0"}


@pytest.fixture
def lab(db: None, settings: Any) -> Scene:
    """A track whose people have addresses: two members of teams, two assessors and an organizer."""
    scene = build_scene()
    settings.SENDS_MAIL = True
    app.loader.import_default_modules()
    for user in (scene.member, scene.other, scene.ada, scene.bob, scene.organizer, scene.stranger):
        User.objects.filter(pk=user.pk).update(email=f"{user}@example.org")
    return scene


def client_of(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def test_announcement_of_the_opening_begins_with_its_deadline_and_the_address_of_the_track(
    lab: Scene,
) -> None:
    make_deadline(lab.track, closes_at=800_000)

    page = client_of(lab.organizer).get(f"{NEW}?about=opening")

    initial = page.context["form"].initial
    assert initial["title"] == "ARQ is open for runs"
    assert "ARQ is open: teams can submit runs until 20" in initial["text"]
    assert "<http://testserver/tracks/arq/>" in initial["text"]


def test_announcement_of_the_opening_names_what_there_is(lab: Scene) -> None:
    def content(track: Track) -> str:
        page = client_of(lab.organizer).get(f"{track.get_absolute_url()}announcements/new/?about=opening")
        text: str = page.context["form"].initial["text"]
        return text.splitlines()[-1].partition(":")[0]

    new = make_track("new")
    lab.track.downloads.create(kind="collection", name="documents.jsonl.gz")
    hidden = content(lab.track)
    lab.track.downloads.update(released_at=timezone.now())
    guidelines_services.publish(track=lab.track, text="Read.", revision=0, by=lab.organizer)

    assert [content(new), hidden] == ["The task", "The topics"]
    assert content(lab.track) == "The topics, the documents and the guidelines"


@pytest.mark.parametrize(
    ("query", "title", "address", "audiences"),
    [
        ("about=closing", "ARQ is closed for runs", "/tracks/arq/", ["everyone"]),
        ("about=results&audiences=teams", "The results of ARQ", "/tracks/arq/leaderboards/", ["teams"]),
        ("about=results&audiences=nobody", "The results of ARQ", "/tracks/arq/leaderboards/", ["everyone"]),
    ],
)
def test_announcement_of_the_closing_and_of_the_results_begin_with_their_text(
    query: str, title: str, address: str, audiences: list[str], lab: Scene
) -> None:
    initial = client_of(lab.organizer).get(f"{NEW}?{query}").context["form"].initial

    assert (initial["title"], initial["audiences"]) == (title, audiences)
    assert f"<http://testserver{address}>" in initial["text"]


def publish(lab: Scene, *, audiences: Sequence[str], **form: Any) -> Any:
    values = FORM | {"audiences": audiences, "is_mailed": "on", "action": "publish"} | form
    return client_of(lab.organizer).post(NEW, values)


def addressees() -> set[str]:
    return {message.to[0].partition("@")[0] for message in mail.outbox}


def names(*people: User) -> set[str]:
    return {person.username for person in people}


@pytest.mark.parametrize(
    ("audiences", "readers"),
    [
        (["teams"], ["member", "other"]),
        (["assessors"], ["ada", "bob"]),
        (["teams", "assessors"], ["member", "other", "ada", "bob"]),
        (["everyone"], ["member", "other", "ada", "bob", "organizer"]),
    ],
)
def test_announcement_reaches_the_chosen_groups_once(
    audiences: list[str], readers: list[str], lab: Scene
) -> None:
    response = publish(lab, audiences=audiences)
    letters.send_due()
    letters.send_due()

    people = [getattr(lab, name) for name in readers]
    assert response["Location"] == "/tracks/arq/announcements/"
    assert len(mail.outbox) == len(readers)
    assert addressees() == names(*people)
    assert "They are *out*." in mail.outbox[0].body
    assert "http://testserver/tracks/arq/announcements/" in mail.outbox[0].body
    for user in (None, lab.member, lab.bob):
        sees = user in people or "everyone" in audiences
        assert ("They are <em>out</em>." in client_of(user).get("/tracks/arq/").content.decode()) is sees
    for user in (lab.stranger, lab.other, lab.ada, lab.organizer):
        sees = user in people or user == lab.organizer or "everyone" in audiences
        assert ([each["title"] for each in _listed(user)] == ["Topics"]) is sees


def _listed(user: User | None) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = call(api(user), "GET", "announcements", "arq").json()["results"]
    return rows


def test_newest_announcement_is_first_for_organizers_and_visitors(lab: Scene) -> None:
    for title in ("Earlier", "Later"):
        publish(lab, audiences=["everyone"], title=title)

    for user in (lab.organizer, None):
        for address in ("/tracks/arq/announcements/", "/tracks/arq/"):
            page = client_of(user).get(address).content.decode()
            assert 0 < page.index("Later") < page.index("Earlier")


def test_worker_that_dies_between_two_mails_sends_the_rest_only(
    lab: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(lab, audiences=["assessors"])
    sent: list[int] = []
    send = letters._send

    def dying(letter_id: int) -> None:
        if sent:
            raise KeyboardInterrupt
        send(letter_id)
        sent.append(letter_id)

    with monkeypatch.context() as killed:
        killed.setattr(letters, "_send", dying)
        with pytest.raises(KeyboardInterrupt):
            letters.send_due()
    half = client_of(lab.organizer).get("/tracks/arq/announcements/").content.decode()
    letters.send_due()
    whole = client_of(lab.organizer).get("/tracks/arq/announcements/").content.decode()

    assert sorted(message.to[0] for message in mail.outbox) == ["ada@example.org", "bob@example.org"]
    assert "sent to\n1 of 2" in half
    assert "hx-trigger" in half, "the page refreshes while e-mails wait"
    assert "sent to\n2 of 2" in whole
    assert "hx-trigger" not in whole


def test_worker_that_dies_after_it_sent_a_mail_sends_it_again_with_the_same_id(
    lab: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(lab, audiences=["assessors"])
    send = letters.EmailMessage.send

    def dying(message: Any) -> None:
        send(message)
        raise KeyboardInterrupt  # the mail server has it, and the database does not know

    with monkeypatch.context() as killed:
        killed.setattr(letters.EmailMessage, "send", dying)
        with pytest.raises(KeyboardInterrupt):
            letters.send_due()
    letters.send_due()
    letters.send_due()

    ids = [(message.to[0], message.extra_headers["Message-ID"]) for message in mail.outbox]
    assert len(ids) == 3
    assert ids[0] == ids[1], "mailboxes drop the second"
    assert len({each for _, each in ids}) == 2
    assert "sent to\n2 of 2" in client_of(lab.organizer).get("/tracks/arq/announcements/").content.decode()


def test_person_who_wants_no_announcements_or_cannot_log_in_gets_none(lab: Scene) -> None:
    client_of(lab.member).post("/account/", {"is_mailed_about_runs": "on"})
    User.objects.filter(pk=lab.other.pk).update(is_active=False)
    User.objects.filter(pk=lab.bob.pk).update(guest_until="2099-01-01T00:00Z")
    publish(lab, audiences=["everyone"])
    client_of(lab.ada).post("/account/", {})

    letters.send_due()

    assert addressees() == names(lab.organizer), "also who switched it off after it was written"


def test_edited_announcement_is_sent_again_only_if_asked(lab: Scene) -> None:
    publish(lab, audiences=["assessors"])
    letters.send_due()
    announcement = Announcement.objects.get()
    client, page = client_of(lab.organizer), f"/announcements/{announcement.pk}/edit/"
    change = FORM | {"text": "Now.", "audiences": "assessors", "revision": "1", "action": "publish"}

    client.post(page, change)
    letters.send_due()
    n_without = len(mail.outbox)
    client.post(page, change | {"text": "Again.", "revision": "2", "is_mailed": "on"})
    letters.send_due()

    announcement.refresh_from_db()
    assert n_without == 2
    assert [message.body.count("Again.") for message in mail.outbox] == [0, 0, 1, 1]
    assert (announcement.text, announcement.revision) == ("Again.", 3)
    assert AnnouncementMail.objects.count() == 2
    details = Event.objects.filter(action="announcement.edited").latest("pk").details
    assert details == {"readers": "assessors", "sent to": "2 people"}


def test_withdrawn_announcement_is_neither_shown_nor_sent(lab: Scene) -> None:
    publish(lab, audiences=["everyone"])
    announcement = Announcement.objects.get()

    client_of(lab.organizer).post(f"/announcements/{announcement.pk}/withdraw/")
    letters.send_due()

    assert mail.outbox == []
    assert _listed(lab.member) == []
    assert [each["title"] for each in _listed(lab.organizer)] == ["Topics"]
    assert "withdrawn" in client_of(lab.organizer).get("/tracks/arq/announcements/").content.decode()
    assert client_of(lab.organizer).get(f"/announcements/{announcement.pk}/edit/").status_code == 404
    assert Event.objects.filter(action="announcement.withdrawn").exists()


def test_state_of_each_mail_is_listed(lab: Scene) -> None:
    publish(lab, audiences=["assessors"])
    ours = Letter.objects.order_by("pk")
    ours.filter(data__user=lab.ada.pk).update(due_at=None, n_tries=10, error="OSError: down")
    announcement = Announcement.objects.get()

    page = client_of(lab.organizer).get(f"/announcements/{announcement.pk}/mails/").content.decode()
    rows = call(api(lab.organizer), "GET", "announcement_mails", announcement.pk).json()["results"]

    assert "given up" in page
    assert "waiting" in page
    assert {row["username"]: row["status"] for row in rows} == {"ada": "given up", "bob": "waiting"}
    assert "1 given up" in client_of(lab.organizer).get("/tracks/arq/announcements/").content.decode()


def test_text_is_sanitized_and_a_bad_form_is_shown_again(lab: Scene) -> None:
    client = client_of(lab.organizer)
    preview = client.post(NEW, FORM | {"text": "<script>alert(1)</script> **so**", "action": "preview"})
    bad = [
        client.post(NEW, FORM | {"action": "publish"} | change)
        for change in ({"audiences": "staff"}, {"title": " "}, {"text": " "}, {"text": "x" * 20_001})
    ]

    assert "<strong>so</strong>" in preview.content.decode()
    assert "<script>alert" not in preview.content.decode()
    assert [response.status_code for response in bad] == [422, 422, 409, 409]
    assert "The text has 20,001 characters; use at most 20,000." in bad[3].content.decode()
    assert not Announcement.objects.exists()


def test_change_of_somebody_else_is_not_overwritten(lab: Scene) -> None:
    announcement = make_announcement(lab.track, lab.organizer)
    stale = {"title": "Old", "text": "Old", "audiences": ["everyone"], "is_mailed": False, "site": ""}
    edit(announcement=announcement, revision=1, **stale)

    with pytest.raises(TextChanged, match="Somebody else changed the announcement"):
        edit(announcement=announcement, revision=1, **stale)
    form = FORM | {"revision": "1", "action": "publish"}
    page = client_of(lab.organizer).post(f"/announcements/{announcement.pk}/edit/", form)

    assert page.status_code == 409
    assert 'name="revision" value="2"' in page.content.decode()


def test_program_writes_changes_and_withdraws(lab: Scene) -> None:
    client = api(lab.organizer)
    new = {"title": "Topics", "text": "Out.", "audiences": ["teams"], "is_mailed": True}

    made = call(client, "POST", "announcements", "arq", data=new)
    changed = call(client, "PATCH", "announcement", made.json()["id"], data={"audiences": ["assessors"]})
    letters.send_due()
    hidden = call(api(lab.member), "GET", "announcement", made.json()["id"])
    withdrawn = call(client, "POST", "withdraw_announcement", made.json()["id"])

    assert (made.status_code, made["Location"]) == (201, made.json()["url"])
    assert (changed.json()["audiences"], changed.json()["text"]) == (["assessors"], "Out.")
    assert mail.outbox == [], "the teams are no readers any more, and nothing was sent to the others"
    assert hidden.status_code == 404
    assert withdrawn.json()["withdrawn_at"] is not None
