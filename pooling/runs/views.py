"""The pages of runs."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts.access import AuthenticatedRequest, login_required
from assay.errors import Refused
from assay.formats.reports import Report
from pooling.models import Run
from pooling.runs import selectors, services, team_pages
from pooling.runs.errors import RunRefused
from pooling.runs.forms import RunForm, bytes_of
from pooling.teams import selectors as team_selectors
from tracks.agreements.selectors import has_accepted
from tracks.assessors.selectors import is_assessor
from tracks.models import Track
from tracks.tracks.selectors import tracks_for
from web.downloads import download
from web.pages import context_of

READ_AND_POST = require_http_methods(["GET", "HEAD", "POST"])


def _track(request: AuthenticatedRequest, slug: str) -> Track:
    """A track whose runs the user may see: assessors must not know which run retrieved a document."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    if is_assessor(request.user, track) and not request.user.is_organizer:
        raise PermissionDenied
    return track


@require_safe
@never_cache
@login_required
def runs(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The runs of all teams for organizers. Members of a team go to its runs, assessors see none."""
    track = _track(request, slug)
    team = None if request.user.is_organizer else team_pages.team_of(request.user, track)
    if team is not None:
        return redirect("pooling:team_runs", track.slug, team.pk)
    return render(request, "pooling/runs/runs.html", context_of(selectors.runs_page(request.user, track)))


@require_safe
@never_cache
@login_required
def team_runs(request: AuthenticatedRequest, slug: str, team_id: int) -> HttpResponse:
    """The runs of a team: states, quota, pools, order. Its members, and organizers."""
    track = _track(request, slug)
    team = get_object_or_404(team_selectors.teams_of(request.user, track), pk=team_id)
    page = team_pages.team_runs_page(request.user, team)
    return render(request, "pooling/runs/team_runs.html", context_of(page))


@READ_AND_POST
@never_cache
@login_required
def submit(request: AuthenticatedRequest, slug: str) -> HttpResponseBase:
    """Check, repair or submit a run. Members of the track's teams, and organizers."""
    track = _track(request, slug)
    if not team_selectors.teams_of(request.user, track).exists():
        raise PermissionDenied
    if request.method != "POST" and not has_accepted(request.user, track):
        agreement = reverse("tracks:agreement", args=[slug])
        return redirect(f"{agreement}?{urlencode({'next': request.path})}")
    form = RunForm(request.POST or None, request.FILES or None, track=track, user=request.user)
    if request.method != "POST" or not form.is_valid():
        return _submit_page(request, track, form)
    action = {"check": _check, "repair": _repair}.get(request.POST.get("action", ""), _submit)
    return action(request, track, form)


def _submit_page(
    request: AuthenticatedRequest,
    track: Track,
    form: RunForm,
    *,
    report: Report | None = None,
    is_only_checked: bool = False,
) -> HttpResponse:
    """The form with its report. For htmx only the report, so that the chosen file stays chosen."""
    is_htmx = request.headers.get("HX-Request")
    template = "pooling/runs/_submission.html" if is_htmx else "pooling/runs/submit.html"
    page = replace(selectors.submit_page(request.user, track), report=report, is_only_checked=is_only_checked)
    return render(request, template, context_of(page) | {"form": form})


def _submission(request: AuthenticatedRequest, track: Track, form: RunForm) -> dict[str, Any]:
    """The arguments of the services that check and submit."""
    upload = form.cleaned_data["file"]
    return {
        "track": track,
        "team": form.cleaned_data["team"],
        "by": request.user,
        "file": bytes_of(upload),
        "file_name": upload.name or "run",
        "declared": form.declared,
    }


def _check(request: AuthenticatedRequest, track: Track, form: RunForm) -> HttpResponse:
    """Show the report of a run, and store nothing."""
    try:
        checked = services.check_submission(**_submission(request, track, form))
    except Refused as refusal:
        return _refused(request, track, form, refusal)
    return _submit_page(request, track, form, report=checked.report, is_only_checked=True)


def _refused(request: AuthenticatedRequest, track: Track, form: RunForm, refusal: Refused) -> HttpResponse:
    if isinstance(refusal, RunRefused):
        return _submit_page(request, track, form, report=refusal.checked.report)
    form.add_error(None, refusal.message)
    return _submit_page(request, track, form)


def _repair(request: AuthenticatedRequest, track: Track, form: RunForm) -> HttpResponseBase:
    """Send the repaired file."""
    upload = form.cleaned_data["file"]
    checked = services.check(track=track, file=bytes_of(upload), file_name=upload.name or "run")
    repaired = checked.repaired()
    if repaired is None:
        form.add_error("file", "Nothing in this file can be repaired safely.")
        return _submit_page(request, track, form, report=checked.report)
    return download(repaired, "repaired-run.tsv")


def _submit(request: AuthenticatedRequest, track: Track, form: RunForm) -> HttpResponse:
    """Submit the run, and go to its page."""
    try:
        run = services.submit(**_submission(request, track, form))
    except Refused as refusal:
        return _refused(request, track, form, refusal)
    messages.success(request, f"{run.tag} is submitted for {run.team}.")
    if request.headers.get("HX-Request"):
        return HttpResponse(headers={"HX-Redirect": run.get_absolute_url()})
    return redirect(run)


@require_safe
@never_cache
@login_required
def run(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """A run with its report. Its team, and organizers."""
    page = selectors.run_page(request.user, _run(request, run_id))
    return render(request, "pooling/runs/run.html", context_of(page))


def _run(request: AuthenticatedRequest, run_id: int) -> Run:
    return get_object_or_404(selectors.runs_for(request.user), pk=run_id)


@require_safe
@login_required
def run_file(request: AuthenticatedRequest, run_id: int) -> HttpResponseBase:
    """The run file as it was uploaded. Its team, and organizers."""
    run = _run(request, run_id)
    return download(run.original.open("rb"), run.file_name, is_checked=False)


@READ_AND_POST
@never_cache
@login_required
def withdraw(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Ask for confirmation, then withdraw the run. Its team, and organizers, until the track closes."""
    run = _run(request, run_id)
    if request.method != "POST":
        context = {"track": run.track, "run": run, "tab": "runs"}
        return render(request, "pooling/runs/withdraw.html", context)
    services.withdraw(run=run, by=request.user)
    messages.success(request, f"{run.tag} is withdrawn.")
    return redirect("pooling:team_runs", run.track.slug, run.team_id)
