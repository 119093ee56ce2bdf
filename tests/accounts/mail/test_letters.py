"""Letters that the mail server or the queue loses are sent again, and none twice."""

from datetime import timedelta
from smtplib import SMTPRecipientsRefused
from typing import Any

import pytest
from celery import current_app
from django.core import mail
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from accounts.mail import letters
from accounts.models import Letter, User
from config.celery import app
from tests.helpers.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _mail_server(settings: Any) -> None:
    settings.SENDS_MAIL = True
    app.loader.import_default_modules()


def post() -> Letter:
    letter = letters.post(kind="accounts.links", data={"name": "ada"}, site="https://assay.example")
    assert letter is not None
    return letter


def wait_for(letter: Letter) -> None:
    """Let the time pass until the letter is due."""
    Letter.objects.filter(pk=letter.pk, due_at__isnull=False).update(due_at=timezone.now())


def test_letter_lost_by_the_mail_server_is_sent_again_once(monkeypatch: pytest.MonkeyPatch) -> None:
    make_user("ada", email="ada@example.org")
    letter = post()
    with monkeypatch.context() as broken:
        broken.setattr(
            letters.EmailMessage, "send", lambda *_: (_ for _ in ()).throw(ConnectionRefusedError("no"))
        )
        letters.send_due()
    letter.refresh_from_db()
    failed = (letter.n_tries, letter.error, letter.due_at is not None and letter.due_at > timezone.now())
    letters.send_due()
    sent_too_early = list(mail.outbox)

    wait_for(letter)
    letters.send_due()
    letters.send_due()

    letter.refresh_from_db()
    assert failed == (1, "ConnectionRefusedError: no", True)
    assert sent_too_early == []
    assert [message.to for message in mail.outbox] == [["ada@example.org"]]
    assert (letter.due_at, letter.error) == (None, "")


def test_letter_to_several_people_is_sent_again_only_to_those_who_did_not_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two accounts with one address count as two: each gets its own link."""
    for name in ("annika", "robert", "ulrike"):
        make_user(name, email="lab@example.org")
    letter = letters.post(
        kind="accounts.links", data={"name": "lab@example.org"}, site="https://assay.example"
    )
    assert letter is not None
    send = letters.EmailMessage.send

    def refuse_robert(message: mail.EmailMessage) -> int:
        if "robert" in message.body:
            raise SMTPRecipientsRefused({"lab@example.org": (450, b"try later")})
        return send(message)

    with monkeypatch.context() as broken:
        broken.setattr(letters.EmailMessage, "send", refuse_robert)
        letters.send_due()
    letter.refresh_from_db()
    failed = (letter.n_tries, letter.error.partition(":")[0], letter.delivered)

    User.objects.update(link_sent_at=None)
    wait_for(letter)
    letters.send_due()

    letter.refresh_from_db()
    assert failed == (1, "SMTPRecipientsRefused", ["annika lab@example.org", "ulrike lab@example.org"])
    assert [
        name for message in mail.outbox for name in ("annika", "robert", "ulrike") if name in message.body
    ] == [
        "annika",
        "ulrike",
        "robert",
    ]
    assert letter.sent_at is not None
    assert letter.delivered == []


def test_letter_that_is_sent_twice_has_the_same_id() -> None:
    """Of a worker that died just after it had sent it: a mailbox drops the second."""
    user = make_user("ada", email="ada@example.org")
    data = {"user": user.pk, "address": None}
    letter = letters.post(kind="accounts.lockout", data=data, site="https://assay.example")
    assert letter is not None

    letters.send_due()
    Letter.objects.update(due_at=timezone.now(), sent_at=None)  # the worker did not store that it was sent
    letters.send_due()

    first, second = (message.extra_headers["Message-ID"] for message in mail.outbox)
    assert first == second
    assert f".{letter.pk}.0@" in first


def test_letter_is_given_up_after_the_last_try(monkeypatch: pytest.MonkeyPatch) -> None:
    make_user("ada", email="ada@example.org")
    letter = post()
    monkeypatch.setattr(letters.EmailMessage, "send", lambda *_: (_ for _ in ()).throw(OSError("down")))

    for _ in range(letters.MAX_TRIES + 1):
        wait_for(letter)
        letters.send_due()

    letter.refresh_from_db()
    assert (letter.n_tries, letter.due_at, letter.sent_at) == (letters.MAX_TRIES, None, None)


def test_letter_waits_for_beat_while_the_queue_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BrokerError("no queue")

    make_user("ada", email="ada@example.org")
    monkeypatch.setattr(current_app, "send_task", refuse)
    with django_capture_on_commit_callbacks(execute=True):
        post()

    app.tasks["accounts.tasks.send_letters"].run()

    assert len(mail.outbox) == 1


def test_site_without_a_mail_server_keeps_no_letters(settings: Any) -> None:
    settings.SENDS_MAIL = False

    assert letters.post(kind="accounts.links", data={"name": "ada"}, site="") is None
    assert not Letter.objects.exists()


def test_old_letters_are_deleted_unless_they_are_due() -> None:
    kept, sent = post(), post()
    Letter.objects.filter(pk=sent.pk).update(due_at=None)
    Letter.objects.update(created_at=timezone.now() - timedelta(days=31))

    letters.delete_old()

    assert list(Letter.objects.all()) == [kept]
