"""Form of a batch in the admin."""

from django import forms

from assessment.models import Batch


class BatchForm(forms.ModelForm[Batch]):
    """A batch in the admin. Pool and kind are settled when it is made."""

    class Meta:
        model = Batch
        fields = ["pool", "name", "kind", "minutes_allotted"]
