"""The organizers' pages on judging."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.access import AuthenticatedRequest, organizer_required, person_required
from assessment.batches import selectors, services
from assessment.tasks import selectors as task_selectors
from tracks.assessors.selectors import is_assessor
from tracks.tracks.selectors import tracks_for


@require_safe
@never_cache
@person_required
def judging(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """A track's batches: all of them for organizers, an assessor's own for an assessor; nobody else."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    if request.user.is_organizer:
        context = {"track": track, "batches": selectors.track_progress(track)}
        return render(request, "assessment/batches/judging.html", context)
    if not is_assessor(request.user, track):
        raise PermissionDenied
    context = {"track": track, "desk": task_selectors.desk(request.user, track=track)}
    return render(request, "assessment/tasks/track_desk.html", context)


@require_safe
@never_cache
@organizer_required
def batch(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """A batch: progress by assessor and topic, choices, remarks. Organizers."""
    found = get_object_or_404(selectors.batches_for_organizer(), pk=batch_id)
    return render(request, "assessment/batches/batch.html", selectors.batch_page(found))


@require_POST
@organizer_required
def open_batch(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Let assessors take tasks. Organizers."""
    found = get_object_or_404(selectors.batches_for_organizer(), pk=batch_id)
    services.open_for_judging(batch=found)
    messages.success(request, f"The batch “{found}” is open: its assessors find it on their desk.")
    return redirect(found)


@require_POST
@organizer_required
def close_batch(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Give out no more tasks. Organizers."""
    found = get_object_or_404(selectors.batches_for_organizer(), pk=batch_id)
    services.close(batch=found)
    messages.success(request, f"The batch “{found}” is closed. What was judged stays judged.")
    return redirect(found)
