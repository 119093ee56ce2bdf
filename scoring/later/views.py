"""The page on which teams of other tracks score their runs on a closed track."""

from typing import cast

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache

from accounts.access import AuthenticatedRequest, chairs_only_read, user_page
from assay.formats.declaration import STATEMENTS
from participation.models import Team
from scoring.later import selectors, services
from scoring.models import Leaderboard
from scoring.selectors import leaderboards_for
from web.downloads import download
from web.forms import StyledForm, bytes_of, refusals_in
from web.pages import context_of, read_and_post


class TeamChoice(forms.ModelChoiceField[Team]):
    """A team with its track, because many teams come back each year under the same name."""

    def label_from_instance(self, obj: Team) -> str:
        return f"{obj.name}, {obj.track.name}"


class LaterRunForm(StyledForm):
    team = TeamChoice(queryset=Team.objects.none(), empty_label=None)
    file = forms.FileField(help_text="A run on the topics of this track, plain or compressed.")
    tag = forms.CharField(required=False, max_length=100, help_text=STATEMENTS["tag"].help)
    models_used = forms.CharField(
        required=False,
        max_length=STATEMENTS["models_used"].limit,
        label="Models",
        help_text=STATEMENTS["models_used"].help + " Empty: those in the file.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )


def _board(request: HttpRequest, board_id: int) -> Leaderboard:
    return get_object_or_404(leaderboards_for(request.user), pk=board_id, status=Leaderboard.Status.READY)


@read_and_post
@never_cache
@chairs_only_read
def later_runs(request: AuthenticatedRequest, board_id: int) -> HttpResponse:
    """Score a run of a team of another track. Everyone who sees the leaderboard, with the runs of their teams."""
    board = _board(request, board_id)
    form = LaterRunForm(request.POST or None, request.FILES or None)
    teams = selectors.later_teams(request.user, board.track)
    cast(TeamChoice, form.fields["team"]).queryset = teams
    if request.method == "POST" and form.is_valid():
        file, data = form.cleaned_data["file"], form.cleaned_data
        with refusals_in(form):
            run = services.score(
                leaderboard=board,
                team=data["team"],
                by=request.user,
                file=bytes_of(file),
                file_name=file.name or "run",
                tag=data["tag"],
                models_used=data["models_used"],
            )
            messages.success(request, f"{run.tag} is scored.")
            return redirect("scoring:later_runs", board.pk)
    page = selectors.later_page(request.user, board)
    status = 422 if form.errors else 200
    return render(request, "scoring/later/later_runs.html", context_of(page) | {"form": form}, status=status)


@user_page
def later_runs_file(request: AuthenticatedRequest, board_id: int) -> HttpResponseBase:
    """The values by topic of the later runs that the user sees. Everyone who sees the leaderboard."""
    board = _board(request, board_id)
    lines = selectors.later_file(request.user, board)
    return download(lines, f"{board.file_stem}-later-runs.tsv")
