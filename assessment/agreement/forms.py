"""The filter of disagreements."""

from typing import Any

from django import forms

from assessment.agreement.rules import Difference
from web.forms import style_fields

RULES = {
    "any": "Any different choice, non-answers included",
    "threshold": "One relevant, one not relevant",
    "steps": "Grades at least some steps apart",
    "non-answer": "A non-answer, also of the only judge",
}
MOST_STEPS = 999


class DifferenceForm(forms.Form):
    """Which disagreements the page shows."""

    rule = forms.ChoiceField(choices=list(RULES.items()), label="Difference")
    steps = forms.IntegerField(min_value=1, max_value=MOST_STEPS, required=False, label="Steps")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = self.cleaned_data
        data["steps"] = data.get("steps") or Difference().steps
        return data

    @property
    def difference(self) -> Difference:
        return Difference(self.cleaned_data["rule"], self.cleaned_data["steps"])
