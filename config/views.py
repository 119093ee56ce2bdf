"""The home page, the user's account, and the health check."""

from django.contrib import messages
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render

from accounts import services as account_services
from accounts.access import AuthenticatedRequest, login_required
from pooling.teams.selectors import teams_with
from tracks.assessors.selectors import tracks_judged_by
from tracks.tracks.selectors import tracks_for


def home(request: HttpRequest) -> HttpResponse:
    """The tracks that the user may see. Everyone."""
    return render(request, "config/home.html", {"tracks": tracks_for(request.user)})


@login_required
def account(request: AuthenticatedRequest) -> HttpResponse:
    """The user's settings, teams and tracks. Everyone who has logged in."""
    if request.method == "POST":
        account_services.set_shortcuts(user=request.user, is_on="uses_shortcuts" in request.POST)
        messages.success(request, "Settings saved.")
        return redirect("account")
    parts = {"judged": tracks_judged_by(request.user), "teams": teams_with(request.user)}
    return render(request, "accounts/account.html", parts)


def health(request: HttpRequest) -> JsonResponse:
    """Respond if the web process runs and reaches its database. Everyone."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"status": "ok"})
