"""Freezing qrels as an organizer does: the page of the preview, then its form."""

import re

from django.test import Client
from django.urls import reverse

from pooling.models import Pool


def digest_in(preview: str) -> str:
    """The digest in the form of a preview."""
    digest = re.search(r'name="digest" value="([0-9a-f]{64})"', preview)
    assert digest is not None, preview
    return digest[1]


def freeze_on_page(client: Client, pool: Pool, **chosen: object) -> str:
    """Read the preview, then submit its form; the address of the version."""
    address = reverse("scoring:freeze", args=[pool.track.slug])
    fields = {"pool": pool.pk, **chosen}
    preview = client.get(address, fields).content.decode()
    response = client.post(address, {**fields, "digest": digest_in(preview)})
    assert response.status_code == 302, response.content.decode()
    return response["Location"]
