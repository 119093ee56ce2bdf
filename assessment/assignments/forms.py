"""Forms that assign topics in the admin."""

from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError

from accounts.models import User
from assay.errors import Refused
from assessment.assignments import services
from assessment.assignments.rules import Change
from assessment.batches.selectors import assessors_of, pooled_topics
from assessment.models import Batch, TopicAssignment
from tracks.models import Topic


class TopicAssignmentForm(forms.ModelForm[TopicAssignment]):
    """Assigns a topic to an assessor of the track. Later only `is_withdrawn` can change."""

    batch: Batch
    # Compared with what the page showed, so that saving an old page takes back nothing that others have changed.
    is_withdrawn = forms.BooleanField(required=False, label="Withdrawn", show_hidden_initial=True)

    class Meta:
        model = TopicAssignment
        fields = ["topic", "assessor", "is_withdrawn"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        topic = cast("forms.ModelChoiceField[Topic]", self.fields["topic"])
        assessor = cast("forms.ModelChoiceField[User]", self.fields["assessor"])
        if self.instance.pk is None:
            topic.queryset = pooled_topics(self.batch)
            assessor.queryset = assessors_of(self.batch.pool.track)
            return
        topic.choices = [(self.instance.topic_id, str(self.instance.topic))]
        assessor.choices = [(self.instance.assessor_id, str(self.instance.assessor))]
        topic.disabled = assessor.disabled = True


class TopicAssignments(forms.BaseInlineFormSet[TopicAssignment, Batch, forms.ModelForm[TopicAssignment]]):
    """The rows of a batch in the admin. A refusal of one row is an error of the form, so that nothing is saved."""

    def clean(self) -> None:
        super().clean()
        if any(self.errors):
            return
        try:
            services.check_change(batch=self.instance, changes=self.changes)
        except Refused as refusal:
            raise ValidationError(refusal.message) from None

    @property
    def changes(self) -> list[Change]:
        """The rows that were changed."""
        rows = [form.instance for form in self.forms if form.has_changed()]
        return [Change(row.topic, row.assessor, is_withdrawn=row.is_withdrawn) for row in rows]
