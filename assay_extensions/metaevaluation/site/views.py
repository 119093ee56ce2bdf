"""The pages of judges: what a track accepts, submissions, boards of judges."""

from functools import partial

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.access import (
    AuthenticatedRequest,
    chairs_only_read,
    login_required,
    organizer_form,
    public_page,
    user_page,
)
from accounts.visitors import same_for_visitors
from assay.errors import Refused
from assay_extensions.metaevaluation.site import comparing, releases, selectors, services
from assay_extensions.metaevaluation.site.forms import BoardForm, CallForm, JudgeForm, ReleaseForm
from assay_extensions.metaevaluation.site.models import JudgeRun
from participation.teams.selectors import teams_of
from tracks.models import Track
from tracks.tracks.selectors import track_or_404
from web import times
from web.confirmation import Confirmation, confirmation_page, refusals
from web.downloads import download, for_visitors, stored_file
from web.forms import bytes_of, refusals_in
from web.pages import context_of, form_page, read_and_post
from web.tables import shown_table


def _crumbs(track: Track) -> list[tuple[str, str]]:
    return [("Judges", reverse("metaevaluation:judges", args=[track.slug]))]


@same_for_visitors
@public_page
def judges(request: HttpRequest, slug: str) -> HttpResponse:
    """The judges of a track and its boards. Organizers see all; teams their own judges and released boards."""
    page = selectors.judges_page(request.user, track_or_404(request.user, slug))
    return render(request, "metaevaluation/judges.html", context_of(page))


@organizer_form
def accept(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Accept judges until a time. Organizers only."""
    track = track_or_404(request.user, slug)
    form = CallForm(request.POST or None, call=selectors.call_of(track))
    with refusals_in(form, "topics"):
        if form.is_valid():
            facts = {
                name: form.cleaned_data[name] for name in ("closes_at", "zone", "max_per_team", "topics")
            }
            call = services.accept(track=track, by=request.user, **facts)
            messages.success(
                request, f"Judges are accepted until {times.in_words(call.closes_at, call.zone)}."
            )
            return redirect("metaevaluation:judges", slug)
    return form_page(
        request,
        form,
        "Accept judges",
        "Save",
        layout="tracks/base.html",
        track=track,
        crumbs=_crumbs(track),
        note="Teams submit the judgments of programs as they submit runs: qrels, lists of nuggets, or scores of runs. "
        "You compare them with people, and release the numbers. A time in the past closes the submission.",
    )


@read_and_post
@login_required
def submit(request: AuthenticatedRequest, slug: str) -> HttpResponseBase:
    """Submit the judgments of a program. Members of the track's teams, and organizers."""
    track = track_or_404(request.user, slug)
    if not teams_of(request.user, track).exists():
        raise PermissionDenied
    form = JudgeForm(request.POST or None, request.FILES or None, track=track, user=request.user)
    if form.is_valid():
        data = form.cleaned_data
        file = data.pop("file")
        try:
            judge_run = services.submit(
                track=track,
                by=request.user,
                file=bytes_of(file),
                file_name=file.name or "judge",
                arrived_at=times.arrived_at(request),
                **data,
            )
        except Refused as refusal:
            for message in [error["message"] for error in refusal.errors] or [refusal.message]:
                form.add_error("file", str(message))
        else:
            messages.success(request, f"{judge_run.tag} is submitted for {judge_run.team}.")
            return redirect(judge_run)
    return form_page(
        request,
        form,
        "Submit judgments",
        "Submit judgments",
        layout="tracks/base.html",
        track=track,
        crumbs=_crumbs(track),
        note="The file is checked as by “assay meta check”. If it has problems, nothing is stored.",
    )


@user_page
def judge(request: AuthenticatedRequest, slug: str, judge_run_id: int) -> HttpResponse:
    """A judge with its files. Its team, and organizers."""
    judge_run = selectors.judge_or_404(request.user, slug, judge_run_id)
    context = {
        "track": judge_run.track,
        "judge": judge_run,
        "may_withdraw": not services.why_not_withdrawn(judge_run, request.user, times.now()),
    }
    return render(request, "metaevaluation/judge.html", context)


@user_page
def judge_file(request: AuthenticatedRequest, slug: str, judge_run_id: int) -> HttpResponseBase:
    """The file of a judge as it was uploaded. Its team, and organizers."""
    return file_of(request, selectors.judge_or_404(request.user, slug, judge_run_id))


def file_of(request: HttpRequest, judge_run: JudgeRun) -> HttpResponseBase:
    """The file of a judge, for a page or the API."""
    return stored_file(request, judge_run.file, judge_run.sha256, judge_run.file_name, is_checked=False)


@read_and_post
@chairs_only_read
def withdraw(request: AuthenticatedRequest, slug: str, judge_run_id: int) -> HttpResponse:
    """Ask, then withdraw a judge. Its team until the deadline, and organizers."""
    judge_run = selectors.judge_or_404(request.user, slug, judge_run_id)
    page = Confirmation(
        act=f"Withdraw {judge_run.tag}",
        button="Withdraw judge",
        back=judge_run.get_absolute_url(),
        text="Its file is kept, and boards that contain it do not change. Its name can be used again.",
        checks=list(refusals(partial(services.check_withdrawal, judge_run, request.user))),
        is_danger=True,
    )
    if not page.is_given(request):
        track = judge_run.track
        crumbs = [*_crumbs(track), (judge_run.tag, judge_run.get_absolute_url())]
        return confirmation_page(request, page, layout="tracks/base.html", track=track, crumbs=crumbs)
    services.withdraw(judge_run=judge_run, by=request.user)
    messages.success(request, f"{judge_run.tag} is withdrawn.")
    return redirect("metaevaluation:judges", slug)


@organizer_form
def compare(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Compare the judges of a track with people. Organizers only."""
    track = track_or_404(request.user, slug)
    form = BoardForm(request.POST or None, track=track)
    with refusals_in(form):
        if form.is_valid():
            return redirect(comparing.request(by=request.user, **form.cleaned_data))
    return form_page(
        request,
        form,
        "Compare judges",
        "Compare judges",
        layout="tracks/base.html",
        track=track,
        crumbs=_crumbs(track),
        note="A job compares every submitted judge with people. Only organizers see a new board, until you release it.",
    )


@same_for_visitors
@public_page
def board(request: HttpRequest, slug: str, judge_board_id: int) -> HttpResponse:
    """A board of judges. Organizers; teams and visitors after the release to them."""
    page = selectors.board_page(request.user, selectors.board_or_404(request.user, slug, judge_board_id))
    return render(request, "metaevaluation/board.html", context_of(page))


@require_safe
def board_table(request: HttpRequest, slug: str, judge_board_id: int, kind: str) -> HttpResponseBase:
    """A board of judges as TSV or CSV. Everyone who may see its page."""
    board = selectors.board_or_404(request.user, slug, judge_board_id)
    content = selectors.board_file(selectors.board_page(request.user, board), kind)
    return for_visitors(request, download(content, f"{slug}-judges-{board.pk}.{kind}"))


@same_for_visitors
@public_page
def result(request: HttpRequest, slug: str, judge_board_id: int, result_id: int) -> HttpResponse:
    """A judge on a board: every number with its interval. Everyone who may see the board."""
    board = selectors.board_or_404(request.user, slug, judge_board_id)
    shown = selectors.result_or_404(request.user, board, result_id)
    context = {
        "track": board.track,
        "board": board,
        "row": shown,
        "tables": [*map(shown_table, shown.tables)],
    }
    return render(request, "metaevaluation/result.html", context)


@organizer_form
def release(request: AuthenticatedRequest, slug: str, judge_board_id: int) -> HttpResponse:
    """Ask, then release a board of judges, or withdraw its release. Organizers only."""
    board = selectors.board_or_404(request.user, slug, judge_board_id)
    form = ReleaseForm(request.POST if request.method == "POST" else request.GET)
    is_question = request.method == "GET"
    if not form.is_valid() or (is_question and form.cleaned_data["level"] == board.release):
        return redirect(board)
    level = form.cleaned_data["level"]
    if not is_question:
        with refusals_in(form, "reason"):
            board = releases.release(board=board, by=request.user, **form.cleaned_data)
            messages.success(request, f"The board is now visible to {board.get_release_display()}.")
            return redirect(board)
    if not releases.is_wider(level, board.release) or not releases.hindrances(board):
        form.fields["reason"].widget = form.fields["reason"].hidden_widget()
    return confirmation_page(
        request,
        releases.question(board, level),
        layout="tracks/base.html",
        form=form,
        track=board.track,
        crumbs=[*_crumbs(board.track), (board.measure, board.get_absolute_url())],
    )
