"""Notes when each user was last there."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from accounts import services
from accounts.models import User


class VisitMiddleware:
    """Updates `User.last_seen_at`, at most once an hour. A response that did not look at the session counts as none."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.session.accessed and isinstance(request.user, User) and request.user.is_authenticated:
            services.note_visit(user=request.user)
        return response
