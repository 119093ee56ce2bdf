"""The pages of archives. Organizers only."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from accounts.access import (
    AuthenticatedRequest,
    creator_required,
    organizer_action,
    organizer_form,
    organizer_page,
    organizer_required,
    user_page,
)
from assay.errors import Refused
from publishing.archives import selectors, services
from publishing.archives.forms import ArchiveForm, FetchForm, LoadForm
from publishing.models import Archive
from tracks.tracks.selectors import track_or_404
from web.confirmation import Confirmation, confirmation_page
from web.downloads import stored_file
from web.pages import context_of, read_and_post


@read_and_post
@organizer_required
def archives(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The archives of a track, and the form that makes one."""
    track = track_or_404(request.user, slug)
    page = selectors.archives_page(track)
    latest = next(iter(page.archives), None)
    # the values of the latest archive, since they rarely change
    initial = {name: getattr(latest, name) for name in ("authors", "license", "url", "doi")} if latest else {}
    initial = initial or {
        "authors": selectors.identified_authors(track),
        "license": track.collection.license if track.collection else "",
    }
    data = request.POST if request.method == "POST" else None  # all values may be empty
    form = ArchiveForm(data, instance=Archive(track=track), initial=initial)
    if request.method == "POST" and form.is_valid():
        services.request(track=track, by=request.user, **form.cleaned_data)
        return redirect("publishing:archives", track.slug)
    if request.headers.get("HX-Request") and not page.is_building:
        # the page that waited for it: all of it changes, also the next step and the number of jobs
        if latest is not None and latest.status == Archive.Status.READY:
            messages.success(request, f"{latest} is ready.")
        return HttpResponse(headers={"HX-Refresh": "true"})
    return render(request, "publishing/archives/archives.html", context_of(page) | {"form": form})


@organizer_action
def offer(request: AuthenticatedRequest, archive_id: int) -> HttpResponse:
    """Attach an archive to the downloads of its track, not released yet. Organizers only."""
    ready = selectors.archives().filter(status=Archive.Status.READY)
    row = services.offer(archive=get_object_or_404(ready, pk=archive_id), by=request.user)
    messages.success(request, f"{row.name} is attached to the downloads. Release it when others may have it.")
    return redirect("tracks:edit_download", row.track.slug, row.pk)


@organizer_page
def archive_file(request: AuthenticatedRequest, archive_id: int) -> HttpResponseBase:
    """The file of an archive."""
    ready = selectors.archives().filter(status=Archive.Status.READY)
    archive = get_object_or_404(ready, pk=archive_id)
    return stored_file(request, archive.file, archive.sha256, str(archive))


@organizer_form
def delete(request: AuthenticatedRequest, archive_id: int) -> HttpResponse:
    """Ask, then delete an archive."""
    archive = get_object_or_404(selectors.archives(), pk=archive_id)
    page = Confirmation(
        act=f"Delete {archive}",
        button="Delete archive",
        back=reverse("publishing:archives", args=[archive.track.slug]),
        text="Its file is removed from this site. An archive that you make later has the state of that time.",
        changeable=["Copies that people have downloaded stay valid"],
        notified="Nobody.",
        is_danger=True,
    )
    if not page.is_given(request):
        return confirmation_page(request, page, layout="tracks/base.html", track=archive.track)
    services.delete(archive=archive)
    messages.success(request, f"{archive} was deleted.")
    return redirect("publishing:archives", archive.track.slug)


@read_and_post
@creator_required
def load(request: AuthenticatedRequest) -> HttpResponse:
    """Load an archive as a new track."""
    form = LoadForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            loaded = services.load_upload(by=request.user, **form.cleaned_data)
            return redirect(loaded)
        except Refused as refusal:
            form.add_error("upload", refusal.message)
    return _load_page(request, form=form)


@read_and_post
@creator_required
def fetch(request: AuthenticatedRequest) -> HttpResponse:
    """Fetch a data set of ir_datasets as a new track."""
    form = FetchForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            return redirect(services.fetch(by=request.user, **form.cleaned_data))
        except Refused as refusal:
            form.add_error("dataset", refusal.message)
    return _load_page(request, fetching=form)


def _load_page(
    request: AuthenticatedRequest, form: LoadForm | None = None, fetching: FetchForm | None = None
) -> HttpResponse:
    context = {
        "form": form or LoadForm(),
        "fetching": fetching or FetchForm(),
        "can_fetch": bool(settings.IR_DATASETS),
        "archives": selectors.loaded_archives(request.user)[:50],
    }
    return render(request, "publishing/archives/load.html", context)


@user_page
def loaded_page(request: AuthenticatedRequest, loaded_id: int) -> HttpResponse:
    """An archive that is or was loaded, and the checks of its parts."""
    loaded = get_object_or_404(selectors.loaded_archives(request.user), pk=loaded_id)
    context = {"loaded": loaded, "findings": loaded.findings}
    return render(request, "publishing/archives/loaded.html", context)
