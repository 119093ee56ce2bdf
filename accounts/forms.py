"""Forms of a user's account: passwords, login links and access tokens."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from accounts.models import User
from accounts.selectors import tracks_of_tokens
from web.forms import StyledForm
from web.models import Scope

DAYS = [
    (30, gettext_lazy("30 days")),
    (90, gettext_lazy("90 days")),
    (180, gettext_lazy("180 days")),
    (365, gettext_lazy("a year")),
]


class PasswordForm(StyledForm, PasswordChangeForm):
    """Django's form, with the controls of the site. Wrong passwords are counted as at the login."""

    def __init__(self, *args: Any, request: HttpRequest, **options: Any) -> None:
        self.request = request
        super().__init__(*args, **options)

    def clean_old_password(self) -> str:
        password: str = self.cleaned_data["old_password"]
        if authenticate(self.request, username=self.user.get_username(), password=password) is None:
            raise forms.ValidationError(self.error_messages["password_incorrect"], code="password_incorrect")
        return password


class NewPasswordForm(StyledForm, SetPasswordForm):  # type: ignore[type-arg]
    """A new password without the old one: after a login link, or for an account that has none."""


class PeopleField(forms.ModelMultipleChoiceField[User]):
    """People by their names."""

    def label_from_instance(self, obj: User) -> str:
        return obj.named


class LinkForm(StyledForm):
    """The user who gets a login link."""

    name = forms.CharField(max_length=254, label=gettext_lazy("User name or e-mail address"))


class TokenForm(StyledForm):
    name = forms.CharField(
        max_length=100,
        label=gettext_lazy("Name"),
        help_text=gettext_lazy("What will use it, such as “submit script on the cluster”."),
    )
    scopes = forms.MultipleChoiceField(
        choices=[(value, gettext_lazy(label)) for value, label in Scope.choices],
        widget=forms.CheckboxSelectMultiple,
        initial=[Scope.READ],
        label=gettext_lazy("It may"),
        help_text=gettext_lazy("A token can never do more than you can."),
    )
    track = forms.ChoiceField(
        required=False,
        label=gettext_lazy("Where"),
        help_text=gettext_lazy(
            "A token for one track is refused everywhere else, so that a leaked one harms less."
        ),
    )
    days = forms.TypedChoiceField(
        choices=DAYS, coerce=int, initial=90, label=gettext_lazy("It expires after")
    )

    def __init__(self, *args: Any, user: User | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        field = self.fields.get("track")
        if isinstance(field, forms.ChoiceField) and user is not None:
            tracks = tracks_of_tokens(user)
            only = [(track.slug, gettext("Only {track}").format(track=track.name)) for track in tracks]
            field.choices = [("", gettext("All tracks")), *only]

    @property
    def expires_at(self) -> datetime:
        return timezone.now() + timedelta(days=self.cleaned_data["days"])
