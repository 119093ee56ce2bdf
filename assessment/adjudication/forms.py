"""The form that creates an adjudication batch."""

from typing import Any, cast

from django import forms

from accounts.models import User
from assessment.agreement.forms import DifferenceForm
from assessment.batches.selectors import assessors_of
from tracks.models import Track
from web.forms import style_fields


class AdjudicationForm(DifferenceForm):
    """The units to adjudicate, the adjudicators, and whether these see the judgments that disagree."""

    name = forms.CharField(max_length=100, initial="Adjudication", label="Name of the batch")
    adjudicators = forms.ModelMultipleChoiceField(
        queryset=User.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        help_text="They share the topics evenly. If you can, choose people who did not judge these units.",
    )
    is_blind = forms.BooleanField(
        required=False,
        label="Blind",
        help_text="Adjudicators see the unit only, not the judgments that disagree.",
    )
    minutes_allotted = forms.IntegerField(
        min_value=1, max_value=100_000, initial=120, label="Minutes for a task"
    )

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = cast("forms.ModelMultipleChoiceField[User]", self.fields["adjudicators"])
        field.queryset = assessors_of(track)
        style_fields(self)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `services.create` that the form knows."""
        data = self.cleaned_data
        chosen = {name: data[name] for name in ("name", "is_blind", "minutes_allotted")}
        return chosen | {"difference": self.difference, "adjudicators": list(data["adjudicators"])}
