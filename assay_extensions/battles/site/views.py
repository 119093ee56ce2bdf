"""Pages and files of boards of systems."""

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, organizer_page, public_page
from accounts.visitors import same_for_visitors
from assay_extensions.battles.records import FORMS
from assay_extensions.battles.site import boards, systems
from scoring.selectors import board_or_404
from web.downloads import download, for_visitors
from web.pages import context_of
from web.tables import file_of


@same_for_visitors
@public_page
def board(request: HttpRequest, board_id: int) -> HttpResponse:
    """The systems of a leaderboard, rated by battles. Everyone who may see the leaderboard."""
    leaderboard = board_or_404(request.user, board_id)
    prior = boards.prior_named(request.GET.get("prior", ""))
    page = boards.board_page(request.user, leaderboard, prior=prior)
    return render(request, "battles/board.html", context_of(page))


@require_safe
def board_table(request: HttpRequest, board_id: int, name: str, kind: str) -> HttpResponseBase:
    """A table of the board as TSV or CSV. Everyone who may see the leaderboard."""
    leaderboard = board_or_404(request.user, board_id)
    prior = boards.prior_named(request.GET.get("prior", ""))
    content = boards.table_file(request.user, leaderboard, name, kind, prior=prior)
    file_name = f"{leaderboard.track.slug}-leaderboard-{leaderboard.pk}-battles-{name}.{kind}"
    return for_visitors(request, download(content, file_name))


@organizer_page
def battles_file(request: AuthenticatedRequest, board_id: int, form: str) -> HttpResponseBase:
    """The battles, with their assessors. Organizers only."""
    leaderboard = board_or_404(request.user, board_id)
    if form not in FORMS:
        raise Http404
    return boards.battles_download(request.user, leaderboard, form)


@same_for_visitors
@public_page
def systems_table(request: HttpRequest, board_id: int) -> HttpResponse:
    """The systems with their ratings and measures, by track and judge. Everyone who may see the leaderboard."""
    page = systems.systems_page(
        request.user, board_or_404(request.user, board_id), request.GET.getlist("measure")
    )
    return render(request, "battles/systems.html", context_of(page))


@require_safe
def systems_file(request: HttpRequest, board_id: int, name: str, kind: str) -> HttpResponseBase:
    """A table of that page as TSV or CSV. Everyone who may see the leaderboard."""
    leaderboard = board_or_404(request.user, board_id)
    content = file_of(systems.tables_of(request.user, leaderboard), name, kind)
    if content is None:
        raise Http404
    file_name = f"{leaderboard.track.slug}-leaderboard-{leaderboard.pk}-{name}.{kind}"
    return for_visitors(request, download(content, file_name))
