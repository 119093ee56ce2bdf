"""The pages of qrels, leaderboards and evaluations. Thin: find through a selector, check the form, call, answer."""

import re

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from corpus.access import AuthenticatedRequest, organizer_required
from corpus.errors import Refused
from corpus.selectors import tracks_for
from scoring import (
    beside_selectors,
    board_files,
    board_selectors,
    leaderboard_services,
    qrels_services,
    run_selectors,
    selectors,
    topic_selectors,
)
from scoring.downloads import download
from scoring.forms import FreezeForm, ImportForm
from scoring.models import Qrels
from scoring.tables import as_csv, as_tsv

READ_AND_POST = require_http_methods(["GET", "POST"])


@require_GET
@never_cache
def qrels_list(request: HttpRequest, slug: str) -> HttpResponse:
    """Versions of a track's qrels. Organizers all; others those under a leaderboard that they may see."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    context = {
        "track": track,
        "versions": selectors.qrels_of(request.user, track),
        "is_organizer": selectors.is_organizer(request.user),
    }
    return render(request, "scoring/qrels_list.html", context)


@READ_AND_POST
@never_cache
@organizer_required
def freeze(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Make a version from a pool's judgments. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    form = FreezeForm(request.POST or None, track=track)
    if form.is_valid():
        pool, name = form.cleaned_data["pool"], form.cleaned_data["name"]
        try:
            made = qrels_services.freeze_qrels(pool=pool, by=request.user, name=name, also=form.also)
            return _to_qrels(request, made)
        except Refused as refusal:
            form.add_error(None, refusal.message)
    context = {"track": track, "form": form, "rules": track.protocol.parsed.qrels, "tab": "qrels_list"}
    return render(request, "scoring/freeze.html", context | {"pools": form.pools})


@READ_AND_POST
@never_cache
@organizer_required
def import_qrels(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Take over an official file as a version of its own. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    form = ImportForm(request.POST or None, request.FILES or None)
    if form.is_valid():
        name, file_name = form.cleaned_data["name"], form.cleaned_data["file"].name or ""
        try:
            made = qrels_services.import_qrels(
                track=track, columns=form.columns, file_name=file_name, by=request.user, name=name
            )
            return _to_qrels(request, made)
        except Refused as refusal:
            form.add_error(None, refusal.message)
    return render(request, "scoring/import_qrels.html", {"track": track, "form": form, "tab": "qrels_list"})


def _to_qrels(request: AuthenticatedRequest, made: Qrels) -> HttpResponse:
    """The page of a new version, whose scoring begins by itself where runs were scored before."""
    if leaderboard_services.rescore(qrels=made, by=request.user):
        messages.info(
            request,
            "The runs are being scored against this version. The leaderboards there are stay as they are.",
        )
    return redirect(made)


@require_GET
@never_cache
def qrels(request: HttpRequest, qrels_id: int) -> HttpResponse:
    """One version: its grades by topic, and how it was made. Organizers; others under a leaderboard they may see."""
    found = get_object_or_404(selectors.qrels_for(request.user), pk=qrels_id)
    return render(request, "scoring/qrels.html", selectors.qrels_page(request.user, found))


@require_GET
@never_cache
def qrels_file(request: HttpRequest, qrels_id: int) -> HttpResponse:
    """A version as a TSV, always the same bytes. Whoever sees its page."""
    found = get_object_or_404(selectors.qrels_for(request.user), pk=qrels_id)
    return download(selectors.qrels_tsv(found), f"qrels.{found.track.slug}.v{found.version}.tsv")


@require_POST
@organizer_required
def score(request: AuthenticatedRequest, qrels_id: int) -> HttpResponse:
    """Ask for a leaderboard on a version. Organizers only."""
    found = get_object_or_404(selectors.qrels_for(request.user), pk=qrels_id)
    return redirect(leaderboard_services.request_leaderboard(qrels=found, by=request.user))


@require_GET
@never_cache
def leaderboards(request: HttpRequest, slug: str) -> HttpResponse:
    """Leaderboards of a track. Organizers all, teams and visitors those released to them."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    context = {
        "track": track,
        "boards": selectors.leaderboards_of(request.user, track),
        "is_organizer": selectors.is_organizer(request.user),
    }
    return render(request, "scoring/leaderboards.html", context)


@require_GET
@never_cache
def leaderboard(request: HttpRequest, board_id: int) -> HttpResponse:
    """All runs by their means. Organizers; teams and visitors once it is released to them."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    sort, show = request.GET.get("sort", ""), request.GET.get("show", "")
    context = board_selectors.leaderboard_page(request.user, board, sort, show)
    return render(request, "scoring/leaderboard.html", context)


@require_GET
@never_cache
def leaderboard_file(request: HttpRequest, board_id: int, kind: str) -> HttpResponse:
    """The leaderboard as TSV, CSV for spreadsheets, JSON, or LaTeX for a paper. Whoever sees its page."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    written = board_files.board_file(request.user, board, kind)
    return download(written, f"{board.track.slug}-leaderboard-{board.pk}.{kind}")


def _number(text: str) -> int | None:
    """What a form's list of rows gives."""
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None


@require_GET
def choose_beside(request: HttpRequest, board_id: int) -> HttpResponse:
    """Where the leaderboard's form leads: to the page of the two, the older first. Whoever sees the leaderboard."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    other = _number(request.GET.get("other", ""))
    return redirect(board) if other is None else redirect("scoring:beside", *sorted((board.pk, other)))


@require_GET
@never_cache
def beside(request: HttpRequest, board_id: int, other_id: int) -> HttpResponse:
    """Two leaderboards side by side, and what their qrels differ in. Whoever sees both."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    return render(request, "scoring/beside.html", beside_selectors.beside_page(request.user, board, other_id))


@require_GET
@never_cache
def topics_file(request: HttpRequest, board_id: int, kind: str) -> HttpResponse:
    """Topic by topic, every run whose evaluation the person may open. Whoever sees the leaderboard."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    header, rows = selectors.topic_table(selectors.evaluations_for(request.user).filter(leaderboard=board))
    written = as_csv(header, rows) if kind == "csv" else as_tsv(header, rows)
    return download(written, f"{board.track.slug}-leaderboard-{board.pk}-topics.{kind}")


@require_GET
@never_cache
def topics(request: HttpRequest, board_id: int) -> HttpResponse:
    """How hard each topic is, and how far it parts the runs. Whoever sees the leaderboard."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    measure, sort = request.GET.get("measure", ""), request.GET.get("sort", "")
    return render(
        request, "scoring/topics.html", topic_selectors.topics_page(request.user, board, measure, sort)
    )


@require_GET
@never_cache
def topic(request: HttpRequest, board_id: int, code: str) -> HttpResponse:
    """A topic, run by run; a team sees its own, and the median and the best of all. Whoever sees the leaderboard."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    context = topic_selectors.topic_page(request.user, board, code, request.GET.get("measure", ""))
    return render(request, "scoring/topic.html", context)


@require_POST
@organizer_required
def release(request: AuthenticatedRequest, board_id: int) -> HttpResponse:
    """Release a leaderboard, or withdraw its release. Organizers only."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    level = request.POST.get("level", "")
    board = leaderboard_services.release_leaderboard(leaderboard=board, level=level, by=request.user)
    messages.success(request, f"The leaderboard is now seen by: {board.get_release_display()}.")
    return redirect(board)


@require_GET
@never_cache
def evaluation(request: HttpRequest, evaluation_id: int) -> HttpResponse:
    """One run, topic by topic. Organizers; its team once released to participants; everybody once public."""
    found = get_object_or_404(selectors.evaluations_for(request.user), pk=evaluation_id)
    context = run_selectors.evaluation_page(request.user, found, request.GET.get("measure", ""))
    return render(request, "scoring/evaluation.html", context)


@require_GET
@never_cache
def evaluation_file(request: HttpRequest, evaluation_id: int, kind: str) -> HttpResponse:
    """The values of a run as TSV, or as CSV for spreadsheets. Whoever sees its page."""
    found = get_object_or_404(selectors.evaluations_for(request.user), pk=evaluation_id)
    header, rows = selectors.topic_table(selectors.evaluations_for(request.user).filter(pk=found.pk))
    written = as_csv(header, rows) if kind == "csv" else as_tsv(header, rows)
    return download(written, f"{found.leaderboard.track.slug}-evaluation-{found.pk}.{kind}")


@require_GET
def choose_rival(request: HttpRequest, evaluation_id: int) -> HttpResponse:
    """Where the form of a run's page leads: to the page of the two. Whoever may open the run's page."""
    found = get_object_or_404(selectors.evaluations_for(request.user), pk=evaluation_id)
    other = _number(request.GET.get("other", ""))
    return redirect(found) if other is None else redirect("scoring:compare", found.pk, other)


@require_GET
@never_cache
def compare(request: HttpRequest, evaluation_id: int, other_id: int) -> HttpResponse:
    """Two runs of a leaderboard against each other. Whoever may open both."""
    found = get_object_or_404(selectors.evaluations_for(request.user), pk=evaluation_id)
    context = run_selectors.compare_page(request.user, found, other_id, request.GET.get("measure", ""))
    return render(request, "scoring/compare.html", context)
