"""Topics and their imports in the admin."""

from typing import Any

from django import forms
from django.contrib import admin
from django.forms.fields import InvalidJSONInput
from django.http import HttpRequest

from assay.errors import Refused
from tracks.models import Topic, TopicImport
from tracks.topics.services import checked_labels
from web.admin import ReadOnly, Undeletable


class LabelsField(forms.JSONField):
    """Django's field reports only wrong syntax, not a number or a nesting that Python does not read."""

    def to_python(self, value: Any) -> Any:
        try:
            return super().to_python(value)
        except (ValueError, RecursionError):
            raise forms.ValidationError(
                "A number has too many digits, or the value is nested too deeply."
            ) from None

    def bound_data(self, data: Any, initial: Any) -> Any:
        try:
            return super().bound_data(data, initial)
        except (ValueError, RecursionError):
            return InvalidJSONInput(data)


class TopicForm(forms.ModelForm[Topic]):
    """Accepts the labels that the protocol of the track allows."""

    labels = LabelsField(
        required=False,
        help_text='A JSON object such as {"category": "proof"}, with labels that the protocol allows.',
    )

    class Meta:
        model = Topic
        fields = ["labels", "thread"]

    def clean_labels(self) -> dict[str, str]:
        try:
            return checked_labels(topic=self.instance, labels=self.cleaned_data["labels"] or {})
        except Refused as refusal:
            raise forms.ValidationError(refusal.message) from refusal


@admin.register(Topic)
class TopicAdmin(Undeletable, admin.ModelAdmin[Topic]):
    """The labels and threads of topics. The topics themselves are imported from a topic file."""

    form = TopicForm
    list_display = ["code", "track", "thread"]
    list_filter = ["track"]
    search_fields = ["code", "title"]
    list_select_related = ["track"]
    readonly_fields = ["track", "code", "title", "body", "narrative", "tags"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(TopicImport)
class TopicImportAdmin(ReadOnly, admin.ModelAdmin[TopicImport]):
    list_display = ["name", "track", "format", "created_at"]
    list_select_related = ["track"]
