"""The pages that change a submitted run."""

from django.contrib import messages
from django.forms import Form
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.access import AuthenticatedRequest, login_required, organizer_required
from pooling.models import Run
from pooling.runs.changes import services
from pooling.runs.changes.forms import DescriptionForm, ReasonForm
from pooling.runs.views import visible_run

READ_AND_POST = require_http_methods(["GET", "HEAD", "POST"])


@READ_AND_POST
@never_cache
@login_required
def describe(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Change the description of a run. Its team until the deadline, and organizers."""
    run = visible_run(request, run_id)
    form = DescriptionForm(request.POST or None, initial={"description": run.description})
    if not (request.method == "POST" and form.is_valid()):
        return _ask(request, "describe", run, form)
    services.describe(run=run, by=request.user, **form.cleaned_data)
    messages.success(request, f"The description of {run.tag} is saved.")
    return redirect(run)


@require_POST
@login_required
def move(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Move a run up or down in the order of its team. Its team until the deadline, and organizers."""
    run = visible_run(request, run_id)
    services.move(run=run, is_up=request.POST.get("to") == "up", by=request.user)
    return redirect("pooling:team_runs", run.track.slug, run.team_id)


@READ_AND_POST
@never_cache
@organizer_required
def disqualify(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Ask for a reason, then disqualify the run. Organizers only, after the track closed."""
    run, form = visible_run(request, run_id), ReasonForm(request.POST or None)
    if not (request.method == "POST" and form.is_valid()):
        return _ask(request, "disqualify", run, form)
    services.disqualify(run=run, by=request.user, **form.cleaned_data)
    messages.success(request, f"{run.tag} is disqualified.")
    return redirect(run)


@READ_AND_POST
@never_cache
@organizer_required
def reinstate(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Ask for a reason, then reverse a disqualification. Organizers only."""
    run, form = visible_run(request, run_id), ReasonForm(request.POST or None)
    if not (request.method == "POST" and form.is_valid()):
        return _ask(request, "reinstate", run, form)
    services.reinstate(run=run, by=request.user, **form.cleaned_data)
    messages.success(request, f"The disqualification of {run.tag} is reversed.")
    return redirect(run)


def _ask(request: AuthenticatedRequest, page: str, run: Run, form: Form) -> HttpResponse:
    context = {"track": run.track, "run": run, "form": form, "tab": "runs"}
    return render(request, f"pooling/runs/{page}.html", context)
