"""Pools for programs: request, read, and from which runs each unit comes."""

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from assay.pools.preview import usual_seconds
from jobs.api import JobSerializer
from pooling.models import Pool
from pooling.pools import entries, exports, previews, selectors, services
from pooling.pools.forms import PreviewForm
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.filters import Filter
from web.api.permissions import Organizer
from web.api.serializers import Address, JobAddress, Strict, require_valid
from web.api.views import Endpoints, accepted, delete, get, parameter, post

POOL = (
    "id url track=track.slug name status protocol=protocol.slug protocol_sha256=protocol_digest seed depth "
    "max_runs_per_team order tops_up sha256 job created_at"
)
MEANINGS = {
    "url": Address("api:pool", help_text="The address of this pool in the API."),
    "depth": serializers.DictField(child=serializers.IntegerField(), help_text="By kind of run."),
    "tops_up": "The earlier pool whose units this one leaves out.",
    "sha256": serializers.CharField(help_text="Of the pool's TSV file; empty until it is ready."),
    "job": JobAddress(help_text="The address of the job that builds it."),
}
PoolSerializer = answer(Pool, "Pool", POOL, "The units to judge.", **MEANINGS)
PoolDetailSerializer = answer(
    Pool,
    "PoolDetail",
    f"{POOL} record",
    "A pool with the record from which it can be rebuilt.",
    **MEANINGS,
    record=serializers.DictField(
        help_text="Protocol, seed, depths, SHA-256 of each run, sizes by topic, overlap. Empty until it is ready."
    ),
)


class NewPoolSerializer(Strict):
    """The settings of a pool. A setting that is left out is as the protocol states."""

    name = serializers.CharField(max_length=100)
    seed = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=2**63 - 1,
        help_text="All random choices depend on it. Without it: a new one, which is recorded.",
    )
    depth = serializers.DictField(
        child=serializers.IntegerField(min_value=0), required=False, default=dict, help_text="By kind of run."
    )
    order = serializers.ChoiceField(
        Pool.Order.choices, required=False, default="", help_text="The order of judging."
    )
    max_runs_per_team = serializers.IntegerField(required=False, allow_null=True, default=None, min_value=1)
    tops_up = serializers.IntegerField(
        required=False, allow_null=True, default=None, help_text="The id of the pool to top up."
    )


class NewPoolPreviewSerializer(Strict):
    """The runs that count in a preview, and the pool that it tops up."""

    max_runs_per_team = serializers.IntegerField(required=False, allow_null=True, default=None, min_value=1)
    tops_up = serializers.IntegerField(
        required=False, allow_null=True, default=None, help_text="The id of the pool to top up."
    )


DepthSerializer = answer(
    previews.DepthRow,
    "Depth",
    "depth kinds n least most mean hours",
    kinds="The depth of each kind of run.",
    hours="Of judging, by all judges.",
)


PoolPreviewSerializer = answer(
    previews.PreviewPage,
    "PoolPreview",
    "n_runs status=job.state depths",
    "The preview of a pool.",
    status="Of the job; null if nobody has asked for it.",
    depths=DepthSerializer(
        source="tables.rows", many=True, default=list, help_text="Empty until the job is done."
    ),
)
ContributionSerializer = answer(
    entries.ContributingRun,
    "Contribution",
    "run=run_id team tag rank",
    "A run that retrieved something, and at which rank.",
)
PoolMemberSerializer = answer(
    entries.ShownMember,
    "PoolMember",
    "docno position post runs",
    "A document in a unit that assessors see.",
    post="The document that contains it, if it is a formula.",
)
EntrySerializer = answer(
    entries.ShownEntry,
    "Entry",
    "id=entry.id topic=entry.topic.code docno=entry.docno position=entry.position passage=entry.passage runs members "
    "n_members",
    "A unit in the pool, for one topic, with the runs that contributed it.",
    position="In the order of judging.",
    passage="The cited text; empty for other units.",
    n_members="All members, also those that are not shown.",
)


PREVIEW_POOL = ("tracks/<slug:slug>/pools/preview/", "preview_pool")


class Pools(Endpoints):
    tag = "Pools"
    permission_classes = [Organizer]

    @get(
        "tracks/<slug:slug>/pools/",
        "pools",
        PoolSerializer,
        ordering=("-pk",),
        filters=[Filter("status", values=Pool.Status.values), Filter("protocol", "protocol__slug")],
        orders=["created_at", "name"],
    )
    def list_pools(self, request: Request, slug: str) -> object:
        """List the pools of a track, newest first."""
        track = track_of(request, slug)
        return selectors.pools().filter(track=track).defer("statistics")

    @post("tracks/<slug:slug>/pools/", "pools", PoolSerializer, takes=NewPoolSerializer, status=202)
    def create_pool(self, request: Request, slug: str) -> object:
        """Build a pool from the runs that are submitted now."""
        track = track_of(request, slug)
        data = self.validated(request)
        seed, tops_up = data.pop("seed", services.new_seed()), data.pop("tops_up")
        pool = services.request(
            track=track,
            by=person_of(request),
            seed=seed,
            tops_up=get_object_or_404(selectors.pools(), pk=tops_up) if tops_up is not None else None,
            **data,
        )
        return accepted(PoolSerializer(pool).data, pool.job_id)

    @get(
        *PREVIEW_POOL,
        PoolPreviewSerializer,
        parameters=[
            parameter("max_runs_per_team", "As in the request of the preview.", kind="whole number"),
            parameter("tops_up", "As in the request of the preview.", kind="whole number"),
            parameter(
                "rate", "Seconds per judgment; without it, the usual ones of the protocol.", kind="number"
            ),
        ],
    )
    def get_pool_preview(self, request: Request, slug: str) -> object:
        """Read the size of a pool of the submitted runs and the hours of judging it, at each depth."""
        track = track_of(request, slug)
        form = PreviewForm(request.query_params, track=track, seconds=usual_seconds(track.protocol.parsed))
        require_valid(form)
        return previews.preview_page(track, query=form.query, arguments=form.arguments)

    @post(*PREVIEW_POOL, JobSerializer, takes=NewPoolPreviewSerializer, status=202)
    def create_pool_preview(self, request: Request, slug: str) -> object:
        """Compute a preview of a pool of the submitted runs, in a job. It is the same job until something changes."""
        track = track_of(request, slug)
        data = self.validated(request)
        form = PreviewForm(
            {name: value for name, value in data.items() if value is not None},
            track=track,
            seconds=usual_seconds(track.protocol.parsed),
        )
        require_valid(form)
        chosen = {name: form.arguments[name] for name in ("tops_up", "most")}
        job = services.request_preview(track=track, by=person_of(request), **chosen)
        return accepted(JobSerializer(job).data, job.pk)

    @post("tracks/<slug:slug>/pools/visual-ids/", "make_visual_ids", JobSerializer, status=202)
    def create_visual_ids(self, request: Request, slug: str) -> object:
        """Make visual ids for the formulas of the submitted runs, in a job: a preview of their pool needs them."""
        job = services.request_ids(track=track_of(request, slug), by=person_of(request))
        return accepted(JobSerializer(job).data, job.pk)

    @get("pools/<int:pool_id>/", "pool", PoolDetailSerializer)
    def get_pool(self, request: Request, pool_id: int) -> object:
        """Read a pool, with everything from which it can be rebuilt."""
        pool = get_object_or_404(selectors.pools(), pk=pool_id)
        is_ready = pool.status == Pool.Status.READY
        record = {"record": exports.pool_record(pool) if is_ready else {}}
        return Response(PoolSerializer(pool).data | record)

    @delete("pools/<int:pool_id>/", "pool")
    def delete_pool(self, request: Request, pool_id: int) -> None:
        """Delete a pool to which no batch, qrels or other pool refers."""
        services.delete(pool=get_object_or_404(selectors.pools(), pk=pool_id), by=person_of(request))

    @get(
        "pools/<int:pool_id>/entries/",
        "pool_entries",
        EntrySerializer,
        ordering=("pk",),
        filters=[Filter("topic", "topic__code")],
        orders=["position"],
    )
    def list_pool_entries(self, request: Request, pool_id: int) -> object:
        """List the units of a pool with the runs that contributed each, and at which rank."""
        pool = get_object_or_404(selectors.pools(), pk=pool_id)
        page = self.paginate_queryset(entries.entries_of(pool)) or []
        shown = entries.shown_entries(pool, page)
        return self.get_paginated_response(EntrySerializer(shown, many=True).data)


urlpatterns = Pools.urls()
