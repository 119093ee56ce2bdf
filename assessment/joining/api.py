"""Previews of batches, and batches that are open to join, for programs."""

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from assessment.batches.selectors import batches_to_join
from assessment.joining import selectors
from assessment.judging.api import TEXTS, UnitSerializer
from assessment.judging.units import shown_task
from assessment.models import Batch
from assessment.planning import services as assignments
from assessment.planning.api import PER_UNIT, BatchSerializer
from web.api.permissions import LoggedIn
from web.api.scopes import Scope
from web.api.views import Endpoints, get, parameter, post


class BatchPreviewSerializer(serializers.Serializer[Any]):
    """The first unit of a batch as its assessors will get it, and what they agree to."""

    batch = serializers.IntegerField(source="batch.pk")
    n_units = serializers.IntegerField()
    judges = serializers.IntegerField(source="batch.n_judges", help_text=f"{PER_UNIT}, of a main batch.")
    minutes_allotted = serializers.IntegerField(source="batch.minutes_allotted", help_text="For a task.")
    unit = UnitSerializer()


class Joining(Endpoints):
    tag = "Judging"

    @get(
        "open-batches/",
        "open_batches",
        BatchSerializer,
        who=[LoggedIn],
        ordering=("-pk",),
        read_scopes=(Scope.READ, Scope.JUDGE),
    )
    def list_open_batches(self, request: Request) -> Any:
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
    def preview_batch(self, request: Request, batch_id: int) -> Any:
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
    def join_batch(self, request: Request, batch_id: int) -> Any:
        """Join a batch that is open to join. Then take tasks as in any other."""
        user = person_of(request)
        batch: Batch = get_object_or_404(batches_to_join(user), pk=batch_id)
        assignments.join(batch=batch, assessor=user)
        return batch


urlpatterns = Joining.urls()
