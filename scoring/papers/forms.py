"""Choices of what a table of a paper contains."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django import forms

from tracks.models import Track
from web.forms import style_fields

DIGITS = ["4", "3", "2"]


class TablesForm(forms.Form):
    """The tracks next to a track, the measures and the decimals of its tables."""

    other = forms.MultipleChoiceField(
        required=False, label="Other tracks, left of this one", widget=forms.CheckboxSelectMultiple
    )
    measure = forms.MultipleChoiceField(required=False, label="Measures", widget=forms.CheckboxSelectMultiple)
    digits = forms.ChoiceField(required=False, label="Decimals", choices=[(n, n) for n in DIGITS])

    def __init__(self, data: Mapping[str, Any], *, others: Sequence[Track], measures: Sequence[str]) -> None:
        super().__init__(data)
        self._choices("other", [(track.slug, track.name) for track in others])
        self._choices("measure", [(measure, measure) for measure in measures])
        style_fields(self)

    def _choices(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = cast(forms.MultipleChoiceField, self.fields[name])
        field.choices = choices
        if not choices:
            field.widget = forms.MultipleHiddenInput()
