"""The pages of the phases of a track, with their boards."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, organizer_action, public_page
from assay.protocols.schema import Phase
from assay.tables.paper import as_file
from scoring.models import Qrels
from scoring.phases import selectors, services
from tracks.models import Track
from tracks.tracks.selectors import track_or_404
from web.downloads import download
from web.pages import context_of


def _phase(request: HttpRequest, slug: str, key: str) -> tuple[Track, Phase]:
    track = track_or_404(request.user, slug)
    phase = selectors.phases_of(track).get(key)
    if phase is None:
        raise Http404
    return track, phase


@public_page
def show_phase(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """The rules of a phase: everyone who sees the track. Its scores: the people that the protocol names."""
    page = selectors.phase_page(request.user, *_phase(request, slug, key))
    return render(request, "scoring/phases/phase.html", context_of(page))


@require_safe
def phase_file(request: HttpRequest, slug: str, key: str, kind: str) -> HttpResponseBase:
    """The board of a phase as TSV, CSV, JSON or LaTeX: the runs that the page shows."""
    track, _ = _phase(request, slug, key)
    board = selectors.boards_of(track).get(key)
    if board is None:
        raise Http404
    return download(as_file(selectors.board_table(request.user, board), kind), f"{slug}-{key}.{kind}")


@organizer_action
def score_phase(request: AuthenticatedRequest, slug: str, key: str) -> HttpResponse:
    """Choose the qrels that score the runs of a phase. Organizers only."""
    track, _ = _phase(request, slug, key)
    version = request.POST.get("version", "")
    qrels = get_object_or_404(Qrels, track=track, version=int(version) if version.isdecimal() else 0)
    board = services.set_qrels(track=track, phase=key, qrels=qrels, by=request.user)
    messages.success(request, f"The runs of {board.rules.name} are scored against qrels {qrels}.")
    return redirect(board)
