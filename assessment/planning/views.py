"""The pages that create and plan a batch: who judges which topics. Organizers only."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from accounts.access import AuthenticatedRequest, organizer_action, organizer_form, organizer_required
from assessment.batches import services as batch_services
from assessment.batches.selectors import batch_or_404, pools_to_plan
from assessment.models import Batch
from assessment.planning import services as assignment_services
from assessment.planning.forms import FORMS, ConfirmForm, NewBatchForm
from assessment.planning.grid import grid_of, packed, preview
from assessment.planning.rules import Change
from tracks.tracks.selectors import track_or_404
from web.forms import refusals_in
from web.pages import counted, read_and_post


@organizer_form
def new(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Create a batch of a pool, as a draft or shared and opened at once. Organizers only."""
    track = track_or_404(request.user, slug)
    pools = list(pools_to_plan().filter(track=track))
    form = NewBatchForm(request.POST or None, track=track, pools=pools, initial=request.GET.dict())
    with refusals_in(form):
        if form.is_valid() and "open" in request.POST:
            assessors = form.cleaned_data["assessors"]
            batch = assignment_services.create_and_open(
                by=request.user, assessors=assessors, **form.batch_fields
            )
            messages.success(request, f"The batch “{batch}” is open. Its assessors now see it under Judge.")
            return redirect(batch)
        if form.is_valid():
            batch = batch_services.create(by=request.user, **form.batch_fields)
            then = "Look at its preview" if batch.is_shared else "Assign its topics"
            messages.success(request, f"The batch “{batch}” is a draft. {then}, then open it.")
            return redirect(batch) if batch.is_shared else redirect("assessment:plan", batch.pk)
    context = {"track": track, "form": form, "pools": pools}
    return render(request, "assessment/planning/new.html", context, status=422 if form.errors else 200)


@read_and_post
@organizer_required
def plan(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """The grid of a batch, and the preview of a change of it. Organizers only."""
    batch = batch_or_404(batch_id)
    grid = grid_of(batch)
    action = request.POST.get("action", "")
    data = {kind.action: request.POST if kind.action == action else None for kind in FORMS}
    forms = [kind(data[kind.action], grid=grid, initial=request.GET.dict()) for kind in FORMS]
    context: dict[str, Any] = {"track": batch.pool.track, "batch": batch}
    for form in forms:
        with refusals_in(form):
            if form.is_valid():
                shown = preview(batch=batch, changes=form.changes())
                if {"open", "now"} & set(request.POST):
                    return _changed(request, batch, shown.changes, shown.seen, is_open="open" in request.POST)
                context |= {"preview": shown, "changes": list(map(packed, shown.changes))}
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
    n = counted(len({planned_change.topic.pk for planned_change in changes}), "topic")
    opened = f" The batch “{batch}” is open: its assessors now see it under Judge." if is_open else ""
    messages.success(request, f"The assessors of {n} are changed.{opened}")
    return redirect(batch) if is_open else redirect("assessment:plan", batch.pk)
