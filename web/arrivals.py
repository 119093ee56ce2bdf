"""When a request arrived. What it sends may take long to be received and checked, which must cost nobody a deadline."""

import time
from datetime import datetime, timedelta

from django.http import HttpRequest

from web import times

LONGEST = timedelta(minutes=5)  # a request that is sent more slowly counts as if it had arrived that long ago
STAMP = "assay.arrival"  # in `request.META`: by time.monotonic()


def stamp(request: HttpRequest, moment: float) -> None:
    """Note when a request arrived, by `time.monotonic()`."""
    request.META[STAMP] = moment


def arrived_at(request: HttpRequest) -> datetime:
    """When a request arrived, by the clock of the database. One query."""
    waited = timedelta(seconds=time.monotonic() - request.META[STAMP])
    return times.now() - min(waited, LONGEST)
