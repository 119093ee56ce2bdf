"""The page that creates adjudication batches. Organizers only."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.access import AuthenticatedRequest, organizer_required
from assay.errors import Refused
from assessment.adjudication import services
from assessment.adjudication.forms import AdjudicationForm
from assessment.agreement.selectors import round_of
from tracks.tracks.selectors import tracks_for


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@organizer_required
def new(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Create an adjudication batch of disagreements. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    of_round = round_of(track, request.GET.get("round"))
    form = AdjudicationForm(request.POST or None, track=track, initial=request.GET.dict())
    if request.method == "POST" and form.is_valid():
        try:
            batches = services.create(track=track, of_round=of_round, by=request.user, **form.arguments)
        except Refused as refusal:
            form.add_error(None, refusal.message)
        else:
            messages.success(request, "The adjudication is a draft. Check its topics, then open it.")
            return redirect(batches[0] if len(batches) == 1 else reverse("assessment:judging", args=[slug]))
    context = {"track": track, "form": form, "current": of_round, "tab": "judging"}
    return render(request, "assessment/adjudication/new.html", context, status=422 if form.errors else 200)
