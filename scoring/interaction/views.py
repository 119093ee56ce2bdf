"""The page and the file of what the interaction changed."""

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from assay.protocols.schema import InteractionRules
from scoring.interaction import selectors
from scoring.leaderboards.pages import interaction_rules
from scoring.leaderboards.selectors import leaderboards_for
from scoring.models import Leaderboard
from web.downloads import download
from web.pages import context_of


def _board(request: HttpRequest, board_id: int) -> tuple[Leaderboard, InteractionRules]:
    """A leaderboard of a track with an interaction that the user may see."""
    board = get_object_or_404(leaderboards_for(request.user), pk=board_id, status=Leaderboard.Status.READY)
    rules = interaction_rules(board)
    if rules is None:
        raise Http404
    return board, rules


@require_safe
@never_cache
def interaction(request: HttpRequest, board_id: int) -> HttpResponse:
    """The change of each team. Everyone who may see the leaderboard; only the runs that they may open."""
    board, rules = _board(request, board_id)
    page = selectors.interaction_report(request.user, board, rules)
    return render(request, "scoring/interaction/interaction.html", context_of(page))


@require_safe
def interaction_tsv(request: HttpRequest, board_id: int) -> HttpResponseBase:
    """The change of each team and session as a file. As on the page."""
    board, rules = _board(request, board_id)
    lines = selectors.interaction_file(request.user, board, rules)
    return download(lines, f"{board.track.slug}-interaction.tsv")
