"""The people of a track: who they are, and how they get in."""

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import AuthenticatedRequest, organizer_required
from accounts.links import path_of
from assay.errors import Refused
from pooling.invitations import services as invitation_services
from pooling.invitations.views import sent_or_to_copy
from pooling.people import selectors, services
from pooling.people.forms import GroupsForm, ListForm, RoleInvitationForm, TeamNameForm
from pooling.people.pasted import ROLES, read
from pooling.people.plans import plan
from pooling.people.services import Sender
from pooling.teams import services as team_services
from tracks.assessors import services as assessor_services
from tracks.models import Track
from tracks.tracks.selectors import tracks_for
from web.counting import counted
from web.pages import context_of, site_of


def _track(request: HttpRequest, slug: str) -> Track:
    return get_object_or_404(tracks_for(request.user), slug=slug)


@require_safe
@never_cache
@organizer_required
def people(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Roles, invitations, agreement and requests. Organizers only."""
    return _page(request, _track(request, slug))


def _page(
    request: AuthenticatedRequest, track: Track, form: RoleInvitationForm | None = None
) -> HttpResponse:
    page = selectors.people_page(track, site_of(request))
    groups = GroupsForm(track=track) if track.protocol.parsed.judging.groups else None
    context = context_of(page) | {"form": form or RoleInvitationForm(track=track), "groups": groups}
    return render(request, "pooling/people/people.html", context, status=422 if form else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@organizer_required
def add(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Check a pasted list, then carry it out. Organizers only."""
    track = _track(request, slug)
    form = ListForm(request.POST or None, initial={"is_mailing": settings.SENDS_MAIL})
    context = {
        "track": track,
        "form": form,
        "roles": list(ROLES),
        "sends_mail": settings.SENDS_MAIL,
        "tab": "people",
    }
    if request.method != "POST" or not form.is_valid():
        return render(request, "pooling/people/add.html", context)
    if request.POST.get("action") == "add":
        try:
            return _add(request, track, form)
        except Refused as refusal:
            form.add_error(None, refusal.message)
    context["plan"] = plan(track, read(form.cleaned_data["text"]))
    return render(request, "pooling/people/add.html", context, status=409 if form.errors else 200)


def _add(request: AuthenticatedRequest, track: Track, form: ListForm) -> HttpResponse:
    is_mailing = form.cleaned_data["is_mailing"] and settings.SENDS_MAIL
    sender = Sender(by=request.user, site=site_of(request), is_mailing=is_mailing)
    done = services.add(track=track, people=read(form.cleaned_data["text"]), sender=sender)
    numbers = (
        f"{counted(len(done.steps), 'person,people')} added, {counted(done.n_new_accounts, 'new account')}"
    )
    then = "They get an e-mail with their link." if is_mailing else "Copy the links below, and send them."
    messages.success(request, f"{numbers}. {then if done.n_new_accounts else ''}")
    return redirect("pooling:people", track.slug)


@require_POST
@organizer_required
def invite(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Make a link to a team or to the assessors. Organizers only."""
    track = _track(request, slug)
    form = RoleInvitationForm(request.POST, track=track)
    if not form.is_valid():
        return _page(request, track, form)
    invitation = invitation_services.invite(
        place=form.chosen(),
        terms=form.terms,
        by=request.user,
        site=site_of(request),
        is_mailed=bool(form.terms.email),
    )
    messages.success(request, sent_or_to_copy(invitation))
    return redirect("pooling:people", track.slug)


@require_POST
@organizer_required
def create_team(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Create a team without members. Organizers only."""
    track = _track(request, slug)
    form = TeamNameForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Enter a name of at most 100 characters.")
        return redirect("pooling:people", track.slug)
    return redirect(team_services.create(track=track, name=form.cleaned_data["name"]))


@require_POST
@organizer_required
def set_groups(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Set the groups of all assessors: all of them, or none. Organizers only."""
    track = _track(request, slug)
    form = GroupsForm(request.POST, track=track)
    if form.is_valid():
        assessor_services.set_groups(track=track, groups=form.groups)
        messages.success(request, "The groups of the assessors are saved.")
    else:
        messages.error(request, "Choose groups of the protocol. Nothing was changed.")
    return redirect("pooling:people", track.slug)


@require_POST
@organizer_required
def remove_assessor(request: AuthenticatedRequest, slug: str, user_id: int) -> HttpResponse:
    """End somebody's work as an assessor. Organizers only."""
    track = _track(request, slug)
    user = selectors.person_of(track, user_id)
    if user is None:
        raise Http404
    assessor_services.remove(track=track, user=user, by=request.user)
    messages.success(request, f"{user} no longer judges for {track}. Their judgments stay.")
    return redirect("pooling:people", track.slug)


@require_POST
@never_cache
@organizer_required
def make_link(request: AuthenticatedRequest, slug: str, user_id: int) -> HttpResponse:
    """Show a login link of a person once, or make an invitation for who has no password yet. Organizers only."""
    track = _track(request, slug)
    person = selectors.person_of(track, user_id)
    if person is None or not person.is_active or person.is_superuser:
        messages.error(request, "No link can be made for this account.")
        return redirect("pooling:people", track.slug)
    if not person.has_usable_password():
        sender = Sender(by=request.user, site=site_of(request), is_mailing=settings.SENDS_MAIL)
        services.invite_account(track=track, user=person, sender=sender)
        messages.success(request, f"{person} has a new link.")
        return redirect("pooling:people", track.slug)
    context = {
        "track": track,
        "person": person,
        "link": f"{site_of(request)}{path_of(person)}",
        "tab": "people",
    }
    return render(request, "pooling/people/link.html", context)
