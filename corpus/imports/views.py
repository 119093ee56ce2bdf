"""The pages through which organizers bring in collections and topics."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from corpus import import_selectors, import_services, selectors, topic_services
from corpus.access import AuthenticatedRequest, organizer_required
from corpus.errors import Refused
from corpus.import_forms import ImportForm, TopicFileForm
from corpus.models import Job


@require_GET
@organizer_required
def imports(request: AuthenticatedRequest) -> HttpResponse:
    """What was imported, newest first. Organizers only."""
    return render(request, "corpus/imports.html", {"jobs": import_selectors.import_jobs()[:100]})


@require_GET
@organizer_required
def collection_imports(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """What was imported into one collection. Organizers only."""
    collection = get_object_or_404(selectors.collections_for(request.user), slug=slug)
    jobs = import_selectors.import_jobs(collection)[:100]
    return render(request, "corpus/imports.html", {"collection": collection, "jobs": jobs})


@require_GET
@organizer_required
def import_job(request: AuthenticatedRequest, job_id: int) -> HttpResponse:
    """One import: its progress, what came of it, what was skipped and why. Organizers only."""
    job = get_object_or_404(import_selectors.import_jobs(), pk=job_id)
    return render(request, "corpus/import.html", import_selectors.import_page(job))


@require_http_methods(["GET", "POST"])
@organizer_required
def start_import(request: AuthenticatedRequest) -> HttpResponse:
    """Start an import. Organizers only."""
    form = ImportForm(request.POST or None, request.FILES or None, initial=request.GET.dict())
    if request.method == "POST" and form.is_valid():
        try:
            return redirect("corpus:import", _start(request, form.cleaned_data).pk)
        except Refused as refusal:
            form.add_error(None, refusal.message)
    return render(request, "corpus/import_start.html", {"form": form})


def _start(request: AuthenticatedRequest, data: dict[str, Any]) -> Job:
    new = {key: data[key] for key in ("slug", "name", "licence")} | {"hosts": data["hosts"].split()}
    return import_services.import_for(
        collection=data["collection"],
        new=new,
        upload=data["upload"],
        path=data.get("path"),
        by=request.user,
        representation=data["representation"] or None,
    )


@require_http_methods(["GET", "POST"])
@organizer_required
def import_topics(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Bring topics, or labels for them, into a track. Organizers only."""
    track = get_object_or_404(selectors.tracks_for(request.user), slug=slug)
    form = TopicFileForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            messages.success(request, topic_services.import_upload(track=track, **form.cleaned_data))
            return redirect("corpus:topics", track.slug)
        except Refused as refusal:
            form.add_error("upload", refusal.message.split("\n"))
    context = {"track": track, "form": form, "labels": track.protocol.parsed.topics.labels, "tab": "topics"}
    return render(request, "corpus/import_topics.html", context)
