"""The form that makes a training unit a worked example."""

from typing import Any

from django import forms

from assessment.guidelines.selectors import training_judgments
from assessment.judgments.rules import judging_rules
from tracks.models import Track


class ExampleForm(forms.Form):
    """A judged training unit, the choice that is right, and why."""

    topic = forms.CharField(max_length=200)
    docno = forms.CharField(max_length=200)
    choice = forms.ChoiceField()
    explanation = forms.CharField(max_length=5_000, required=False)

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.track = track
        rules = judging_rules(track.protocol)
        self.fields["choice"].choices = [  # type: ignore[attr-defined]
            (choice.key, choice.label) for choice in rules.choices
        ]

    def clean_explanation(self) -> str:
        """A line of colons would end the example."""
        text = str(self.cleaned_data["explanation"]).replace("\r\n", "\n")
        if any(line.lstrip().startswith(":::") for line in text.splitlines()):
            raise forms.ValidationError(
                "A line of the explanation begins with “:::”, which would end the example."
            )
        return text

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = self.cleaned_data
        judged = training_judgments(self.track).filter(
            topic__code=data.get("topic"), docno=data.get("docno", "")
        )
        if not judged.exists():
            raise forms.ValidationError("This document was not judged in a training round of the track.")
        return data
