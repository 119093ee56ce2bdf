"""The pages on which a protocol is written."""

import tomllib
from dataclasses import replace
from urllib.parse import quote

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from accounts.access import AuthenticatedRequest, creator_required
from assay.errors import Refused
from tracks.drafts import selectors, services
from tracks.drafts.changes import Change
from tracks.drafts.fields import Form, measure_rows
from tracks.drafts.forms import StartForm
from tracks.drafts.given import after_button, changes_in, operations_in
from tracks.drafts.schema import is_key
from tracks.models import ProtocolDraft
from web.confirmation import Confirmation, confirmation_page
from web.pages import context_of, number_in, read_and_post


@read_and_post
@creator_required
def new_protocol(request: AuthenticatedRequest) -> HttpResponse:
    """Begin a draft of a protocol, from a stored one, a file or nothing. Organizers only."""
    form = StartForm(request.POST or None, request.FILES or None)
    if form.is_valid():
        base, text = form.cleaned_data["base"], form.cleaned_data["upload"]
        return redirect(services.create(owner=request.user, text=text, base=base))
    page = selectors.start_page(request.user, request.GET.get("q", ""))
    context = context_of(page) | {"form": form}
    return render(request, "tracks/drafts/start.html", context, status=422 if form.errors else 200)


@require_safe
@creator_required
def draft(request: AuthenticatedRequest, draft_id: int) -> HttpResponse:
    """The editor of a protocol, a section at a time. Its owner only."""
    edited = get_object_or_404(selectors.drafts_of(request.user), pk=draft_id)
    if request.GET.get("format") == "toml":
        return HttpResponse(edited.text, content_type="application/toml; charset=utf-8")
    page = _page(request, edited)
    return render(request, "tracks/drafts/edit.html", context_of(page) | _derived(page))


@require_POST
@creator_required
def change(request: AuthenticatedRequest, draft_id: int) -> HttpResponse:
    """Change the keys that a form sends, and do what its button says. Its owner only."""
    edited = get_object_or_404(selectors.drafts_of(request.user), pk=draft_id)
    operation, _, path = request.POST.get("op", "").partition(" ")
    before = _page(request, edited).shape
    try:
        edited = services.change_keys(
            draft=edited, revision=_revision(request), changes=_changes(request, edited, operation, path)
        )
    except Refused as refusal:
        return _refused(request, edited, refusal)
    return _answer(request, edited, has_form=bool(operation) or _page(request, edited).shape != before)


@require_POST
@creator_required
def change_text(request: AuthenticatedRequest, draft_id: int) -> HttpResponse:
    """Store the text of a draft. Its owner only."""
    edited = get_object_or_404(selectors.drafts_of(request.user), pk=draft_id)
    text = request.POST.get("text", "")
    try:
        edited = services.replace_text(draft=edited, revision=_revision(request), text=text)
    except Refused as refusal:
        return _refused(request, edited, refusal)
    return _answer(request, edited, has_form=True)


@require_POST
@creator_required
def add_protocol(request: AuthenticatedRequest, draft_id: int) -> HttpResponse:
    """Add a draft without errors as a protocol; or show its first error. Its owner only."""
    edited = get_object_or_404(selectors.drafts_of(request.user), pk=draft_id)
    try:
        changes = _changes(request, edited, "", "")
        edited = (
            services.change_keys(draft=edited, revision=_revision(request), changes=changes)
            if changes
            else edited
        )
    except Refused as refusal:
        return _refused(request, edited, refusal)
    if address := selectors.place_of_first_error(edited, request.POST.get("view", "")):
        return _gone(request, address)
    stored = services.add(draft=edited)
    messages.success(request, f"Added the protocol {stored}. Create a track with it.")
    return _gone(request, reverse("tracks:protocol", args=[stored.slug]))


@read_and_post
@creator_required
def discard(request: AuthenticatedRequest, draft_id: int) -> HttpResponse:
    """Ask, then discard a draft. Its owner only."""
    edited = get_object_or_404(selectors.drafts_of(request.user), pk=draft_id)
    page = Confirmation(
        act=f"Discard the draft “{edited}”",
        button="Discard draft",
        back=edited.get_absolute_url(),
        text="Nobody else has it. To keep a copy, download its TOML first.",
        is_danger=True,
    )
    if not page.is_given(request):
        return confirmation_page(request, page, crumbs=[("Protocols", reverse("tracks:protocols"))])
    services.discard(draft=edited)
    messages.success(request, f"The draft “{edited}” is discarded.")
    return redirect("tracks:new_protocol")


def _by_script(request: HttpRequest) -> bool:
    return bool(request.headers.get("HX-Request"))


def _gone(request: HttpRequest, address: str) -> HttpResponse:
    """Leave the editor; the form is sent by a script, if there is one."""
    return HttpResponseClientRedirect(address) if _by_script(request) else redirect(address)


def _changes(request: HttpRequest, edited: ProtocolDraft, operation: str, path: str) -> list[Change]:
    """The changes of the fields of a form, and that of its button."""
    try:
        data, base = tomllib.loads(edited.text), tomllib.loads(edited.base_text)
    except tomllib.TOMLDecodeError:
        return []
    if operation == "undo" and is_key(path):
        return [Form(data, base).undo(path)]
    given = after_button(request.POST, operation, path)
    return [*changes_in(given, data), *operations_in(operation, path)]


def _revision(request: HttpRequest) -> int:
    return number_in(request.POST.get("revision", ""), -1)


def _page(request: HttpRequest, edited: ProtocolDraft) -> selectors.EditPage:
    given = request.POST if request.method == "POST" else request.GET
    return selectors.edit_page(edited, given.get("section", ""), given.get("view", ""), _new_row(request))


def _new_row(request: HttpRequest) -> str:
    """The key of a list that gets an empty row."""
    operation, _, path = request.POST.get("op", "").partition(" ")
    return path if operation == "row" else request.GET.get("row", "")


def _derived(page: selectors.EditPage) -> dict[str, object]:
    return {"top": page.top, "has_keys": page.has_keys, "known_measures": page.known_measures}


def _answer(request: HttpRequest, edited: ProtocolDraft, *, has_form: bool) -> HttpResponse:
    """The parts of the page that a change changes; without a script, the page again."""
    page = _page(request, edited)
    if not _by_script(request):
        view = "text" if page.is_text and "text" in request.POST else page.view
        row = f"&row={quote(path)}" if (path := _new_row(request)) else ""
        return redirect(f"{edited.get_absolute_url()}?section={page.section.name}&view={view}{row}")
    context = (
        context_of(page)
        | _derived(page)
        | {
            "notes": page.notes,
            "keys": [field for field in page.keys if field.path not in request.POST],
            "measures": [
                replace(field, rows=measure_rows(request.POST.getlist(field.path)))
                for field in page.notes
                if field.control == "measures" and field.path in request.POST
            ],
            "has_form": has_form,
            "is_typed": "text" in request.POST,
        }
    )
    return render(request, "tracks/drafts/_answer.html", context)


def _refused(request: HttpRequest, edited: ProtocolDraft, refusal: Refused) -> HttpResponse:
    """The text of this window and that of the other one, from which the person chooses; or the reason alone."""
    is_part = _by_script(request)
    context = {
        "draft": edited,
        "mine": getattr(refusal, "mine", ""),
        "refusal": refusal,
        "section": request.POST.get("section", ""),
        "view": request.POST.get("view", ""),
        "frame": "tracks/drafts/_part.html" if is_part else "base.html",
    }
    return render(request, "tracks/drafts/both.html", context, status=409)
