"""The forms of requests to join."""

from typing import Any

from django import forms

from accounts.models import User
from participation.models import JoinRequest
from web.forms import StyledForm


class RequestForm(StyledForm):
    """A request to join, with a team. The name and the address of a user are those of the account."""

    name = forms.CharField(max_length=300, label="Your name")
    email = forms.EmailField(label="E-mail address", help_text="The organizers answer to this address.")
    organization = forms.CharField(max_length=200, required=False)
    team_name = forms.CharField(
        max_length=100,
        label="Team",
        help_text="A new one, or yours if it takes part already: then your contact person decides.",
    )
    message = forms.CharField(
        max_length=2000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="For the organizers.",
    )

    def __init__(self, *args: Any, user: User | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = {"name": user.get_full_name(), "email": user.email} if user else {}
        for name, value in known.items():
            self.fields[name].initial = value
            self.fields[name].disabled = bool(value)

    @property
    def asked(self) -> JoinRequest:
        """The request, not stored yet."""
        return JoinRequest(**self.cleaned_data)


class AcceptForm(StyledForm):
    """The team into which a person is accepted."""

    team_name = forms.CharField(max_length=100, label="Team")


class RefusalForm(StyledForm):
    reason = forms.CharField(max_length=1000, label="Reason")
