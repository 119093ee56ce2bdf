"""The front page, a person's account, and the health check."""

from django.contrib import messages
from django.contrib.auth import views as auth_views
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.messages.views import SuccessMessageMixin
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy

from corpus import selectors, services
from corpus.access import AuthenticatedRequest, person_required
from pooling.selectors import teams_with


def home(request: HttpRequest) -> HttpResponse:
    """What there is for the person who asks. Everybody."""
    return render(request, "config/home.html", {"tracks": selectors.tracks_for(request.user)})


@person_required
def account(request: AuthenticatedRequest) -> HttpResponse:
    """A person's own settings and parts. Everybody who has logged in."""
    if request.method == "POST":
        services.set_shortcuts(user=request.user, is_on="uses_shortcuts" in request.POST)
        messages.success(request, "Your settings are saved.")
        return redirect("account")
    parts = {"judged": selectors.tracks_judged_by(request.user), "teams": teams_with(request.user)}
    return render(request, "config/account.html", parts)


class PasswordChange(SuccessMessageMixin[PasswordChangeForm], auth_views.PasswordChangeView):
    """Change one's own password. Everybody who has logged in."""

    template_name = "config/password_change.html"
    success_url = reverse_lazy("account")
    success_message = "Your password is changed."


def health(request: HttpRequest) -> JsonResponse:
    """Says that the web process runs and reaches its database. Everybody."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"status": "ok"})
