"""The pages and files of judgments."""

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, login_required, organizer_required
from assessment.batches import selectors as batch_selectors
from assessment.judgments import selectors
from assessment.judgments.exports import judgments_csv as csv_lines
from assessment.tasks import selectors as task_selectors
from web.downloads import download
from web.pages import context_of


@require_safe
@organizer_required
def judgments_csv(request: AuthenticatedRequest, batch_id: int) -> HttpResponseBase:
    """All judgments of a batch as CSV, with those that were replaced. Organizers only."""
    batch = get_object_or_404(batch_selectors.batches_for_organizer(), pk=batch_id)
    lines = csv_lines(selectors.for_export(batch.judgments.all()))
    return download(lines, f"judgments-batch-{batch.pk}.csv")


@require_safe
@never_cache
@login_required
def own_judgments(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """The assessor's own judgments of a batch, newest first. Assessors of the batch."""
    batch = get_object_or_404(task_selectors.batches_of(request.user), pk=batch_id)
    page = selectors.own_judgments_page(batch, request.user, request.GET.get("page"))
    return render(request, "assessment/judgments/own_judgments.html", context_of(page))
