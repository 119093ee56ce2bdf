"""The people of a track and of its teams: who they are, and how they get in."""

from collections.abc import Iterator
from functools import partial
from itertools import groupby

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_POST, require_safe

from accounts.access import (
    AuthenticatedRequest,
    login_required,
    organizer_form,
    people_form,
    people_required,
    user_action,
    user_page,
)
from accounts.services import path_of_link
from assay.formats.spreadsheet import as_csv
from jobs.files.deletion import parts_in_words
from participation.invitations import services as invitation_services
from participation.invitations.forms import TermsForm
from participation.invitations.selectors import LINK_COLUMNS, invitations_of, link_rows, shared_links
from participation.invitations.services import Place
from participation.models import Team
from participation.people import questions, selectors, services
from participation.people.forms import (
    GroupsForm,
    LeavingForm,
    ListForm,
    OrganizerForm,
    RoleInvitationForm,
    TeamDetailsForm,
    TeamInvitationForm,
    TeamNameForm,
)
from participation.people.pasted import ROLES, Problem, read
from participation.people.services import Sender
from participation.teams import selectors as team_selectors
from participation.teams import services as team_services
from tracks.assessors import organizers
from tracks.assessors import services as assessor_services
from tracks.models import Track
from tracks.tracks.forms import CloneForm
from tracks.tracks.selectors import track_or_404
from web.confirmation import confirmation_page, deletion
from web.downloads import download
from web.forms import refusals_in
from web.pages import context_of, counted, read_and_post, site_of


def _track(request: HttpRequest, slug: str) -> Track:
    return track_or_404(request.user, slug)


@require_safe
@people_required
def people(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Roles, invitations, agreement and requests. Organizers only."""
    return _page(request, _track(request, slug))


@require_safe
@people_form
def links_csv(request: AuthenticatedRequest, slug: str) -> HttpResponseBase:
    """The links of all open invitations as CSV. Organizers only."""
    track = _track(request, slug)
    links = shared_links(invitations_of(track), site_of(request))
    return download(as_csv(LINK_COLUMNS, link_rows(links)), f"{track.slug}-invitations.csv")


def _page(
    request: AuthenticatedRequest,
    track: Track,
    form: RoleInvitationForm | None = None,
    organizer: OrganizerForm | None = None,
    groups: GroupsForm | None = None,
) -> HttpResponse:
    search, number = request.GET.get("q", ""), request.GET.get("page")
    page = selectors.people_page(track, site_of(request), request.user, search=search, number=number)
    status = 422 if form or organizer or groups else 200
    if groups is None and track.protocol.parsed.judging.groups:
        groups = GroupsForm(track=track)
    forms = {
        "form": form or RoleInvitationForm(track=track),
        "groups": groups,
        "organizer_form": organizer or OrganizerForm(),
    }
    return render(request, "participation/people/people.html", context_of(page) | forms, status=status)


@read_and_post
@people_form
def add(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Check a pasted list, then carry it out. Organizers only."""
    track = _track(request, slug)
    initial = {"is_mailing": settings.SENDS_MAIL, "text": request.GET.get("text", "")}
    form = ListForm(request.POST or None, initial=initial)
    context = {
        "track": track,
        "form": form,
        "roles": list(ROLES),
        "sends_mail": settings.SENDS_MAIL,
    }
    if request.method != "POST" or not form.is_valid():
        return render(request, "participation/people/add.html", context)
    listed = read(form.cleaned_data["text"])
    if request.POST.get("action") == "add":
        is_mailing = form.cleaned_data["is_mailing"] and settings.SENDS_MAIL
        sender = Sender(by=request.user, site=site_of(request), is_mailing=is_mailing)
        with refusals_in(form):
            done = services.add(track=track, people=listed, sender=sender)
            accounts = counted(done.n_new_accounts, "new account")
            then = "They get an e-mail with their link." if is_mailing else "Send them the links below."
            text = f"{counted(len(done.steps), 'person,people')} added, {accounts}."
            messages.success(request, f"{text} {then if done.n_new_accounts else ''}")
            return redirect("participation:people", track.slug)
    context["plan"] = plan = services.plan(track, listed)
    status = 409 if form.errors else 422 if plan.problems else 200
    if plan.problems:
        form.errors.pop("__all__", None)  # the refusal is the first of them
        form.add_error("text", [*_with_lines(plan.problems, form.cleaned_data["text"])])
    return render(request, "participation/people/add.html", context, status=status)


def _with_lines(problems: list[Problem], text: str) -> Iterator[str]:
    """The problems of a list, and below the last one of each line that line."""
    for number, of_line in groupby(problems, key=lambda problem: problem.line):
        *others, last = map(str, of_line)
        yield from others
        line = "".join(text.splitlines()[max(number - 1, 0) : number]).strip().replace("\t", " → ")
        yield format_html('{}<code class="wrong-line">{}</code>', last, line) if line else last


@require_POST
@people_form
def invite(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Make a link to a team or to the assessors. Organizers only."""
    track = _track(request, slug)
    form = RoleInvitationForm(request.POST, track=track)
    if not form.is_valid():
        return _page(request, track, form)
    _invite(request, form.chosen(), form)
    return redirect("participation:people", track.slug)


def _invite(request: AuthenticatedRequest, place: Place, form: TermsForm) -> None:
    """Make a link to a place, and send it if the terms name an address."""
    terms = form.terms
    invitation = invitation_services.invite(
        place=place, terms=terms, by=request.user, site=site_of(request), is_mailed=bool(terms.email)
    )
    is_sent = invitation.letter is not None
    text = (
        f"The link is on its way to {invitation.email}." if is_sent else "Copy the link below, and send it."
    )
    messages.success(request, text)


@require_POST
@people_form
def create_team(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Create a team without members. Organizers only."""
    track = _track(request, slug)
    form = TeamNameForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Enter a name of at most 100 characters.")
        return redirect("participation:people", track.slug)
    return redirect(team_services.create(track=track, name=form.cleaned_data["name"]))


@require_POST
@people_form
def set_groups(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Set the groups of all assessors: all of them, or none. Organizers only."""
    track = _track(request, slug)
    form = GroupsForm(request.POST, track=track)
    with refusals_in(form):
        if form.is_valid():
            assessor_services.set_groups(track=track, groups=form.groups)
            messages.success(request, "The groups of the assessors are saved.")
            return redirect("participation:people", track.slug)
    return _page(request, track, groups=form)


@read_and_post
@people_form
def remove_assessor(request: AuthenticatedRequest, slug: str, user_id: int) -> HttpResponse:
    """Ask, then end somebody's work as an assessor. Organizers only."""
    track = _track(request, slug)
    user = selectors.person_of(track, user_id)
    if user is None:
        raise Http404
    page = questions.removal_page(track, user)
    if not page.is_given(request):
        return confirmation_page(request, page, layout="tracks/base.html", track=track)
    assessor_services.remove(track=track, user=user, by=request.user)
    messages.success(request, f"{user.named} no longer judges for {track}. Their judgments stay.")
    return redirect("participation:people", track.slug)


@require_POST
@people_form
def set_organizer(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Appoint an organizer or a chair, or dismiss one. Organizers and administrators."""
    track = _track(request, slug)
    form = OrganizerForm(request.POST)
    if not form.is_valid():
        return _page(request, track, organizer=form)
    user, role = form.cleaned_data["username"], form.cleaned_data["role"]
    organizes = track.organizers.filter(user=request.user, is_chair=False)
    if user == request.user and (role == "none" or (role == "chair" and organizes.exists())):
        return redirect(f"{reverse('participation:leave_organizers', args=[track.slug])}?role={role}")
    if role != "none":
        reason = form.cleaned_data["reason"]
        organizers.appoint(track=track, user=user, role=role, by=request.user, reason=reason)
        messages.success(
            request, f"{user.named} is {'a chair' if role == 'chair' else 'an organizer'} of {track}."
        )
    else:
        organizers.dismiss(track=track, user=user, by=request.user)
        messages.success(request, f"{user.named} has no longer a role in organizing {track}.")
    may_stay = request.user.is_administrator or role == "organizer" or user != request.user
    return redirect("participation:people", track.slug) if may_stay else redirect("home")


@read_and_post
@people_form
def leave_organizers(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask, then take the role in organizing from oneself, or become a chair. Organizers and administrators."""
    track = _track(request, slug)
    form = LeavingForm(request.POST or {"role": request.GET.get("role", "none")})
    is_chair = form.is_valid() and form.cleaned_data["role"] == "chair"
    page = questions.leaving_page(track, request.user, is_chair=is_chair)
    if not form.is_valid() or not page.is_given(request):
        return confirmation_page(request, page, layout="tracks/base.html", track=track, form=form)
    if is_chair:
        organizers.appoint(track=track, user=request.user, role="chair", by=request.user)
        messages.success(request, f"{request.user.named} is a chair of {track}.")
        return redirect("participation:people", track.slug)
    organizers.dismiss(track=track, user=request.user, by=request.user)
    messages.success(request, f"You have no longer a role in organizing {track}.")
    return redirect("home")


@require_POST
@people_form
def make_link(request: AuthenticatedRequest, slug: str, user_id: int) -> HttpResponse:
    """Show a login link of a person once, or make an invitation for a person without a password. Organizers only."""
    track = _track(request, slug)
    person = selectors.person_of(track, user_id)
    if person is None or not services.may_let_in(request.user, person):
        messages.error(
            request,
            "No link can be made for this account: it is closed, or it also has roles in tracks of others.",
        )
        return redirect("participation:people", track.slug)
    if not person.has_usable_password():
        sender = Sender(by=request.user, site=site_of(request), is_mailing=settings.SENDS_MAIL)
        services.invite_account(track=track, user=person, sender=sender)
        messages.success(request, f"{person.named} has a new link.")
        return redirect("participation:people", track.slug)
    context = {
        "track": track,
        "person": person,
        "link": f"{site_of(request)}{path_of_link(person)}",
    }
    return render(request, "participation/people/link.html", context)


def _managed(request: AuthenticatedRequest, team_id: int) -> Team:
    return get_object_or_404(team_selectors.managed_teams(request.user), pk=team_id)


@user_page
def team_page(request: AuthenticatedRequest, team_id: int) -> HttpResponse:
    """The members and invitations of a team. Its members, and organizers."""
    team = get_object_or_404(team_selectors.teams_for(request.user), pk=team_id)
    return _render_team(request, team)


def _render_team(
    request: AuthenticatedRequest,
    team: Team,
    *,
    form: TeamInvitationForm | None = None,
    details: TeamDetailsForm | None = None,
) -> HttpResponse:
    page = selectors.team_page(team, request.user, site_of(request))
    forms = {
        "form": form or TeamInvitationForm(),
        "details": details or TeamDetailsForm(team=team),
    }
    status = 422 if form or details else 200
    return render(request, "participation/people/team.html", context_of(page) | forms, status=status)


@user_action
def edit_team(request: AuthenticatedRequest, team_id: int) -> HttpResponse:
    """Change the name, organization and documents of a team. Those who manage it."""
    team = _managed(request, team_id)
    form = TeamDetailsForm(request.POST, team=team)
    if not form.is_valid():
        return _render_team(request, team, details=form)
    team_services.describe(team=team, **form.cleaned_data)
    messages.success(request, "The team is saved.")
    return redirect(team)


@user_action
def invite_member(request: AuthenticatedRequest, team_id: int) -> HttpResponse:
    """Make a link to the team, and send it if it is for an e-mail address. Those who manage the team."""
    team = _managed(request, team_id)
    form = TeamInvitationForm(request.POST)
    if not form.is_valid():
        return _render_team(request, team, form=form)
    _invite(request, Place(track=team.track, team=team, may_submit=form.cleaned_data["may_submit"]), form)
    return redirect(team)


@read_and_post
@login_required
def leave_team(request: AuthenticatedRequest, team_id: int) -> HttpResponse:
    """Ask, then leave a team. Its members."""
    team = get_object_or_404(team_selectors.teams_for(request.user), pk=team_id, members=request.user)
    page = questions.member_page(team, request.user, is_own=True)
    if not page.is_given(request):
        return confirmation_page(request, page, layout="tracks/base.html", track=team.track)
    team_services.end_membership(team=team, user=request.user, by=request.user)
    messages.success(request, f"You left {team}. Its runs stay with the team.")
    return redirect(team.track)


@user_action
def change_member(request: AuthenticatedRequest, team_id: int, user_id: int) -> HttpResponse:
    """Set whether a member may submit, or make them the contact person. Those who manage the team."""
    team = _managed(request, team_id)
    member = get_object_or_404(team.members, pk=user_id)
    action = request.POST.get("action", "")
    if action == "contact":
        team_services.set_contact(team=team, user=member)
        messages.success(request, f"{member.named} is the contact person.")
    elif action in {"allow", "forbid"}:
        team_services.set_may_submit(team=team, user=member, may_submit=action == "allow")
        messages.success(
            request, f"{member.named} may {'' if action == 'allow' else 'no longer '}submit runs."
        )
    return redirect(team)


@read_and_post
@login_required
def remove_member(request: AuthenticatedRequest, team_id: int, user_id: int) -> HttpResponse:
    """Ask, then remove a member. Those who manage the team."""
    team = _managed(request, team_id)
    member = get_object_or_404(team.members, pk=user_id)
    page = questions.member_page(team, member)
    if not page.is_given(request):
        return confirmation_page(request, page, layout="tracks/base.html", track=team.track)
    team_services.end_membership(team=team, user=member, by=request.user)
    messages.success(request, f"{member.named} is removed. Their runs stay with the team.")
    return redirect(team if member != request.user else team.track)


@organizer_form
def delete_team(request: AuthenticatedRequest, team_id: int) -> HttpResponse:
    """Ask, then delete a team that has done nothing. Organizers only."""
    team = get_object_or_404(team_selectors.managed_teams(request.user), pk=team_id)
    goes_with = parts_in_words(team, team_services.PARTS)
    runs = reverse("pooling:team_runs", args=[team.track.slug, team.pk]), "See its runs"
    check = partial(team_services.check_deletion, team)
    page = deletion(team, "team", check, goes_with=goes_with, instead=runs)
    if not page.is_given(request):
        return confirmation_page(request, page, layout="tracks/base.html", track=team.track)
    team_services.delete(team=team, by=request.user)
    messages.success(request, f"The team {team} is deleted.")
    return redirect("participation:people", team.track.slug)


@organizer_form
def clone_track(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Create a track like this one. Organizers only."""
    track = _track(request, slug)
    form = CloneForm(request.POST or None)
    if form.is_valid():
        new = services.clone(track=track, by=request.user, **form.cleaned_data)
        messages.success(request, f"Created {new}, a draft like {track}. Import its topics next.")
        return redirect(new)
    return render(request, "participation/people/clone_track.html", {"track": track, "form": form})
