"""The home page, the user's account, and the health check."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from accounts import services as account_services
from accounts.access import AuthenticatedRequest, administrator_required, login_required, user_page
from accounts.selectors import lockouts_of
from accounts.visitors import same_for_visitors
from assay.extensions import installed
from assay.version import VERSION
from home.health import health
from home.landing import landing_page, start_of, tracks_page
from home.languages import use_language
from home.programs import index_for_programs
from participation.teams.selectors import former_teams, teams_with
from tracks.assessors.selectors import tracks_judged_by
from tracks.tracks.selectors import tracks_for
from web.pages import site_of
from web.translation import translated, translated_for_users


@translated_for_users
@same_for_visitors
def home(request: HttpRequest) -> HttpResponseBase:
    """The offer of the site, or the tracks of a user. Everyone."""
    if request.user.is_authenticated:
        return all_tracks(request)
    return render(request, "home/landing.html", {"page": landing_page(request.user)})


@translated_for_users
@same_for_visitors
@require_safe
def all_tracks(request: HttpRequest) -> HttpResponse:
    """The tracks that the user may see. Everyone."""
    return render(
        request, "home/home.html", {"page": tracks_page(request.user, request.GET.get("words", ""))}
    )


@require_safe
def programs(request: HttpRequest) -> HttpResponse:
    """The index of the rules of runs, the API and the documentation, for programs. Everyone."""
    return HttpResponse(index_for_programs(site_of(request)), content_type="text/plain; charset=utf-8")


@administrator_required
@require_safe
def extensions(request: AuthenticatedRequest) -> HttpResponse:
    """The extensions that are installed. Administrators only."""
    return render(request, "home/extensions.html", {"extensions": installed()})


@user_page
def start(request: AuthenticatedRequest) -> HttpResponse:
    """Go to where the user's work is. Everyone who has logged in."""
    return redirect(start_of(request.user))


@translated
@login_required
def account(request: AuthenticatedRequest) -> HttpResponse:
    """The user's settings, teams and tracks. Everyone who has logged in."""
    if request.method == "POST":
        account_services.set_language(user=request.user, language=request.POST.get("language", ""))
        use_language(request)
        asks = request.POST.getlist("asks")  # what the form had for the roles of the user
        if "judging" in asks:
            account_services.set_judging(
                user=request.user,
                uses_shortcuts="uses_shortcuts" in request.POST,
                accepts_next="accepts_next" in request.POST,
                grade_submits="grade_submits" in request.POST,
                shows_time_left="shows_time_left" in request.POST,
            )
        account_services.set_mails(
            user=request.user,
            is_mailed_about_runs="is_mailed_about_runs" in request.POST,
            is_mailed_about_requests="is_mailed_about_requests" in request.POST
            if "requests" in asks
            else request.user.is_mailed_about_requests,
            is_mailed_about_announcements="is_mailed_about_announcements" in request.POST,
        )
        messages.success(request, gettext("Settings saved."))
        return redirect("account")
    tracks = tracks_for(request.user)
    parts: dict[str, object] = {
        "judged": tracks_judged_by(request.user, tracks),
        "organized": tracks.filter(pk__in=request.user.organized),
        "chaired": tracks.filter(pk__in=[*request.user.roles]).exclude(pk__in=request.user.organized),
        "teams": teams_with(request.user, tracks),
        "former": former_teams(request.user),
        "lockouts": lockouts_of(request.user),
        "sends_mail": settings.SENDS_MAIL,
        "signs_in": settings.SIGN_IN,
    }
    return render(request, "accounts/account.html", parts)


@require_safe
def api_docs(request: HttpRequest) -> HttpResponse:
    """The endpoints of the API, with what each takes and answers. Everyone."""
    return render(request, "home/api_docs.html")


@require_safe
def health_check(request: HttpRequest) -> JsonResponse:
    """Respond with 200 if the web process runs and its database can write, otherwise with 503. Everyone."""
    problem = health.problem()
    answer = {"status": problem or "ok", "version": VERSION}
    # as for the rest, the process itself works: no reason to restart it
    answer |= {part: other or "ok" for part, other in health.others().items()}
    if settings.BACKUP_DIR:
        answer["backups"] = health.backups() or "ok"
    response = JsonResponse(answer, status=503 if problem else 200)
    response._has_been_logged = True  # type: ignore[attr-defined]  # Django logs each 503; `Health` logs the change
    return response
