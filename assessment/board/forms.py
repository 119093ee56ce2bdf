"""The form that returns a non-answer."""

from typing import Any

from django import forms

from web.forms import style_fields


class ReturnForm(forms.Form):
    """Why a unit must be judged again."""

    reason = forms.CharField(
        max_length=500,
        help_text="The assessor reads it next to the document, for example “Judge the formula alone”.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)
