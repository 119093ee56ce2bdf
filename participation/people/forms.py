"""The forms of the pages of people and of a team."""

from typing import Any, cast

from django import forms

from accounts.models import User
from accounts.selectors import people_named
from participation.invitations.forms import TermsForm
from participation.invitations.services import Place
from participation.models import Team
from participation.teams.services import MAX_DOCUMENT
from tracks.assessors.selectors import people_judging
from tracks.models import Track
from web.forms import StyledForm

MOST_CHARACTERS = 300_000


class ListForm(StyledForm):
    """A pasted list of people."""

    text = forms.CharField(
        label="List",
        max_length=MOST_CHARACTERS,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false", "class": "form-control mono"}),
    )
    is_mailing = forms.BooleanField(required=False, label="Send e-mails with the links")


class OrganizerForm(StyledForm):
    """Somebody who has an account, and what they become."""

    username = forms.CharField(max_length=150, label="User name")
    role = forms.ChoiceField(
        choices=[
            ("organizer", "organizer"),
            ("chair", "chair, who sees all and changes nothing"),
            ("none", "no role"),
        ],
    )
    reason = forms.CharField(
        required=False,
        max_length=300,
        label="Reason",
        help_text="Only for a member of a team of this track, who then sees the runs and scores of all teams. "
        "The audit log keeps it.",
    )

    def clean_username(self) -> User:
        name: str = self.cleaned_data["username"]
        user = people_named([name]).first()
        if user is None:
            raise forms.ValidationError(f"There is nobody named {name}. Add a new person from a list.")
        return user


class LeavingForm(forms.Form):
    """The role that organizers keep who give up their own."""

    role = forms.ChoiceField(choices=[("none", "none"), ("chair", "chair")], widget=forms.HiddenInput)


class RoleInvitationForm(TermsForm):
    """A link to a team or to the assessors of a track."""

    place = forms.ChoiceField(label="Role")

    field_order = ["place", "email", "max_uses", "days"]

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.track = track
        groups = track.protocol.parsed.judging.groups
        assessors = [(f"group:{group}", f"assessor, group {group}") for group in groups] or [
            ("group:", "assessor")
        ]
        names = list(track.teams.values_list("pk", "name"))
        teams = [(f"team:{pk}", f"member of {name}") for pk, name in names]
        observers = [(f"observer:{pk}", f"member of {name} who may not submit") for pk, name in names]
        choices = [("", "Choose a role"), *assessors, *teams, *observers]
        cast(forms.ChoiceField, self.fields["place"]).choices = choices

    def chosen(self) -> Place:
        """The place to which the link leads."""
        kind, _, value = self.cleaned_data["place"].partition(":")
        if kind == "group":
            return Place(track=self.track, group=value)
        team = Team.objects.get(pk=value, track=self.track)
        return Place(track=self.track, team=team, may_submit=kind == "team")


class TeamInvitationForm(TermsForm):
    may_submit = forms.BooleanField(required=False, initial=True, label="May submit and withdraw runs")


class TeamDetailsForm(StyledForm):
    """The details that the members of a team change themselves."""

    name = forms.CharField(max_length=100)
    organization = forms.CharField(max_length=200, required=False)

    def __init__(self, *args: Any, team: Team, **kwargs: Any) -> None:
        self.owed = team.track.protocol.parsed.runs.documents
        kwargs["initial"] = {"name": team.name, "organization": team.organization}
        kwargs["initial"] |= {f"document-{word}": text for word, text in team.documents.items()}
        super().__init__(*args, **kwargs)
        for word, title in self.owed.items():
            self.fields[f"document-{word}"] = forms.CharField(
                label=title,
                required=False,
                max_length=MAX_DOCUMENT,
                help_text="The text, or the address at which the organizers find it.",
                widget=forms.Textarea(attrs={"rows": 4}),
            )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        texts = {word: data.pop(f"document-{word}", "") for word in self.owed}
        return data | {"documents": texts}


class TeamNameForm(StyledForm):
    """A new team."""

    name = forms.CharField(max_length=100, label="Name of the team")


class GroupsForm(StyledForm):
    """The group of each assessor of a track. They are changed together, so that two can change places."""

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        groups = track.protocol.parsed.judging.groups
        self.users = {
            assessor.user_id: assessor.user for assessor in people_judging(track).order_by("user__username")
        }
        given = dict(people_judging(track).values_list("user", "group"))
        for pk, user in self.users.items():
            choices = [("", "no group"), *((group, group) for group in groups)]
            self.fields[f"group-{pk}"] = forms.ChoiceField(
                choices=choices, required=False, label=user.named, initial=given[pk]
            )
            self.fields[f"group-{pk}"].is_one_of_several = True  # type: ignore[attr-defined]  # not marked as optional

    @property
    def groups(self) -> dict[User, str]:
        return {user: self.cleaned_data[f"group-{pk}"] for pk, user in self.users.items()}
