"""The page of published runs, with its archive and the consents of the teams."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe
from rest_framework.request import Request

from accounts.access import AuthenticatedRequest, chairs_only_read, organizer_action, public_page
from participation.teams import selectors as team_selectors
from publishing.published_runs import selectors, services
from tracks.models import Track
from tracks.tracks.selectors import track_or_404
from web.downloads import for_visitors, stored_file
from web.pages import context_of


@public_page
def publication(request: HttpRequest, slug: str) -> HttpResponse:
    """The published runs of a track. Everyone; members also answer for their teams, organizers publish."""
    track = track_or_404(request.user, slug)
    page = selectors.publication_page(request.user, track)
    return render(request, "publishing/published_runs/publication.html", context_of(page))


@require_safe
def archive_file(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The archive of the published runs. Everyone."""
    return archive_of(request, track_or_404(request.user, slug))


def archive_of(request: HttpRequest | Request, track: Track) -> HttpResponseBase:
    """The archive of the published runs of a track, for a page or the API; else Http404."""
    current = selectors.publication_of(request.user, track)
    if current is None:
        raise Http404
    name = f"{track.slug}-runs.tar.gz"
    return for_visitors(request, stored_file(request, current.file, current.sha256, name))


@require_POST
@chairs_only_read
def consent(request: AuthenticatedRequest, slug: str, team_id: int) -> HttpResponse:
    """Record whether a team agrees to the publication of its runs. Its members, and organizers."""
    track = track_or_404(request.user, slug)
    team = get_object_or_404(team_selectors.teams_of(request.user, track), pk=team_id)
    is_given = request.POST.get("answer") == "yes"
    services.record_consent(team=team, is_given=is_given, by=request.user)
    answer = "agrees" if is_given else "does not agree"
    messages.success(request, f"Recorded: {team} {answer} to the publication of its runs.")
    return redirect("publishing:publication", slug)


@organizer_action
def publish(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Start the job that publishes the runs. Organizers only."""
    track = track_or_404(request.user, slug)
    services.request(track=track, by=request.user)
    return redirect("publishing:publication", slug)


@organizer_action
def withdraw(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Withdraw the published archive. Organizers only."""
    track = track_or_404(request.user, slug)
    services.withdraw(track=track, by=request.user)
    messages.success(request, "The published runs are withdrawn.")
    return redirect("publishing:publication", slug)
