"""The form that starts a clustering."""

from django import forms


class ClusteringForm(forms.Form):
    """How the formulas of a collection are to be clustered."""

    is_anew = forms.BooleanField(
        required=False,
        label="Make all ids again that the index did not give",
        help_text="Pools built before name the old ids. Left open, formulas keep the ids that they have.",
    )
