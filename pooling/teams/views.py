"""The page of a team, and what its members do there."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.access import AuthenticatedRequest, login_required
from pooling.invitations import services as invitation_services
from pooling.invitations.forms import TeamInvitationForm
from pooling.invitations.services import Place
from pooling.invitations.views import sent_or_to_copy
from pooling.models import Team
from pooling.teams import selectors, services
from pooling.teams.forms import TeamDetailsForm
from web.pages import context_of, site_of


def _managed(request: AuthenticatedRequest, team_id: int) -> Team:
    return get_object_or_404(selectors.managed_teams(request.user), pk=team_id)


@require_safe
@never_cache
@login_required
def team(request: AuthenticatedRequest, team_id: int) -> HttpResponse:
    """The members and invitations of a team. Its members, and organizers."""
    team = get_object_or_404(selectors.teams_for(request.user), pk=team_id)
    return _page(request, team)


def _page(
    request: AuthenticatedRequest,
    team: Team,
    *,
    form: TeamInvitationForm | None = None,
    details: TeamDetailsForm | None = None,
) -> HttpResponse:
    page = selectors.team_page(team, request.user, site_of(request))
    forms = {
        "form": form or TeamInvitationForm(),
        "details": details or TeamDetailsForm(initial={"name": team.name, "organization": team.organization}),
    }
    status = 422 if form or details else 200
    return render(request, "pooling/teams/team.html", context_of(page) | forms, status=status)


@require_POST
@login_required
def edit(request: AuthenticatedRequest, team_id: int) -> HttpResponse:
    """Change the name and the organization of a team. Those who manage it."""
    team = _managed(request, team_id)
    form = TeamDetailsForm(request.POST)
    if not form.is_valid():
        return _page(request, team, details=form)
    services.describe(team=team, **form.cleaned_data)
    messages.success(request, "The team is saved.")
    return redirect(team)


@require_POST
@login_required
def invite(request: AuthenticatedRequest, team_id: int) -> HttpResponse:
    """Make a link to the team, and send it if it is for an e-mail address. Those who manage the team."""
    team = _managed(request, team_id)
    form = TeamInvitationForm(request.POST)
    if not form.is_valid():
        return _page(request, team, form=form)
    invitation = invitation_services.invite(
        place=Place(track=team.track, team=team, may_submit=form.cleaned_data["may_submit"]),
        terms=form.terms,
        by=request.user,
        site=site_of(request),
        is_mailed=bool(form.terms.email),
    )
    messages.success(request, sent_or_to_copy(invitation))
    return redirect(team)


@require_POST
@login_required
def leave(request: AuthenticatedRequest, team_id: int) -> HttpResponse:
    """Leave a team. Its members."""
    team = get_object_or_404(selectors.teams_for(request.user), pk=team_id)
    services.end_membership(team=team, user=request.user, by=request.user)
    messages.success(request, f"You left {team}. Its runs stay with the team.")
    return redirect(team.track)


@require_POST
@login_required
def change_member(request: AuthenticatedRequest, team_id: int, user_id: int) -> HttpResponse:
    """Remove a member, set whether they may submit, or make them the contact person. Those who manage the team."""
    team = _managed(request, team_id)
    member = get_object_or_404(team.members, pk=user_id)
    action = request.POST.get("action", "")
    if action == "remove":
        services.end_membership(team=team, user=member, by=request.user)
        messages.success(request, f"{member} is removed. Their runs stay with the team.")
    elif action == "contact":
        services.set_contact(team=team, user=member)
        messages.success(request, f"{member} is the contact person.")
    elif action in {"allow", "forbid"}:
        services.set_may_submit(team=team, user=member, may_submit=action == "allow")
        messages.success(request, f"{member} may {'' if action == 'allow' else 'no longer '}submit runs.")
    # who has just made somebody else the contact person still sees the team; who removed themselves does not
    return redirect(team if action != "remove" or member != request.user else team.track)
