"""The audit log: events are stored with what they record, and never change."""

import pytest
from django.db import IntegrityError, connection, transaction

from accounts.audit import services
from accounts.audit.services import acting
from accounts.models import Event
from tests.helpers.database import guarded
from tests.helpers.factories import make_organizer, make_track

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts_event SET subject = 'another'",
        "DELETE FROM accounts_event",
        "TRUNCATE accounts_event",
    ],
)
def test_database_refuses_to_change_the_log(statement: str) -> None:
    with transaction.atomic():
        services.record(action="track.opened", subject="Task 1")

    with pytest.raises(IntegrityError, match="audit log is kept"), transaction.atomic(), guarded() as cursor:
        cursor.execute(statement)

    assert [event.subject for event in Event.objects.all()] == ["Task 1"]


def test_event_of_work_that_fails_is_not_kept() -> None:
    with transaction.atomic():
        services.record(action="track.opened")
        transaction.set_rollback(True)

    assert not Event.objects.exists()


def test_event_names_its_subject_its_track_and_the_person_who_acts() -> None:
    track, anna, ben = make_track("task-1"), make_organizer("anna"), make_organizer("ben")

    with transaction.atomic(), acting(lambda: anna, Event.Via.API):
        first = services.record(action="track.opened", subject=track, track=track)
        second = services.record(action="track.closed", track=track, by=ben)
    with transaction.atomic():
        third = services.record(action="protocol.added", subject="own")

    assert (first.by, first.via, first.subject_url) == (anna, "api", track.get_absolute_url())
    assert (first.track_id, first.track_slug) == (track.pk, "task-1")
    assert (second.by, second.via) == (ben, "api")
    assert (third.by, third.via, third.subject_url) == (None, "command", "")


@pytest.mark.django_db(transaction=True)
def test_event_outside_the_transaction_of_the_work_is_a_fault() -> None:
    assert not connection.in_atomic_block

    with pytest.raises(RuntimeError, match="outside the transaction"):
        services.record(action="track.opened")
