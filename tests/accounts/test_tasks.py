"""What beat deletes."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.utils import timezone

from config.celery import app

pytestmark = pytest.mark.django_db


def test_beat_clears_expired_sessions_only() -> None:
    for days in (-1, 1):
        session = SessionStore()
        session["since"] = days
        session.set_expiry(timezone.now() + timedelta(days=days))
        session.save()
    scheduled = settings.CELERY_BEAT_SCHEDULE["clear-expired"]["task"]

    app.loader.import_default_modules()
    app.tasks[scheduled].run()

    assert [session.get_decoded()["since"] for session in Session.objects.all()] == [1]
