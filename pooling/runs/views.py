"""The pages of runs: lists, submission, one run with its changes, and two runs compared."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_POST, require_safe
from rest_framework.request import Request

from accounts.access import (
    AuthenticatedRequest,
    chairs_only_read,
    login_required,
    organizer_action,
    organizer_form,
    user_action,
    user_page,
)
from assay.errors import Refused
from assay.formats.runs.reader import START, named_in
from participation.models import Team
from participation.requests.selectors import takes_requests
from participation.teams import selectors as team_selectors
from pooling.errors import RunRefused, SameBytes, TagTaken
from pooling.models import Run
from pooling.runs import changes, comparisons, selectors, services
from pooling.runs.answers import chosen_answers
from pooling.runs.forms import MAX_RUNS, TEMPLATE_ROW, DescriptionForm, ReasonForm, RunForm, run_forms
from pooling.runs.questions import disqualification_page, reinstatement_page, withdrawal_page
from pooling.runs.selectors import Answer, Problem
from tracks.agreements.selectors import has_accepted
from tracks.models import Track
from tracks.tracks.selectors import track_or_404
from web.confirmation import Confirmation, confirmation_page
from web.downloads import download, stored_file
from web.forms import CompareForm, refusals_in
from web.pages import context_of, counted, form_page, numbers_in, read_and_post, site_of
from web.times import arrived_at

NO_TEAM = gettext_noop("You are in no team of this track, so you cannot submit runs yet.")


def _track(request: AuthenticatedRequest, slug: str) -> Track:
    """A track whose runs the user may see."""
    track = track_or_404(request.user, slug)
    if not selectors.may_see_runs(request.user, track):
        raise PermissionDenied
    return track


def _run(request: AuthenticatedRequest, run_id: int) -> Run:
    """A run that the user may see, or 404."""
    return selectors.run_or_404(request.user, run_id)


@user_page
def runs_page(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The runs of all teams for organizers. Members of a team go to its runs, assessors see none."""
    track = _track(request, slug)
    team = None if request.user.oversees(track.pk) else selectors.team_of(request.user, track)
    if team is not None:
        return redirect("pooling:team_runs", track.slug, team.pk)
    chosen = chosen_answers(track.protocol.parsed.runs.questions, request.GET)
    by = selectors.RunFilter(
        next(iter(numbers_in(request.GET.getlist("team"))), None),
        request.GET.get("kind", ""),
        request.GET.get("q", "")[:100],
    )
    page = selectors.runs_page(request.user, track, chosen, by)
    return render(request, "pooling/runs/runs.html", context_of(page))


@organizer_action
def remind(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Write to the teams that owe runs. Organizers only."""
    track = _track(request, slug)
    owing = services.remind(track=track, by=request.user)
    messages.success(request, f"Reminded: {', '.join(owed.team.name for owed in owing)}.")
    return redirect("pooling:runs", track.slug)


@user_page
def team_runs(request: AuthenticatedRequest, slug: str, team_id: int) -> HttpResponse:
    """The runs of a team: states, quota, pools, order. Its members, and organizers."""
    track = _track(request, slug)
    team = get_object_or_404(team_selectors.visible_teams(request.user, track), pk=team_id)
    page = selectors.team_runs_page(request.user, team)
    return render(request, "pooling/runs/team_runs.html", context_of(page))


@user_page
def run_page(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """A run with its report. Its team, and organizers."""
    page = selectors.run_page(request.user, _run(request, run_id))
    return render(request, "pooling/runs/run.html", context_of(page))


@user_page
def run_file(request: AuthenticatedRequest, run_id: int) -> HttpResponseBase:
    """The file of a run, also below a header of ir_metadata, or that alone. Its team, and organizers."""
    return file_of(request, _run(request, run_id))


def file_of(request: HttpRequest | Request, run: Run) -> HttpResponseBase:
    """The file of a run, for a page or the API."""
    if request.GET.get("header") == "ir_metadata":
        return download(selectors.file_with_header(run), f"{run.tag}.txt", is_checked=False)
    if request.GET.get("header") == "alone":
        return download(selectors.metadata_file(run), f"{run.tag}.ir_metadata.yml", is_checked=False)
    return stored_file(request, run.original, run.sha256, run.file_name, is_checked=False)


@read_and_post
@chairs_only_read
def withdraw(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Ask, then withdraw the run. Its team, and organizers, until the deadline; then organizers, with a reason."""
    run = _run(request, run_id)
    page = withdrawal_page(request.user, run)
    form = ReasonForm(request.POST or None) if page.needs_reason else None
    if not page.question.is_given(request) or (form is not None and not form.is_valid()):
        return _ask(request, run, page.question, form)
    if form is None:
        services.withdraw(run=run, by=request.user)
    else:
        changes.withdraw_for_team(run=run, by=request.user, **form.cleaned_data)
    messages.success(request, f"{run.tag} is withdrawn.")
    return redirect("pooling:team_runs", run.track.slug, run.team_id)


def _own_track(request: AuthenticatedRequest, slug: str) -> Track:
    """A track to which the user may submit runs."""
    track = _track(request, slug)
    if not team_selectors.teams_of(request.user, track).exists():
        raise PermissionDenied(NO_TEAM if takes_requests(track) else "")
    return track


def _where_to_create_team(request: AuthenticatedRequest, slug: str) -> str:
    """The place where an organizer of a track without teams creates one, with a message; otherwise empty."""
    track = _track(request, slug)
    if not request.user.organizes(track.pk) or track.teams.exists():
        return ""
    messages.info(request, "Create a team below first: each run is the run of a team.")
    return reverse("participation:people", args=[slug])


@require_safe
def programs(request: HttpRequest, slug: str) -> HttpResponse:
    """The rules of runs, for participants and their programs. Everyone; drafts for organizers only."""
    track = track_or_404(request.user, slug)
    if not track.protocol.parsed.takes_runs:
        raise Http404("The track takes no runs.")
    page = selectors.programs_page(request.user, track, site_of(request))
    form = request.GET.get("format")
    if form == "markdown":
        return HttpResponse(page.text, content_type="text/markdown; charset=utf-8")
    if form == "schema":
        if page.schema is None:
            raise Http404("The track accepts no JSON lines.")
        return JsonResponse(page.schema, content_type="application/schema+json")
    return render(request, "pooling/runs/programs.html", context_of(page))


@user_action
def read_start(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Read the tag and the kind in the start of a run file. Members of the track's teams, and organizers."""
    track = _own_track(request, slug)
    return JsonResponse(named_in(request.body[:START], track.protocol.parsed)._asdict())


@read_and_post
@login_required
def submit(request: AuthenticatedRequest, slug: str) -> HttpResponseBase:
    """Check, repair or submit runs. Members of the track's teams, and organizers, who create a team first."""
    if address := _where_to_create_team(request, slug):
        return redirect(address)
    track = _own_track(request, slug)
    forms = run_forms(request, track, request.user)
    if request.method != "POST":
        if not has_accepted(request.user, track):
            agreement = reverse("tracks:agreement", args=[slug])
            return redirect(f"{agreement}?{urlencode({'next': request.path})}")
        return _page(request, track, forms)
    action, _, row = request.POST.get("action", "").partition("-")
    if action == "repair":
        return _repair(request, track, forms, row or "1")
    replaces = ""
    if action == "replace":  # one row, and the run that its answer offered to replace
        row, _, replaces = row.partition("-")
        forms = [form for form in forms if form.row in {"1", row}]
    forms[0].is_valid()
    # Each file is answered on its own. Rows without a file are skipped, unless no row has one.
    chosen = [form for form in forms if form.has_file and (not replaces or form.row == row)] or forms[:1]
    only: Team | None = forms[0].cleaned_data.get("team")
    answers = [
        _answer(request, track, only, form, is_only_checked=action == "check", replaces=replaces)
        for form in chosen
    ]
    run = answers[0].run
    if len(answers) > 1 or run is None:
        return _page(request, track, forms, answers)
    if n_warnings := len(run.report["warnings"]):
        warnings = counted(n_warnings, "warning")
        messages.warning(request, f"{run.tag} is submitted for {run.team}, with {warnings}: see the report.")
    else:
        messages.success(request, f"{run.tag} is submitted for {run.team}.")
    if request.headers.get("HX-Request"):
        return HttpResponse(headers={"HX-Redirect": run.get_absolute_url()})
    return redirect(run)


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


def _answer(
    request: AuthenticatedRequest,
    track: Track,
    only: Team | None,
    form: RunForm,
    *,
    is_only_checked: bool,
    replaces: str,
) -> Answer:
    """The answer for a row. `only` is the team of a row that does not ask for one. `replaces` is the tag of a run."""
    answer = Answer(form.row, _name(form), is_only_checked=is_only_checked)
    is_valid = form.is_valid()
    team = form.cleaned_data.get("team", only)
    if team is None or not is_valid:
        return replace(answer, problems=_problems(form))
    submission: dict[str, Any] = {"track": track, "team": team, "by": request.user} | form.submission
    submission["arrived_at"] = arrived_at(request)
    submission["replaces"] = replaces or submission["replaces"]
    try:
        if is_only_checked:
            report = services.check_submission(**submission).report
            return replace(answer, report=report)
        return replace(answer, run=services.submit(**submission))
    except RunRefused as refusal:
        report = refusal.checked.report
        answer = replace(answer, report=report if report.errors else None)
        return _with_problems(answer, refusal.others, form)
    except Refused as refusal:
        return _with_problems(answer, [refusal], form)


def _with_problems(answer: Answer, refusals: Sequence[Refused], form: RunForm) -> Answer:
    """The answer with refusals that are not about the file, and the run that it can replace."""
    problems = [
        Problem(refusal.message, field=form["tag"].id_for_label if isinstance(refusal, TagTaken) else "")
        for refusal in refusals
    ]
    runs = [
        refusal.earlier
        for refusal in refusals
        if isinstance(refusal, SameBytes | TagTaken) and refusal.earlier
    ]
    earlier = next((run for run in runs if run.is_submitted), None)
    return replace(answer, problems=problems, earlier=earlier)


def _name(form: RunForm) -> str:
    upload = form.files.get(form.add_prefix("file"))
    return (upload.name if upload else "") or ""


def _problems(form: RunForm) -> list[Problem]:
    problems = [
        Problem(str(error), str(form[field].label), form[field].id_for_label)
        if field in form.fields
        else Problem(str(error))
        for field, errors in form.errors.items()
        for error in errors
    ]
    team = form["team"].id_for_label if "team" in form.fields else ""  # a later row has the team of the first
    return problems or [Problem("Choose the team.", field=team)]


def _repair(request: AuthenticatedRequest, track: Track, forms: list[RunForm], row: str) -> HttpResponseBase:
    """Send the repaired file of a row."""
    form = next((form for form in forms if form.row == row), forms[0])
    if not form.is_valid():
        return _page(request, track, forms, [Answer(form.row, _name(form), problems=_problems(form))])
    sent = form.submission
    checked = services.check(track=track, file=sent["file"], file_name=sent["file_name"])
    repaired = checked.repaired()
    if repaired is None:
        problems = [Problem("Nothing in this file can be repaired safely.")]
        answer = Answer(form.row, _name(form), report=checked.report, problems=problems)
        return _page(request, track, forms, [answer])
    return download(repaired, "repaired-run.tsv")


@read_and_post
@chairs_only_read
def describe(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Change the description, the models and the answers of a run. Its team until the deadline, and organizers."""
    run = _run(request, run_id)
    form = DescriptionForm(request.POST or None, request.FILES or None, run=run)
    with refusals_in(form):
        if request.method == "POST" and form.is_valid():
            changes.describe(run=run, by=request.user, **form.change)
            messages.success(request, f"The description of {run.tag} is saved.")
            return redirect(run)
    return form_page(
        request,
        form,
        f"Description of {run.tag}",
        "Save description",
        layout="tracks/base.html",
        style="wide-form",
        track=run.track,
        crumbs=_crumbs(run),
        lead=run.team.name,
        saves=True,
    )


@require_POST
@chairs_only_read
def move(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Move a run up or down in the order of its team. Its team until the deadline, and organizers."""
    run = _run(request, run_id)
    changes.move(run=run, is_up=request.POST.get("to") == "up", by=request.user)
    return redirect("pooling:team_runs", run.track.slug, run.team_id)


@organizer_form
def disqualify(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Ask for a reason, then disqualify the run. Organizers only, after the track closed."""
    run, form = _run(request, run_id), ReasonForm(request.POST or None)
    page = disqualification_page(run)
    if not page.is_given(request) or not form.is_valid():
        return _ask(request, run, page, form)
    changes.disqualify(run=run, by=request.user, **form.cleaned_data)
    messages.success(request, f"{run.tag} is disqualified.")
    return redirect(run)


@organizer_form
def reinstate(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Ask for a reason, then reverse a disqualification. Organizers only."""
    run, form = _run(request, run_id), ReasonForm(request.POST or None)
    page = reinstatement_page(run)
    if not page.is_given(request) or not form.is_valid():
        return _ask(request, run, page, form)
    changes.reinstate(run=run, by=request.user, **form.cleaned_data)
    messages.success(request, f"The disqualification of {run.tag} is reversed.")
    return redirect(run)


def _ask(request: AuthenticatedRequest, run: Run, page: Confirmation, form: Form | None) -> HttpResponse:
    layout = "tracks/base.html"
    return confirmation_page(request, page, layout=layout, form=form, track=run.track, crumbs=_crumbs(run))


def _crumbs(run: Run) -> list[tuple[str, str]]:
    return [("Runs", reverse("pooling:runs", args=[run.track.slug])), (run.tag, run.get_absolute_url())]


@user_page
def choose_other(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Redirect from the form of a run's page to the comparison. The run's team, and organizers."""
    run, form = _run(request, run_id), CompareForm(request.GET)
    if not form.is_valid():
        return redirect(run)
    return redirect("pooling:compare_runs", run.pk, form.cleaned_data["other"])


@user_page
def compare(request: AuthenticatedRequest, run_id: int, other_id: int) -> HttpResponse:
    """The documents of two runs compared. The team of both, and organizers."""
    page = comparisons.difference_page(
        request.user, _run(request, run_id), other_id, request.GET.get("topic", "")
    )
    return render(request, "pooling/runs/compare.html", context_of(page))
