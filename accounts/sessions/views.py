"""The page that lists the sessions of a user, and ends them."""

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext

from accounts.access import AuthenticatedRequest, user_action, user_page
from accounts.sessions import selectors, services
from web.translation import translated_for_assessors


@translated_for_assessors
@user_page
def sessions(request: AuthenticatedRequest) -> HttpResponse:
    """List where the user is logged in. Everyone who has logged in."""
    shown = selectors.sessions_of(request.user, request.session.session_key)
    return render(request, "accounts/sessions/sessions.html", {"sessions": shown})


@translated_for_assessors
@user_action
def end(request: AuthenticatedRequest, login_id: int) -> HttpResponse:
    """End a session. Its user only."""
    services.end(login=get_object_or_404(request.user.logins, pk=login_id))
    messages.success(request, gettext("You are logged out there."))
    return redirect("sessions")


@translated_for_assessors
@user_action
def end_others(request: AuthenticatedRequest) -> HttpResponse:
    """End all sessions of the user but this one. Everyone who has logged in."""
    services.end_all(user=request.user)
    update_session_auth_hash(request, request.user)
    messages.success(request, gettext("You are logged out everywhere else."))
    return redirect("sessions")
