"""The page that checks and submits runs: one or several files, each with its own answer."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.access import AuthenticatedRequest, login_required
from assay.errors import Refused
from pooling.models import Run, Team
from pooling.runs import selectors, services
from pooling.runs.errors import RunRefused
from pooling.runs.forms import MAX_RUNS, TEMPLATE_ROW, RunForm, bytes_of, run_forms
from pooling.runs.selectors import Answer
from pooling.runs.views import track_of_runs
from pooling.teams import selectors as team_selectors
from tracks.agreements.selectors import has_accepted
from tracks.models import Track
from web.arrivals import arrived_at
from web.downloads import download
from web.pages import context_of


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def submit(request: AuthenticatedRequest, slug: str) -> HttpResponseBase:
    """Check, repair or submit runs. Members of the track's teams, and organizers."""
    track = track_of_runs(request, slug)
    if not team_selectors.teams_of(request.user, track).exists():
        raise PermissionDenied
    forms = run_forms(request, track, request.user)
    if request.method != "POST":
        if not has_accepted(request.user, track):
            agreement = reverse("tracks:agreement", args=[slug])
            return redirect(f"{agreement}?{urlencode({'next': request.path})}")
        return _page(request, track, forms)
    action, _, row = request.POST.get("action", "").partition("-")
    if action == "repair":
        return _repair(request, track, forms, row or "1")
    answers = _answers(request, track, forms, is_only_checked=action == "check")
    first = answers[0].run
    return (
        _page(request, track, forms, answers) if len(answers) > 1 or first is None else _done(request, first)
    )


def _page(
    request: AuthenticatedRequest, track: Track, forms: list[RunForm], answers: Sequence[Answer] = ()
) -> HttpResponse:
    """The form with its answers. For htmx only the answers, so that the chosen files stay chosen."""
    is_htmx = request.headers.get("HX-Request")
    template = "pooling/runs/_submission.html" if is_htmx else "pooling/runs/submit.html"
    page = replace(selectors.submit_page(request.user, track), answers=answers)
    more = RunForm(track=track, user=request.user, row=TEMPLATE_ROW)
    rows = {"forms": forms, "more": more, "max_runs": MAX_RUNS}
    return render(request, template, context_of(page) | rows)


def _done(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """Go to the page of the only run."""
    messages.success(request, f"{run.tag} is submitted for {run.team}.")
    if request.headers.get("HX-Request"):
        return HttpResponse(headers={"HX-Redirect": run.get_absolute_url()})
    return redirect(run)


def _answers(
    request: AuthenticatedRequest, track: Track, forms: list[RunForm], *, is_only_checked: bool
) -> list[Answer]:
    """Check or submit each file on its own. Rows without a file are skipped, unless no row has one."""
    team = _team(forms)
    chosen = [form for form in forms if form.has_file] or forms[:1]
    return [_answer(request, track, team, form, is_only_checked=is_only_checked) for form in chosen]


def _team(forms: list[RunForm]) -> Team | None:
    forms[0].is_valid()
    team: Team | None = forms[0].cleaned_data.get("team")
    return team


def _answer(
    request: AuthenticatedRequest, track: Track, team: Team | None, form: RunForm, *, is_only_checked: bool
) -> Answer:
    if team is None or not form.is_valid():
        return Answer(form.row, _name(form), problems=_problems(form))
    submission = _submission(request, track, team, form)
    try:
        if is_only_checked:
            report = services.check_submission(**submission).report
            return Answer(form.row, _name(form), report=report, is_only_checked=True)
        return Answer(form.row, _name(form), run=services.submit(**submission))
    except RunRefused as refusal:
        return Answer(form.row, _name(form), report=refusal.checked.report)
    except Refused as refusal:
        return Answer(form.row, _name(form), problems=[refusal.message])


def _name(form: RunForm) -> str:
    upload = form.files.get(form.add_prefix("file"))
    return (upload.name if upload else "") or ""


def _problems(form: RunForm) -> list[str]:
    """The errors of the fields of a row."""
    problems = [
        f"{form[field].label}: {error}" if field in form.fields else str(error)
        for field, errors in form.errors.items()
        for error in errors
    ]
    return problems or ["Choose the team."]


def _submission(request: AuthenticatedRequest, track: Track, team: Team, form: RunForm) -> dict[str, Any]:
    """The arguments of the services that check and submit."""
    upload = form.cleaned_data["file"]
    return {
        "track": track,
        "team": team,
        "by": request.user,
        "file": bytes_of(upload),
        "file_name": upload.name or "run",
        "declared": form.declared,
        "arrived_at": arrived_at(request),
    }


def _repair(request: AuthenticatedRequest, track: Track, forms: list[RunForm], row: str) -> HttpResponseBase:
    """Send the repaired file of a row."""
    form = next((form for form in forms if form.row == row), forms[0])
    if not form.is_valid():
        return _page(request, track, forms, [Answer(form.row, _name(form), problems=_problems(form))])
    upload = form.cleaned_data["file"]
    checked = services.check(track=track, file=bytes_of(upload), file_name=upload.name or "run")
    repaired = checked.repaired()
    if repaired is None:
        problems = ["Nothing in this file can be repaired safely."]
        answer = Answer(form.row, _name(form), report=checked.report, problems=problems)
        return _page(request, track, forms, [answer])
    return download(repaired, "repaired-run.tsv")
