"""Pages and files of leaderboards."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts import access
from accounts.access import AuthenticatedRequest, organizer_action, organizer_form, public_page
from accounts.visitors import same_for_visitors
from pooling.runs.answers import chosen_answers
from scoring.errors import ReleaseHindered
from scoring.evaluations import selectors as evaluation_selectors
from scoring.leaderboards import classes as class_pages
from scoring.leaderboards import comparison, files, releases, schedules, selectors, services, topic_pages
from scoring.leaderboards import groups as group_pages
from scoring.leaderboards import interaction as interaction_pages
from scoring.models import Leaderboard
from scoring.qrels.selectors import newest_of_people, qrels_for
from scoring.selectors import board_or_404, listed_boards
from tracks.deadlines.forms import LocalTimeField, ZoneField
from tracks.deadlines.timeline import timeline
from tracks.tracks.selectors import track_or_404
from web import times
from web.confirmation import confirmation_page
from web.downloads import download, for_visitors, spooled
from web.forms import CompareForm, StyledForm
from web.pages import context_of, site_of
from web.translation import translated_for_assessors


class ReleaseForm(StyledForm):
    """The people who may see a leaderboard, and the reason to release it although checks fail."""

    level = forms.ChoiceField(choices=Leaderboard.Release, widget=forms.HiddenInput)
    reason = forms.CharField(
        required=False,
        max_length=500,
        label="Reason to release it anyway",
        help_text="Without a reason, you can only set a time. The audit log keeps the reason.",
    )
    reason.is_one_of_several = True  # type: ignore[attr-defined]  # not marked as optional

    release_at = LocalTimeField(
        label="Release it at a set time instead of now", help_text="The checks run at that time."
    )
    zone = ZoneField(label="Time zone of this time", required=False, initial=times.AOE)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        data["moment"] = None
        if text := data.get("release_at"):
            try:
                data["moment"] = times.instant_of(text, data.get("zone") or times.AOE)
            except times.NoSuchTime as error:
                self.add_error("release_at", str(error))
        return data


@translated_for_assessors
@same_for_visitors
@public_page
def leaderboards(request: HttpRequest, slug: str) -> HttpResponse:
    """The leaderboards of a track. Organizers see all; teams and visitors those released to them, or the only one."""
    track = track_or_404(request.user, slug)
    boards, is_organizer = listed_boards(request.user, track), access.oversees(request.user, track.pk)
    if len(boards) == 1 and not is_organizer and not track.protocol.parsed.runs.phases:
        return redirect(boards[0])
    context = {
        "track": track,
        "boards": boards,
        "qrels": newest_of_people(request.user, track),
        "is_organizer": is_organizer,
        "dates": [] if boards or is_organizer else timeline(track, timezone.now()),
    }
    return render(request, "scoring/leaderboards/leaderboards.html", context)


@same_for_visitors
@public_page
def leaderboard(request: HttpRequest, board_id: int) -> HttpResponse:
    """All runs with their means. Organizers; teams and visitors after the release to them."""
    board = board_or_404(request.user, board_id)
    sort, show = request.GET.get("sort", ""), request.GET.get("show", "")
    chosen = chosen_answers(selectors.public_of(board), request.GET)
    baselines = request.GET.get("baselines", "")
    page = selectors.leaderboard_page(
        request.user, board, sort, show, chosen, baselines,
        has_all_columns=request.GET.get("columns") == "all",
        search=request.GET.get("q", "")[:100],
        number=request.GET.get("page"),
    )  # fmt: skip
    context = context_of(page) | {
        "kept": page.kept,
        "has_search": page.listed.paginator.num_pages > 1 or page.is_whole or page.search,
        "openable": page.openable,
        "run_fields": (("first", "First run"), ("other", "Second run")),
        "citation": files.citation(board, site_of(request) + board.get_absolute_url()),
    }
    return render(request, "scoring/leaderboards/leaderboard.html", context)


@require_safe
def leaderboard_file(request: HttpRequest, board_id: int, kind: str) -> HttpResponseBase:
    """The leaderboard as TSV, CSV, JSON or LaTeX. Everyone who may see its page."""
    board = board_or_404(request.user, board_id)
    content = files.kept_file(request.user, board, kind)
    return for_visitors(request, download(content, f"{board.file_stem}.{kind}"))


@require_safe
def choose_other(request: HttpRequest, board_id: int) -> HttpResponse:
    """Redirect from the leaderboard's form to the comparison, the older one first. Everyone who may see its page."""
    board = board_or_404(request.user, board_id)
    form = CompareForm(request.GET)
    if not form.is_valid():
        return redirect(board)
    return redirect("scoring:compare_leaderboards", *sorted((board.pk, form.cleaned_data["other"])))


@same_for_visitors
@public_page
def compare(request: HttpRequest, board_id: int, other_id: int) -> HttpResponse:
    """Two leaderboards compared, and the differences of their qrels. Everyone who may see both."""
    board = board_or_404(request.user, board_id)
    page = comparison.comparison_page(request.user, board, other_id)
    return render(request, "scoring/leaderboards/compare.html", context_of(page))


@require_safe
def topics_file(request: HttpRequest, board_id: int, kind: str) -> HttpResponseBase:
    """The values by topic of every run that the user may open. Everyone who may see the leaderboard."""
    board = board_or_404(request.user, board_id)
    evaluations = evaluation_selectors.evaluations_for(request.user).filter(leaderboard=board)
    content = evaluation_selectors.score_file(request.user, board, evaluations, kind)
    name = f"{board.file_stem}-topics.{kind}"
    return for_visitors(request, spooled(request, content, name))


@same_for_visitors
@public_page
def topics(request: HttpRequest, board_id: int) -> HttpResponse:
    """Show how hard each topic is, and how much it separates the runs. Everyone who may see the leaderboard."""
    board = board_or_404(request.user, board_id)
    measure, sort = request.GET.get("measure", ""), request.GET.get("sort", "")
    page = topic_pages.topics_page(request.user, board, measure, sort)
    return render(request, "scoring/leaderboards/topics.html", context_of(page))


@public_page
def groups(request: HttpRequest, board_id: int) -> HttpResponse:
    """The runs by group of assessors. Everyone who may see the leaderboard, with the groups that they may see."""
    board = board_or_404(request.user, board_id)
    page = group_pages.groups_page(request.user, board, request.GET.get("measure", ""))
    return render(request, "scoring/leaderboards/groups.html", context_of(page))


@require_safe
def groups_file(request: HttpRequest, board_id: int) -> HttpResponseBase:
    """The values of all measures by group of assessors, as CSV. Everyone who may see the leaderboard."""
    board = board_or_404(request.user, board_id)
    content = group_pages.groups_file(request.user, board)
    return for_visitors(request, download(content, f"{board.file_stem}-groups.csv"))


@public_page
def classes(request: HttpRequest, board_id: int) -> HttpResponse:
    """The means of runs by topic class. Everyone who may see the leaderboard; a team sees its own runs."""
    board = board_or_404(request.user, board_id)
    page = class_pages.classes_page(request.user, board, request.GET.get("measure", ""))
    return render(request, "scoring/leaderboards/classes.html", context_of(page))


@require_safe
def classes_file(request: HttpRequest, board_id: int) -> HttpResponseBase:
    """The means by topic class as CSV. Everyone who may see the leaderboard; a team gets its own runs."""
    board = board_or_404(request.user, board_id)
    content = class_pages.classes_file(request.user, board)
    return for_visitors(request, download(content, f"{board.file_stem}-classes.csv"))


@same_for_visitors
@public_page
def topic(request: HttpRequest, board_id: int, code: str) -> HttpResponse:
    """A topic with the value of each run; a team sees its own runs. Everyone who may see the leaderboard."""
    board = board_or_404(request.user, board_id)
    query = request.GET
    page = topic_pages.topic_page(
        request.user, board, code, query.get("measure", ""), query.get("page"),
        has_all_runs=query.get("runs") == "all",
    )  # fmt: skip
    return render(request, "scoring/leaderboards/topic.html", context_of(page))


@organizer_action
def score(request: AuthenticatedRequest, qrels_id: int) -> HttpResponse:
    """Score the runs against a version. Organizers only."""
    version = get_object_or_404(qrels_for(request.user), pk=qrels_id)
    return redirect(services.request_with_parts(qrels=version, by=request.user))


@organizer_form
def release(request: AuthenticatedRequest, board_id: int) -> HttpResponse:
    """Show what a release would show, and to which people; then release it, or withdraw the release.

    Organizers only.
    """
    board = board_or_404(request.user, board_id)
    form = ReleaseForm(request.POST if request.method == "POST" else request.GET)
    form.is_valid()
    is_question = request.method == "GET"
    if "level" in form.errors or (is_question and form.cleaned_data["level"] == board.release):
        return redirect(board)
    if not is_question and not form.errors:
        try:
            messages.success(request, _release(request, board, form.cleaned_data))
            return redirect(board)
        except ReleaseHindered:
            form.add_error("reason", "Some checks failed. Give a reason to release it anyway.")
    page = releases.release_page(board, form.cleaned_data["level"])
    unasked = [*([] if page.hindrances else ["reason"]), *([] if page.is_wider else ["release_at", "zone"])]
    for name in unasked:
        form.fields[name].widget = forms.HiddenInput()
    return confirmation_page(
        request,
        page.question,
        layout="scoring/leaderboards/base.html",
        template="scoring/leaderboards/release.html",
        track=board.track,
        board=board,
        form=form,
        page=page,
    )


def _release(request: AuthenticatedRequest, board: Leaderboard, data: dict[str, Any]) -> str:
    """Release the leaderboard, or schedule that; what was done."""
    common = {"leaderboard": board, "level": data["level"], "reason": data["reason"], "by": request.user}
    if data["moment"] is None:
        return f"The leaderboard is now visible to {services.release(**common).get_release_display()}."
    row = schedules.schedule(release_at=data["moment"], zone=data["zone"] or times.AOE, **common)
    return f"It will be visible to {row.get_level_display()} from {times.in_words(row.release_at, row.zone)}."


@organizer_action
def cancel_release(request: AuthenticatedRequest, board_id: int) -> HttpResponse:
    """Cancel the release at a set time. Organizers only."""
    board = board_or_404(request.user, board_id)
    schedules.cancel(leaderboard=board, by=request.user)
    messages.success(request, "The leaderboard will not be released at a set time.")
    return redirect(board)


@public_page
def interaction(request: HttpRequest, board_id: int) -> HttpResponse:
    """The change of each team. Everyone who may see the leaderboard; only the runs that they may open."""
    board, rules = interaction_pages.board_and_rules(request.user, board_id)
    page = interaction_pages.interaction_report(request.user, board, rules)
    return render(request, "scoring/leaderboards/interaction.html", context_of(page))


@require_safe
def interaction_tsv(request: HttpRequest, board_id: int) -> HttpResponseBase:
    """The change of each team and session as a file. As on the page."""
    board, rules = interaction_pages.board_and_rules(request.user, board_id)
    lines = interaction_pages.interaction_file(request.user, board, rules)
    return for_visitors(request, download(lines, f"{board.track.slug}-interaction.tsv"))
