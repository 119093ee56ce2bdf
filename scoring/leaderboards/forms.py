"""The form that sets who may see a leaderboard."""

from typing import Any

from django import forms

from scoring.models import Leaderboard
from web.forms import style_fields


class ReleaseForm(forms.Form):
    """Who may see a leaderboard, and why although something speaks against it."""

    level = forms.ChoiceField(choices=Leaderboard.Release, widget=forms.HiddenInput)
    reason = forms.CharField(
        required=False,
        max_length=500,
        label="Reason to release it nevertheless",
        help_text="The audit log keeps it.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)
