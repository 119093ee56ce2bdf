"""The pages of guidelines: to read, to compare, and for organizers to write."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, login_required, organizer_form
from assay.errors import Refused
from tracks.guidelines import selectors, services
from tracks.guidelines.differences import differences
from tracks.guidelines.forms import GuidelinesForm
from tracks.guidelines.rendering import rendered
from tracks.models import Track
from web.pages import context_of


@require_safe
@login_required
def guidelines(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The guidelines in force. Assessors of the track, and organizers."""
    track = get_object_or_404(selectors.tracks_with_guidelines(request.user), slug=slug)
    page = selectors.guidelines_page(track, request.user, track.guidelines)
    if track.guidelines is not None:
        services.mark_read(version=track.guidelines, user=request.user)
    return render(request, "tracks/guidelines/guidelines.html", context_of(page))


@require_safe
@login_required
def versions(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The published versions, newest first. Assessors of the track, and organizers."""
    track = get_object_or_404(selectors.tracks_with_guidelines(request.user), slug=slug)
    return render(request, "tracks/guidelines/versions.html", context_of(selectors.versions_page(track)))


@require_safe
@login_required
def version(request: AuthenticatedRequest, slug: str, number: int) -> HttpResponse:
    """One published version. Assessors of the track, and organizers."""
    track = get_object_or_404(selectors.tracks_with_guidelines(request.user), slug=slug)
    version = get_object_or_404(selectors.versions_of(track), number=number)
    page = selectors.guidelines_page(track, request.user, version)
    return render(request, "tracks/guidelines/guidelines.html", context_of(page))


@require_safe
@login_required
def changes(request: AuthenticatedRequest, slug: str, old: int, new: int) -> HttpResponse:
    """The changes between two versions. Assessors of the track, and organizers."""
    track = get_object_or_404(selectors.tracks_with_guidelines(request.user), slug=slug)
    before, after = (get_object_or_404(selectors.versions_of(track), number=number) for number in (old, new))
    page = selectors.ChangesPage(track, before, after, differences(before.text, after.text))
    return render(request, "tracks/guidelines/changes.html", context_of(page))


@organizer_form
def edit(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Write the next version: save, preview or publish it, or add an example. Organizers only."""
    track = get_object_or_404(selectors.tracks_with_guidelines(request.user), slug=slug)
    if request.method != "POST":
        draft = selectors.draft_of(track)
        return _editor(
            request, track, GuidelinesForm(initial={"text": draft.text, "revision": draft.revision})
        )
    form = GuidelinesForm(request.POST)
    if not form.is_valid():
        return _editor(request, track, form, status=422)
    action = request.POST.get("action")
    if action == "preview":
        return _editor(request, track, form)
    try:
        if action == "publish":
            version = services.publish(track=track, by=request.user, **form.cleaned_data)
            text = f"Version {version.number} is in force. Assessors see a note when they judge."
            messages.success(request, text)
            return redirect("tracks:guidelines", track.slug)
        text, revision = form.cleaned_data["text"], form.cleaned_data["revision"]
        services.save_draft(track=track, text=text, revision=revision, by=request.user)
        messages.success(request, "The draft is saved. Assessors do not see it before you publish it.")
        chooses_examples = action == "examples"
        return redirect("assessment:examples" if chooses_examples else "tracks:edit_guidelines", track.slug)
    except services.DraftChanged as refusal:
        form.add_error(None, refusal.message)
        form.data = request.POST.copy()
        form.data["revision"] = str(refusal.draft.revision)
    except Refused as refusal:
        form.add_error(None, refusal.message)
    return _editor(request, track, form, status=409)


def _editor(
    request: AuthenticatedRequest, track: Track, form: GuidelinesForm, *, status: int = 200
) -> HttpResponse:
    """The editor with the rendered text of the form."""
    preview = rendered(track, str(form["text"].value() or ""))
    context = {
        "track": track,
        "form": form,
        "draft": selectors.draft_of(track),
        "preview": preview,
        "choices": track.protocol.parsed.judging.choices,
        "tab": "guidelines",
    }
    return render(request, "tracks/guidelines/edit.html", context, status=status)
