"""Limits how often a form without a login can be sent from one address, over all web processes."""

import time
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.core.cache import cache
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from web.addresses import network_of

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]
HOUR = 3600


def limited(name: str, *, per_hour: int) -> Callable[[View[P]], View[P]]:
    """Answer POST requests beyond a number per address and hour with 429. Without the cache, nothing is limited."""

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if request.method == "POST" and _count(name, request) > per_hour:
                return render(request, "429.html", status=429)
            return view(request, *args, **kwargs)

        return guarded

    return decorate


def _count(name: str, request: HttpRequest) -> int:
    """Count one more request of this hour; how many there are."""
    key = f"limited:{name}:{int(time.time()) // HOUR}:{network_of(request)}"
    cache.add(key, 0, HOUR)
    try:
        return cache.incr(key)
    except ValueError:
        return 1
