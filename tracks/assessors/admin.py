"""Assessors, in the admin of their track."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.models import User
from assay.errors import Refused
from tracks.assessors import services
from tracks.models import Assessor, Track
from web.admin import Undeletable


class UserName(forms.TextInput):
    """Shows the user of an existing row, without a query for each."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def format_value(self, value: Any) -> str:
        return self.name


class AssessorForm(forms.ModelForm[Assessor]):
    """Shows next to the form what the service would refuse."""

    class Meta:
        model = Assessor
        fields = ["user", "group"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None:
            self.fields["user"].disabled = True
            self.fields["user"].widget = UserName(self.instance.user.username)

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


class Assessors(forms.BaseInlineFormSet[Assessor, Track, forms.ModelForm[Assessor]]):
    """The assessors of a track. A refusal of their groups is an error of the form, so that nothing is saved."""

    def clean(self) -> None:
        super().clean()
        if any(self.errors) or self.instance.pk is None:
            return
        try:
            services.check_set_groups(track=self.instance, groups=self.changed_groups)
        except Refused as refusal:
            raise forms.ValidationError(refusal.message) from None

    @property
    def changed_groups(self) -> dict[User, str]:
        """The groups of the assessors that were changed."""
        changed = [form.instance for form in self.initial_forms if form.has_changed()]
        return {assessor.user: assessor.group for assessor in changed}


class AssessorInline(Undeletable, admin.TabularInline[Assessor, Track]):
    """The assessors of a track and their groups. To stop one, assign no more topics to them; their judgments stay."""

    model = Assessor
    form = AssessorForm
    formset = Assessors
    autocomplete_fields = ["user"]
    extra = 1
    verbose_name = "assessor"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Assessor]:
        return super().get_queryset(request).select_related("user")
