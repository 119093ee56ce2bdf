"""The page of a user's access tokens."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.access import AuthenticatedRequest, login_required
from accounts.tokens import selectors, services
from accounts.tokens.forms import TokenForm
from accounts.tokens.services import NewToken
from assay.errors import Refused


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def tokens(request: AuthenticatedRequest) -> HttpResponse:
    """The user's tokens, and the form that creates one. Its text is shown once. Everyone who has logged in."""
    form = TokenForm(request.POST if request.method == "POST" else None)
    new = _create(request, form) if form.is_valid() else None
    context = {"tokens": selectors.tokens_of(request.user), "form": TokenForm() if new else form, "new": new}
    return render(request, "accounts/tokens/tokens.html", context)


def _create(request: AuthenticatedRequest, form: TokenForm) -> NewToken | None:
    data = form.cleaned_data
    try:
        return services.create(
            user=request.user, name=data["name"], scopes=data["scopes"], expires_at=form.expires_at
        )
    except Refused as refusal:
        form.add_error(None, refusal.message)
        return None


@require_POST
@login_required
def revoke(request: AuthenticatedRequest, token_id: int) -> HttpResponse:
    """Revoke a token. Its user only."""
    token = get_object_or_404(selectors.tokens_of(request.user), pk=token_id)
    services.revoke(token=token)
    messages.success(request, f"The token {token.name} is revoked.")
    return redirect("tokens")
