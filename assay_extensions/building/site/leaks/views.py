"""The page of the leaks of a track's topics."""

from django import forms
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render

from accounts.access import AuthenticatedRequest, organizer_action, organizer_page, organizer_required
from assay_extensions.building.leaks import OVERLAP
from assay_extensions.building.site.leaks import selectors, services
from tracks.models import Track
from tracks.tracks.selectors import track_or_404
from web.downloads import download
from web.forms import StyledForm, refusals_in
from web.pages import context_of, read_and_post


class CheckForm(StyledForm):
    """The least similarity of a near-duplicate."""

    overlap = forms.FloatField(
        min_value=0.01,
        max_value=1,
        initial=OVERLAP,
        label="Smallest overlap of a near-duplicate",
        help_text="0.6 lists documents that share 60 % of their sequences of three words with a topic. A smaller "
        "number lists more documents.",
    )


class AcceptForm(StyledForm):
    """The reason to open a track although its collection gives topics away."""

    reason = forms.CharField(
        max_length=2000,
        label="Reason to open the track with these leaks",
        widget=forms.Textarea(attrs={"rows": 2}),
    )


def _page(request: AuthenticatedRequest, track: Track, form: CheckForm, accept: AcceptForm) -> HttpResponse:
    context = context_of(selectors.leaks_page(track)) | {"form": form, "accept": accept}
    status = 422 if form.errors or accept.errors else 200
    return render(request, "building/leaks/leaks.html", context, status=status)


@read_and_post
@organizer_required
def leaks(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The result of the latest check for leaks, and the form that starts another. Organizers only."""
    track = track_or_404(request.user, slug)
    form = CheckForm(request.POST or None)
    with refusals_in(form):
        if form.is_valid():
            services.request(track=track, overlap=form.cleaned_data["overlap"], by=request.user)
            return redirect("building:leaks", slug)
    return _page(request, track, form, AcceptForm())


@organizer_action
def accept_leaks(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Accept the leaks of the latest check, so that the track can open. Organizers only."""
    track = track_or_404(request.user, slug)
    form = AcceptForm(request.POST)
    with refusals_in(form):
        if form.is_valid():
            services.accept(track=track, reason=form.cleaned_data["reason"], by=request.user)
            return redirect("building:leaks", slug)
    return _page(request, track, CheckForm(), form)


@organizer_page
def leaks_tsv(request: AuthenticatedRequest, slug: str) -> HttpResponseBase:
    """The report of the latest check as the command writes it. Organizers only."""
    track = track_or_404(request.user, slug)
    check = get_object_or_404(track.leak_checks.filter(is_complete=True)[:1])
    return download("".join(selectors.report_of(check).text()), f"{slug}-leaks.tsv")
