"""Notes when each request arrives, for the deadlines of runs."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from server.arrivals import noted
from web.arrivals import stamp


class ArrivalMiddleware:
    """The first middleware, so that nothing has been read of the body yet."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        stamp(request, noted())
        return self.get_response(request)
