"""The forms of a team: in the admin, and on its page."""

from typing import Any

from django import forms

from accounts.models import User
from assay.errors import Refused
from pooling.models import Team
from pooling.teams import services
from web.forms import style_fields


class TeamForm(forms.ModelForm[Team]):
    """A team in the admin. Refusals of the services become errors of the form."""

    members = forms.ModelMultipleChoiceField(User.objects, required=False)

    class Meta:
        model = Team
        fields = ["track", "name", "organization", "max_megabytes"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.initial["members"] = list(self.instance.members.all())

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


class TeamDetailsForm(forms.Form):
    """What the members of a team change themselves."""

    name = forms.CharField(max_length=100)
    organization = forms.CharField(max_length=200, required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)
