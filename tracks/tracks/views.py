"""The pages of a track: overview, topics, protocol; and the jobs that work for it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from corpus import jobs as job_services
from corpus import selectors, services
from corpus.access import AuthenticatedRequest, organizer_required, person_required
from protocols.facts import facts


@require_GET
def track(request: HttpRequest, slug: str) -> HttpResponse:
    """What a track is about and how it is judged and scored. Everybody, once it is no draft."""
    found = get_object_or_404(selectors.tracks_for(request.user), slug=slug)
    protocol = found.protocol.parsed
    context = {
        "track": found,
        "protocol": protocol,
        "facts": facts(protocol),
        "n_topics": found.topics.count(),
    }
    return render(request, "corpus/track.html", context)


@require_GET
def topics(request: HttpRequest, slug: str) -> HttpResponse:
    """The topics of a track. Everybody, once it is no draft."""
    found = get_object_or_404(selectors.tracks_for(request.user), slug=slug)
    return render(request, "corpus/topics.html", selectors.topics_page(request.user, found))


@require_GET
def topic(request: HttpRequest, slug: str, code: str) -> HttpResponse:
    """One topic. Everybody, once its track is no draft; its own thread is linked for those who may read it."""
    found = get_object_or_404(selectors.tracks_for(request.user), slug=slug)
    one = get_object_or_404(selectors.topics_of(found), code=code)
    return render(
        request, "corpus/topic.html", selectors.topic_page(request.user, found, one) | {"tab": "topics"}
    )


@require_GET
def protocol(request: HttpRequest, slug: str) -> HttpResponse:
    """A protocol as a page and as its TOML. Everybody."""
    stored = get_object_or_404(selectors.protocols(), slug=slug)
    if request.GET.get("format") == "toml":
        return HttpResponse(stored.text, content_type="application/toml; charset=utf-8")
    context = {"stored": stored, "protocol": stored.parsed, "facts": facts(stored.parsed)}
    return render(request, "corpus/protocol.html", context)


@person_required
@require_GET
def jobs(request: AuthenticatedRequest) -> HttpResponse:
    """What the workers do and did. Organizers only."""
    return render(request, "corpus/jobs.html", {"jobs": selectors.jobs_for(request.user)[:100]})


@person_required
@require_GET
def job(request: AuthenticatedRequest, job_id: int) -> HttpResponse:
    """One job's progress; the fragment alone for htmx. Organizers, and whoever asked for the job."""
    found = get_object_or_404(selectors.jobs_for(request.user), pk=job_id)
    if not request.headers.get("HX-Request"):
        return render(request, "corpus/job.html", {"job": found})
    response = render(request, "corpus/_job.html", {"job": found})
    if found.is_finished:
        response["HX-Refresh"] = "true"
    return response


@require_POST
@organizer_required
def open_track(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Let teams submit. Organizers only."""
    found = services.open_track(track=get_object_or_404(selectors.tracks_for(request.user), slug=slug))
    messages.success(request, f"{found} is open: its teams can submit runs.")
    return redirect(found)


@require_POST
@organizer_required
def close_track(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Take no more runs. Organizers only."""
    found = services.close_track(track=get_object_or_404(selectors.tracks_for(request.user), slug=slug))
    messages.success(request, f"{found} is closed: no run is taken or withdrawn from now on.")
    return redirect(found)


@require_POST
@organizer_required
def retry(request: AuthenticatedRequest, job_id: int) -> HttpResponse:
    """Give a failed job a fresh start. Organizers only."""
    found = get_object_or_404(selectors.jobs_for(request.user), pk=job_id)
    job_services.retry(job=found)
    return redirect(found)


@require_GET
@person_required
def collections(request: AuthenticatedRequest) -> HttpResponse:
    """The collections that one may read. Everybody who has logged in."""
    return render(
        request, "corpus/collections.html", {"collections": selectors.collections_for(request.user)}
    )
