"""The forms of a discussion."""

from django import forms

from assessment.models import Batch
from web.forms import StyledForm


class DiscussionForm(StyledForm):
    """The choice of who sees a discussion."""

    discussion = forms.ChoiceField(choices=Batch.Discussion, label="Who sees this discussion")


class NoteForm(forms.Form):
    """The outcome for one unit."""

    topic = forms.CharField(max_length=100)
    docno = forms.CharField(max_length=500)
    grade = forms.IntegerField(required=False)
    text = forms.CharField(max_length=10_000, required=False)
