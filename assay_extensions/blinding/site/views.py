"""The page of a track's runs without names. Organizers only."""

from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render

from accounts.access import AuthenticatedRequest, organizer_page, organizer_required
from assay_extensions.blinding.pseudonyms import KEPT, REPLACED
from assay_extensions.blinding.site import services
from assay_extensions.blinding.site.models import Blinding
from tracks.tracks.selectors import track_or_404
from web.downloads import download, stored_file
from web.forms import StyledForm, refusals_in
from web.pages import page_of, read_and_post

DECISION = "decision "  # begins the names of the controls of decisions


class BlindingForm(StyledForm, forms.ModelForm[Blinding]):
    class Meta:
        model = Blinding
        fields = ["first", "words"]
        labels: ClassVar = {"words": "Further words"}
        widgets: ClassVar = {"words": forms.Textarea(attrs={"rows": 4})}


@read_and_post
@organizer_required
def blinding(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Look for names in the runs, decide about each, and make the package. Organizers only."""
    track = track_or_404(request.user, slug)
    row = Blinding.objects.select_related("job", "track").filter(track=track).first()
    form = BlindingForm(request.POST or None, instance=row)
    with refusals_in(form, "words"):
        if request.method == "POST" and form.is_valid():
            services.request(track=track, by=request.user, decisions=_decisions(request), **form.cleaned_data)
            messages.success(request, "The runs are being read.")
            return redirect("blinding:blinding", slug)
    shown = row.give_aways if row is not None else []
    context: dict[str, Any] = {
        "track": track,
        "row": Blinding.objects.select_related("job").filter(track=track).first(),
        "form": form,
        "rows": page_of(sorted(shown, key=lambda term: bool(term.decision)), request.GET.get("page")),
        "choices": {KEPT: "Keep", REPLACED: "Replace"},
    }
    return render(request, "blinding/blinding.html", context, status=422 if form.errors else 200)


def _decisions(request: AuthenticatedRequest) -> dict[tuple[str, str], str]:
    decided = {}
    for name, value in request.POST.items():
        if name.startswith(DECISION) and value:
            run, _, term = name.removeprefix(DECISION).partition(" ")
            decided[run, term] = str(value)
    return decided


@organizer_page
def package(request: AuthenticatedRequest, slug: str) -> HttpResponseBase:
    """The package of blinded runs. Organizers only: they give it to judges."""
    row = get_object_or_404(Blinding.objects.exclude(file=""), track=track_or_404(request.user, slug))
    return stored_file(request, row.file, row.sha256, str(row))


@organizer_page
def blinding_map(request: AuthenticatedRequest, slug: str) -> HttpResponseBase:
    """The names behind the pseudonyms. Organizers only."""
    row = get_object_or_404(Blinding, track=track_or_404(request.user, slug))
    return download(services.map_of(blinding=row), f"{slug}-map.json")
