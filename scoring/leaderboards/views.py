"""The pages of qrels, leaderboards and evaluations. Thin: find through a selector, check the form, call, answer."""

import re

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts import access
from accounts.access import AuthenticatedRequest, organizer_required
from assay.evaluation.scores import as_csv, as_tsv
from scoring.evaluations import selectors as evaluation_selectors
from scoring.leaderboards import comparison, files, selectors, services, topic_pages
from scoring.qrels import selectors as qrels_selectors
from tracks.tracks.selectors import tracks_for
from web.downloads import download

READ_AND_POST = require_http_methods(["GET", "POST"])


@require_GET
@never_cache
def leaderboards(request: HttpRequest, slug: str) -> HttpResponse:
    """Leaderboards of a track. Organizers all, teams and visitors those released to them."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    context = {
        "track": track,
        "boards": selectors.leaderboards_of(request.user, track),
        "is_organizer": access.is_organizer(request.user),
    }
    return render(request, "scoring/leaderboards/leaderboards.html", context)


@require_GET
@never_cache
def leaderboard(request: HttpRequest, board_id: int) -> HttpResponse:
    """All runs by their means. Organizers; teams and visitors once it is released to them."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    sort, show = request.GET.get("sort", ""), request.GET.get("show", "")
    context = selectors.leaderboard_page(request.user, board, sort, show)
    return render(request, "scoring/leaderboards/leaderboard.html", context)


@require_GET
@never_cache
def leaderboard_file(request: HttpRequest, board_id: int, kind: str) -> HttpResponseBase:
    """The leaderboard as TSV, CSV for spreadsheets, JSON, or LaTeX for a paper. Whoever sees its page."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    written = files.board_file(request.user, board, kind)
    return download(written, f"{board.track.slug}-leaderboard-{board.pk}.{kind}")


def _number(text: str) -> int | None:
    """What a form's list of rows gives."""
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None


@require_GET
def choose_other(request: HttpRequest, board_id: int) -> HttpResponse:
    """Where the leaderboard's form leads: to the page of the two, the older first. Whoever sees the leaderboard."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    other = _number(request.GET.get("other", ""))
    return (
        redirect(board)
        if other is None
        else redirect("scoring:compare_leaderboards", *sorted((board.pk, other)))
    )


@require_GET
@never_cache
def compare(request: HttpRequest, board_id: int, other_id: int) -> HttpResponse:
    """Two leaderboards side by side, and what their qrels differ in. Whoever sees both."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    return render(
        request, "scoring/leaderboards/compare.html", comparison.beside_page(request.user, board, other_id)
    )


@require_GET
@never_cache
def topics_file(request: HttpRequest, board_id: int, kind: str) -> HttpResponseBase:
    """Topic by topic, every run whose evaluation the person may open. Whoever sees the leaderboard."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    header, rows = qrels_selectors.topic_table(
        evaluation_selectors.evaluations_for(request.user).filter(leaderboard=board)
    )
    written = as_csv(header, rows) if kind == "csv" else as_tsv(header, rows)
    return download(written, f"{board.track.slug}-leaderboard-{board.pk}-topics.{kind}")


@require_GET
@never_cache
def topics(request: HttpRequest, board_id: int) -> HttpResponse:
    """How hard each topic is, and how far it parts the runs. Whoever sees the leaderboard."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    measure, sort = request.GET.get("measure", ""), request.GET.get("sort", "")
    return render(
        request,
        "scoring/leaderboards/topics.html",
        topic_pages.topics_page(request.user, board, measure, sort),
    )


@require_GET
@never_cache
def topic(request: HttpRequest, board_id: int, code: str) -> HttpResponse:
    """A topic, run by run; a team sees its own, and the median and the best of all. Whoever sees the leaderboard."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    context = topic_pages.topic_page(request.user, board, code, request.GET.get("measure", ""))
    return render(request, "scoring/leaderboards/topic.html", context)


@require_POST
@organizer_required
def release(request: AuthenticatedRequest, board_id: int) -> HttpResponse:
    """Release a leaderboard, or withdraw its release. Organizers only."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    level = request.POST.get("level", "")
    board = services.release(leaderboard=board, level=level, by=request.user)
    messages.success(request, f"The leaderboard is now seen by: {board.get_release_display()}.")
    return redirect(board)
