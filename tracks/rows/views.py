"""The rows of a track, each as assessors will see it, before anything is published. Organizers only."""

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, organizer_page, organizer_required
from assay.protocols.schema import FormRules
from tracks.models import Track
from tracks.rows import selectors
from tracks.rows.frames import framed
from tracks.tracks.selectors import tracks_for
from web.pages import context_of


def _form_of(track: Track) -> FormRules:
    form = track.protocol.parsed.judging.form
    if form is None:
        raise Http404
    return form


@organizer_page
def rows(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The rows of a track, with one of them shown. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    page = selectors.rows_page(track, _form_of(track), request.GET.get("page"), request.GET.get("row", ""))
    return render(request, "tracks/rows/rows.html", context_of(page))


@require_safe
@xframe_options_exempt
@organizer_required
def frame(request: AuthenticatedRequest, slug: str, row_id: int) -> HttpResponse:
    """The document of the frame of a row. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    row = get_object_or_404(selectors.rows_of(track), pk=row_id)
    return framed(request, _form_of(track), selectors.values(row, row.topic))
