"""The pages of documents of teams: to get, to upload, and for organizers to see who lacks one."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts.access import (
    AuthenticatedRequest,
    chairs_only_read,
    organizer_required,
    user_action,
)
from participation.models import Team, TeamDocument
from publishing.documents import selectors, services
from tracks.tracks.selectors import track_or_404
from web.api.conditional import unless_known
from web.confirmation import Confirmation, confirmation_page
from web.downloads import download
from web.forms import StyledForm, bytes_of, refusals_in
from web.pages import context_of, form_page, read_and_post
from web.translation import translated_for_assessors


class DocumentForm(StyledForm):
    title = forms.CharField(max_length=200)
    is_public = forms.BooleanField(
        required=False,
        label="Public after the release",
        help_text="Everyone gets it once a leaderboard is released to everyone. Archives of the track contain it.",
    )


class UploadForm(DocumentForm):
    file = forms.FileField(label="PDF", widget=forms.FileInput(attrs={"accept": ".pdf,application/pdf"}))
    word = forms.ChoiceField(label="Document", required=False)
    field_order = ("word", "title", "file", "is_public")

    def __init__(self, *args: Any, team: Team, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        owed = team.track.protocol.parsed.runs.documents
        if not owed:
            del self.fields["word"]
            return
        self.fields["word"].choices = [*owed.items(), ("", "Another document")]  # type: ignore[attr-defined]


@translated_for_assessors
@require_safe
def documents_page(request: HttpRequest, slug: str) -> HttpResponse:
    """The documents of a track that the reader may get. Everyone; organizers and chairs see which teams lack one."""
    track = track_or_404(request.user, slug)
    page = selectors.documents_page(request.user, track)
    return render(request, "publishing/documents/documents.html", context_of(page))


@require_safe
@organizer_required
def documents_zip(request: AuthenticatedRequest, slug: str) -> HttpResponseBase:
    """All documents of a track as a ZIP file. Organizers and chairs."""
    track = track_or_404(request.user, slug)
    documents = selectors.documents_for(request.user).filter(team__track=track)
    return download(services.zipped(track, documents), f"{track.slug}-documents.zip")


@require_safe
def document_file(request: HttpRequest, document_id: int) -> HttpResponseBase:
    """The file of a document. Its team, organizers and chairs; everyone if it is public and released."""
    document = get_object_or_404(selectors.documents_for(request.user), pk=document_id)
    return unless_known(request, document.sha256, lambda: sent(document))


def sent(document: TeamDocument) -> HttpResponseBase:
    """A document to save. A browser that opened it would run nothing of it, and have no access to the site."""
    response = download(document.file.open("rb"), f"{document.title}.pdf", is_checked=False)
    response._csp_config = {"default-src": ["'none'"], "sandbox": []}  # type: ignore[attr-defined]
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@chairs_only_read
def upload_document(request: AuthenticatedRequest, team_id: int) -> HttpResponse:
    """Upload a document of a team. Its members who may submit, and organizers."""
    team = get_object_or_404(selectors.uploading_teams(request.user), pk=team_id)
    form = UploadForm(request.POST or None, request.FILES or None, team=team)
    if request.method == "POST" and form.is_valid():
        data = {"word": "", **form.cleaned_data}
        upload = data.pop("file")
        with refusals_in(form):
            services.upload(team=team, file=bytes_of(upload), file_name=upload.name, by=request.user, **data)
            messages.success(request, "The document is stored.")
            return redirect(team)
    return form_page(
        request,
        form,
        "Upload a document",
        "Upload the document",
        layout="tracks/base.html",
        track=team.track,
        crumbs=[(f"Team {team.name}", team.get_absolute_url())],
        lead=f"A PDF of {team.name}, such as working notes, a poster or slides",
    )


@user_action
def change_document(request: AuthenticatedRequest, document_id: int) -> HttpResponse:
    """Change the title of a document and whether it is public. Members who may submit, and organizers."""
    document = get_object_or_404(selectors.editable_documents(request.user), pk=document_id)
    form = DocumentForm(request.POST)
    if form.is_valid():
        services.change(document=document, **form.cleaned_data)
        messages.success(request, "The document is saved.")
    else:
        messages.error(request, "Enter a title of at most 200 characters. Nothing was changed.")
    return redirect(document.team)


@read_and_post
@chairs_only_read
def remove_document(request: AuthenticatedRequest, document_id: int) -> HttpResponse:
    """Ask, then remove a document. Members who may submit, and organizers."""
    document = get_object_or_404(selectors.editable_documents(request.user), pk=document_id)
    team = document.team
    page = Confirmation(
        act=f"Remove “{document.title}”",
        button="Remove document",
        back=team.get_absolute_url(),
        text="Its file is deleted from this site.",
        changeable=["Upload it again"],
        notified="Nobody.",
        is_danger=True,
    )
    if not page.is_given(request):
        return confirmation_page(request, page, layout="tracks/base.html", track=team.track)
    services.remove(document=document)
    messages.success(request, "The document is removed.")
    return redirect(team)
