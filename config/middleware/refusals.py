"""Turns a refusal into a response: a 409 page with the reason, or problem+json for a program."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from assay.errors import Refused
from web.api.problems import CONTENT_TYPE, of_refusal


class RefusalMiddleware:
    """Responds with 409 when a service raises `Refused`, whatever the view."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, Refused):
            return None
        if request.accepts("text/html"):
            context = {"title": exception.title, "message": exception.message}
            return render(request, "409.html", context, status=409)
        problem = of_refusal(exception)
        return JsonResponse(problem, status=problem["status"], content_type=CONTENT_TYPE)
