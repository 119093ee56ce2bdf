"""Letters: e-mails that are sent by a worker, and sent again when the mail server or the queue fails.

`post` stores a row in the transaction that gives the reason for the e-mail. The worker writes the text with the
function that is registered for the kind of the letter, and sends it. Beat starts it every minute for what is still due.
Each e-mail fails for itself, whatever the reason: the others are sent, once. Administrators see which letter failed.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from email.utils import parseaddr
from typing import Any, NamedTuple

from celery import current_app
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Count, Q, QuerySet
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.utils.functional import Promise
from kombu.exceptions import OperationalError as BrokerError

from accounts.models import Letter
from web.names import in_one_line

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


def post(*, kind: str, data: Mapping[str, object], site: str) -> Letter | None:
    """Send a letter after the transaction; None where no mail server is set.

    Args:
        data: what its writer needs, as JSON. No secret: ids, and the writer makes the link.
        site: the origin of the site for the links in it, such as `https://assay.example.org`.
    """
    return next(iter(post_each(kind=kind, data=[data], site=site)), None)


def post_each(*, kind: str, data: Sequence[Mapping[str, object]], site: str) -> list[Letter]:
    """Send letters of a kind after the transaction, each with its own data; none where no mail server is set."""
    if not settings.SENDS_MAIL or not data:
        return []
    rows = Letter.objects.bulk_create([Letter(kind=kind, data=dict(values), site=site) for values in data])
    transaction.on_commit(_launch)
    return rows


def post_gathered(*, kind: str, data: Mapping[str, object], site: str, wait: timedelta) -> None:
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
            error = _deliver(letter)
    except (OperationalError, InterfaceError):
        raise  # the database is away: nothing can be stored about any letter
    except Exception as raised:  # noqa: BLE001 - a mail server, a row that is gone, or a fault of ours: it is logged
        error = raised
    if error is None:
        letter.sent_at, letter.due_at, letter.error = timezone.now(), None, ""
    else:
        is_last = letter.n_tries + 1 >= MAX_TRIES
        letter.due_at = None if is_last else timezone.now() + FIRST_WAIT * 2**letter.n_tries
        letter.error = f"{type(error).__name__}: {error}"[:300]
        fault = None if isinstance(error, OSError) else error  # smtplib and sockets raise it
        logger.warning("letter %s was not sent: %s", letter.pk, type(error).__name__, exc_info=fault)
    if letter.due_at is None:
        letter.delivered = []
    letter.n_tries += 1
    letter.save()


def _deliver(letter: Letter) -> Exception | None:
    """Send the e-mails of a letter to those who did not get theirs by an earlier try; the first error, if some got it.

    Raises:
        Exception: the first error, if nobody got it: what its writer stored is rolled back.
    """
    errors: list[Exception] = []
    n_before = len(letter.delivered)
    for n, mail in enumerate(_writers[letter.kind](letter.data, letter.site)):
        recipient = f"{mail.context.get('user', '')} {mail.to}"  # two accounts may have one address
        if recipient in letter.delivered:
            continue
        try:
            with transaction.atomic():
                _message(letter, n, mail).send()
        except (OperationalError, InterfaceError):
            raise
        except Exception as error:  # noqa: BLE001 - each e-mail fails for itself, and `_send` stores why
            errors.append(error)
        else:
            letter.delivered.append(recipient)
    if errors and len(letter.delivered) == n_before:
        raise errors[0]
    return next(iter(errors), None)


def _message(letter: Letter, n: int, mail: Mail) -> EmailMessage:
    with translation.override(mail.language or settings.LANGUAGE_CODE):
        text = render_to_string(mail.template, dict(mail.context))
        subject = in_one_line(f"Assay: {mail.subject}")
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].partition("@")[2] or "localhost"
    headers = {"Message-ID": f"<{letter.created_at:%Y%m%d%H%M%S%f}.{letter.pk}.{n}@{domain}>"}
    return EmailMessage(subject, text, None, [mail.to], headers=headers)


def failed_letters() -> QuerySet[Letter]:
    """The letters whose latest try failed, newest first: those that are tried again, and those that are given up."""
    return Letter.objects.filter(sent_at=None).exclude(error="").order_by("-pk")


def figures() -> dict[str, int]:
    """The number of letters by state: waiting for their first try, failing (tried again), and given up."""
    waits = Q(due_at__isnull=False)
    return Letter.objects.filter(sent_at=None).aggregate(
        waiting=Count("pk", waits & Q(error="")),
        failing=Count("pk", waits & ~Q(error="")),
        given_up=Count("pk", ~waits),
    )


def delete_old() -> None:
    """Delete letters that were sent or given up long ago."""
    Letter.objects.filter(due_at=None, created_at__lt=timezone.now() - KEPT).delete()
