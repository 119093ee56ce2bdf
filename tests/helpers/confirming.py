"""Do as a person on a page that asks: read it, and press the button, which accepts the remarks that are left."""

import re
from typing import Any

from django.test import Client

REMARKS = re.compile(r'name="remarks"[^>]*\s+value="(\d+)"')


def confirm(client: Client, address: str, **fields: Any) -> Any:
    """The answer to the form of a confirmation page."""
    left = REMARKS.search(client.get(address).content.decode())
    return client.post(address, fields | ({"remarks": left[1]} if left else {}))
