"""Pages and files of judgments."""

from django.core.paginator import Paginator
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, organizer_required, person_required
from assessment.batches import selectors as batch_selectors
from assessment.judgments import selectors
from assessment.judgments.exports import judgments_csv as csv_lines
from assessment.judgments.rules import judging_rules
from assessment.tasks import selectors as task_selectors


@require_safe
@organizer_required
def judgments_csv(request: AuthenticatedRequest, batch_id: int) -> StreamingHttpResponse:
    """All judgments of a batch as CSV, replaced ones too. Organizers."""
    found = get_object_or_404(batch_selectors.batches_for_organizer(), pk=batch_id)
    lines = csv_lines(selectors.for_export(found.judgments.all()))
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="judgments-batch-{found.pk}.csv"'
    return response


@require_safe
@never_cache
@person_required
def own_judgments(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """One's own judgments of a batch, the last first. Assessors of the batch, each their own."""
    batch = get_object_or_404(task_selectors.batches_of(request.user), pk=batch_id)
    page = Paginator(selectors.own_judgments(batch, request.user), 50).get_page(request.GET.get("page"))
    rules = judging_rules(batch.pool.protocol)
    labels = {choice.key: choice.label for choice in rules.choices}
    rows = [(judgment, labels.get(judgment.choice, judgment.choice)) for judgment in page]
    return render(
        request, "assessment/judgments/own_judgments.html", {"batch": batch, "page": page, "rows": rows}
    )
