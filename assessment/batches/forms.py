"""The form of a batch in the admin."""

from django import forms

from assessment.models import Batch


class BatchForm(forms.ModelForm[Batch]):
    """A batch in the admin. Its pool and kind cannot change later."""

    class Meta:
        model = Batch
        fields = ["pool", "name", "kind", "minutes_allotted"]
