"""Assessors, in the admin of their track."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from assay.errors import Refused
from tracks.assessors import services
from tracks.models import Assessor, Track
from web.admin import Undeletable


class AssessorForm(forms.ModelForm[Assessor]):
    """Shows next to the form what the service would refuse."""

    class Meta:
        model = Assessor
        fields = ["user", "group"]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        track, user = self.instance.track if self.instance.track_id else None, data.get("user")
        if track is not None and user is not None:
            try:
                services.check(track=track, user=user)
                services.check_group(track=track, group=data.get("group", ""))
            except Refused as refusal:
                raise forms.ValidationError(refusal.message) from refusal
        return data


class AssessorInline(Undeletable, admin.TabularInline[Assessor, Track]):
    """The assessors of a track. To stop an assessor, assign them no more topics; their judgments stay."""

    model = Assessor
    form = AssessorForm
    autocomplete_fields = ["user"]
    extra = 1
    verbose_name = "assessor"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Assessor]:
        return super().get_queryset(request).select_related("user")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
