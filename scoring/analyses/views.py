"""The pages of reports and analyses. Organizers only: they say which team brought what."""

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from accounts.access import AuthenticatedRequest, organizer_required
from scoring.analyses import report_pages, selectors, services
from scoring.leaderboards import selectors as leaderboard_selectors
from web.downloads import download


@require_GET
@never_cache
@organizer_required
def reports(request: AuthenticatedRequest, board_id: int) -> HttpResponse:
    """What the numbers of a leaderboard mean."""
    board = get_object_or_404(leaderboard_selectors.leaderboards_for(request.user), pk=board_id)
    context = report_pages.reports_page(request.user, board, request.GET.get("measure", ""))
    return render(request, "scoring/analyses/reports.html", context)


@require_POST
@organizer_required
def analyze(request: AuthenticatedRequest, board_id: int) -> HttpResponse:
    """Have something computed."""
    board = get_object_or_404(leaderboard_selectors.leaderboards_for(request.user), pk=board_id)
    wanted = set(request.POST.getlist("beside"))
    beside = [one for one in selectors.versions_beside(board) if str(one.pk) in wanted]
    kind = request.POST.get("kind", "")
    services.request(leaderboard=board, kind=kind, beside=beside, by=request.user)
    return redirect("scoring:reports", board.pk)


@require_GET
@never_cache
@organizer_required
def report_table(request: AuthenticatedRequest, board_id: int, name: str, kind: str) -> HttpResponseBase:
    """One table of what is stored already, as TSV, or as CSV for spreadsheets."""
    board = get_object_or_404(leaderboard_selectors.leaderboards_for(request.user), pk=board_id)
    written = report_pages.report_file(board, name, kind, request.GET.get("measure", ""))
    return _table(written, f"{board.track.slug}-leaderboard-{board.pk}-{name}.{kind}")


@require_GET
@never_cache
@organizer_required
def analysis_table(request: AuthenticatedRequest, analysis_id: int, name: str, kind: str) -> HttpResponseBase:
    """One table of an analysis, as TSV, or as CSV for spreadsheets."""
    found = get_object_or_404(selectors.analyses_for(request.user), pk=analysis_id)
    written = report_pages.analysis_file(found, name, kind)
    return _table(written, f"{found.leaderboard.track.slug}-analysis-{found.pk}-{name}.{kind}")


def _table(written: str | None, name: str) -> HttpResponseBase:
    if written is None:
        raise Http404
    return download(written, name)


@require_GET
@never_cache
@organizer_required
def analysis_json(request: AuthenticatedRequest, analysis_id: int) -> HttpResponseBase:
    """All that an analysis found as JSON, with what it was computed from."""
    found = get_object_or_404(selectors.analyses_for(request.user), pk=analysis_id)
    name = f"{found.leaderboard.track.slug}-analysis-{found.pk}.json"
    return download(report_pages.analysis_json(found), name)
