"""The pages on which organizers import all runs of a manifest."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import AuthenticatedRequest, organizer_required
from assay.errors import Refused
from pooling.imports import selectors, services
from pooling.imports.forms import ArchiveForm
from pooling.models import RunImport
from tracks.tracks.selectors import tracks_for
from web.pages import context_of


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@organizer_required
def imports(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The imports of a track, and the form that starts one. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    form = ArchiveForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            return redirect(services.start(track=track, by=request.user, **form.cleaned_data))
        except Refused as refusal:
            form.add_error("upload", refusal.message)
    context = context_of(selectors.imports_page(track)) | {"form": form}
    return render(request, "pooling/imports/imports.html", context, status=400 if form.errors else 200)


def _import(run_import_id: int) -> RunImport:
    return get_object_or_404(selectors.imports(), pk=run_import_id)


@require_safe
@never_cache
@organizer_required
def run_import(request: AuthenticatedRequest, run_import_id: int) -> HttpResponse:
    """What an import would do, or did. Organizers only."""
    page = selectors.import_page(_import(run_import_id))
    return render(request, "pooling/imports/import.html", context_of(page))


@require_POST
@organizer_required
def submit(request: AuthenticatedRequest, run_import_id: int) -> HttpResponse:
    """Start the job that submits the runs. Organizers only."""
    return redirect(services.request(source=_import(run_import_id), by=request.user))


@require_POST
@organizer_required
def discard(request: AuthenticatedRequest, run_import_id: int) -> HttpResponse:
    """Delete an archive that was not imported. Organizers only."""
    source = _import(run_import_id)
    services.discard(source=source)
    messages.success(request, f"{source.name} was deleted. No run was submitted from it.")
    return redirect("pooling:run_imports", source.track.slug)
