"""Assigned topics in the admin of a batch."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.db.models import QuerySet
from django.http import HttpRequest

from assessment.assignments.forms import TopicAssignmentForm, TopicAssignments
from assessment.models import Batch, TopicAssignment


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
