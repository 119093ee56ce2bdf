"""States who acts in a request, for the audit log."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from accounts.models import User
from audit.actors import acting
from audit.models import Event


class ActorMiddleware:
    """What a service records during a request is recorded for its user, also if a token named the user."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        def user() -> User | None:
            return request.user if isinstance(request.user, User) else None

        with acting(user, _via(request.path_info)):
            return self.get_response(request)


def _via(path: str) -> str:
    if path.startswith("/admin/"):
        return Event.Via.ADMIN
    return Event.Via.API if path.startswith("/api/") else Event.Via.SITE
