"""The pages of guidelines: to read, to compare, and for organizers to write."""

from functools import partial
from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse

from accounts.access import AuthenticatedRequest, organizer_form, user_page
from tracks.editor import PREVIEW, Button, Done, MarkdownField, MarkdownForm, editor
from tracks.guidelines import selectors, services
from tracks.guidelines.differences import differences
from tracks.guidelines.rendering import rendered
from web.pages import context_of
from web.translation import translated


@translated
@user_page
def guidelines(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The guidelines in force. Assessors of the track, and organizers."""
    track = selectors.track_or_404(request.user, slug)
    page = selectors.guidelines_page(track, request.user, track.guidelines)
    if track.guidelines is not None:
        services.mark_read(version=track.guidelines, user=request.user)
    return render(request, "tracks/guidelines/guidelines.html", context_of(page))


@translated
@user_page
def versions(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The published versions, newest first. Assessors of the track, and organizers."""
    track = selectors.track_or_404(request.user, slug)
    return render(request, "tracks/guidelines/versions.html", context_of(selectors.versions_page(track)))


@translated
@user_page
def version_page(request: AuthenticatedRequest, slug: str, number: int) -> HttpResponse:
    """One published version. Assessors of the track, and organizers."""
    track = selectors.track_or_404(request.user, slug)
    version = get_object_or_404(selectors.versions_of(track), number=number)
    page = selectors.guidelines_page(track, request.user, version)
    return render(request, "tracks/guidelines/guidelines.html", context_of(page))


@translated
@user_page
def changes(request: AuthenticatedRequest, slug: str, old: int, new: int) -> HttpResponse:
    """The changes between two versions. Assessors of the track, and organizers."""
    track = selectors.track_or_404(request.user, slug)
    before, after = (get_object_or_404(selectors.versions_of(track), number=number) for number in (old, new))
    page = selectors.ChangesPage(track, before, after, differences(before.text, after.text))
    return render(request, "tracks/guidelines/changes.html", context_of(page))


class GuidelinesForm(MarkdownForm):
    """The draft, and what changed in it."""

    text = MarkdownField(rows=24)
    summary = forms.CharField(
        label="What changed",
        max_length=500,
        required=False,
        help_text="Assessors read it until they open the new version.",
    )


@organizer_form
def edit(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Write the next version: save, preview or publish it, or add an example. Organizers only."""
    track = selectors.track_or_404(request.user, slug)

    def save(*, text: str, revision: int, summary: str, next_page: str = "tracks:edit_guidelines") -> Done:
        services.save_draft(track=track, text=text, revision=revision, by=request.user)
        message = "The draft is saved. Assessors do not see it before you publish it."
        return Done(message, reverse(next_page, args=[track.slug]))

    def publish(**values: Any) -> Done:
        number = services.publish(track=track, by=request.user, **values).number
        message = f"Version {number} is in force. Assessors see a note when they judge."
        return Done(message, reverse("tracks:guidelines", args=[track.slug]))

    number = track.guidelines.number + 1 if track.guidelines else 1
    buttons = [
        Button("save", "Save draft", save, "btn-plain"),
        PREVIEW,
        Button("examples", "Add example", partial(save, next_page="assessment:examples"), "btn-plain"),
        Button("publish", f"Publish version {number}", publish),
    ]
    draft = selectors.draft_of(track)
    page = {
        "track": track,
        "heading": "Edit the guidelines" if track.guidelines else "Write guidelines",
        "crumbs": [("Guidelines", reverse("tracks:guidelines", args=[track.slug]))],
        "draft": draft,
        "is_starter": bool(draft.text) and not (draft.pk or track.guidelines),
        "choices": track.protocol.parsed.judging.choices,
    }
    form = GuidelinesForm(initial={"text": draft.text, "revision": draft.revision})
    return editor(
        request,
        form,
        buttons,
        page,
        template="tracks/guidelines/edit.html",
        rendered=partial(rendered, track),
    )
