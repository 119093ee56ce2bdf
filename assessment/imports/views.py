"""The pages on which organizers import judgments that were made elsewhere."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from accounts.access import AuthenticatedRequest, organizer_action, organizer_required
from assessment.imports import selectors, services
from assessment.imports.forms import MappingForm, StartForm
from tracks.tracks.selectors import track_or_404
from web.forms import refusals_in
from web.pages import counted, read_and_post


@read_and_post
@organizer_required
def imports(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The imports of a track, and the form that starts one. Organizers only."""
    track = track_or_404(request.user, slug)
    form = StartForm(request.POST or None, request.FILES or None, track=track)
    with refusals_in(form, "upload"):
        if form.is_valid():
            return redirect(services.start(track=track, by=request.user, **form.cleaned_data))
    own, has_pool = selectors.imports().filter(track=track), selectors.pools_for_import(track).exists()
    context = {"track": track, "imports": own, "has_pool": has_pool, "form": form}
    return render(request, "assessment/imports/imports.html", context, status=400 if form.errors else 200)


@read_and_post
@organizer_required
def import_judgments(request: AuthenticatedRequest, import_id: int) -> HttpResponse:
    """Show what an import would do; a POST sets what words of the file mean, and checks it again. Organizers only."""
    source = selectors.import_or_404(import_id)
    form = MappingForm(request.POST or None, source=source)
    if request.method == "POST" and form.is_valid():
        place = {name: form.cleaned_data[name] for name in ("pool", "batch", "kind")}
        services.remap(source=source, mapping=form.mapping, **place)
        return redirect(source)
    report = source.report
    n_more = report.get("n_complaints", 0) - len(report.get("complaints", ()))
    context = {"track": source.track, "source": source, "report": report, "n_more": n_more, "form": form}
    context |= {"layout": "assessment/base.html"}
    return render(request, "assessment/imports/import.html", context, status=400 if form.errors else 200)


@organizer_action
def run_import(request: AuthenticatedRequest, import_id: int) -> HttpResponse:
    """Import the judgments of a checked file; `keep` keeps those that are here if they differ. Organizers only."""
    source = selectors.import_or_404(import_id)
    services.request_import(source=source, keeps_stored="keep" in request.POST)
    source.refresh_from_db()
    if source.imported_at is not None:
        messages.success(request, f"{counted(source.n_imported, 'judgment')} imported from {source.name}.")
    return redirect(source)


@organizer_action
def discard_import(request: AuthenticatedRequest, import_id: int) -> HttpResponse:
    """Delete a file that was not imported. Organizers only."""
    source = selectors.import_or_404(import_id)
    services.discard(source=source)
    messages.success(request, f"{source.name} was deleted. Nothing was imported from it.")
    return redirect("assessment:imports", source.track.slug)
