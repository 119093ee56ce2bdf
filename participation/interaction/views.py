"""The pages of the interaction: nominations and sessions of a track, and one session with its clock."""

from django.contrib import messages
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from rest_framework.request import Request

from accounts.access import AuthenticatedRequest, organizer_action, user_action, user_page
from participation.interaction import selectors, services
from participation.interaction.forms import AddressForm, NominationForm, PlanForm, UploadForm, forms_of
from participation.interaction.selectors import team_of
from participation.models import Team
from tracks.models import Track
from tracks.tracks.selectors import track_or_404
from web.downloads import stored_file
from web.forms import bytes_of
from web.pages import context_of, counted, site_of
from web.translation import translated_for_assessors


@translated_for_assessors
@user_page
def interaction(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Nominations and sessions. Organizers all, members those of their teams, assessors the sessions they hold."""
    return _page(request, track_or_404(request.user, slug))


def _page(
    request: AuthenticatedRequest, track: Track, refused: dict[str, object] | None = None
) -> HttpResponse:
    rules = selectors.rules_of(track)
    if rules is None or not selectors.may_see(request.user, track):
        raise Http404
    page = selectors.interaction_page(request.user, track, rules)
    context = context_of(page) | {"parts": forms_of(page, request.user), "refused": refused}
    return render(
        request, "participation/interaction/interaction.html", context, status=422 if refused else 200
    )


def _refused(request: AuthenticatedRequest, team: Team, form: Form) -> HttpResponse:
    return _page(request, team.track, {"team": team, "form": form})


def _back(team: Team) -> HttpResponse:
    return redirect("participation:interaction", team.track.slug)


@user_action
def nominate(request: AuthenticatedRequest, team_id: int) -> HttpResponse:
    """Rank the topics of a team. Members who may submit, and organizers."""
    team, form = team_of(request.user, team_id), NominationForm(request.POST)
    if not form.is_valid():
        return _refused(request, team, form)
    rows = services.nominate(team=team, codes=form.codes, by=request.user)
    messages.success(request, f"{counted(len(rows), 'topic')} nominated for {team}.")
    return _back(team)


@user_action
def set_address(request: AuthenticatedRequest, team_id: int) -> HttpResponse:
    """Declare the page that sessions show. Members who may submit, and organizers."""
    team, form = team_of(request.user, team_id), AddressForm(request.POST)
    if not form.is_valid():
        return _refused(request, team, form)
    address = form.cleaned_data["address"]
    services.set_address(team=team, address=address, by=request.user, site=site_of(request))
    messages.success(request, f"The page of {team} is saved.")
    return _back(team)


@organizer_action
def plan(request: AuthenticatedRequest, team_id: int) -> HttpResponse:
    """Give nominated topics of a team to an assessor. Organizers only."""
    team = team_of(request.user, team_id)
    assessors, zone = selectors.assessors_of(team.track), selectors.zone_of(team.track)
    form = PlanForm(request.POST, assessors=assessors, zone=zone)
    if not form.is_valid():
        return _refused(request, team, form)
    n = services.plan(team=team, by=request.user, **form.cleaned_data)
    messages.success(request, f"{counted(n, 'session')} of {team} planned.")
    return _back(team)


@organizer_action
def take_back(request: AuthenticatedRequest, nomination_id: int) -> HttpResponse:
    """Take a planned session from its assessor. Organizers only."""
    nomination = get_object_or_404(selectors.sessions_for(request.user), pk=nomination_id)
    assessor, topic = nomination.assessor, nomination.topic
    services.take_back(nomination=nomination, by=request.user)
    messages.success(request, f"The session on {topic.code} is taken back from {assessor}.")
    return _back(nomination.team)


@user_action
def log(request: AuthenticatedRequest, team_id: int) -> HttpResponse:
    """Upload the seconds of sessions held elsewhere. Members who may submit, and organizers."""
    team, form = team_of(request.user, team_id), UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        return _refused(request, team, form)
    n = services.log(team=team, file=bytes_of(form.cleaned_data["file"]), by=request.user)
    messages.success(request, f"The log has {counted(n, 'session')}.")
    return _back(team)


@user_action
def data(request: AuthenticatedRequest, team_id: int) -> HttpResponse:
    """Upload the data of the sessions. Members who may submit, and organizers."""
    team, form = team_of(request.user, team_id), UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        return _refused(request, team, form)
    upload = form.cleaned_data["file"]
    services.store_data(team=team, file=bytes_of(upload), file_name=upload.name or "data", by=request.user)
    messages.success(request, f"The data of {team} are stored.")
    return _back(team)


@user_page
def data_file(request: AuthenticatedRequest, team_id: int) -> HttpResponseBase:
    """The data of the sessions, as uploaded. Members who may submit, and organizers."""
    return data_of(request, team_of(request.user, team_id))


def data_of(request: HttpRequest | Request, team: Team) -> HttpResponseBase:
    """The data of the sessions of a team, as a response of a page or of the API; else Http404."""
    stored = selectors.data_of(team)
    if stored is None:
        raise Http404
    return stored_file(request, stored.data, stored.data_sha256, stored.data_name, is_checked=False)


@translated_for_assessors
@user_page
def session(request: AuthenticatedRequest, nomination_id: int) -> HttpResponse:
    """A session with its clock. Its assessor, and organizers, who see no frame."""
    nomination = get_object_or_404(selectors.sessions_for(request.user), pk=nomination_id)
    page = selectors.session_page(nomination, request.user)
    response = render(request, "participation/interaction/session.html", context_of(page))
    if page.origin:  # the only page that shows another host, and only while the session runs
        response._csp_update = {"frame-src": [page.origin]}  # type: ignore[attr-defined]
    return response


@translated_for_assessors
@user_action
def start(request: AuthenticatedRequest, nomination_id: int) -> HttpResponse:
    """Start a session. Its assessor."""
    nomination = get_object_or_404(selectors.sessions_for(request.user), pk=nomination_id)
    return redirect(services.start(nomination=nomination, by=request.user))


@translated_for_assessors
@user_action
def practice(request: AuthenticatedRequest, nomination_id: int) -> HttpResponse:
    """Start the practice before a session. Its assessor."""
    nomination = get_object_or_404(selectors.sessions_for(request.user), pk=nomination_id)
    return redirect(services.practice(nomination=nomination, by=request.user))


@translated_for_assessors
@user_action
def end(request: AuthenticatedRequest, nomination_id: int) -> HttpResponse:
    """End a session or a practice before its time. Its assessor."""
    nomination = get_object_or_404(selectors.sessions_for(request.user), pk=nomination_id)
    services.end(nomination=nomination, by=request.user)
    return redirect(nomination)
