"""The forms of the page of leaks."""

from django import forms

from assay.building.leaks import OVERLAP
from web.forms import StyledForm


class CheckForm(StyledForm):
    """How near a near-duplicate is."""

    overlap = forms.FloatField(
        min_value=0.01,
        max_value=1,
        initial=OVERLAP,
        label="Overlap of near-duplicates",
        help_text="The part of their word shingles that a question and a topic share.",
    )


class AcceptForm(StyledForm):
    """Why a track may open although its collection gives topics away."""

    reason = forms.CharField(
        max_length=2000,
        label="Reason to open the track with these leaks",
        widget=forms.Textarea(attrs={"rows": 2}),
    )
