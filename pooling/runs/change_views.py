"""The pages that change a submitted run, and compare it with another."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import AuthenticatedRequest, login_required, organizer_required
from pooling.models import Run
from pooling.runs import change_services, comparison, selectors
from pooling.runs.change_forms import DescriptionForm, ReasonForm
from web.forms import CompareForm
from web.pages import context_of

READ_AND_POST = require_http_methods(["GET", "HEAD", "POST"])


def _run(request: AuthenticatedRequest, run_id: int) -> Run:
    return get_object_or_404(selectors.runs_for(request.user), pk=run_id)


@READ_AND_POST
@never_cache
@login_required
def describe(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Change the description of a run. Its team until the deadline, and organizers."""
    run = _run(request, run_id)
    form = DescriptionForm(request.POST or None, initial={"description": run.description})
    if request.method == "POST" and form.is_valid():
        change_services.describe(run=run, description=form.cleaned_data["description"], by=request.user)
        messages.success(request, f"The description of {run.tag} is saved.")
        return redirect(run)
    context = {"track": run.track, "run": run, "form": form, "tab": "runs"}
    return render(request, "pooling/runs/describe.html", context)


@require_POST
@login_required
def move(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Move a run up or down in the order of its team. Its team until the deadline, and organizers."""
    run = _run(request, run_id)
    change_services.move(run=run, is_up=request.POST.get("to") == "up", by=request.user)
    return redirect("pooling:team_runs", run.track.slug, run.team_id)


@READ_AND_POST
@never_cache
@organizer_required
def disqualify(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Ask for a reason, then disqualify the run. Organizers only, after the track closed."""
    run, form = _run(request, run_id), ReasonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        change_services.disqualify(run=run, by=request.user, **form.cleaned_data)
        messages.success(request, f"{run.tag} is disqualified.")
        return redirect(run)
    context = {"track": run.track, "run": run, "form": form, "tab": "runs"}
    return render(request, "pooling/runs/disqualify.html", context)


@READ_AND_POST
@never_cache
@organizer_required
def reinstate(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Ask for a reason, then reverse a disqualification. Organizers only."""
    run, form = _run(request, run_id), ReasonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        change_services.reinstate(run=run, by=request.user, **form.cleaned_data)
        messages.success(request, f"The disqualification of {run.tag} is reversed.")
        return redirect(run)
    context = {"track": run.track, "run": run, "form": form, "tab": "runs"}
    return render(request, "pooling/runs/reinstate.html", context)


@require_safe
@login_required
def choose_other(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Redirect from the form of a run's page to the comparison. The run's team, and organizers."""
    run, form = _run(request, run_id), CompareForm(request.GET)
    if not form.is_valid():
        return redirect(run)
    return redirect("pooling:compare_runs", run.pk, form.cleaned_data["other"])


@require_safe
@never_cache
@login_required
def compare(request: AuthenticatedRequest, run_id: int, other_id: int) -> HttpResponse:
    """The documents of two runs compared. The team of both, and organizers."""
    page = comparison.difference_page(
        request.user, _run(request, run_id), other_id, request.GET.get("topic", "")
    )
    return render(request, "pooling/runs/compare.html", context_of(page))
