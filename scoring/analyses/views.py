"""The pages of reports and analyses. Organizers only: they say which team brought what."""

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from corpus.access import AuthenticatedRequest, organizer_required
from scoring import analysis_selectors, analysis_services, report_selectors, selectors
from scoring.downloads import download


@require_GET
@never_cache
@organizer_required
def reports(request: AuthenticatedRequest, board_id: int) -> HttpResponse:
    """What the numbers of a leaderboard mean."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    context = report_selectors.reports_page(request.user, board, request.GET.get("measure", ""))
    return render(request, "scoring/reports.html", context)


@require_POST
@organizer_required
def analyse(request: AuthenticatedRequest, board_id: int) -> HttpResponse:
    """Have something computed."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    wanted = set(request.POST.getlist("beside"))
    beside = [one for one in analysis_selectors.versions_beside(board) if str(one.pk) in wanted]
    kind = request.POST.get("kind", "")
    analysis_services.request_analysis(leaderboard=board, kind=kind, beside=beside, by=request.user)
    return redirect("scoring:reports", board.pk)


@require_GET
@never_cache
@organizer_required
def report_table(request: AuthenticatedRequest, board_id: int, name: str, kind: str) -> HttpResponse:
    """One table of what is stored already, as TSV, or as CSV for spreadsheets."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    written = report_selectors.report_file(board, name, kind, request.GET.get("measure", ""))
    return _table(written, f"{board.track.slug}-leaderboard-{board.pk}-{name}.{kind}")


@require_GET
@never_cache
@organizer_required
def analysis_table(request: AuthenticatedRequest, analysis_id: int, name: str, kind: str) -> HttpResponse:
    """One table of an analysis, as TSV, or as CSV for spreadsheets."""
    found = get_object_or_404(analysis_selectors.analyses_for(request.user), pk=analysis_id)
    written = report_selectors.analysis_file(found, name, kind)
    return _table(written, f"{found.leaderboard.track.slug}-analysis-{found.pk}-{name}.{kind}")


def _table(written: str | None, name: str) -> HttpResponse:
    if written is None:
        raise Http404
    return download(written, name)


@require_GET
@never_cache
@organizer_required
def analysis_json(request: AuthenticatedRequest, analysis_id: int) -> HttpResponse:
    """All that an analysis found as JSON, with what it was computed from."""
    found = get_object_or_404(analysis_selectors.analyses_for(request.user), pk=analysis_id)
    name = f"{found.leaderboard.track.slug}-analysis-{found.pk}.json"
    return download(report_selectors.analysis_json(found), name)
