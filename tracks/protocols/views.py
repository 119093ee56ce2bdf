"""Page of a protocol."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from assay.protocols.description import facts
from tracks.protocols import selectors


@require_GET
def protocol(request: HttpRequest, slug: str) -> HttpResponse:
    """A protocol as a page and as its TOML. Everybody."""
    stored = get_object_or_404(selectors.protocols(), slug=slug)
    if request.GET.get("format") == "toml":
        return HttpResponse(stored.text, content_type="application/toml; charset=utf-8")
    context = {"stored": stored, "protocol": stored.parsed, "facts": facts(stored.parsed)}
    return render(request, "tracks/protocols/protocol.html", context)
