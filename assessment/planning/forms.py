"""The forms that plan a dual batch and a training round."""

from collections.abc import Sequence
from typing import Any, cast

from django import forms

from accounts.models import User
from assessment.batches.selectors import assessors_of
from assessment.planning.dual import DualTopic
from assessment.planning.selectors import n_training_rounds, training_topics
from pooling.models import Pool
from tracks.models import Topic
from web.forms import style_fields

MOST_UNITS = 10_000


class RoundForm(forms.Form):
    """What every planned round has."""

    name = forms.CharField(max_length=100, label="Name of the batch")
    minutes_allotted = forms.IntegerField(
        min_value=1, max_value=100_000, initial=120, label="Minutes for a task"
    )


class DualForm(RoundForm):
    """A second assessor for each topic, or nobody; starts with the proposal of the protocol's rule."""

    field_order = ["name", "minutes_allotted"]

    def __init__(self, *args: Any, proposal: Sequence[DualTopic], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].initial = "Second judgments"
        self.proposal = proposal
        for row in proposal:
            self.fields[f"topic-{row.topic.pk}"] = forms.ChoiceField(
                choices=[("", "Nobody"), *((user.pk, str(user)) for user in row.able)],
                required=False,
                label=f"Second assessor of {row.topic.code}",
                initial=row.proposed.pk if row.proposed else "",
            )
        style_fields(self)

    @property
    def rows(self) -> list[tuple[DualTopic, forms.BoundField]]:
        """Each topic with its field."""
        return [(row, self[f"topic-{row.topic.pk}"]) for row in self.proposal]

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `services.create_dual` that the form knows."""
        data = self.cleaned_data
        chosen = {row.topic: self._able(row).get(data[f"topic-{row.topic.pk}"]) for row in self.proposal}
        second = {topic: user for topic, user in chosen.items() if user is not None}
        return {"name": data["name"], "minutes_allotted": data["minutes_allotted"], "second": second}

    @staticmethod
    def _able(row: DualTopic) -> dict[str, User]:
        return {str(user.pk): user for user in row.able}


class TrainingForm(RoundForm):
    """The topics, units and assessors of a training round."""

    topics = forms.ModelMultipleChoiceField(
        queryset=Topic.objects.none(), widget=forms.CheckboxSelectMultiple
    )
    n_units = forms.IntegerField(
        min_value=1,
        max_value=MOST_UNITS,
        initial=10,
        label="Units of each topic",
        help_text="They are spread over the ranks at which runs retrieved them, from the best to the last.",
    )
    docnos = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        label="Or these documents",
        help_text="Document numbers from the pool, separated by spaces or line ends. They replace the units above.",
    )
    assessors = forms.ModelMultipleChoiceField(
        queryset=User.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        help_text="Each of them judges all units.",
    )
    field_order = ["name", "topics", "n_units", "docnos", "assessors", "minutes_allotted"]

    def __init__(self, *args: Any, pool: Pool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].initial = f"Training round {n_training_rounds(pool.track) + 1}"
        topics = cast("forms.ModelMultipleChoiceField[Topic]", self.fields["topics"])
        topics.queryset = pool.track.topics.filter(pool_entries__pool=pool).distinct().order_by("code")
        topics.initial = [topic.pk for topic in training_topics(pool)]
        assessors = cast("forms.ModelMultipleChoiceField[User]", self.fields["assessors"])
        assessors.queryset = assessors_of(pool.track)
        assessors.initial = [user.pk for user in assessors.queryset]
        style_fields(self)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `services.create_training` that the form knows."""
        data = self.cleaned_data
        lists = {name: list(data[name]) for name in ("topics", "assessors")}
        return lists | {
            "name": data["name"],
            "minutes_allotted": data["minutes_allotted"],
            "n_units": data["n_units"],
            "docnos": data["docnos"].split(),
        }
