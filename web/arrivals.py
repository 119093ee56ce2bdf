"""The arrival time of a request. Receiving and checking its body may take long, which must cost nobody a deadline."""

import time
from datetime import datetime, timedelta

from django.http import HttpRequest

from web import times

LONGEST = timedelta(minutes=5)  # a request that is sent more slowly counts as if it had arrived that long ago
ARRIVAL = "assay.arrival"  # in the WSGI environment, by time.monotonic(); `server.gunicorn` writes it


def arrived_at(request: HttpRequest) -> datetime:
    """Return when a request arrived, by the clock of the database: now, if the server noted nothing. One query."""
    now = time.monotonic()
    waited = timedelta(seconds=now - request.META.get(ARRIVAL, now))
    return times.now() - min(waited, LONGEST)
