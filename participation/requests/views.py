"""Ask to join a track; accept or refuse a request."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from accounts.access import AuthenticatedRequest, chairs_only_read
from accounts.models import User
from participation.models import JoinRequest
from participation.requests import selectors, services
from participation.requests.forms import AcceptForm, RefusalForm, RequestForm
from participation.teams.selectors import team_named
from tracks.tracks.selectors import track_or_404
from web.pages import context_of, read_and_post, site_of
from web.throttling import limited


@read_and_post
@never_cache
@limited("ask_to_join", per_hour=100)
def ask(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask to join a track. Everyone; the page shows nothing about accounts or other requests."""
    track = track_or_404(request.user, slug)
    user = request.user if isinstance(request.user, User) else None
    form = RequestForm(request.POST if request.method == "POST" else None, user=user)
    is_sent = request.method == "POST" and form.is_valid()
    if is_sent:
        services.ask(track=track, asked=form.asked, user=user, site=site_of(request))
    page = context_of(selectors.request_page(track, request.user)) | {"form": form, "is_sent": is_sent}
    return render(request, "participation/requests/ask.html", page)


@require_POST
@chairs_only_read
def accept(request: AuthenticatedRequest, request_id: int) -> HttpResponse:
    """Put the person into a team. Organizers, and the manager of the team that the request names."""
    asked = get_object_or_404(selectors.decidable(request.user), pk=request_id)
    form = AcceptForm(request.POST)
    if form.is_valid():
        decided = services.accept(
            request=asked, team_name=form.cleaned_data["team_name"], by=request.user, site=site_of(request)
        )
        if decided.letter is not None:
            done = "is accepted and gets an e-mail."
        elif decided.invitation is not None:
            done = f"is accepted. Send the link below to {decided.email}."
        else:
            done = "is in the team now."
        messages.success(request, f"{decided.name} {done}")
    else:
        messages.error(request, "Enter the name of the team.")
    return redirect(_page_of(request.user, asked))


@require_POST
@chairs_only_read
def refuse(request: AuthenticatedRequest, request_id: int) -> HttpResponse:
    """Refuse a request, with a reason. Organizers, and the manager of the team that the request names."""
    asked = get_object_or_404(selectors.decidable(request.user), pk=request_id)
    form = RefusalForm(request.POST)
    if form.is_valid():
        services.refuse(
            request=asked, reason=form.cleaned_data["reason"], by=request.user, site=site_of(request)
        )
        messages.success(request, f"The request of {asked.name} is refused.")
    else:
        messages.error(request, "Enter the reason: the person gets it.")
    return redirect(_page_of(request.user, asked))


def _page_of(user: User, asked: JoinRequest) -> str:
    """The page on which somebody decides a request: that of the people of the track, or that of the team."""
    team = team_named(asked.track, asked.team_name)
    if team is None or user.is_administrator or user.organizes(asked.track_id):
        return reverse("participation:people", args=[asked.track.slug])
    return team.get_absolute_url()
