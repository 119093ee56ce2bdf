"""Pages of topics."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from accounts.access import AuthenticatedRequest, organizer_required
from assay.errors import Refused
from tracks.topics import selectors, services
from tracks.topics.forms import TopicFileForm
from tracks.tracks import selectors as track_selectors


@require_http_methods(["GET", "POST"])
@organizer_required
def import_topics(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Bring topics, or labels for them, into a track. Organizers only."""
    track = get_object_or_404(track_selectors.tracks_for(request.user), slug=slug)
    form = TopicFileForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            messages.success(request, services.import_upload(track=track, **form.cleaned_data))
            return redirect("tracks:topics", track.slug)
        except Refused as refusal:
            form.add_error("upload", refusal.message.split("\n"))
    context = {"track": track, "form": form, "labels": track.protocol.parsed.topics.labels, "tab": "topics"}
    return render(request, "tracks/topics/import.html", context)


@require_GET
def topics(request: HttpRequest, slug: str) -> HttpResponse:
    """The topics of a track. Everybody, once it is no draft."""
    found = get_object_or_404(track_selectors.tracks_for(request.user), slug=slug)
    return render(request, "tracks/topics/topics.html", selectors.topics_page(request.user, found))


@require_GET
def topic(request: HttpRequest, slug: str, code: str) -> HttpResponse:
    """One topic. Everybody, once its track is no draft; its own thread is linked for those who may read it."""
    found = get_object_or_404(track_selectors.tracks_for(request.user), slug=slug)
    one = get_object_or_404(selectors.topics_of(found), code=code)
    return render(
        request,
        "tracks/topics/topic.html",
        selectors.topic_page(request.user, found, one) | {"tab": "topics"},
    )
