"""The form of a team in the admin."""

from typing import Any

from django import forms

from assay.errors import Refused
from pooling.models import Team
from pooling.teams import services


class TeamForm(forms.ModelForm[Team]):
    """A team in the admin. Refusals of the services become errors of the form."""

    class Meta:
        model = Team
        fields = ["track", "name", "members", "max_megabytes"]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        track = self.instance.track if self.instance.pk else data.get("track")
        if track is None or self.errors:
            return data
        try:
            services.check_name(
                track=track, name=data["name"], team=self.instance if self.instance.pk else None
            )
            services.check_members(track=track, members=list(data["members"]))
        except Refused as refusal:
            raise forms.ValidationError(refusal.message) from refusal
        return data
