"""The forms that decide on a candidate, settle it, and make topics."""

from typing import Any

from django import forms

from assay.candidates.topics import FIRST
from assay.formats.topics.reader import MAX_CODE
from tracks.models import CandidateSample
from web.forms import StyledForm, errors_in

MAX_REASON = 2_000  # characters
LABEL = "label-"  # before the name of a label, in names of fields


class DecisionForm(StyledForm):
    """A candidate, what is decided, why, and the labels of the sample."""

    candidate = forms.CharField(max_length=200)
    choice = forms.ChoiceField(choices=[("accepted", "Accept"), ("rejected", "Reject")])
    reason = forms.CharField(required=False, max_length=MAX_REASON)

    def __init__(self, *args: Any, sample: CandidateSample, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.names = list(sample.labels)
        for name, values in sample.labels.items():
            choices = [("", "–"), *((value, value) for value in values)]
            self.fields[LABEL + name] = forms.ChoiceField(choices=choices, required=False)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `services.decide` and `services.settle`, except the sample and the user."""
        data = self.cleaned_data
        return {
            "docno": data["candidate"],
            "is_accepted": data["choice"] == "accepted",
            "reason": data["reason"],
            "labels": {name: data[LABEL + name] for name in self.names if data[LABEL + name]},
        }

    @property
    def posted(self) -> dict[str, Any]:
        """Values that a form with errors shows again: the labels by name, and the other fields."""
        labels = {name: self.data.get(LABEL + name, "") for name in self.names}
        return {
            "labels": labels,
            "choice": self.data.get("choice", ""),
            "reason": self.data.get("reason", ""),
        }

    @property
    def faults(self) -> str:
        """The errors in a sentence, for the bar of the page."""
        return " ".join(errors_in(self))


class TopicsForm(StyledForm):
    """The code of the first topic that is made."""

    first = forms.CharField(
        max_length=MAX_CODE,
        initial=FIRST,
        label="First code",
        help_text="The others count up: A.201, A.202, …",
    )
