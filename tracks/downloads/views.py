"""The page of downloads of a track, its files, and the pages with which organizers attach and release them."""

from datetime import datetime

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.access import (
    AuthenticatedRequest,
    organizer_action,
    organizer_form,
    organizer_page,
    public_page,
)
from assay.formats.spreadsheet import csv_lines
from jobs.models import Job
from tracks.agreements.selectors import has_accepted
from tracks.downloads import jobs, selectors, services
from tracks.downloads.forms import AttachForm, form_of
from tracks.models import Download
from tracks.tracks.selectors import track_or_404
from web.confirmation import Confirmation, confirmation_page
from web.downloads import download
from web.forms import refusals_in
from web.pages import context_of
from web.translation import translated_for_assessors


@translated_for_assessors
@public_page
def downloads(request: HttpRequest, slug: str) -> HttpResponse:
    """The files that participants get of a track. Everyone who sees the track; each part from its release on."""
    page = selectors.downloads_page(request.user, track_or_404(request.user, slug))
    if request.headers.get("HX-Request") and not page.is_working:
        return HttpResponse(headers={"HX-Refresh": "true"})  # the page that waited for a job
    return render(request, "tracks/downloads/downloads.html", context_of(page))


@require_safe
def download_file(request: HttpRequest, slug: str, file: str) -> HttpResponseBase:
    """A file. Everyone who gets it after its release, once they accepted the data agreement."""
    track = track_or_404(request.user, slug)
    item = selectors.item_named(request.user, track, file)
    if item is None:
        raise Http404
    if not has_accepted(request.user, track):
        page = reverse("tracks:downloads", args=[track.slug])
        if not request.user.is_authenticated:
            return redirect_to_login(page)
        return redirect(f"{reverse('tracks:agreement', args=[track.slug])}?next={page}")
    return services.send(request, track, item, request.user)


@public_page
def checksums(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The digests of the files that the user gets, for `sha256sum -c`. Everyone who sees the track."""
    return download(selectors.checksums(request.user, track_or_404(request.user, slug)), "SHA256SUMS")


@organizer_form
def attach(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Attach a file or a link. Organizers only."""
    track = track_or_404(request.user, slug)
    form = AttachForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        with refusals_in(form):
            attached = jobs.attach_part(track=track, by=request.user, **form.arguments)
            done = f"{form.file_name} is attached."
            if isinstance(attached, Job):
                done = f"A job stores {form.cleaned_data['path']}. It will appear here, not released."
            messages.success(request, done)
            page = reverse("tracks:downloads", args=[track.slug])
            if request.headers.get("HX-Request"):  # from a script that shows the progress of the upload
                return HttpResponse(headers={"HX-Redirect": page})
            return redirect(page)
    context = {"track": track, "form": form}
    return render(request, "tracks/downloads/attach.html", context)


@organizer_form
def edit(request: AuthenticatedRequest, slug: str, key: str) -> HttpResponse:
    """Release a part, and edit its text. Organizers only."""
    track = track_or_404(request.user, slug)
    row = selectors.part_or_404(track, key)
    initial = {"shows_labels": track.shows_labels}
    form = form_of(row)(request.POST or None, download=row, initial=initial)
    if request.method == "POST" and form.is_valid():
        before = row.released_at
        services.edit(download=row, **form.arguments)
        messages.success(request, _edited(row, before, form.terms))
        return redirect("tracks:downloads", track.slug)
    context = {"track": track, "form": form, "row": row, "key": key}
    return render(request, "tracks/downloads/edit.html", context)


def _edited(row: Download, before: datetime | None, terms: services.Release) -> str:
    """The message about a part that was edited, or released."""
    if terms.released_at is None:
        return f"{row} saved, but not released."
    if terms.released_at == before or terms.released_at > timezone.now():
        return f"{row} saved."
    return f"{row} is released to {Download.Audience(terms.audience).label}."


@organizer_form
def remove(request: AuthenticatedRequest, slug: str, key: str) -> HttpResponse:
    """Ask, then remove an attached file or link. Organizers only."""
    track = track_or_404(request.user, slug)
    row = selectors.part_or_404(track, key)
    if row.pk is None or key in selectors.SINGLE:
        raise Http404
    page = Confirmation(
        act=f"Remove {row}",
        button="Remove download",
        back=reverse("tracks:edit_download", args=[track.slug, key]),
        text="The file is deleted from this site. The log of its downloads is kept.",
        changeable=["Attach it again"],
        notified="Nobody.",
        is_danger=True,
    )
    if not page.is_given(request):
        return confirmation_page(request, page, layout="tracks/base.html", track=track)
    services.remove(download=row)
    messages.success(request, f"{row} is removed.")
    return redirect("tracks:downloads", track.slug)


@organizer_action
def export_collection(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Export the collection in a job. Organizers only."""
    track = track_or_404(request.user, slug)
    jobs.request_export(track=track, by=request.user)
    messages.success(request, "A job exports the collection. The files will appear here, not released.")
    return redirect("tracks:downloads", track.slug)


@organizer_page
def log(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The downloads of files by users, newest first. Organizers only."""
    track = track_or_404(request.user, slug)
    rows = selectors.fetches_of(track)[: selectors.SHOWN_FETCHES]
    context = {"track": track, "fetches": rows, "most": selectors.SHOWN_FETCHES}
    return render(request, "tracks/downloads/log.html", context)


@organizer_page
def log_csv(request: AuthenticatedRequest, slug: str) -> HttpResponseBase:
    """The downloads of files by users, as CSV. Organizers only."""
    track = track_or_404(request.user, slug)
    lines = csv_lines(("created_at", "created_by", "file_name", "sha256"), selectors.log_rows(track))
    return download(lines, f"{track.slug}-downloads.csv")
