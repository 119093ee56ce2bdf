"""The forms of requests to join."""

from typing import Any

from django import forms

from accounts.models import User
from pooling.requests.services import Asked
from web.forms import style_fields


class RequestForm(forms.Form):
    """Who asks to join, with which team. The name and the address of a user are those of the account."""

    name = forms.CharField(max_length=300, label="Your name")
    email = forms.EmailField(label="E-mail address", help_text="The answer goes there.")
    organization = forms.CharField(max_length=200, required=False)
    team_name = forms.CharField(
        max_length=100, label="Team", help_text="A new one, or yours if it takes part already."
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
        style_fields(self)

    @property
    def asked(self) -> Asked:
        return Asked(**self.cleaned_data)


class AcceptForm(forms.Form):
    """The team into which a person is accepted."""

    team_name = forms.CharField(max_length=100, label="Team")


class RefusalForm(forms.Form):
    """Why a request is refused."""

    reason = forms.CharField(max_length=1000, label="Reason")
