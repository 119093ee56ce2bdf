"""Pages and files of leaderboards."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from accounts import access
from accounts.access import AuthenticatedRequest, organizer_required
from scoring.evaluations import selectors as evaluation_selectors
from scoring.leaderboards import comparison, files, releases, selectors, services, topic_pages
from scoring.leaderboards.errors import ReleaseHindered
from scoring.leaderboards.forms import ReleaseForm
from tracks.tracks.selectors import tracks_for
from web.downloads import download
from web.forms import CompareForm
from web.pages import context_of


@require_safe
@never_cache
def leaderboards(request: HttpRequest, slug: str) -> HttpResponse:
    """The leaderboards of a track. Organizers see all; teams and visitors those released to them."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    context = {
        "track": track,
        "boards": selectors.leaderboards_of(request.user, track),
        "is_organizer": access.is_organizer(request.user),
    }
    return render(request, "scoring/leaderboards/leaderboards.html", context)


@require_safe
@never_cache
def leaderboard(request: HttpRequest, board_id: int) -> HttpResponse:
    """All runs with their means. Organizers; teams and visitors after the release to them."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    sort, show = request.GET.get("sort", ""), request.GET.get("show", "")
    page = selectors.leaderboard_page(request.user, board, sort, show)
    return render(request, "scoring/leaderboards/leaderboard.html", context_of(page))


@require_safe
def leaderboard_file(request: HttpRequest, board_id: int, kind: str) -> HttpResponseBase:
    """The leaderboard as TSV, CSV, JSON or LaTeX. Everyone who may see its page."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    content = files.leaderboard_file(request.user, board, kind)
    return download(content, f"{board.track.slug}-leaderboard-{board.pk}.{kind}")


@require_safe
def choose_other(request: HttpRequest, board_id: int) -> HttpResponse:
    """Redirect from the leaderboard's form to the comparison, the older one first. Everyone who may see its page."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    form = CompareForm(request.GET)
    if not form.is_valid():
        return redirect(board)
    return redirect("scoring:compare_leaderboards", *sorted((board.pk, form.cleaned_data["other"])))


@require_safe
@never_cache
def compare(request: HttpRequest, board_id: int, other_id: int) -> HttpResponse:
    """Two leaderboards compared, and the differences of their qrels. Everyone who may see both."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    page = comparison.comparison_page(request.user, board, other_id)
    return render(request, "scoring/leaderboards/compare.html", context_of(page))


@require_safe
def topics_file(request: HttpRequest, board_id: int, kind: str) -> HttpResponseBase:
    """The values by topic of every run that the user may open. Everyone who may see the leaderboard."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    evaluations = evaluation_selectors.evaluations_for(request.user).filter(leaderboard=board)
    content = evaluation_selectors.score_file(board, evaluations, kind)
    return download(content, f"{board.track.slug}-leaderboard-{board.pk}-topics.{kind}")


@require_safe
@never_cache
def topics(request: HttpRequest, board_id: int) -> HttpResponse:
    """How hard each topic is, and how much it separates the runs. Everyone who may see the leaderboard."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    measure, sort = request.GET.get("measure", ""), request.GET.get("sort", "")
    page = topic_pages.topics_page(request.user, board, measure, sort)
    return render(request, "scoring/leaderboards/topics.html", context_of(page))


@require_safe
@never_cache
def topic(request: HttpRequest, board_id: int, code: str) -> HttpResponse:
    """A topic with the value of each run; a team sees its own runs. Everyone who may see the leaderboard."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    page = topic_pages.topic_page(request.user, board, code, request.GET.get("measure", ""))
    return render(request, "scoring/leaderboards/topic.html", context_of(page))


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@organizer_required
def release(request: AuthenticatedRequest, board_id: int) -> HttpResponse:
    """What a release would show, and to which people; then release it, or withdraw the release. Organizers only."""
    board = get_object_or_404(selectors.leaderboards_for(request.user), pk=board_id)
    form = ReleaseForm(request.POST if request.method == "POST" else request.GET)
    if not form.is_valid():
        return redirect(board)
    if request.method == "POST":
        try:
            board = services.release(leaderboard=board, by=request.user, **form.cleaned_data)
            messages.success(request, f"The leaderboard is now visible to {board.get_release_display()}.")
            return redirect(board)
        except ReleaseHindered:
            form.add_error("reason", "Give a reason, because something speaks against the release.")
    page = releases.release_page(board, form.cleaned_data["level"])
    return render(request, "scoring/leaderboards/release.html", context_of(page) | {"form": form})
