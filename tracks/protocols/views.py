"""The page of a protocol."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from tracks.protocols import selectors
from web.pages import context_of


@require_safe
def protocol(request: HttpRequest, slug: str) -> HttpResponse:
    """A protocol, described in words or as its TOML. Everyone."""
    stored = get_object_or_404(selectors.protocols(), slug=slug)
    if request.GET.get("format") == "toml":
        return HttpResponse(stored.text, content_type="application/toml; charset=utf-8")
    return render(request, "tracks/protocols/protocol.html", context_of(selectors.protocol_page(stored)))
