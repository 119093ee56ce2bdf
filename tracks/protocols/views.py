"""The pages of protocols."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, creator_required
from accounts.models import User
from tracks.models import StoredProtocol
from tracks.protocols import selectors, services
from web.confirmation import confirmation_page, deletion
from web.pages import context_of, read_and_post


@require_safe
def protocol(request: HttpRequest, slug: str) -> HttpResponse:
    """A protocol, described in words or as its TOML. Everyone."""
    stored = get_object_or_404(selectors.with_tracks(), slug=slug)
    if request.GET.get("format") == "toml":
        return HttpResponse(stored.text, content_type="application/toml; charset=utf-8")
    page = selectors.protocol_page(stored)
    return render(
        request,
        "tracks/protocols/protocol.html",
        context_of(page) | {"rules": page.rules} | _actions(request, stored),
    )


def _actions(request: HttpRequest, stored: StoredProtocol) -> dict[str, bool]:
    user = request.user
    if stored.is_shipped or not isinstance(user, User):
        return {"may_delete": False}
    return {"may_delete": selectors.deletable_by(user).filter(pk=stored.pk).exists()}


@require_safe
def protocols(request: HttpRequest) -> HttpResponse:
    """The protocols, by what is judged. Everyone."""
    search = request.GET.get("q", "")
    groups = selectors.protocol_groups(search)
    cards = [card for _, group in groups for card in group if not card.stored.missing]
    names = dict.fromkeys(name for card in cards for name in card.measures)
    context = {"groups": groups, "names": names, "search": search}
    return render(request, "tracks/protocols/protocols.html", context)


@read_and_post
@creator_required
def delete_protocol(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask, then delete a protocol that nothing uses. Who added it, and administrators."""
    stored = get_object_or_404(selectors.deletable_by(request.user), slug=slug)
    back = reverse("tracks:protocol", args=[slug])
    page = deletion(stored, "protocol", lambda: services.check_deletion(stored), back=back)
    if not page.is_given(request):
        return confirmation_page(request, page, crumbs=[("Protocols", reverse("tracks:protocols"))])
    services.delete(protocol=stored, by=request.user)
    messages.success(request, f"The protocol {slug} is deleted.")
    return redirect("tracks:protocols")
