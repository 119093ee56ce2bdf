"""The front page and the health check."""

from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from corpus import selectors


def home(request: HttpRequest) -> HttpResponse:
    """What there is for the person who asks. Everybody."""
    return render(request, "config/home.html", {"tracks": selectors.tracks_for(request.user)})


def health(request: HttpRequest) -> JsonResponse:
    """Says that the web process runs and reaches its database. Everybody."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"status": "ok"})
