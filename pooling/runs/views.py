"""The pages of runs. Thin: find through a selector, check the form, call the service, answer."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from accounts.access import AuthenticatedRequest, person_required
from assay.errors import Refused
from pooling.runs import selectors, services
from pooling.runs.errors import RunRefused
from pooling.runs.forms import RunForm, bytes_of
from pooling.teams import selectors as team_selectors
from tracks.assessors.selectors import is_assessor
from tracks.models import Track
from tracks.tracks.selectors import tracks_for
from web.downloads import download

READ_AND_POST = require_http_methods(["GET", "POST"])


def _track(request: AuthenticatedRequest, slug: str) -> Track:
    """A track whose runs this person may have a part in: assessors must not see who found what."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    if is_assessor(request.user, track) and not request.user.is_organizer:
        raise PermissionDenied
    return track


@require_GET
@never_cache
@person_required
def runs(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The runs of a track. Organizers see all teams', a team its own, assessors none."""
    track = _track(request, slug)
    context = {
        "track": track,
        "runs": selectors.runs_of(request.user, track),
        "teams": team_selectors.teams_of(request.user, track),
        "is_taking_runs": services.is_taking_runs(track),
        "why_closed": services.why_closed(track),
    }
    return render(request, "pooling/runs/runs.html", context)


@READ_AND_POST
@never_cache
@person_required
def submit(request: AuthenticatedRequest, slug: str) -> HttpResponseBase:
    """Check a run, repair it, or hand it in. Members of the track's teams, and organizers."""
    track = _track(request, slug)
    if not team_selectors.teams_of(request.user, track).exists():
        raise PermissionDenied
    form = RunForm(request.POST or None, request.FILES or None, track=track, user=request.user)
    context: dict[str, Any] = selectors.submit_page(track) | {"form": form, "tab": "runs"}
    context |= {"is_open": services.is_taking_runs(track), "why_closed": services.why_closed(track)}
    if request.method == "POST":
        if not form.is_valid():
            return _submit_page(request, context)
        action = {"check": _check, "repair": _repair}.get(request.POST.get("action", ""), _submit)
        return action(request, context, form)
    return render(request, "pooling/runs/submit.html", context)


def _submit_page(request: AuthenticatedRequest, context: dict[str, Any]) -> HttpResponse:
    """The form with its report; for htmx the report alone, so that the chosen file stays chosen."""
    template = (
        "pooling/runs/_submission.html" if request.headers.get("HX-Request") else "pooling/runs/submit.html"
    )
    return render(request, template, context)


def _submission(request: AuthenticatedRequest, context: dict[str, Any], form: RunForm) -> dict[str, Any]:
    upload = form.cleaned_data["file"]
    return {
        "track": context["track"],
        "team": form.cleaned_data["team"],
        "by": request.user,
        "file": bytes_of(upload),
        "file_name": upload.name or "run",
        "declared": form.declared,
    }


def _check(request: AuthenticatedRequest, context: dict[str, Any], form: RunForm) -> HttpResponse:
    """Say what is wrong with a run, and store nothing."""
    try:
        checked = services.check_submission(**_submission(request, context, form))
        context |= {"report": checked.report, "is_only_checked": True}
    except RunRefused as refusal:
        context["report"] = refusal.checked.report
    except Refused as refusal:
        form.add_error(None, refusal.message)
    return _submit_page(request, context)


def _repair(request: AuthenticatedRequest, context: dict[str, Any], form: RunForm) -> HttpResponseBase:
    """The repaired file as a download."""
    upload = form.cleaned_data["file"]
    name = upload.name or "run"
    checked = services.check(track=context["track"], file=bytes_of(upload), file_name=name)
    repaired = checked.repaired()
    if repaired is None:
        context["report"] = checked.report
        form.add_error("file", "There is nothing in this file that can be repaired safely.")
        return _submit_page(request, context)
    return download(repaired, "repaired-run.tsv")


def _submit(request: AuthenticatedRequest, context: dict[str, Any], form: RunForm) -> HttpResponse:
    """Hand the run in, and go to its page."""
    try:
        run = services.submit(**_submission(request, context, form))
    except RunRefused as refusal:
        context["report"] = refusal.checked.report
        return _submit_page(request, context)
    except Refused as refusal:
        form.add_error(None, refusal.message)
        return _submit_page(request, context)
    messages.success(request, f"{run.tag} is submitted for {run.team}.")
    if request.headers.get("HX-Request"):
        return HttpResponse(headers={"HX-Redirect": run.get_absolute_url()})
    return redirect(run)


@require_GET
@never_cache
@person_required
def run(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """One run with its report. Its team while it stands, and organizers."""
    found = get_object_or_404(selectors.runs_for(request.user), pk=run_id)
    context = {
        "track": found.track,
        "run": found,
        "report": selectors.report_of(found),
        "is_taking_runs": services.is_taking_runs(found.track),
        "tab": "runs",
    }
    return render(request, "pooling/runs/run.html", context)


@require_GET
@person_required
def run_file(request: AuthenticatedRequest, run_id: int) -> HttpResponseBase:
    """The bytes as they were uploaded. Its team while it stands, and organizers."""
    found = get_object_or_404(selectors.runs_for(request.user), pk=run_id)
    return download(found.original.open("rb"), found.file_name, is_checked=False)


@READ_AND_POST
@never_cache
@person_required
def withdraw(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Ask, then take the run out of the campaign. Its team, and organizers, until the track closes."""
    found = get_object_or_404(selectors.runs_for(request.user), pk=run_id)
    if request.method == "GET":
        return render(
            request, "pooling/runs/withdraw.html", {"track": found.track, "run": found, "tab": "runs"}
        )
    services.withdraw(run=found, by=request.user)
    messages.success(request, f"{found.tag} is withdrawn.")
    return redirect(reverse("pooling:runs", args=[found.track.slug]))
