"""The forms of invitations: to make one, and to register with one."""

from typing import Any

from django import forms
from django.contrib.auth import password_validation
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.utils.translation import gettext_lazy

from accounts.models import User
from participation.invitations.services import MAX_DAYS, MAX_USES, USUAL_DAYS, Terms
from web.forms import StyledForm


class TermsForm(StyledForm):
    """The users and the validity of a link. With an e-mail address, it is sent there if the site sends mail."""

    email = forms.EmailField(
        required=False,
        label="E-mail address",
        help_text="The link is then for one account with this address.",
    )
    max_uses = forms.IntegerField(min_value=1, max_value=MAX_USES, initial=1, label="Number of people")
    days = forms.IntegerField(min_value=1, max_value=MAX_DAYS, initial=USUAL_DAYS, label="Valid for days")

    @property
    def terms(self) -> Terms:
        """One person, if there is an address."""
        data = self.cleaned_data
        return Terms(
            email=data["email"], max_uses=1 if data["email"] else data["max_uses"], days=data["days"]
        )


class RegisterForm(StyledForm):
    """The account of an invited person. An address that the invitation names is fixed."""

    first_name = forms.CharField(max_length=150, label=gettext_lazy("First name"))
    last_name = forms.CharField(max_length=150, label=gettext_lazy("Last name"))
    email = forms.EmailField(label=gettext_lazy("E-mail address"))
    username = forms.CharField(
        max_length=150,
        validators=[UnicodeUsernameValidator()],
        label=gettext_lazy("User name"),
        help_text=gettext_lazy("You log in with it. Letters, digits and @ . + - _ are accepted."),
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
    )
    password = forms.CharField(
        label=gettext_lazy("Password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=password_validation.password_validators_help_text_html,
    )

    def __init__(self, *args: Any, email: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if email:
            self.fields["email"].initial = email
            self.fields["email"].disabled = True

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        person = {name: data.get(name, "") for name in ("username", "first_name", "last_name", "email")}
        if "password" in data:
            try:
                password_validation.validate_password(data["password"], User(**person))
            except forms.ValidationError as error:
                self.add_error("password", error)
        return data
