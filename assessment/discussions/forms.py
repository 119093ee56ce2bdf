"""The forms of a discussion."""

from typing import Any

from django import forms

from assessment.models import Batch
from web.forms import style_fields


class ShareForm(forms.Form):
    """Who sees a discussion."""

    discussion = forms.ChoiceField(choices=Batch.Discussion, label="Who sees this discussion")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)


class NoteForm(forms.Form):
    """The outcome for one unit."""

    topic = forms.CharField(max_length=100)
    docno = forms.CharField(max_length=500)
    grade = forms.IntegerField(required=False)
    text = forms.CharField(max_length=10_000, required=False)
