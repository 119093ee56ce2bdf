"""The organizers' pages on judging."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from assessment import selectors, services
from assessment.exports import judgments_csv as csv_lines
from corpus.access import AuthenticatedRequest, organizer_required, person_required
from corpus.selectors import is_assessor, tracks_for


@require_safe
@never_cache
@person_required
def judging(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """A track's batches: all of them for organizers, an assessor's own for an assessor; nobody else."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    if request.user.is_organizer:
        context = {"track": track, "batches": selectors.track_progress(track)}
        return render(request, "assessment/judging.html", context)
    if not is_assessor(request.user, track):
        raise PermissionDenied
    context = {"track": track, "desk": selectors.desk(request.user, track=track)}
    return render(request, "assessment/track_desk.html", context)


@require_safe
@never_cache
@organizer_required
def batch(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """A batch: progress by assessor and topic, choices, remarks. Organizers."""
    found = get_object_or_404(selectors.batches_for_organizer(), pk=batch_id)
    return render(request, "assessment/batch.html", selectors.batch_page(found))


@require_POST
@organizer_required
def open_batch(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Let assessors take tasks. Organizers."""
    found = get_object_or_404(selectors.batches_for_organizer(), pk=batch_id)
    services.open_batch(batch=found)
    messages.success(request, f"The batch “{found}” is open: its assessors find it on their desk.")
    return redirect(found)


@require_POST
@organizer_required
def close_batch(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Give out no more tasks. Organizers."""
    found = get_object_or_404(selectors.batches_for_organizer(), pk=batch_id)
    services.close_batch(batch=found)
    messages.success(request, f"The batch “{found}” is closed. What was judged stays judged.")
    return redirect(found)


@require_safe
@organizer_required
def judgments_csv(request: AuthenticatedRequest, batch_id: int) -> StreamingHttpResponse:
    """All judgments of a batch as CSV, replaced ones too. Organizers."""
    found = get_object_or_404(selectors.batches_for_organizer(), pk=batch_id)
    lines = csv_lines(selectors.for_export(found.judgments.all()))
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="judgments-batch-{found.pk}.csv"'
    return response
