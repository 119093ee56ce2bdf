"""The page that plans a batch: who judges which topics. Organizers only."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from accounts.access import AuthenticatedRequest, organizer_action, organizer_required
from assessment.batches.selectors import batch_or_404
from assessment.models import Batch
from assessment.planning import services as assignment_services
from assessment.planning.forms import FORMS, ConfirmForm
from assessment.planning.grid import grid_of, packed, preview
from assessment.planning.rules import Change
from web.forms import refusals_in
from web.pages import counted, read_and_post


@read_and_post
@organizer_required
def plan(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """The grid of a batch, and the preview of a change of it. Organizers only."""
    batch = batch_or_404(batch_id)
    grid = grid_of(batch)
    action = request.POST.get("action", "")
    data = {kind.action: request.POST if kind.action == action else None for kind in FORMS}
    forms = [kind(data[kind.action], grid=grid, initial=request.GET.dict()) for kind in FORMS]
    context = {"track": batch.pool.track, "batch": batch, "tab": "judging"}
    for form in forms:
        with refusals_in(form):
            if form.is_valid():
                shown = preview(batch=batch, changes=form.changes())
                if "open" in request.POST:
                    return _changed(request, batch, shown.changes, shown.seen, is_open=True)
                context |= {"preview": shown, "changes": [packed(change) for change in shown.changes]}
                return render(request, "assessment/planning/preview.html", context)
    context |= {"grid": grid, "forms": forms}
    usual = "share" if grid.n_missing else ""  # what a new batch needs next
    context["current"] = action or request.GET.get("action", usual)
    return render(request, "assessment/planning/plan.html", context, status=422 if action else 200)


@organizer_action
def change(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Make the changes of a preview: all, or none. Organizers only."""
    batch = batch_or_404(batch_id)
    form = ConfirmForm(request.POST, grid=grid_of(batch))
    if not form.is_valid():
        messages.error(request, "Nothing was changed. Make the change again from this page.")
        return redirect("assessment:plan", batch.pk)
    return _changed(request, batch, form.cleaned_data["change"], form.cleaned_data["seen"])


def _changed(
    request: AuthenticatedRequest, batch: Batch, changes: list[Change], seen: str, *, is_open: bool = False
) -> HttpResponse:
    """Make changes, and open the batch if `is_open`."""
    assignment_services.change(batch=batch, changes=changes, seen=seen, is_open=is_open)
    n = counted(len({each.topic.pk for each in changes}), "topic")
    opened = f" The batch “{batch}” is open: its assessors now see it under Judge." if is_open else ""
    messages.success(request, f"The assessors of {n} are changed.{opened}")
    return redirect(batch) if is_open else redirect("assessment:plan", batch.pk)
