"""Open an invitation, and accept it with an account or by registering; revoke one."""

from django.contrib import messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, secret_address, user_action
from accounts.forms import NewPasswordForm
from accounts.models import User
from accounts.views import BACKEND
from participation.errors import InvitationGone, InvitationRefused
from participation.invitations import selectors, services
from participation.invitations.forms import RegisterForm
from participation.models import Invitation
from participation.teams.selectors import teams_with
from tracks.agreements.selectors import has_accepted
from tracks.assessors.selectors import is_assessor
from tracks.models import Track
from tracks.tracks.selectors import tracks_for
from web.pages import local_address, read_and_post
from web.throttling import limited
from web.translation import translated

INVITED_BY = "invitation"  # in the session: the digest, so that no token is stored
Form = RegisterForm | NewPasswordForm


@translated
@require_safe
@secret_address
def invitation_link(request: HttpRequest, token: str) -> HttpResponse:
    """Keep the invitation in the session, and go to an address without its token. Everyone."""
    digest = selectors.digest_of(token)
    invitation = selectors.invitation_by(digest)
    if invitation is None and selectors.guest_by(digest) is None:  # no session is stored for a guess
        return render(request, "participation/invitations/gone.html", status=410)
    request.session[INVITED_BY] = digest
    is_work = invitation is None or invitation.role == Invitation.Role.GUEST
    return redirect("assessment:link" if is_work else "participation:join")


@translated
@read_and_post
@never_cache
@limited("join")
def join(request: HttpRequest) -> HttpResponse:
    """Accept the invitation of the session: with the account, by registering, or with a first password. Everyone."""
    invitation = selectors.invitation_by(request.session.get(INVITED_BY, ""))
    if invitation is None:
        return render(request, "participation/invitations/gone.html", status=410)
    if invitation.role == Invitation.Role.GUEST:
        return redirect("assessment:link")
    form = None if request.user.is_authenticated else _form(request, invitation)
    if request.method == "POST" and (form is None or form.is_valid()):
        try:
            user = _accept(request, invitation.digest, form)
        except InvitationGone:
            return render(request, "participation/invitations/gone.html", status=410)
        except InvitationRefused as refusal:
            if form is None:
                raise
            form.add_error(None, refusal.message)
        else:
            request.session.pop(INVITED_BY, None)
            return _start(request, invitation, user)
    context: dict[str, object] = {"invitation": invitation, "form": form}
    if invitation.user and invitation.track:
        context["is_assessor"] = is_assessor(invitation.user, invitation.track)
        context["teams"] = teams_with(invitation.user, Track.objects.filter(pk=invitation.track.pk))
    return render(request, "participation/invitations/join.html", context)


def _form(request: HttpRequest, invitation: Invitation) -> Form:
    data = request.POST if request.method == "POST" else None
    if invitation.user is not None:
        return NewPasswordForm(invitation.user, data)
    return RegisterForm(data, email=invitation.email)


def _accept(request: HttpRequest, digest: str, form: Form | None) -> User:
    """Accept as the user of the session, or log in as the user of the form."""
    if isinstance(request.user, User):
        services.accept(digest=digest, user=request.user)
        return request.user
    if isinstance(form, RegisterForm):
        user = services.register(digest=digest, **form.cleaned_data)
    else:
        user = services.set_up(digest=digest, password=request.POST["new_password1"])
    login(request, user, backend=BACKEND)
    return user


def _start(request: HttpRequest, invitation: Invitation, user: User) -> HttpResponse:
    """Go to the agreement of the track if it has to be accepted, otherwise to the start of the user's work."""
    if not tracks_for(user).filter(pk=invitation.track_id).exists():
        message = (
            f"{invitation.track} is not open yet. It appears among your tracks when its organizers open it."
        )
        messages.info(request, message)
    if invitation.role == Invitation.Role.MEMBER:
        messages.success(request, f"You are in the team {invitation.team} of {invitation.track}.")
        if not has_accepted(user, invitation.track):
            return redirect("tracks:agreement", invitation.track.slug)
        return redirect("participation:team", invitation.team_id)
    if invitation.role == Invitation.Role.ASSESSOR:
        messages.success(request, f"You are an assessor of {invitation.track}.")
    return redirect("start")


@user_action
def revoke(request: AuthenticatedRequest, invitation_id: int) -> HttpResponseBase:
    """End the validity of a link. Organizers, and those who manage its team."""
    invitations = selectors.open_invitations()
    invitations = invitations.filter(selectors.revocable_by(request.user))
    invitation = get_object_or_404(invitations, pk=invitation_id)
    services.revoke(invitation=invitation)
    messages.success(request, "The link is revoked. Nobody can use it any more.")
    return redirect(local_address(request, request.POST.get("next", "")) or "home")
