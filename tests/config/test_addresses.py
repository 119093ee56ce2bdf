"""Addresses that are rejected before any view."""

import pytest
from django.test import Client

from tests.helpers.factories import make_collection, make_organizer

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("place", ["?after=%00", "find/?docno=a%00", "threads/%00/"])
def test_nul_in_an_address_is_a_bad_request(client: Client, place: str) -> None:
    collection = make_collection()
    client.force_login(make_organizer())

    answer = client.get(f"/collections/{collection.slug}/{place}")

    assert answer.status_code == 400
    assert "default-src 'self'" in answer["Content-Security-Policy"]
