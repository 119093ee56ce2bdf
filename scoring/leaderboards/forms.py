"""The form that chooses what to compare a leaderboard or a run with."""

from django import forms


class CompareForm(forms.Form):
    """The id of the other leaderboard or evaluation."""

    other = forms.IntegerField(min_value=1, max_value=2**63 - 1)
