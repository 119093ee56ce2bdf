"""The form that sets who may see a leaderboard."""

from typing import Any

from django import forms

from scoring.models import Leaderboard
from tracks.deadlines.forms import LocalTimeField, ZoneField
from web import times
from web.forms import StyledForm


class ReleaseForm(StyledForm):
    """The people who may see a leaderboard, and the reason to release it although checks fail."""

    level = forms.ChoiceField(choices=Leaderboard.Release, widget=forms.HiddenInput)
    reason = forms.CharField(
        required=False,
        max_length=500,
        label="Reason to release it anyway",
        help_text="Without a reason, you can only set a time. The audit log keeps the reason.",
    )
    reason.is_one_of_several = True  # type: ignore[attr-defined]  # not marked as optional

    release_at = LocalTimeField(
        label="Release it at a set time instead of now", help_text="The checks run at that time."
    )
    zone = ZoneField(label="Time zone of this time", required=False, initial=times.AOE)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        data["moment"] = None
        if text := data.get("release_at"):
            try:
                data["moment"] = times.instant_of(text, data.get("zone") or times.AOE)
            except times.NoSuchTime as error:
                self.add_error("release_at", str(error))
        return data
