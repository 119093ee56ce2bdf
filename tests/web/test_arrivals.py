"""The arrival of a request, which counts for the deadlines of runs."""

import time
from datetime import timedelta

import pytest
from django.test import RequestFactory

from web import arrivals, times

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("waited", "counted"), [(60, 60), (3600, 300)])
def test_request_arrived_when_the_server_noted_it_but_not_long_ago(waited: int, counted: int) -> None:
    request = RequestFactory().get("/", **{arrivals.ARRIVAL: time.monotonic() - waited})

    arrived_at = arrivals.arrived_at(request)

    assert abs(times.now() - arrived_at - timedelta(seconds=counted)) < timedelta(seconds=10)


def test_request_that_no_server_noted_arrives_now() -> None:
    arrived_at = arrivals.arrived_at(RequestFactory().get("/"))

    assert abs(times.now() - arrived_at) < timedelta(seconds=10)
