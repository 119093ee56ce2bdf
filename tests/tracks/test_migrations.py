"""Migrations of tracks keep every value, in both directions."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection

from tests.helpers.factories import make_track
from tracks.models import Deadline
from web.times import now


def migrate(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SET CONSTRAINTS ALL IMMEDIATE"
        )  # deferred checks would keep tables from being altered
    call_command("migrate", "tracks", name, verbosity=0)


@pytest.mark.django_db
def test_closing_time_of_a_track_becomes_its_deadline() -> None:
    track, closes_at = make_track(), now() + timedelta(days=3)
    Deadline.objects.create(track=track, closes_at=closes_at, zone="AoE")
    make_track()

    migrate("0006")
    with connection.cursor() as cursor:
        cursor.execute("SELECT closes_at FROM tracks_track WHERE id = %s", [track.pk])
        before = cursor.fetchone()[0]
    migrate("0007")

    assert before == closes_at
    assert list(Deadline.objects.values_list("track", "kind", "closes_at", "zone")) == [
        (track.pk, "", closes_at, "UTC")
    ]
