"""Pages and files of reports and analyses. Organizers only: they show what each team contributed."""

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from accounts.access import AuthenticatedRequest, organizer_action, organizer_page
from assay_extensions.analyses.site import report_pages, services
from scoring import stored_analyses
from scoring.models import Leaderboard
from scoring.selectors import board_or_404, leaderboards_for
from tracks.tracks.selectors import track_or_404
from web.downloads import download
from web.pages import context_of


@organizer_page
def reports(request: AuthenticatedRequest, board_id: int) -> HttpResponse:
    """The reports of a leaderboard. Organizers only."""
    board = board_or_404(request.user, board_id)
    page = report_pages.reports_page(request.user, board, request.GET.get("measure", ""))
    context = context_of(page) | {"startable": page.startable}
    return render(request, "analyses/reports.html", context)


@organizer_page
def newest(request: AuthenticatedRequest, slug: str, section: str = "") -> HttpResponse:
    """Redirect to the reports of the newest leaderboard of a track, or to one section of them. Organizers only."""
    track = track_or_404(request.user, slug)
    board = (
        leaderboards_for(request.user)
        .filter(track=track, status=Leaderboard.Status.READY)
        .order_by("-pk")
        .first()
    )
    if board is None:
        messages.info(request, "The track has no leaderboard yet. Score the runs first.")
        return redirect("scoring:qrels_list", slug)
    return redirect(reverse("analyses:reports", args=[board.pk]) + section)


@organizer_action
def analyze(request: AuthenticatedRequest, board_id: int) -> HttpResponse:
    """Start an analysis, or several that need no choice. Organizers only."""
    board = board_or_404(request.user, board_id)
    chosen = set(request.POST.getlist("versions"))
    versions = [version for version in stored_analyses.other_versions(board) if str(version.pk) in chosen]
    with transaction.atomic():
        for kind in request.POST.getlist("kind") or [""]:
            services.request(leaderboard=board, kind=kind, versions=versions, by=request.user)
    return redirect("analyses:reports", board.pk)


@organizer_page
def report_table(request: AuthenticatedRequest, board_id: int, name: str, kind: str) -> HttpResponseBase:
    """One table of stored scores as TSV or CSV. Organizers only."""
    board = board_or_404(request.user, board_id)
    content = report_pages.report_file(board, name, kind, request.GET.get("measure", ""))
    return _table(content, f"{board.file_stem}-{name}.{kind}")


@organizer_page
def analysis_table(request: AuthenticatedRequest, analysis_id: int, name: str, kind: str) -> HttpResponseBase:
    """One table of an analysis as TSV or CSV. Organizers only."""
    analysis = get_object_or_404(stored_analyses.analyses_for(request.user), pk=analysis_id)
    content = report_pages.analysis_file(analysis, name, kind)
    return _table(content, f"{analysis.leaderboard.track.slug}-analysis-{analysis.pk}-{name}.{kind}")


def _table(content: str | None, name: str) -> HttpResponseBase:
    if content is None:
        raise Http404
    return download(content, name)


@organizer_page
def analysis_json(request: AuthenticatedRequest, analysis_id: int) -> HttpResponseBase:
    """The complete result of an analysis as JSON, with its inputs. Organizers only."""
    analysis = get_object_or_404(stored_analyses.analyses_for(request.user), pk=analysis_id)
    name = f"{analysis.leaderboard.track.slug}-analysis-{analysis.pk}.json"
    return download(report_pages.analysis_json(analysis), name)
