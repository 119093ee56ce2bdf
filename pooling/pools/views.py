"""The pages and files of pools, for organizers."""

import json
from collections.abc import Callable
from functools import partial

from django.contrib import messages
from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.access import (
    AuthenticatedRequest,
    organizer_action,
    organizer_form,
    organizer_page,
    organizer_required,
)
from assay.pools.preview import usual_seconds
from pooling.errors import pool_refused
from pooling.models import Pool
from pooling.pools import entries, exports, previews, selectors, services
from pooling.pools.forms import PoolForm, PreviewForm
from tracks.tracks.selectors import track_or_404
from web.confirmation import confirmation_page, deletion
from web.downloads import Content, download, spooled
from web.forms import refusals_in
from web.pages import context_of


@organizer_page
def pools(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The pools of a track. Organizers only."""
    track = track_or_404(request.user, slug)
    return render(request, "pooling/pools/pools.html", {"track": track, "pools": selectors.pools_of(track)})


@organizer_form
def new_pool(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Request a pool. Organizers only."""
    track = track_or_404(request.user, slug)
    initial = {name: value for name, value in request.GET.dict().items() if str(value).isdecimal()}
    form = PoolForm(request.POST or None, track=track, initial=initial)
    if request.method == "POST" and form.is_valid():
        with refusals_in(form):
            return redirect(services.request(track=track, by=request.user, **form.arguments))
    estimate = PreviewForm(
        request.POST or request.GET, track=track, seconds=usual_seconds(track.protocol.parsed)
    )
    arguments = estimate.arguments if estimate.is_valid() else None
    context = {
        "track": track,
        "form": form,
        "runs": selectors.listed_runs(track),
        "question_pools": selectors.question_pools(track, request.user),
        "estimate": previews.preview_page(track, query=estimate.query, arguments=arguments),
        "is_wrong": arguments is None,
    }
    return render(request, "pooling/pools/new_pool.html", context)


@organizer_page
def preview(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The size and cost of a pool at each depth, before it is built. Organizers only."""
    track = track_or_404(request.user, slug)
    form = PreviewForm(request.GET, track=track, seconds=usual_seconds(track.protocol.parsed))
    arguments = form.arguments if form.is_valid() else None
    page = previews.preview_page(track, query=form.query, arguments=arguments)
    return render(request, "pooling/pools/preview.html", context_of(page) | {"form": form})


@organizer_action
def compute_preview(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Start the job that computes a preview, and go back to the preview, or to the form of a pool. Organizers only."""
    track = track_or_404(request.user, slug)
    form = PreviewForm(request.POST, track=track, seconds=usual_seconds(track.protocol.parsed))
    if form.is_valid():
        chosen = {name: form.arguments[name] for name in ("tops_up", "most", "depths")}
        services.request_preview(track=track, by=request.user, **chosen)
    page = "pooling:new_pool" if "building" in request.POST else "pooling:preview"
    return redirect(f"{reverse(page, args=[track.slug])}?{form.query}")


@organizer_action
def make_ids(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Start the job that makes visual ids for the submitted formulas, and go to its page. Organizers only."""
    track = track_or_404(request.user, slug)
    return redirect(services.request_ids(track=track, by=request.user))


@organizer_page
def pool_page(request: AuthenticatedRequest, pool_id: int) -> HttpResponse:
    """A pool: its job while it is built, then its contents. Organizers only."""
    pool = selectors.pool_or_404(pool_id)
    return render(request, "pooling/pools/pool.html", context_of(selectors.pool_page(pool)))


def _ready(pool_id: int) -> Pool:
    return get_object_or_404(selectors.pools(), pk=pool_id, status=Pool.Status.READY)


def _with_statistics(pool_id: int) -> Pool:
    pool = _ready(pool_id)
    if not pool.statistics:
        raise pool_refused(
            f"Pool {pool.name} has no statistics of its runs, so this page or file cannot be made. "
            "Its units can be judged.",
            code="statistics-missing",
            title="The pool has no statistics",
        )
    return pool


def _with_citations(pool_id: int) -> Pool:
    pool = _ready(pool_id)
    if not pool.protocol.parsed.cites_posts:
        raise Http404
    return pool


def _file(
    content: Callable[[Pool], Content],
    ending: str,
    pool_of: Callable[[int], Pool] = _ready,
    *,
    is_streamed: bool = False,
) -> Callable[..., HttpResponseBase]:
    """A view that sends a file of a pool, while it is made if it can have millions of lines. Organizers only."""

    @require_safe
    @organizer_required
    def view(request: AuthenticatedRequest, pool_id: int) -> HttpResponseBase:
        pool = pool_of(pool_id)
        name = f"{pool.track.slug}-pool-{pool.pk}{ending}"
        if not is_streamed:
            return spooled(request, content(pool), name)
        response = download(content(pool), name)
        response["ETag"] = f'"{pool.pk}-{pool.sha256}"'  # a pool never changes
        return response

    return view


pool_file = _file(exports.pool_lines, ".tsv")
pool_citations = _file(exports.citation_lines, ".xml", _with_citations)
pool_contributions = _file(
    exports.contribution_lines, "-contributions.tsv", _with_statistics, is_streamed=True
)
pool_members = _file(exports.member_lines, "-members.tsv")
pool_member_contributions = _file(
    exports.member_contribution_lines, "-member-contributions.tsv", _with_statistics, is_streamed=True
)
pool_record = _file(
    lambda pool: json.dumps(exports.pool_record(pool), cls=DjangoJSONEncoder, indent=1, ensure_ascii=False),
    ".json",
)
pool_overlap_file = _file(exports.overlap_lines, "-overlap.tsv", _with_statistics)


@organizer_page
def pool_depths(request: AuthenticatedRequest, pool_id: int) -> HttpResponse:
    """By topic: the units of only one team, and the last pooled rank of each run. Organizers only."""
    page = selectors.depths_page(_with_statistics(pool_id), request.GET.get("from", ""))
    return render(request, "pooling/pools/depths.html", context_of(page))


@organizer_page
def pool_overlap(request: AuthenticatedRequest, pool_id: int) -> HttpResponse:
    """The overlap of runs: a matrix, or one run with all others. Organizers only."""
    page = selectors.overlap_page(_with_statistics(pool_id), request.GET.get("run", ""))
    return render(request, "pooling/pools/overlap.html", context_of(page))


@organizer_page
def pool_topic(request: AuthenticatedRequest, pool_id: int, code: str) -> HttpResponse:
    """The entries of a topic, with their members and contributing runs. Organizers only."""
    pool = _ready(pool_id)
    topic = get_object_or_404(pool.track.topics, code=code)
    page = entries.topic_page(pool, topic, request.GET.get("page"))
    return render(request, "pooling/pools/topic.html", context_of(page))


@organizer_page
def pool_entry(request: AuthenticatedRequest, pool_id: int, entry_id: int) -> HttpResponse:
    """One entry with all its members. Organizers only."""
    pool = _ready(pool_id)
    entry = get_object_or_404(entries.entries_of(pool), pk=entry_id)
    page = entries.entry_page(entry, pool, request.GET.get("page"))
    return render(request, "pooling/pools/entry.html", context_of(page))


@organizer_form
def delete(request: AuthenticatedRequest, pool_id: int) -> HttpResponse:
    """Ask, then delete a pool without a batch. Organizers only."""
    pool = get_object_or_404(selectors.pools(), pk=pool_id)
    batches = reverse("assessment:judging", args=[pool.track.slug]), "Go to the batches"
    check = partial(services.check_deletion, pool)
    page = deletion(pool, "pool", check, goes_with=["its units"], instead=batches)
    if not page.is_given(request):
        return confirmation_page(request, page, layout="tracks/base.html", track=pool.track)
    services.delete(pool=pool, by=request.user)
    messages.success(request, f"The pool “{pool}” is deleted.")
    return redirect("pooling:pools", pool.track.slug)
