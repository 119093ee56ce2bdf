"""The admin pages of batches, tasks and judgments. Batches are changed through the services."""

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.forms import BaseModelFormSet, ModelChoiceField, ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html

from accounts.models import User
from assay.errors import Refused
from assessment.batches import services
from assessment.batches.progress import progress_of_each
from assessment.batches.selectors import assessors_of, batches_for_organizer, pooled_topics
from assessment.judgments.exports import lines_of
from assessment.models import Batch, Judgment, Task, TopicAssignment
from assessment.planning import services as assignment_services
from assessment.planning.rules import Change
from pooling.models import Pool
from tracks.models import Topic
from web.admin import Checked, CheckedList, LargeTableAdmin
from web.downloads import download

__all__ = ["BatchAdmin", "JudgmentAdmin", "TaskAdmin"]


class BatchForm(forms.ModelForm[Batch]):
    """A batch in the admin. Its pool and kind cannot change later."""

    class Meta:
        model = Batch
        fields = ["pool", "name", "kind", "minutes_allotted"]


class TopicAssignmentForm(forms.ModelForm[TopicAssignment]):
    """Assigns a topic to an assessor of the track. Later only `is_withdrawn` can change."""

    batch: Batch
    # Compared with what the page showed, so that saving an old page takes back nothing that others have changed.
    is_withdrawn = forms.BooleanField(required=False, label="Withdrawn", show_hidden_initial=True)

    class Meta:
        model = TopicAssignment
        fields = ["topic", "assessor", "is_withdrawn"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        topic = cast("forms.ModelChoiceField[Topic]", self.fields["topic"])
        assessor = cast("forms.ModelChoiceField[User]", self.fields["assessor"])
        if self.instance.pk is None:
            topic.queryset = pooled_topics(self.batch)
            assessor.queryset = assessors_of(self.batch.pool.track)
            return
        topic.choices = [(self.instance.topic_id, str(self.instance.topic))]
        assessor.choices = [(self.instance.assessor_id, str(self.instance.assessor))]
        topic.disabled = assessor.disabled = True


class TopicAssignments(forms.BaseInlineFormSet[TopicAssignment, Batch, forms.ModelForm[TopicAssignment]]):
    """The rows of a batch in the admin. A refusal of one row is an error of the form, so that nothing is saved."""

    def clean(self) -> None:
        super().clean()
        if any(self.errors):
            return
        try:
            assignment_services.check_change(batch=self.instance, changes=self.changes)
        except Refused as refusal:
            raise ValidationError(refusal.message) from None

    @property
    def changes(self) -> list[Change]:
        """The rows that were changed."""
        rows = [form.instance for form in self.forms if form.has_changed()]
        return [Change(row.topic, row.assessor, is_withdrawn=row.is_withdrawn) for row in rows]


class TopicAssignmentInline(admin.TabularInline[TopicAssignment, Batch]):
    """The topics of a batch with their assessors. An assignment is withdrawn, never deleted."""

    model = TopicAssignment
    form = TopicAssignmentForm
    formset = TopicAssignments
    extra = 1
    can_delete = False
    verbose_name = "assigned topic"
    verbose_name_plural = "assigned topics"

    def get_queryset(self, request: HttpRequest) -> QuerySet[TopicAssignment]:
        return super().get_queryset(request).select_related("topic", "assessor")

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Without the icons that would edit users and topics from here."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None and isinstance(field.widget, RelatedFieldWidgetWrapper):
            field.widget = field.widget.widget
        return field

    def get_formset(self, request: HttpRequest, obj: Batch | None = None, **kwargs: Any) -> Any:
        assert obj is not None
        kwargs["form"] = type("BoundTopicAssignmentForm", (TopicAssignmentForm,), {"batch": obj})
        return super().get_formset(request, obj, **kwargs)


MOST_NAMES = 4


class BatchList(CheckedList):
    """The batches of a page with their progress, in a fixed number of queries."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        progress = progress_of_each(self.result_list)
        for batch in self.result_list:
            batch.shown_progress = progress[batch.pk]


class PoolField(ModelChoiceField[Pool]):
    """Shows each pool with its track."""

    def label_from_instance(self, pool: Pool) -> str:
        return f"{pool.track}: {pool}"


def planning(name: str, description: str) -> Any:
    """An action that opens a form of the batch's plan on the site, which shows what will change."""

    @admin.action(description=description)
    def open_form(_: Any, request: HttpRequest, batches: QuerySet[Batch]) -> HttpResponse | None:
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
class BatchAdmin(Checked, admin.ModelAdmin[Batch]):
    form = BatchForm
    list_display = [
        "name",
        "pool",
        "pool__track",
        "kind",
        "status",
        "progress",
        "topics",
        "assessors",
        "plan",
        "created_by",
        "created_at",
    ]
    list_per_page = 25
    list_filter = ["status", "kind", "pool__track"]
    search_fields = ["name", "pool__name"]
    date_hierarchy = "created_at"
    inlines = [TopicAssignmentInline]
    actions = ["open_batches", "close_batches", "share_topics", "move_topic", "take_topics", "add_person"]
    change_form_template = "admin/assessment/batch/change_form.html"
    save_on_top = True
    view_on_site = False  # the button “Show progress, open or close” leads there

    def get_queryset(self, request: HttpRequest) -> QuerySet[Batch]:
        return batches_for_organizer()

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

    @admin.display
    def plan(self, batch: Batch) -> str:
        return format_html('<a href="{}">plan topics</a>', reverse("assessment:plan", args=[batch.pk]))

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
        messages.success(
            request, f"The batch “{obj}” is created. Assign its topics to assessors, then open it."
        )
        return HttpResponseRedirect(reverse("assessment:plan", args=[obj.pk]))

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

    share_topics = planning("share", "Share the topics of the selected batch")
    move_topic = planning("move", "Assign or move a topic of the selected batch")
    take_topics = planning("take", "Take everything from one person in the selected batch")
    add_person = planning("join", "Add a person to the selected batch")


@admin.register(Task)
class TaskAdmin(LargeTableAdmin):
    list_display = [
        "id",
        "batch",
        "entry__topic",
        "entry__docno",
        "assessor",
        "status",
        "accepted_at",
        "expires_at",
        "submitted_at",
    ]
    list_filter = ["status", ("batch", admin.RelatedOnlyFieldListFilter)]
    list_select_related = ["batch", "entry__topic", "assessor"]
    search_fields = ["entry__docno__exact", "entry__topic__code__exact", "assessor__username"]
    search_help_text = "Docno, topic code or assessor"
    ordering = ["-id"]


@admin.register(Judgment)
class JudgmentAdmin(LargeTableAdmin):
    list_display = [
        "id",
        "batch",
        "topic",
        "docno",
        "assessor",
        "choice",
        "grade",
        "seconds",
        "is_current",
        "source",
        "created_at",
    ]
    list_filter = ["is_current", "source", "track", "choice", ("batch", admin.RelatedOnlyFieldListFilter)]
    list_select_related = ["batch", "topic", "assessor"]
    search_fields = ["docno__exact", "topic__code__exact", "assessor__username"]
    search_help_text = "Docno, topic code or assessor"
    ordering = ["-id"]
    actions = ["export_csv"]

    @admin.action(description="Export the selected judgments as CSV", permissions=["view"])
    def export_csv(self, request: HttpRequest, judgments: QuerySet[Judgment]) -> HttpResponseBase:
        return download(lines_of(judgments, "csv"), "judgments.csv")
