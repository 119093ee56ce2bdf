"""Deadlines for programs."""

import pytest

from tests.helpers.api import api, call
from tests.helpers.factories import make_organizer, make_track

pytestmark = pytest.mark.django_db


def test_organizer_sets_deadlines_in_a_zone_or_with_an_offset() -> None:
    make_track("arq")
    client = api(make_organizer())
    before = call(client, "GET", "deadlines", "arq")
    deadlines = [
        {"closes_at": "2999-05-01T23:59", "grace_minutes": 30},
        {"kind": "primary", "closes_at": "2999-05-02T10:00:00+02:00"},
    ]

    changed = call(client, "PUT", "deadlines", "arq", data={"zone": "AoE", "deadlines": deadlines})
    late = call(
        client, "PUT", "deadlines", "arq", data={"deadlines": []}, headers={"If-Match": before["ETag"]}
    )

    assert changed.json() == call(api(None), "GET", "deadlines", "arq").json()
    assert [each["closes_at"] for each in changed.json()["deadlines"]] == [
        "2999-05-02T11:59:00Z",
        "2999-05-02T08:00:00Z",
    ]
    assert late.status_code == 412


@pytest.mark.parametrize(
    ("deadlines", "status"),
    [
        ([{"closes_at": "tomorrow"}], 400),
        ([{"closes_at": "2999-05-01T12:00"}, {"closes_at": "2999-05-01T13:00"}], 400),
        ([{"closes_at": "9999-12-31T23:59:59-12:00"}], 400),
        ([{"kind": "secret", "closes_at": "2999-05-01T12:00"}], 409),
        ([{"closes_at": "2001-05-01T12:00"}], 409),
    ],
)
def test_deadlines_that_are_refused_change_nothing(deadlines: list[dict[str, str]], status: int) -> None:
    track = make_track("arq")

    response = call(api(make_organizer()), "PUT", "deadlines", "arq", data={"deadlines": deadlines})

    assert response.status_code == status
    assert not track.deadlines.exists()
