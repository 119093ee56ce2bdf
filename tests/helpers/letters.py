"""A site with a mail server, whose worker is the process of the test."""

import re
from typing import Any

import pytest
from django.core import mail
from django.db import transaction

from accounts.mail import letters
from config.celery import app


def deliver_at_once(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send each letter when it is posted."""
    settings.SENDS_MAIL = True
    app.loader.import_default_modules()
    monkeypatch.setattr(letters, "_launch", letters.send_due)
    monkeypatch.setattr(transaction, "on_commit", lambda launch, **_: launch())


def links_in(text: str) -> list[str]:
    """The paths of the links to this site in a text."""
    return re.findall(r"http://testserver(/[^\s<\"]+)", text)


def latest_link() -> str:
    """The link in the e-mail that was sent last."""
    return links_in(mail.outbox[-1].body)[0]
