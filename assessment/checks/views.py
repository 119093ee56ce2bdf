"""The pages of hidden checks. Organizers only: nothing here is shown to an assessor."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render

from accounts.access import AuthenticatedRequest, organizer_action, organizer_page, organizer_required
from assessment.batches.selectors import batch_or_404
from assessment.checks import results as check_results
from assessment.checks import selectors, services
from assessment.checks.forms import ChecksForm, GoldForm
from tracks.tracks.selectors import track_or_404
from web.downloads import download
from web.forms import refusals_in
from web.pages import context_of, counted, notes_shown, numbers_in, read_and_post


@read_and_post
@organizer_required
def checks(request: AuthenticatedRequest, batch_id: int) -> HttpResponse:
    """Set how many hidden checks a batch has. Organizers only."""
    batch = batch_or_404(batch_id)
    form = ChecksForm(request.POST or None, batch=batch)
    with refusals_in(form):
        if form.is_valid():
            services.configure(batch=batch, **form.cleaned_data)
            messages.success(request, "Saved the hidden checks.")
            return redirect("assessment:checks", batch.pk)
    context = context_of(selectors.checks_page(batch)) | {"form": form}
    status = 422 if form.errors else 200
    return render(request, "assessment/checks/checks.html", context, status=status)


@read_and_post
@organizer_required
def gold(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The units with known grades of a track, and the import of a file. Organizers only."""
    track = track_or_404(request.user, slug)
    form = GoldForm(request.POST or None, request.FILES or None, track=track)
    with notes_shown(request):
        is_valid = form.is_valid()
    if is_valid:
        n = services.import_gold(track=track, columns=form.columns, answers=form.answers, by=request.user)
        messages.success(request, f"Imported {counted(n, 'known grade')}.")
        return redirect("assessment:gold", slug)
    context = context_of(selectors.gold_page(track, request.GET.get("page"))) | {"form": form}
    return render(request, "assessment/checks/gold.html", context, status=422 if form.errors else 200)


@organizer_action
def add_agreed(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Take agreed grades of training rounds as known grades. Organizers only."""
    track = track_or_404(request.user, slug)
    chosen = set(request.POST.getlist("notes"))
    notes = [note for note in selectors.agreed_notes(track) if str(note.pk) in chosen]
    n = services.add_agreed(track=track, notes=notes, by=request.user)
    messages.success(request, f"Added {counted(n, 'known grade')}.")
    return redirect("assessment:gold", slug)


@organizer_action
def remove_gold(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Forget known grades. Organizers only."""
    track = track_or_404(request.user, slug)
    n = services.remove_gold(track=track, ids=numbers_in(request.POST.getlist("units")))
    messages.success(request, f"Removed {counted(n, 'known grade')}.")
    return redirect("assessment:gold", slug)


@organizer_page
def results(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Show the results of the hidden checks, by assessor. Organizers only."""
    track = track_or_404(request.user, slug)
    page = check_results.results_page(track, request.GET.get("assessor", ""))
    return render(request, "assessment/checks/results.html", context_of(page))


@organizer_page
def results_file(request: AuthenticatedRequest, slug: str) -> HttpResponseBase:
    """The results as TSV. Organizers only."""
    return download(*check_results.results_file(track_or_404(request.user, slug)))
