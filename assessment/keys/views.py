"""The page of a user's own keys."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts import services as account_services
from accounts.access import AuthenticatedRequest, login_required
from assessment.keys.forms import KeysForm
from assessment.keys.selectors import judged_protocols


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@login_required
def keys(request: AuthenticatedRequest) -> HttpResponse:
    """The keys of the judging page. Every logged-in user, for themselves."""
    if "reset" in request.POST:
        return _stored(request, {}, "All keys are the usual ones again.")
    data = request.POST if request.method == "POST" else None
    form = KeysForm(data, initial=request.user.judging_keys, protocols=judged_protocols(request.user))
    if data is not None and form.is_valid():
        return _stored(request, form.keys, "Keys saved.")
    return render(request, "assessment/keys/keys.html", {"form": form}, status=422 if form.errors else 200)


def _stored(request: AuthenticatedRequest, keys: dict[str, str], message: str) -> HttpResponse:
    account_services.set_keys(user=request.user, keys=keys)
    messages.success(request, message)
    return redirect("assessment:keys")
