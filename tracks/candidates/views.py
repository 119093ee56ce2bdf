"""The pages of candidates: the table with its filters, one candidate, the import, and new samples."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounts.access import AuthenticatedRequest, organizer_form, organizer_page
from tracks.candidates import jobs, selectors, services
from tracks.candidates.forms import FilterForm, ImportForm, SampleForm
from tracks.tracks.selectors import track_or_404
from web.forms import refusals_in
from web.pages import context_of


@organizer_page
def candidates(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The candidates for the topics of a track, with filters and distributions. Organizers only."""
    track = track_or_404(request.user, slug)
    form = FilterForm(request.GET)
    conditions = form.conditions if form.is_valid() else []
    asked = request.GET
    page = selectors.candidates_page(
        track, conditions, sort=asked.get("sort", ""), plotted=asked.get("plot", ""), page=asked.get("page")
    )
    return render(request, "tracks/candidates/candidates.html", context_of(page) | {"form": form})


@organizer_page
def candidate(request: AuthenticatedRequest, slug: str, docno: str) -> HttpResponse:
    """A candidate with its text and counts. Organizers only."""
    track = track_or_404(request.user, slug)
    row = get_object_or_404(track.candidates.select_related("track__collection"), docno=docno)
    page = selectors.candidate_page(track, row)
    return render(request, "tracks/candidates/candidate.html", context_of(page))


@organizer_form
def import_candidates(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Import candidates from a file. Organizers only."""
    track = track_or_404(request.user, slug)
    form = ImportForm(request.POST or None, request.FILES or None, track=track, user=request.user)
    if request.method == "POST" and form.is_valid():
        with refusals_in(form):
            jobs.request_import(track=track, **form.cleaned_data, by=request.user)
            messages.success(request, "The import has started. You can leave this page.")
            return redirect("tracks:candidates", track.slug)
    context = {"track": track, "form": form}
    return render(request, "tracks/candidates/import.html", context)


@organizer_form
def new_sample(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Draw a sample of candidates by quotas. Organizers only."""
    track = track_or_404(request.user, slug)
    initial = {name: request.GET[name] for name in ("where", "quotas") if name in request.GET}
    form = SampleForm(request.POST or None, track=track, by=request.user, initial=initial)
    if form.is_valid():
        with refusals_in(form):
            sample = services.draw_sample(track=track, **form.arguments, by=request.user)
            messages.success(request, f"Drawn: {sample}.")
            return redirect(sample)
    context = {"track": track, "form": form}
    return render(request, "tracks/candidates/new_sample.html", context)
