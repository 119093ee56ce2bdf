"""The pages and files of judgments."""

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, guests_welcome, organizer_page, user_page
from assessment.batches.selectors import batch_or_404, batches_for
from assessment.judgments import selectors, services, statistics
from assessment.judgments.exports import lines_of
from assessment.judgments.forms import ExportForm, OwnFilterForm
from tracks.tracks.selectors import track_or_404
from web.downloads import download
from web.pages import context_of
from web.translation import translated


@organizer_page
def judgments_csv(request: AuthenticatedRequest, batch_id: int) -> HttpResponseBase:
    """All judgments of a batch as CSV, with those that were replaced. Organizers only."""
    batch = batch_or_404(batch_id)
    services.note_export(track=batch.pool.track, content={"batch": batch.name, "format": "csv"})
    return download(lines_of(batch.judgments.all(), "csv"), f"judgments-batch-{batch.pk}.csv")


@organizer_page
def export(request: AuthenticatedRequest, slug: str) -> HttpResponseBase:
    """All judgments of a track as a file, or the form that chooses what it contains. Organizers only."""
    track = track_or_404(request.user, slug)
    form = ExportForm(request.GET if "to" in request.GET else None, track=track)
    if form.is_valid():
        return download(*services.export(track=track, **form.cleaned_data))
    context = {"track": track, "counts": selectors.judgment_counts(track), "form": form}
    return render(request, "assessment/judgments/export.html", context, status=400 if form.is_bound else 200)


@translated
@require_safe
@guests_welcome
def own_judgments(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """The reader's own judgments of a batch, newest first. Assessors of the batch, and who oversees it."""
    batch = get_object_or_404(batches_for(request.user), pk=batch_id)
    topics = selectors.own_topics(batch, request.user)
    form = OwnFilterForm(request.GET, topics=topics, choices=batch.pool.protocol.parsed.judging.choices)
    status = 200 if form.is_valid() else 400
    page = selectors.own_judgments_page(batch, request.user, form.wanted, request.GET.get("page"))
    context = context_of(page) | {"form": form}
    return render(request, "assessment/judgments/own_judgments.html", context, status=status)


@translated
@user_page
def own_statistics(request: AuthenticatedRequest) -> HttpResponse:
    """The user's judgments per day, their choices and their time. Every logged-in user, for themselves."""
    page = statistics.statistics_page(request.user, request.GET.get("of", ""))
    if page is None:
        raise Http404
    return render(request, "assessment/judgments/own_statistics.html", context_of(page))
