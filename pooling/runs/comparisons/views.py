"""The pages that compare two runs by their documents."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, login_required
from pooling.runs.comparisons import selectors
from pooling.runs.views import visible_run
from web.forms import CompareForm
from web.pages import context_of


@require_safe
@login_required
def choose_other(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Redirect from the form of a run's page to the comparison. The run's team, and organizers."""
    run, form = visible_run(request, run_id), CompareForm(request.GET)
    if not form.is_valid():
        return redirect(run)
    return redirect("pooling:compare_runs", run.pk, form.cleaned_data["other"])


@require_safe
@never_cache
@login_required
def compare(request: AuthenticatedRequest, run_id: int, other_id: int) -> HttpResponse:
    """The documents of two runs compared. The team of both, and organizers."""
    page = selectors.difference_page(
        request.user, visible_run(request, run_id), other_id, request.GET.get("topic", "")
    )
    return render(request, "pooling/runs/compare.html", context_of(page))
