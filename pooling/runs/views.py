"""The pages of runs."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.access import AuthenticatedRequest, login_required
from pooling.models import Run
from pooling.runs import selectors, services, team_pages
from pooling.teams import selectors as team_selectors
from tracks.models import Track
from tracks.tracks.selectors import tracks_for
from web.downloads import download
from web.pages import context_of

READ_AND_POST = require_http_methods(["GET", "HEAD", "POST"])


def track_of_runs(request: AuthenticatedRequest, slug: str) -> Track:
    """A track whose runs the user may see."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    if not selectors.may_see_runs(request.user, track):
        raise PermissionDenied
    return track


@require_safe
@never_cache
@login_required
def runs(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The runs of all teams for organizers. Members of a team go to its runs, assessors see none."""
    track = track_of_runs(request, slug)
    team = None if request.user.is_organizer else team_pages.team_of(request.user, track)
    if team is not None:
        return redirect("pooling:team_runs", track.slug, team.pk)
    return render(request, "pooling/runs/runs.html", context_of(selectors.runs_page(request.user, track)))


@require_safe
@never_cache
@login_required
def team_runs(request: AuthenticatedRequest, slug: str, team_id: int) -> HttpResponse:
    """The runs of a team: states, quota, pools, order. Its members, and organizers."""
    track = track_of_runs(request, slug)
    team = get_object_or_404(team_selectors.visible_teams(request.user, track), pk=team_id)
    page = team_pages.team_runs_page(request.user, team)
    return render(request, "pooling/runs/team_runs.html", context_of(page))


@require_safe
@never_cache
@login_required
def run(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """A run with its report. Its team, and organizers."""
    page = selectors.run_page(request.user, visible_run(request, run_id))
    return render(request, "pooling/runs/run.html", context_of(page))


def visible_run(request: AuthenticatedRequest, run_id: int) -> Run:
    """A run that the user may see, or 404."""
    return get_object_or_404(selectors.runs_for(request.user), pk=run_id)


@require_safe
@login_required
def run_file(request: AuthenticatedRequest, run_id: int) -> HttpResponseBase:
    """The run file as it was uploaded. Its team, and organizers."""
    run = visible_run(request, run_id)
    return download(run.original.open("rb"), run.file_name, is_checked=False)


@READ_AND_POST
@never_cache
@login_required
def withdraw(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Ask for confirmation, then withdraw the run. Its team, and organizers, until the track closes."""
    run = visible_run(request, run_id)
    if request.method != "POST":
        context = {"track": run.track, "run": run, "tab": "runs"}
        return render(request, "pooling/runs/withdraw.html", context)
    services.withdraw(run=run, by=request.user)
    messages.success(request, f"{run.tag} is withdrawn.")
    return redirect("pooling:team_runs", run.track.slug, run.team_id)
