"""The page that plans a batch: who judges which topics. Organizers only."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from accounts.access import AuthenticatedRequest, organizer_required
from assessment.batches.selectors import batches_for_organizer
from assessment.planning import services as assignment_services
from assessment.planning.forms import FORMS, ConfirmForm
from assessment.planning.grid import grid_of, packed, preview
from web.forms import refusals_in
from web.pages import counted


@require_http_methods(["GET", "HEAD", "POST"])
@organizer_required
def plan(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """The grid of a batch, and the preview of a change of it. Organizers only."""
    batch = get_object_or_404(batches_for_organizer(), pk=batch_id)
    grid = grid_of(batch)
    action = request.POST.get("action", "")
    data = {kind.action: request.POST if kind.action == action else None for kind in FORMS}
    forms = [kind(data[kind.action], grid=grid, initial=request.GET.dict()) for kind in FORMS]
    context = {"track": batch.pool.track, "batch": batch, "tab": "judging"}
    for form in forms:
        with refusals_in(form):
            if form.is_valid():
                shown = preview(batch=batch, changes=form.changes())
                context |= {"preview": shown, "changes": [packed(change) for change in shown.changes]}
                return render(request, "assessment/planning/preview.html", context)
    context |= {"grid": grid, "forms": forms}
    usual = "share" if grid.n_missing else ""  # what a new batch needs next
    context["current"] = action or request.GET.get("action", usual)
    return render(request, "assessment/planning/plan.html", context, status=422 if action else 200)


@require_POST
@organizer_required
def change(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Make the changes of a preview: all, or none. Organizers only."""
    batch = get_object_or_404(batches_for_organizer(), pk=batch_id)
    form = ConfirmForm(request.POST, grid=grid_of(batch))
    if not form.is_valid():
        messages.error(request, "Nothing was changed. Make the change again from this page.")
        return redirect("assessment:plan", batch.pk)
    changes = form.cleaned_data["change"]
    assignment_services.change(batch=batch, changes=changes, seen=form.cleaned_data["seen"])
    n = len({each.topic.pk for each in changes})
    messages.success(request, f"The assessors of {counted(n, 'topic')} are changed.")
    return redirect(reverse("assessment:plan", args=[batch.pk]))
