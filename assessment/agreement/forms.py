"""The forms of a discussion."""

from typing import Any, Self

from django import forms
from django.http import QueryDict

from assay.protocols.schema import Protocol
from assessment.judgments.disagreements import Difference
from assessment.judgments.forms import DifferenceForm
from assessment.models import Batch
from web.forms import StyledForm

ORDERS = {"topic": "Topic", "steps": "Largest difference of grades first"}


class DisagreementsForm(DifferenceForm):
    """The disagreements that the page and its file show, and their order."""

    order = forms.ChoiceField(choices=list(ORDERS.items()), required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "steps" not in self.rules:
            self.fields["order"].widget = forms.HiddenInput()
        for field in self.fields.values():
            field.is_one_of_several = True  # type: ignore[attr-defined]  # no field is marked as optional

    @classmethod
    def from_query(cls, query: QueryDict, protocol: Protocol) -> Self:
        """The form that an address fills; without a rule, every difference."""
        return cls(Difference()._asdict() | query.dict(), protocol=protocol)


class DiscussionForm(StyledForm):
    """The readers of a discussion."""

    discussion = forms.ChoiceField(choices=Batch.Discussion, label="Who sees this discussion")


class NoteForm(forms.Form):
    """The outcome for one unit."""

    topic = forms.CharField(max_length=100)
    docno = forms.CharField(max_length=500)
    grade = forms.IntegerField(required=False)
    text = forms.CharField(max_length=10_000, required=False)
