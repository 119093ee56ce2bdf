"""The admin lists of batches, tasks and judgments. Batches are changed through the services."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse

from accounts.models import User
from assay.errors import Refused
from assessment.batches import services
from assessment.batches.progress import progress_of_each
from assessment.batches.selectors import batches_for_organizer, pools_to_plan
from assessment.judgments.exports import lines_of
from assessment.models import Batch, Judgment, Task
from tracks.models import Topic
from web.admin import Checked, CheckedList, KeptValues, LargeTableAdmin, OnTheSite, Place
from web.downloads import download

__all__ = ["BatchAdmin", "JudgmentAdmin", "TaskAdmin"]

MOST_NAMES = 4


class BatchList(CheckedList):
    """The batches of a page with their progress, in a fixed number of queries."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        progress = progress_of_each(self.result_list)
        for batch in self.result_list:
            batch.shown_progress = progress[batch.pk]


def planning(name: str, description: str) -> Any:
    """An action that opens a form of the batch's plan on the site, which shows what will change."""

    @admin.action(description=description)
    def open_form(_: object, request: HttpRequest, batches: QuerySet[Batch]) -> HttpResponse | None:
        chosen = list(batches[:2])
        if len(chosen) == 1:
            address = reverse("assessment:plan", args=[chosen[0].pk])
            return HttpResponseRedirect(f"{address}?action={name}#{name}")
        messages.error(
            request, "Select one batch: the topics of each batch are planned on a page of its own."
        )
        return None

    return open_form


@admin.register(Batch)
class BatchAdmin(OnTheSite, Checked, admin.ModelAdmin[Batch]):
    """Lists the batches of all tracks; they are planned, opened and closed on the site, several also from here."""

    track_way = "pool__track"
    list_display = [
        "name", "pool", "pool__track", "kind", "status", "progress", "topics", "assessors", "created_at",
    ]  # fmt: skip
    list_per_page = 25
    list_filter = ["status", "kind", "pool__track"]
    search_fields = ["name", "pool__name"]
    date_hierarchy = "created_at"
    actions = ["open_batches", "close_batches", "share_topics", "move_topic", "take_topics", "add_person"]
    nothing_yet = (
        "No pool is ready yet. Build a pool on the page Pools of a track, then create a batch of it."
    )

    def places(self) -> list[Place]:
        tracks = dict.fromkeys(pool.track for pool in pools_to_plan())
        return [(str(track), reverse("assessment:new_batch", args=[track.slug])) for track in tracks]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Batch]:
        organized: list[int] = getattr(request.user, "organized", [])
        return batches_for_organizer().filter(pool__track__in=organized)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return BatchList

    @admin.display
    def progress(self, batch: Batch) -> str:
        shown = batch.shown_progress  # type: ignore[attr-defined]
        return f"{shown.judged:,} of {shown.total:,}"

    @admin.display
    def topics(self, batch: Batch) -> int:
        return int(batch.shown_progress.n_topics)  # type: ignore[attr-defined]

    @admin.display
    def assessors(self, batch: Batch) -> str:
        """Their names, if there are few."""
        names = [str(user) for user in batch.shown_progress.assessors]  # type: ignore[attr-defined]
        return ", ".join(names) if len(names) <= MOST_NAMES else str(len(names))

    def has_delete_permission(self, request: HttpRequest, obj: Batch | None = None) -> bool:
        return False

    def _call(self, request: HttpRequest, service: Any, **arguments: Any) -> bool:
        """Call a service; a refusal becomes a message. True if it did not refuse."""
        try:
            service(**arguments)
        except Refused as refusal:
            messages.error(request, refusal.message)
            return False
        return True

    @admin.action(description="Open the selected batches")
    def open_batches(self, request: HttpRequest, batches: QuerySet[Batch]) -> None:
        n = sum(self._call(request, services.open_for_judging, batch=batch) for batch in batches)
        messages.success(request, f"Opened: {n}.")

    @admin.action(description="Close the selected batches")
    def close_batches(self, request: HttpRequest, batches: QuerySet[Batch]) -> None:
        n = sum(self._call(request, services.close, batch=batch) for batch in batches)
        messages.success(request, f"Closed: {n}.")

    share_topics = planning("share", "Share the topics of the selected batch")
    move_topic = planning("move", "Assign or move a topic of the selected batch")
    take_topics = planning("take", "Take everything from one person in the selected batch")
    add_person = planning("join", "Add a person to the selected batch")


class ByUnitAdmin(LargeTableAdmin):
    """A table with a search for words: each is a docno, the code of a topic, or a part of an assessor's name."""

    unit_way = ""  # to the model with docno and topic
    search_help_text = "Docno, topic code or assessor"
    ordering = ["-id"]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find topics and people first: a condition over joined tables reads all of the rows."""
        for word in search_term.split():
            topics = list(Topic.objects.filter(code=word).values_list("pk", flat=True))
            people = list(User.objects.filter(username__icontains=word).values_list("pk", flat=True))
            unit = Q(**{f"{self.unit_way}docno": word}) | Q(**{f"{self.unit_way}topic__in": topics})
            queryset = queryset.filter(unit | Q(assessor__in=people))
        return queryset, False


@admin.register(Task)
class TaskAdmin(ByUnitAdmin):
    unit_way = "entry__"
    track_way = "batch__pool__track"
    list_display = [
        "entry__docno", "entry__topic", "batch", "assessor", "status", "accepted_at", "expires_at",
        "submitted_at",
    ]  # fmt: skip
    list_filter = ["status", ("batch", admin.RelatedOnlyFieldListFilter)]
    list_select_related = ["batch", "entry__topic", "assessor"]
    search_fields = ["entry__docno__exact", "entry__topic__code__exact", "assessor__username"]


@admin.register(Judgment)
class JudgmentAdmin(ByUnitAdmin):
    track_way = "track"
    list_display = [
        "docno", "topic", "batch", "assessor", "choice", "grade", "seconds", "is_current", "source",
        "created_at",
    ]  # fmt: skip
    list_filter = [
        "is_current", ("source", KeptValues), "track", ("choice", KeptValues),
        ("batch", admin.RelatedOnlyFieldListFilter),
    ]  # fmt: skip
    list_select_related = ["batch", "topic", "assessor"]
    search_fields = ["docno__exact", "topic__code__exact", "assessor__username"]
    actions = ["export_csv"]

    @admin.action(description="Export the selected judgments as CSV", permissions=["view"])
    def export_csv(self, request: HttpRequest, judgments: QuerySet[Judgment]) -> HttpResponseBase:
        return download(lines_of(judgments, "csv"), "judgments.csv")
