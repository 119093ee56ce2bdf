"""The form that creates a batch."""

from typing import Any, cast

from django import forms
from django.db.models import QuerySet

from assessment.models import Batch
from pooling.models import Pool
from web.forms import StyledForm


class NewBatchForm(StyledForm, forms.ModelForm[Batch]):
    """A new batch of a pool of a track, for people. The page of a machine creates those for the machine."""

    class Meta:
        model = Batch
        fields = ["pool", "name", "kind", "minutes_allotted"]
        labels = {"minutes_allotted": "Minutes for a task"}

    def __init__(self, *args: Any, pools: QuerySet[Pool], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        pool = cast("forms.ModelChoiceField[Pool]", self.fields["pool"])
        pool.queryset, pool.empty_label = pools, None
        kind = cast("forms.ChoiceField", self.fields["kind"])
        if not self.is_bound:
            self.initial.setdefault("name", f"Batch {Batch.objects.filter(pool__in=pools).count() + 1}")
        kind.choices = [choice for choice in Batch.Kind.choices if choice[0] != Batch.Kind.MACHINE]
