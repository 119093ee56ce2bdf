"""Previews of batches, and batches that are open to join, for programs."""

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from assessment.batches.selectors import batch_or_404, batches_to_join
from assessment.joining import selectors, services
from assessment.judging.api import TEXTS, UnitSerializer
from assessment.judging.units import shown_task
from assessment.models import Batch
from assessment.planning import services as assignments
from assessment.planning.api import PER_UNIT, BatchSerializer
from participation.invitations.services import MAX_DAYS, MAX_USES, Terms
from web.api.answers import answer
from web.api.permissions import LoggedIn, Organizer
from web.api.serializers import Strict
from web.api.views import Endpoints, get, parameter, post
from web.models import Scope
from web.pages import site_of


class BatchPreviewSerializer(serializers.Serializer[Any]):
    """The first unit of a batch as its assessors will get it, and what they agree to."""

    batch = serializers.IntegerField(source="batch.pk")
    n_units = serializers.IntegerField()
    n_judges = serializers.IntegerField(source="batch.n_judges", help_text=f"{PER_UNIT}, of a main batch.")
    minutes_allotted = serializers.IntegerField(source="batch.minutes_allotted", help_text="For a task.")
    unit = UnitSerializer()


class BatchLinkSerializer(serializers.Serializer[Any]):
    """The link with which people without an account judge a batch, and who came by it."""

    link = serializers.CharField(
        source="address",
        help_text="A secret. Empty if there is none, or if the secret key of the site was replaced.",
    )
    is_name_asked = serializers.BooleanField(source="link.asks_name", default=False)
    max_uses = serializers.IntegerField(source="link.invitation.max_uses", default=0)
    n_uses = serializers.IntegerField(source="link.invitation.n_uses", default=0)
    expires_at = serializers.DateTimeField(source="link.invitation.expires_at", default=None, allow_null=True)


WorkerSerializer = answer(
    selectors.Worker,
    "Worker",
    "username=user.username name code started_at=began_at last_judged_at=last_at n_judged is_excluded",
    "Somebody who judges by a link. Excluded: nothing counts that they judged.",
    name="What they gave, if the link asks for a name.",
    code="Their completion code.",
    last_judged_at="The latest judgment.",
)


class NewLinkSerializer(Strict):
    """A link that makes the units of a batch readable for everyone who has it."""

    max_uses = serializers.IntegerField(
        default=MAX_USES, min_value=1, max_value=MAX_USES, help_text="The number of people."
    )
    days = serializers.IntegerField(default=MAX_DAYS, min_value=1, max_value=MAX_DAYS)
    is_name_asked = serializers.BooleanField(source="asks_name", default=False)


class ExclusionSerializer(Strict):
    """The reason why judgments are excluded."""

    reason = serializers.CharField(max_length=500)


class Links(Endpoints):
    tag = "Batches"
    permission_classes = [Organizer]

    @get("batches/<int:batch_id>/link/", "batch_link", BatchLinkSerializer)
    def get_batch_link(self, request: Request, batch_id: int) -> object:
        """Read the link with which people without an account judge a batch."""
        return selectors.link_page(batch_or_404(batch_id), site_of(request._request))

    @post(
        "batches/<int:batch_id>/link/", "batch_link", BatchLinkSerializer, takes=NewLinkSerializer, status=201
    )
    def create_batch_link(self, request: Request, batch_id: int) -> object:
        """Make the link of a batch that is open to join: everyone who has it can read the units of the batch."""
        batch, data = batch_or_404(batch_id), self.validated(request)
        asks_name = data.pop("asks_name")
        services.create(batch=batch, terms=Terms(**data), asks_name=asks_name, by=person_of(request))
        page = selectors.link_page(batch, site_of(request._request))
        return Response(BatchLinkSerializer(page).data, status=201)

    @post("batches/<int:batch_id>/link/revoke/", "revoke_link")
    def revoke_batch_link(self, request: Request, batch_id: int) -> None:
        """End the link of a batch, and the work of everyone who came by it. Their judgments are kept and count."""
        link = selectors.link_in_force(batch_or_404(batch_id))
        if link is None:
            raise Http404
        services.revoke(link=link)

    @get("batches/<int:batch_id>/workers/", "workers", WorkerSerializer(many=True))
    def list_workers(self, request: Request, batch_id: int) -> object:
        """List everyone who came by a link of a batch, in the order in which they came."""
        return selectors.workers_of(batch_or_404(batch_id))

    @post(
        "batches/<int:batch_id>/workers/<str:username>/exclude/", "exclude_worker", takes=ExclusionSerializer
    )
    def exclude_worker(self, request: Request, batch_id: int, username: str) -> None:
        """Let nothing count that somebody judged by a link, and end their work. It cannot be undone."""
        batch, reason = batch_or_404(batch_id), self.validated(request)["reason"]
        worker = get_object_or_404(selectors.guests_of(batch), username=username)
        services.exclude(batch=batch, worker=worker, reason=reason)


class Joining(Endpoints):
    tag = "Judging"

    @get(
        "open-batches/",
        "open_batches",
        BatchSerializer,
        who=[LoggedIn],
        in_track="pool__track",
        ordering=("-pk",),
        read_scopes=(Scope.READ, Scope.JUDGE),
    )
    def list_open_batches(self, request: Request) -> object:
        """List the batches that you may join and have not joined, newest first."""
        return batches_to_join(person_of(request))

    @get(
        "batches/<int:batch_id>/preview/",
        "preview",
        BatchPreviewSerializer,
        who=[LoggedIn],
        parameters=[parameter("texts", "Plain without it.", values=TEXTS)],
        read_scopes=(Scope.READ, Scope.JUDGE),
    )
    def get_batch_preview(self, request: Request, batch_id: int) -> object:
        """See the first unit of a batch. Nothing is taken or stored.

        Organizers see it of every batch, assessors of those that they may join.
        """
        user = person_of(request)
        batch = get_object_or_404(selectors.batches_to_preview(user), pk=batch_id)
        entry, n_units = selectors.unit_of(batch)
        if entry is None:
            raise Http404
        is_html = request.query_params.get("texts") == "html"
        shown = shown_task(selectors.unsaved_task(batch, entry, user), is_html=is_html)
        return {"batch": batch, "n_units": n_units, "unit": shown.unit}

    @post(
        "batches/<int:batch_id>/join/",
        "join_batch",
        BatchSerializer,
        who=[LoggedIn],
        write_scopes=(Scope.JUDGE,),
    )
    def join_batch(self, request: Request, batch_id: int) -> object:
        """Join a batch that is open to join. Then take tasks as in any other."""
        user = person_of(request)
        batch: Batch = get_object_or_404(batches_to_join(user), pk=batch_id)
        assignments.join(batch=batch, assessor=user)
        return batch


urlpatterns = Joining.urls() + Links.urls()
