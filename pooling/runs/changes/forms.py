"""The forms that change a submitted run."""

from typing import Any

from django import forms

from web.forms import style_fields


class DescriptionForm(forms.Form):
    """The description of a run."""

    description = forms.CharField(
        max_length=10_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text="How the run was made. Earlier descriptions stay in the history of the run.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)


class ReasonForm(forms.Form):
    """The reason of a decision about a run."""

    reason = forms.CharField(
        max_length=2_000, widget=forms.Textarea(attrs={"rows": 3}), help_text="The team sees it."
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)
