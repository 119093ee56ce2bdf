"""Letters: e-mails that are sent by a worker, and sent again when the mail server or the queue fails.

`post` stores a row in the transaction that gives the reason for the e-mail. The worker writes the text with the
function that is registered for the kind of the letter, and sends it. Beat starts it every minute for what is still due.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from email.utils import parseaddr
from typing import Any, NamedTuple

from celery import current_app
from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist
from django.core.mail import EmailMessage
from django.db import transaction
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.utils.functional import Promise
from kombu.exceptions import OperationalError as BrokerError

from accounts.models import Letter

logger = logging.getLogger(__name__)

MAX_TRIES = 10  # over about a day
FIRST_WAIT = timedelta(minutes=2)  # doubled after each try
KEPT = timedelta(days=30)


class Mail(NamedTuple):
    """A plain-text e-mail: the template is rendered with the context, in a language (default: English)."""

    to: str
    subject: "str | Promise"
    template: str
    context: Mapping[str, object]
    language: str = ""


Writer = Callable[[Mapping[str, Any], str], Iterable[Mail]]  # (data, site) -> e-mails
_writers: dict[str, Writer] = {}


def writer(kind: str) -> Callable[[Writer], Writer]:
    """Register the function that writes the letters of a kind. Put it into a module that workers import: `tasks.py`."""

    def register(function: Writer) -> Writer:
        if kind in _writers:
            raise ValueError(f"two writers of letters of kind {kind}")
        _writers[kind] = function
        return function

    return register


def post(*, kind: str, data: Mapping[str, Any], site: str) -> Letter | None:
    """Send a letter after the transaction; None where no mail server is set.

    Args:
        data: what its writer needs, as JSON. No secret: ids, and the writer makes the link.
        site: the origin of the site for the links in it, such as `https://assay.example.org`.
    """
    return next(iter(post_each(kind=kind, data=[data], site=site)), None)


def post_each(*, kind: str, data: Sequence[Mapping[str, Any]], site: str) -> list[Letter]:
    """Send letters of a kind after the transaction, each with its own data; none where no mail server is set."""
    if not settings.SENDS_MAIL or not data:
        return []
    rows = Letter.objects.bulk_create([Letter(kind=kind, data=dict(each), site=site) for each in data])
    transaction.on_commit(_launch)
    return rows


def post_gathered(*, kind: str, data: Mapping[str, Any], site: str, wait: timedelta) -> None:
    """Send a letter after a wait, unless the same one waits already: its writer will find what came meanwhile."""
    if not settings.SENDS_MAIL:
        return
    waiting = Letter.objects.filter(kind=kind, data=dict(data), due_at__isnull=False)
    if not waiting.select_for_update(skip_locked=True).exists():  # one that is being sent does not wait
        Letter.objects.create(kind=kind, data=dict(data), site=site, due_at=timezone.now() + wait)


def _launch() -> None:
    try:
        current_app.send_task("accounts.tasks.send_letters", retry=False)
    except BrokerError as error:
        logger.error("an e-mail has to wait, because the queue cannot be reached: %s", error)


def send_due() -> None:
    """Send each letter that is due. A letter that another worker is sending is skipped."""
    due = Letter.objects.filter(due_at__lte=timezone.now()).order_by("due_at", "pk")
    for letter_id in list(due.values_list("pk", flat=True)):
        _send(letter_id)


@transaction.atomic
def _send(letter_id: int) -> None:
    """Send a letter; after a failure it is due again later. If the process dies meanwhile, it is still due."""
    letter = (
        Letter.objects.select_for_update(skip_locked=True).filter(pk=letter_id, due_at__isnull=False).first()
    )
    if letter is None:
        return
    try:
        with transaction.atomic():
            for n, mail in enumerate(_writers[letter.kind](letter.data, letter.site)):
                with translation.override(mail.language or settings.LANGUAGE_CODE):
                    text, subject = render_to_string(mail.template, dict(mail.context)), str(mail.subject)
                domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].partition("@")[2] or "localhost"
                headers = {"Message-ID": f"<{letter.created_at:%Y%m%d%H%M%S%f}.{letter.pk}.{n}@{domain}>"}
                EmailMessage(f"Assay: {subject}", text, None, [mail.to], headers=headers).send()
    except (OSError, ObjectDoesNotExist) as error:  # of smtplib, sockets, and rows that are gone
        is_last = letter.n_tries + 1 >= MAX_TRIES
        letter.due_at = None if is_last else timezone.now() + FIRST_WAIT * 2**letter.n_tries
        letter.error = f"{type(error).__name__}: {error}"[:300]
        logger.warning("letter %s was not sent: %s", letter.pk, type(error).__name__)
    else:
        letter.sent_at, letter.due_at, letter.error = timezone.now(), None, ""
    letter.n_tries += 1
    letter.save()


def delete_old() -> None:
    """Delete letters that were sent or given up long ago."""
    Letter.objects.filter(due_at=None, created_at__lt=timezone.now() - KEPT).delete()
