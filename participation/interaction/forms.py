"""The forms of the interaction."""

from typing import Any, cast

from django import forms

from accounts.models import User
from participation.interaction.selectors import InteractionPage, TeamInteraction
from tracks.deadlines.forms import LocalTimeField
from web import times
from web.forms import StyledForm


class NominationForm(StyledForm):
    """The topics of a team, ranked by preference."""

    topics = forms.CharField(
        max_length=100_000,
        widget=forms.Textarea(attrs={"rows": 5}),
        label="Topics",
        help_text="Codes of topics, the preferred one first, separated by spaces or on lines of their own.",
    )

    @property
    def codes(self) -> list[str]:
        return str(self.cleaned_data["topics"]).replace(",", " ").split()


class AddressForm(StyledForm):
    """The page of a team's system."""

    address = forms.URLField(
        max_length=500,
        required=False,
        assume_scheme="https",
        label="Page of the system",
        help_text="A session shows this page in a frame. {topic} is replaced by the code of the topic.",
    )


class PlanForm(StyledForm):
    """The assessor of the next sessions of a team, and their window in a time zone.

    The choices are given, so that many forms need no query.
    """

    assessor = forms.TypedChoiceField()
    n = forms.IntegerField(min_value=1, max_value=1000, initial=10, label="Number of topics")
    opens_at = LocalTimeField()
    closes_at = LocalTimeField()

    def __init__(self, *args: Any, assessors: list[User], zone: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.zone = zone
        self.fields["opens_at"].label = f"Sessions start from ({zone})"
        self.fields["closes_at"].label = f"Sessions start before ({zone})"
        people = {str(assessor.pk): assessor for assessor in assessors}
        field = cast(forms.TypedChoiceField, self.fields["assessor"])
        field.choices = [(key, str(assessor)) for key, assessor in people.items()]
        field.coerce = people.__getitem__

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        for field in ("opens_at", "closes_at"):
            try:
                data[field] = times.instant_of(data[field], self.zone) if data.get(field) else None
            except times.NoSuchTime as error:
                self.add_error(field, str(error))
        return data


class UploadForm(StyledForm):
    """A time log or a file of data."""

    file = forms.FileField()


def forms_of(page: InteractionPage, user: User) -> list[tuple[TeamInteraction, dict[str, StyledForm | None]]]:
    """The teams of a page, each with its forms by what they do; only organizers plan."""
    teams = []
    for interaction in page.teams:
        prefix = f"team-{interaction.team.pk}-%s"
        codes = "\n".join(row.nomination.topic.code for row in interaction.rows)
        forms_of_team: dict[str, StyledForm | None] = {
            "nominate": NominationForm(initial={"topics": codes}, auto_id=prefix),
            "address": AddressForm(initial={"address": interaction.address}, auto_id=prefix),
            "plan": PlanForm(assessors=page.assessors, zone=page.zone, auto_id=prefix)
            if user.organizes(page.track.pk)
            else None,
            "log": UploadForm(auto_id=f"{prefix}-log"),
            "data": UploadForm(auto_id=f"{prefix}-data"),
        }
        teams.append((interaction, forms_of_team))
    return teams
