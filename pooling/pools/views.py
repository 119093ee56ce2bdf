"""The pages of pools, for organizers. Thin: find through a selector, check the form, call the service, answer."""

import json
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.access import AuthenticatedRequest, organizer_required
from assay.errors import Refused
from pooling.models import Pool
from pooling.pools import entries, previews, selectors, services
from pooling.pools.errors import IdsMissing
from pooling.pools.forms import PoolForm, PreviewForm
from tracks.tracks.selectors import tracks_for
from web.downloads import download

READ_AND_POST = require_http_methods(["GET", "POST"])


@require_GET
@organizer_required
def pools(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The pools of a track. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    return render(request, "pooling/pools/pools.html", {"track": track, "pools": selectors.pools_of(track)})


@READ_AND_POST
@organizer_required
def new_pool(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask for a pool. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    asked_for = {name: value for name, value in request.GET.dict().items() if str(value).isdecimal()}
    form = PoolForm(request.POST or None, track=track, initial=asked_for)
    if request.method == "POST" and form.is_valid():
        try:
            return redirect(services.request(track=track, by=request.user, **form.asked))
        except Refused as refusal:
            form.add_error(None, refusal.message)
    context = {"track": track, "form": form, "runs": selectors.runs_to_pool(track), "tab": "pools"}
    return render(request, "pooling/pools/new_pool.html", context)


@require_GET
@organizer_required
def preview(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """What a pool would hold and cost at each depth, before anything is built. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    form = PreviewForm(request.GET, track=track, seconds=previews.seconds_a_judgment(track))
    context: dict[str, Any] = {"track": track, "form": form, "tab": "pools"}
    context |= {"n_runs": selectors.runs_to_pool(track).count(), "asked": form.address}
    if form.is_valid():
        try:
            context |= previews.preview_page(track, **form.asked)
        except Refused as refusal:
            context |= {"refusal": refusal.message, "needs_ids": isinstance(refusal, IdsMissing)}
    return render(request, "pooling/pools/preview.html", context)


@require_POST
@organizer_required
def make_ids(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Have visual ids made for the submitted formulas, and go to the job's page. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    return redirect(services.request_ids(track=track, by=request.user))


@require_GET
@never_cache
@organizer_required
def pool(request: AuthenticatedRequest, pool_id: int) -> HttpResponse:
    """A pool: its job while it is built, then what it is made of. Organizers only."""
    return render(request, "pooling/pools/pool.html", selectors.pool_page(_pool(pool_id)))


def _pool(pool_id: int) -> Pool:
    return get_object_or_404(selectors.pools(), pk=pool_id)


def _ready(pool_id: int) -> Pool:
    return get_object_or_404(selectors.pools(), pk=pool_id, status=Pool.Status.READY)


@require_GET
@organizer_required
def pool_file(request: AuthenticatedRequest, pool_id: int) -> HttpResponseBase:
    """The pool as a TSV: topic, docno, position. Organizers only."""
    found = _ready(pool_id)
    return download(selectors.pool_lines(found), f"{found.track.slug}-pool-{found.pk}.tsv")


@require_GET
@organizer_required
def pool_contributions(request: AuthenticatedRequest, pool_id: int) -> HttpResponseBase:
    """Which run brought what: topic, docno, team, tag, rank. Organizers only."""
    found = _ready(pool_id)
    return download(
        selectors.contribution_lines(found), f"{found.track.slug}-pool-{found.pk}-contributions.tsv"
    )


@require_GET
@organizer_required
def pool_members(request: AuthenticatedRequest, pool_id: int) -> HttpResponseBase:
    """What belongs to each unit: topic, docno, member, post, thread, position. Organizers only."""
    found = _ready(pool_id)
    return download(selectors.member_lines(found), f"{found.track.slug}-pool-{found.pk}-members.tsv")


@require_GET
@organizer_required
def pool_member_contributions(request: AuthenticatedRequest, pool_id: int) -> HttpResponseBase:
    """Which run brought which member: topic, docno, member, team, tag, rank. Organizers only."""
    found = _ready(pool_id)
    name = f"{found.track.slug}-pool-{found.pk}-member-contributions.tsv"
    return download(selectors.member_contribution_lines(found), name)


@require_GET
@organizer_required
def pool_record(request: AuthenticatedRequest, pool_id: int) -> HttpResponseBase:
    """What the pool was made from, so that it can be built again. Organizers only."""
    found = _ready(pool_id)
    record = json.dumps(selectors.pool_record(found), cls=DjangoJSONEncoder, indent=1, ensure_ascii=False)
    return download(record, f"{found.track.slug}-pool-{found.pk}.json")


@require_GET
@organizer_required
def pool_depths(request: AuthenticatedRequest, pool_id: int) -> HttpResponse:
    """By topic: what each team alone brought, and how far down each run was taken. Organizers only."""
    context = selectors.depths_page(_ready(pool_id), request.GET.get("from", ""))
    return render(request, "pooling/pools/depths.html", context)


@require_GET
@organizer_required
def pool_overlap(request: AuthenticatedRequest, pool_id: int) -> HttpResponse:
    """How the runs of a pool overlap; one of them against all others if asked. Organizers only."""
    context = selectors.overlap_page(_ready(pool_id), request.GET.get("run", ""))
    return render(request, "pooling/pools/overlap.html", context)


@require_GET
@organizer_required
def pool_overlap_file(request: AuthenticatedRequest, pool_id: int) -> HttpResponseBase:
    """The whole overlap matrix as a TSV. Organizers only."""
    found = _ready(pool_id)
    return download(selectors.overlap_lines(found), f"{found.track.slug}-pool-{found.pk}-overlap.tsv")


@require_GET
@organizer_required
def pool_topic(request: AuthenticatedRequest, pool_id: int, code: str) -> HttpResponse:
    """The entries of one topic, with their members and who brought what. Organizers only: assessors never see it."""
    found = _ready(pool_id)
    topic = get_object_or_404(found.track.topics, code=code)
    context = entries.topic_page(found, topic, request.GET.get("page"))
    return render(request, "pooling/pools/topic.html", context)


@require_GET
@organizer_required
def pool_entry(request: AuthenticatedRequest, pool_id: int, entry_id: int) -> HttpResponse:
    """One entry with all of its members. Organizers only."""
    found = _ready(pool_id)
    entry = get_object_or_404(entries.entries_of(found), pk=entry_id)
    context = entries.entry_page(entry, found, request.GET.get("page"))
    return render(request, "pooling/pools/entry.html", context)
