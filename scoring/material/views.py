"""Judged examples of earlier tracks: the page of assessors, and the choice of organizers."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.access import AuthenticatedRequest, login_required, organizer_required
from scoring.material import selectors
from scoring.qrels import services
from scoring.qrels.selectors import qrels_for
from tracks.assessors.selectors import is_assessor
from tracks.tracks.selectors import tracks_for
from web.pages import context_of


@require_safe
@never_cache
@login_required
def judged_examples(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Topics of earlier tracks, with documents of each grade. Assessors of the track, and organizers."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    if not (request.user.is_organizer or is_assessor(request.user, track)):
        raise Http404
    chosen = request.GET.get("qrels", ""), request.GET.get("topic", "")
    page = selectors.material_page(request.user, track, *chosen)
    return render(request, "scoring/material/judged_examples.html", context_of(page))


@require_POST
@organizer_required
def train(request: AuthenticatedRequest, qrels_id: int) -> HttpResponse:
    """Show examples of a version to the assessors of another track, or no longer. Organizers only."""
    version = get_object_or_404(qrels_for(request.user), pk=qrels_id)
    track = get_object_or_404(tracks_for(request.user), slug=request.POST.get("track", ""))
    is_shown = request.POST.get("action") != "hide"
    services.set_training(qrels=version, track=track, is_shown=is_shown, by=request.user)
    verb = "now see" if is_shown else "no longer see"
    messages.success(request, f"The assessors of {track} {verb} examples of {version.track}.")
    return redirect("scoring:judged_examples", track.slug)
