"""The page of baselines, for organizers."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from accounts.access import AuthenticatedRequest, organizer_action, organizer_required
from assay_extensions.baselines.site import selectors, services
from assay_extensions.baselines.site.forms import BaselineForm, FusionForm
from pooling.runs.selectors import run_or_404
from tracks.tracks.selectors import track_or_404
from web.forms import refusals_in
from web.pages import context_of, notes_shown, read_and_post


@read_and_post
@organizer_required
def baselines(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The baselines of a track; make one, or fuse runs. Organizers only."""
    track = track_or_404(request.user, slug)
    fuses = request.POST.get("action") == "fuse"
    form = BaselineForm(
        None if fuses else request.POST or None, request.FILES or None, track=track, user=request.user
    )
    search = request.GET.get("q", "")[:100]
    fusion = FusionForm(request.POST if fuses else None, track=track, prefix="fusion", search=search)
    sent = fusion if fuses else form
    with notes_shown(request):
        is_valid = sent.is_valid()
    if is_valid:
        with refusals_in(sent):
            service = services.request_fusion if fuses else services.request
            service(track=track, by=request.user, **sent.arguments)
            return redirect("baselines:baselines", track.slug)
    page = context_of(selectors.baselines_page(track))
    context = page | {"form": form, "fusion": fusion}
    return render(request, "baselines/baselines.html", context, status=422 if sent.errors else 200)


@organizer_action
def offer(request: AuthenticatedRequest, run_id: int) -> HttpResponse:
    """Offer the file of a baseline in the downloads of its track, not released yet. Organizers only."""
    run = run_or_404(request.user, run_id)
    row = services.offer(run=run, by=request.user)
    messages.success(request, f"{row.name} is attached. Release it when participants may have it.")
    return redirect("tracks:edit_download", run.track.slug, row.pk)
