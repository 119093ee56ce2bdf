"""The forms that create and edit a batch."""

from typing import Any, cast

from django import forms
from django.db.models import QuerySet

from assay.errors import Refused
from assessment.batches import services
from assessment.models import Batch
from pooling.models import Pool
from web.forms import StyledForm

LABELS = {"minutes_allotted": "Minutes for a task", "judges": "People per unit", "is_shared": "Open to join"}


class NewBatchForm(StyledForm, forms.ModelForm[Batch]):
    """A new batch of a pool of a track, for people. The page of a machine creates those for the machine."""

    class Meta:
        model = Batch
        fields = ["pool", "name", "kind", "minutes_allotted", "judges", "is_shared"]
        labels = LABELS

    def __init__(self, *args: Any, pools: QuerySet[Pool], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        pool = cast("forms.ModelChoiceField[Pool]", self.fields["pool"])
        pool.queryset, pool.empty_label = pools, None
        kind = cast("forms.ChoiceField", self.fields["kind"])
        if not self.is_bound:
            self.initial.setdefault("name", f"Batch {Batch.objects.filter(pool__in=pools).count() + 1}")
        kind.choices = [choice for choice in Batch.Kind.choices if choice[0] != Batch.Kind.MACHINE]


class EditBatchForm(StyledForm, forms.ModelForm[Batch]):
    """What can change in a batch; its pool and kind cannot."""

    class Meta:
        model = Batch
        fields = ["name", "minutes_allotted", "judges", "is_shared"]
        labels = LABELS

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        try:
            services.check_name(pool=self.instance.pool, name=name, batch=self.instance)
        except Refused as refusal:
            raise forms.ValidationError(refusal.message) from refusal
        return name
