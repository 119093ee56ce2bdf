"""The pages about the site itself: to read, and for organizers to write."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, administrator_required
from assay.errors import Refused
from tracks.guidelines.forms import MarkdownForm
from tracks.markdown import plain_html
from tracks.pages import selectors, services
from web.pages import read_and_post


@require_safe
def page(request: HttpRequest, name: str) -> HttpResponse:
    """About, contact, terms or privacy. Everyone."""
    return render(request, "tracks/pages/page.html", {"text": selectors.page_text(name)})


@read_and_post
@administrator_required
def edit(request: AuthenticatedRequest, name: str) -> HttpResponse:
    """Write the next version: preview or publish it. Organizers only."""
    current = selectors.page_text(name)
    if request.method != "POST":
        form = MarkdownForm(initial={"text": current.text, "revision": current.number})
        return _editor(request, name, form)
    form = MarkdownForm(request.POST)
    if not form.is_valid() or request.POST.get("action") != "publish":
        return _editor(request, name, form, status=200 if form.is_valid() else 422)
    try:
        services.publish(name=name, by=request.user, **form.cleaned_data)
    except Refused as refusal:
        form.add_error(None, refusal.message)
        if isinstance(refusal, services.PageChanged):
            data = request.POST.copy()
            data["revision"] = str(selectors.page_text(name).number)
            form.data = data
        return _editor(request, name, form, status=409)
    messages.success(request, "The text is published.")
    return redirect("tracks:site_page", name)


def _editor(
    request: AuthenticatedRequest, name: str, form: MarkdownForm, *, status: int = 200
) -> HttpResponse:
    """The editor with the rendered text of the form."""
    html = mark_safe(plain_html(str(form["text"].value() or "")))  # noqa: S308  sanitized
    context = {"text": selectors.page_text(name), "form": form, "html": html}
    return render(request, "tracks/pages/edit.html", context, status=status)
