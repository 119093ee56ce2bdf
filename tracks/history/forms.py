"""The filter of the audit log."""

from typing import Any, cast

from django import forms

from audit.selectors import Choices
from web.forms import style_fields


class FilterForm(forms.Form):
    """A person, an action and a period. A value that the log does not contain is an error, and filters nothing."""

    person = forms.ChoiceField(required=False)
    action = forms.ChoiceField(required=False)
    first = forms.DateField(required=False, label="From", widget=forms.DateInput(attrs={"type": "date"}))
    last = forms.DateField(required=False, label="To", widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, *args: Any, choices: Choices, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, offered, every in (
            ("person", choices.people, "everybody"),
            ("action", choices.actions, "every action"),
        ):
            cast("forms.ChoiceField", self.fields[name]).choices = [("", every), *offered]
        style_fields(self)

    @property
    def chosen(self) -> dict[str, Any]:
        """The valid values."""
        self.is_valid()
        return self.cleaned_data
