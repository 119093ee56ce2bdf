"""The pages about the site itself: to read, and for organizers to write."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, administrator_required
from tracks.editor import PREVIEW, Button, Done, MarkdownForm, editor
from tracks.models import SitePage
from tracks.pages import selectors, services
from web.pages import read_and_post
from web.translation import translated_for_assessors


@translated_for_assessors
@require_safe
def site_page(request: HttpRequest, name: str) -> HttpResponse:
    """About, contact, terms or privacy. Everyone."""
    return render(
        request, "tracks/pages/page.html", {"text": selectors.page_text(name), "names": SitePage.Name.choices}
    )


@read_and_post
@administrator_required
def edit(request: AuthenticatedRequest, name: str) -> HttpResponse:
    """Write the next version: preview or publish it. Administrators only."""
    current = selectors.page_text(name)
    address = reverse("tracks:site_page", args=[name])

    def publish(**values: Any) -> Done:
        services.publish(name=name, by=request.user, **values)
        return Done("The text is published.", address)

    page = {
        "layout": "base.html",
        "heading": f"Edit: {current.title}",
        "lead": "Everyone can read this page, also without an account.",
        "crumbs": [(current.title, address)],
    }
    form = MarkdownForm(initial={"text": current.text, "revision": current.number})
    return editor(request, form, [Button("publish", "Publish the text", publish), PREVIEW], page)
