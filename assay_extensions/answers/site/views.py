"""The impact of a draft criterion, and the criteria of a leaderboard with their graded answers."""

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from accounts.access import AuthenticatedRequest, chairs_only_read, organizer_page
from assay_extensions.answers.site import boards, drafts
from assessment.nuggets.selectors import nugget_or_404
from scoring.selectors import board_or_404
from web.downloads import download
from web.pages import context_of, read_and_post
from web.translation import translated_for_assessors


@translated_for_assessors
@read_and_post
@chairs_only_read
def impact(request: AuthenticatedRequest, nugget_id: int) -> HttpResponse:
    """Grade the answers by a draft criterion. Assessors of the track, and organizers."""
    nugget = nugget_or_404(request.user, nugget_id)
    if request.method == "POST":
        answer, choice = request.POST.get("answer", ""), request.POST.get("choice", "")
        drafts.grade(nugget=nugget, answer=answer, choice=choice, by=request.user)
        return redirect(reverse("rubrics:impact", args=[nugget.pk]) + "#answer")
    page = drafts.impact_page(nugget, request.GET.get("answer", ""))
    return render(request, "rubrics/impact.html", context_of(page))


@organizer_page
def criteria(request: AuthenticatedRequest, board_id: int) -> HttpResponse:
    """The impact of each criterion on the systems of a leaderboard. Organizers only."""
    page = boards.criteria_page(request.user, board_or_404(request.user, board_id))
    return render(request, "rubrics/criteria.html", context_of(page))


@organizer_page
def criteria_table(request: AuthenticatedRequest, board_id: int, name: str, kind: str) -> HttpResponseBase:
    """A table of the criteria as TSV or CSV. Organizers only."""
    board = board_or_404(request.user, board_id)
    return download(boards.table_file(board, name, kind), boards.file_name(board, f"{name}.{kind}"))


@organizer_page
def graded_file(request: AuthenticatedRequest, board_id: int) -> HttpResponseBase:
    """The graded answers, as RAGDoll and `assay rubrics score` read them. Organizers only."""
    board = board_or_404(request.user, board_id)
    return download(boards.graded_lines(board), boards.file_name(board, "graded.jsonl"))
