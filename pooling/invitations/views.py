"""Open an invitation, and accept it with an account or by registering; revoke one."""

from django.contrib import messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import AuthenticatedRequest, login_required, secret_address
from accounts.models import User
from accounts.views import BACKEND
from pooling.invitations import selectors, services
from pooling.invitations.errors import InvitationGone, InvitationRefused
from pooling.invitations.forms import FirstPasswordForm, RegisterForm
from pooling.invitations.tokens import digest_of
from pooling.models import Invitation
from pooling.teams.selectors import managed_teams
from tracks.agreements.selectors import has_accepted
from web.pages import local_address
from web.throttling import limited

INVITED_BY = "invitation"  # in the session: the digest, so that no token is stored
Form = RegisterForm | FirstPasswordForm


@require_safe
@secret_address
def invitation_link(request: HttpRequest, token: str) -> HttpResponse:
    """Keep the invitation in the session, and go to an address without its token. Everyone."""
    request.session[INVITED_BY] = digest_of(token)
    return redirect("pooling:join")


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@limited("join", per_hour=60)
def join(request: HttpRequest) -> HttpResponse:
    """Accept the invitation of the session: with the account, by registering, or with a first password. Everyone."""
    invitation = selectors.invitation_by(request.session.get(INVITED_BY, ""))
    if invitation is None:
        return render(request, "pooling/invitations/gone.html", status=410)
    form = None if request.user.is_authenticated else _form(request, invitation)
    if request.method != "POST" or (form is not None and not form.is_valid()):
        return _page(request, invitation, form)
    try:
        user = _accept(request, invitation, form)
    except InvitationGone:
        return render(request, "pooling/invitations/gone.html", status=410)
    except InvitationRefused as refusal:
        if form is None:
            raise
        form.add_error(None, refusal.message)
        return _page(request, invitation, form)
    return _go_on(request, invitation, user)


def _form(request: HttpRequest, invitation: Invitation) -> Form:
    data = request.POST if request.method == "POST" else None
    if invitation.user is not None:
        return FirstPasswordForm(invitation.user, data)
    return RegisterForm(data, email=invitation.email)


def _page(request: HttpRequest, invitation: Invitation, form: Form | None) -> HttpResponse:
    return render(request, "pooling/invitations/join.html", {"invitation": invitation, "form": form})


def _accept(request: HttpRequest, invitation: Invitation, form: Form | None) -> User:
    """Accept as the user of the session, or log in as the user of the form."""
    digest = invitation.digest
    if isinstance(request.user, User):
        services.accept(digest=digest, user=request.user)
        return request.user
    if isinstance(form, RegisterForm):
        user = services.register(digest=digest, account=form.account)
    else:
        user = services.set_up(digest=digest, password=request.POST["new_password1"])
    login(request, user, backend=BACKEND)
    return user


def _go_on(request: HttpRequest, invitation: Invitation, user: User) -> HttpResponse:
    """Go to the agreement of the track if it has to be accepted, otherwise to the start of the user's work."""
    request.session.pop(INVITED_BY, None)
    if invitation.role == Invitation.Role.MEMBER:
        messages.success(request, f"You are in the team {invitation.team} of {invitation.track}.")
        if not has_accepted(user, invitation.track):
            return redirect("tracks:agreement", invitation.track.slug)
        return redirect("pooling:team", invitation.team_id)
    if invitation.role == Invitation.Role.ASSESSOR:
        messages.success(request, f"You are an assessor of {invitation.track}.")
    return redirect("start")


@require_POST
@login_required
def revoke(request: AuthenticatedRequest, invitation_id: int) -> HttpResponseBase:
    """End the validity of a link. Organizers, and those who manage its team."""
    invitations = selectors.open_invitations()
    if not request.user.is_organizer:
        invitations = invitations.filter(team__in=managed_teams(request.user))
    invitation = get_object_or_404(invitations, pk=invitation_id)
    services.revoke(invitation=invitation)
    messages.success(request, "The link is revoked. Nobody can use it any more.")
    return redirect(local_address(request, request.POST.get("next", "")) or "home")


def sent_or_to_copy(invitation: Invitation) -> str:
    """The message after a new invitation."""
    if invitation.letter is not None:
        return f"The link is on its way to {invitation.email}."
    return "Copy the link below, and send it."
