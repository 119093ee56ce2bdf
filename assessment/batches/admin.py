"""Batches in the admin: create and edit them, assign their topics. All changes go through the services."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import BaseModelFormSet, ModelChoiceField, ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from assay.errors import Refused
from assessment.assignments import services as assignment_services
from assessment.assignments.admin import TopicAssignmentInline
from assessment.assignments.forms import ShareForm
from assessment.batches import services
from assessment.batches.forms import BatchForm
from assessment.models import Batch
from pooling.models import Pool
from web.admin import Checked


class PoolField(ModelChoiceField[Pool]):
    """Shows each pool with its track."""

    def label_from_instance(self, pool: Pool) -> str:
        return f"{pool.track}: {pool}"


@admin.register(Batch)
class BatchAdmin(Checked, admin.ModelAdmin[Batch]):
    form = BatchForm
    list_display = ["name", "pool", "track", "kind", "status", "minutes_allotted", "created_by", "created_at"]
    list_filter = ["status", "kind", "pool__track"]
    search_fields = ["name", "pool__name"]
    date_hierarchy = "created_at"
    inlines = [TopicAssignmentInline]
    actions = ["open_batches", "close_batches"]
    change_form_template = "admin/assessment/batch/change_form.html"
    save_on_top = True
    view_on_site = False  # the button “Show progress, open or close” leads there

    def get_queryset(self, request: HttpRequest) -> QuerySet[Batch]:
        batches = super().get_queryset(request).select_related("pool__track", "pool__protocol", "created_by")
        return batches.defer("pool__statistics")

    @admin.display(ordering="pool__track__name")
    def track(self, batch: Batch) -> str:
        return str(batch.pool.track)

    def has_delete_permission(self, request: HttpRequest, obj: Batch | None = None) -> bool:
        return False

    def get_inlines(self, request: HttpRequest, obj: Batch | None) -> list[Any]:
        """Topics can be assigned once the batch is saved: only then is its pool known."""
        return [] if obj is None else list(self.inlines)

    def get_readonly_fields(self, request: HttpRequest, obj: Batch | None = None) -> list[str]:
        return [] if obj is None else ["pool", "kind", "status", "closed_at", "created_by", "created_at"]

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "pool":
            kwargs["queryset"] = Pool.objects.filter(status=Pool.Status.READY).select_related("track")
            kwargs["form_class"] = PoolField
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: Batch, form: Any, change: bool) -> None:
        """Create or edit the batch through the services."""
        if change:
            services.edit(batch=obj, name=obj.name, minutes_allotted=obj.minutes_allotted)
            return
        created = services.create(
            pool=obj.pool,
            name=obj.name,
            kind=obj.kind,
            minutes_allotted=obj.minutes_allotted,
            by=request.user,  # type: ignore[arg-type]
        )
        obj.pk, obj.created_by = created.pk, created.created_by
        obj._state.adding = False

    def response_add(
        self, request: HttpRequest, obj: Batch, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Continue with the page on which topics are assigned."""
        messages.success(
            request, f"The batch “{obj}” is created. Assign its topics to assessors, then open it."
        )
        return HttpResponseRedirect(reverse("admin:assessment_batch_change", args=[obj.pk]))

    def save_formset(
        self, request: HttpRequest, form: ModelForm[Batch], formset: BaseModelFormSet[Any, Any], change: bool
    ) -> None:
        """Save all rows through the service, or none: after a refusal the form is shown again."""
        formset.save(commit=False)
        assignment_services.change(batch=form.instance, changes=formset.changes)  # type: ignore[attr-defined]

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

    def get_urls(self) -> list[URLPattern]:
        share = self.admin_site.admin_view(self.share_view)
        return [path("<int:batch_id>/share/", share, name="assessment_batch_share"), *super().get_urls()]

    def share_view(self, request: HttpRequest, batch_id: int) -> HttpResponse:
        """Share the topics of a batch evenly. Organizers only."""
        batch = get_object_or_404(self.get_queryset(request), pk=batch_id)
        form = ShareForm(request.POST if request.method == "POST" else None, batch=batch)
        if request.method == "POST" and form.is_valid():
            assigned = assignment_services.share(batch=batch, assessors=list(form.cleaned_data["assessors"]))
            messages.success(request, f"Topics assigned: {len(assigned)}.")
            return HttpResponseRedirect(reverse("admin:assessment_batch_change", args=[batch.pk]))
        context = self.admin_site.each_context(request) | {
            "title": "Share topics evenly",
            "batch": batch,
            "form": form,
            "opts": self.opts,
        }
        return TemplateResponse(request, "admin/assessment/batch/share.html", context)
