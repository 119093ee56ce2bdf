"""The form that creates an access token."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils import timezone

from web.api.scopes import Scope
from web.forms import style_fields

DAYS = [(30, "30 days"), (90, "90 days"), (180, "180 days"), (365, "a year")]


class TokenForm(forms.Form):
    """A new token of the user."""

    name = forms.CharField(
        max_length=100, help_text="What will use it, such as “submit script on the cluster”."
    )
    scopes = forms.MultipleChoiceField(
        choices=Scope.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=[Scope.READ],
        label="It may",
        help_text="A token can never do more than you can.",
    )
    days = forms.TypedChoiceField(choices=DAYS, coerce=int, initial=90, label="It expires after")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)

    @property
    def expires_at(self) -> datetime:
        return timezone.now() + timedelta(days=self.cleaned_data["days"])
