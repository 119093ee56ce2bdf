"""The form that starts a clustering."""

from django import forms


class ClusteringForm(forms.Form):
    is_anew = forms.BooleanField(
        required=False,
        label="Replace all ids that the index did not give",
        help_text="Pools that were built before contain the old ids. If you leave this off, formulas keep their ids.",
    )
