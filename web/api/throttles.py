"""Limits of requests per minute for a person, an address and wrong tokens, over all web processes."""

import time
from math import ceil
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from web.throttling import count, key_of, network_of

WINDOW = 60  # seconds
WRONG_TOKENS = 20  # per minute and address


class RequestThrottle(BaseThrottle):
    """Limits the requests of a user, or of the address of a visitor, per minute, and says what is left."""

    def allow_request(self, request: Request, view: Any) -> bool:
        if request.user.is_authenticated:
            policy, limit = "user", settings.API_REQUESTS_PER_MINUTE
            n = count(f"user:{request.user.pk}", WINDOW)
        else:
            policy, limit = "address", settings.API_VISITOR_REQUESTS_PER_MINUTE
            n = count(f"address:{network_of(request._request)}", WINDOW)
        remaining = f'"{policy}";r={max(0, limit - n)};t={ceil(_until_next())}'
        view.rate_limit = {"RateLimit-Policy": f'"{policy}";q={limit};w={WINDOW}', "RateLimit": remaining}
        return n <= limit

    def wait(self) -> float:
        return _until_next()


def refuse_guesses(request: HttpRequest) -> None:
    """Refuse an address from which too many wrong tokens came in this minute.

    Raises:
        Throttled: Too many.
    """
    if cache.get(key_of(f"wrong:{network_of(request)}", WINDOW), 0) >= WRONG_TOKENS:
        raise Throttled(_until_next(), "Too many wrong tokens came from your address.")


def count_guess(request: HttpRequest) -> None:
    """Count a wrong token."""
    count(f"wrong:{network_of(request)}", WINDOW)


def _until_next() -> float:
    """Seconds until the minute is over."""
    return WINDOW - time.time() % WINDOW
