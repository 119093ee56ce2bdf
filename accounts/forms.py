"""Forms of a user's account."""

from typing import Any

from django.contrib.auth.forms import PasswordChangeForm

from web.forms import style_fields


class PasswordForm(PasswordChangeForm):
    """Django's form, with the controls of the site."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)
