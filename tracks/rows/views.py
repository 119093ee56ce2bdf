"""The rows of a track as assessors will see them before anything is published, and the frame of a row."""

from collections.abc import Mapping

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.templatetags.static import static
from django.utils.cache import add_never_cache_headers
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, organizer_page, organizer_required
from assay.html.frame import frame_body
from assay.protocols.schema import FormRules
from corpus.threads.selectors import safe_html
from tracks.models import Track
from tracks.rows import selectors
from tracks.tracks.selectors import track_or_404
from web.pages import context_of

SCRIPT = "tracks/frame.js"  # the only file that a frame loads
POLICY = {
    "default-src": ["'none'"],
    "style-src": ["'unsafe-inline'"],
    "img-src": ["data:"],
    "media-src": ["data:"],
    "font-src": ["data:"],
    "form-action": ["'none'"],
    "base-uri": ["'none'"],
    "frame-ancestors": ["'self'"],
    "sandbox": ["allow-scripts", "allow-forms"],
}


def framed(request: HttpRequest, form: FormRules, values: Mapping[str, str]) -> HttpResponse:
    """The document of the frame of a row: the template of a form with its own controls and scripts.

    Its scripts run without access to the site: its origin is opaque, so that no cookie and no page can be read, and its
    Content-Security-Policy allows no request to any host, this one included. Opened as a page, it would be a page of an
    organizer at the site's address: browsers that name the purpose of a request are refused, in others the page shows
    nothing. The view must be exempt from X-Frame-Options: `frame-ancestors` allows the pages of this site.
    Decision: ADR 58.
    """
    if request.headers.get("Sec-Fetch-Dest", "iframe") != "iframe":
        raise PermissionDenied
    script = request.build_absolute_uri(static(SCRIPT))
    context = {"body": safe_html(frame_body(form.html, values)), "script": script}
    response = render(request, "tracks/rows/frame.html", context)
    add_never_cache_headers(response)  # a page must not come from what a frame loaded
    response._csp_config = POLICY | {"script-src": ["'unsafe-inline'", script]}  # type: ignore[attr-defined]
    return response


def _form_of(track: Track) -> FormRules:
    form = track.protocol.parsed.judging.form
    if form is None:
        raise Http404
    return form


@organizer_page
def rows(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The rows of a track, with one of them shown. Organizers only."""
    track = track_or_404(request.user, slug)
    page = selectors.rows_page(track, _form_of(track), request.GET.get("page"), request.GET.get("row", ""))
    return render(request, "tracks/rows/rows.html", context_of(page))


@require_safe
@xframe_options_exempt
@organizer_required
def frame(request: AuthenticatedRequest, slug: str, row_id: int) -> HttpResponse:
    """The document of the frame of a row. Organizers only."""
    track = track_or_404(request.user, slug)
    row = get_object_or_404(selectors.rows_of(track), pk=row_id)
    return framed(request, _form_of(track), selectors.values(row, row.topic))
