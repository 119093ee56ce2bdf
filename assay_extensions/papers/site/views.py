"""Pages and files of the tables of papers. Organizers only: a paper reports all runs of all teams."""

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, organizer_page, role_required
from assay_extensions.papers.site import pages
from tracks.tracks.selectors import track_or_404
from web.downloads import download
from web.pages import context_of


@organizer_page
def tables(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The tables of an overview paper. Organizers only."""
    track = track_or_404(request.user, slug)
    page = pages.tables_page(request.user, track, request.GET)
    return render(request, "papers/tables.html", context_of(page))


@organizer_page
def table_file(request: AuthenticatedRequest, slug: str, name: str, kind: str) -> HttpResponseBase:
    """One table of an overview paper as LaTeX, CSV, TSV or JSON. Organizers only."""
    track = track_or_404(request.user, slug)
    text = pages.file_of(pages.tables_page(request.user, track, request.GET), name, kind)
    if text is None:
        raise Http404
    return download(text, f"{slug}-{name}.{kind}")


@require_safe
@role_required
def comparison(request: AuthenticatedRequest) -> HttpResponse:
    """Test collections side by side. Organizers only."""
    page = pages.comparison_page(request.user, request.GET)
    return render(request, "papers/comparison.html", context_of(page))


@require_safe
@role_required
def comparison_file(request: AuthenticatedRequest, name: str, kind: str) -> HttpResponseBase:
    """One table of the comparison as LaTeX, CSV, TSV or JSON, or its figure as LaTeX. Organizers only."""
    text = pages.file_of(pages.comparison_page(request.user, request.GET), name, kind)
    if text is None:
        raise Http404
    return download(text, f"comparison-{name}.{kind}")
