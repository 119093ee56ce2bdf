"""Forms of a user's account."""

from typing import Any

from django import forms
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm

from web.forms import style_fields


class PasswordForm(PasswordChangeForm):
    """Django's form, with the controls of the site."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]
    """A new password without the old one, for a user who has just used a login link."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)


class LinkForm(forms.Form):
    """The user who gets a login link."""

    name = forms.CharField(max_length=254, label="User name or e-mail address")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)
