"""The live board of a track and its files. Organizers only."""

import json

from django.contrib import messages
from django.core.cache import cache
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.utils.timezone import get_current_timezone_name
from django.utils.translation import get_language

from accounts.access import AuthenticatedRequest, organizer_form, organizer_page
from assay.digests import sha256_of
from assessment.board import differences as same
from assessment.board import exports, selectors
from assessment.judging import services as task_services
from assessment.judging.forms import ReturnForm
from pooling.pools.entries import shown_documents
from tracks.tracks.selectors import track_or_404
from web.downloads import download
from web.pages import context_of

SHARED_SECONDS = 10  # a window refreshes itself every thirty


@organizer_page
def board(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Show the progress of a track or of one batch; htmx gets the changing part only. Organizers only.

    The windows that refresh themselves share what is some seconds old, however many there are.
    """
    track = track_or_404(request.user, slug)
    batch, by = request.GET.get("batch"), request.GET.get("by", "")
    is_paused = request.GET.get("refresh") == "off"

    def rendered(name: str) -> str:
        page = selectors.board_page(track, batch, by=by, is_paused=is_paused)
        return render_to_string(name, context_of(page) | {"is_paused": is_paused}, request)

    if not request.headers.get("HX-Request"):
        return HttpResponse(rendered("assessment/board/board.html"))
    view = [track.pk, batch, by, is_paused, get_language(), get_current_timezone_name()]
    key = f"board:{sha256_of(json.dumps(view).encode())}"
    return HttpResponse(
        cache.get_or_set(key, lambda: rendered("assessment/board/_board.html"), SHARED_SECONDS)
    )


@organizer_page
def board_file(request: AuthenticatedRequest, slug: str, table: str) -> HttpResponseBase:
    """A table of the board as TSV. Organizers only."""
    track = track_or_404(request.user, slug)
    return download(*exports.table_file(track, table, request.GET.get("batch", "")))


@organizer_form
def return_non_answer(request: AuthenticatedRequest, judgment_id: int) -> HttpResponse:
    """Return the unit of a non-answer to its queue, with a reason. Organizers only."""
    judgment = get_object_or_404(selectors.non_answers_to_return(), pk=judgment_id)
    form = ReturnForm(request.POST or None)
    if form.is_valid():
        task_services.return_non_answer(judgment=judgment, reason=form.cleaned_data["reason"])
        messages.success(request, f"{judgment.topic.code}, {judgment.docno} is back in the queue.")
        return redirect("assessment:board", judgment.track.slug)
    track = judgment.track
    label = track.protocol.parsed.judging.label_of(judgment.choice, judgment.docno)
    context = {"track": track, "judgment": judgment, "label": label, "form": form}
    context["documents"] = shown_documents(track.collection, [judgment.docno])
    return render(request, "assessment/board/return.html", context, status=422 if form.errors else 200)


@organizer_page
def differences(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Documents that are the same, or nearly, and were judged differently. Organizers only."""
    track = track_or_404(request.user, slug)
    page = same.differences_page(
        track,
        is_near=request.GET.get("show") == "near",
        code=request.GET.get("topic", ""),
        number=request.GET.get("page", ""),
    )
    return render(request, "assessment/board/differences.html", context_of(page))


@organizer_page
def differences_file(request: AuthenticatedRequest, slug: str) -> HttpResponseBase:
    """The differences of the page as CSV, with the near-duplicates of all topics. Organizers only."""
    return download(*exports.differences_file(track_or_404(request.user, slug)))
