"""The forms that plan second judgments, a training round and an adjudication."""

from collections.abc import Sequence
from typing import Any, Self, cast

from django import forms
from django.forms.models import ModelChoiceIteratorValue
from django.http import QueryDict
from django.utils.html import escape

from accounts.forms import PeopleField
from accounts.models import User
from assessment.batches.selectors import assessors_of
from assessment.judgments.disagreements import training_batches
from assessment.judgments.forms import DifferenceForm
from assessment.rounds.dual import DualTopic
from assessment.rounds.selectors import (
    found_units,
    topics_to_train,
    training_topics,
    unit_label,
    units_to_pick,
)
from pooling.models import Pool, PoolEntry
from tracks.models import Topic, Track
from web.forms import StyledForm, offer
from web.pages import numbers_in

MOST_UNITS = 10_000


class RoundForm(StyledForm):
    """The fields of every planned round."""

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
                choices=[("", "Nobody"), *((user.pk, user.named) for user in row.able)],
                required=False,
                label=f"Second assessor of {row.topic.code}",
                initial=row.proposed.pk if row.proposed else "",
            )

    @property
    def rows(self) -> list[tuple[DualTopic, forms.BoundField]]:
        return [(row, self[f"topic-{row.topic.pk}"]) for row in self.proposal]

    @property
    def has_able(self) -> bool:
        return any(row.able for row in self.proposal)

    @property
    def has_proposals(self) -> bool:
        return any(row.proposed for row in self.proposal)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `services.create_dual` that the form knows."""
        data = self.cleaned_data
        chosen = {
            row.topic: {str(user.pk): user for user in row.able}.get(data[f"topic-{row.topic.pk}"])
            for row in self.proposal
        }
        second = {topic: user for topic, user in chosen.items() if user is not None}
        return {"name": data["name"], "minutes_allotted": data["minutes_allotted"], "second": second}


class Boxes(forms.CheckboxSelectMultiple):
    """Boxes that a template places in the rows of a table; `data.value.instance` of a box is the object of its row."""

    def __init__(self) -> None:
        super().__init__(attrs={"class": "form-check-input"})


class TrainingForm(RoundForm):
    """The topics, units and assessors of a training round."""

    topics = forms.ModelMultipleChoiceField(queryset=Topic.objects.none(), widget=Boxes)
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
        label="Or these units",
        help_text="Their ids in the pool, separated by spaces or line ends. They replace the units above.",
    )
    q = forms.CharField(
        required=False,
        max_length=200,
        label="Or search for units",
        help_text="Words or LaTeX of a unit, or the start of its id. Press “Search units”, and tick units below.",
    )
    units = forms.ModelMultipleChoiceField(
        queryset=PoolEntry.objects.none(),
        required=False,
        widget=Boxes,
        label="Units found",
        help_text="Ticked units replace the units above. They stay ticked when you search again.",
    )
    assessors = PeopleField(
        queryset=User.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        help_text="Each of them judges all units.",
    )
    field_order = ["name", "minutes_allotted", "topics", "n_units", "docnos", "q", "units", "assessors"]

    def __init__(self, *args: Any, pool: Pool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].initial = f"Training round {training_batches(pool.track).count() + 1}"
        topics = cast("forms.ModelMultipleChoiceField[Topic]", self.fields["topics"])
        topics.queryset = topics_to_train(pool)
        topics.initial = [topic.pk for topic in training_topics(pool)]
        assessors = cast("forms.ModelMultipleChoiceField[User]", self.fields["assessors"])
        assessors.queryset = assessors_of(pool.track)
        able = list(assessors.queryset)
        assessors.initial = [user.pk for user in able]
        offer(assessors, able)
        # Offer the ticked units and those that a search finds; without a search, none
        units = cast("forms.ModelMultipleChoiceField[PoolEntry]", self.fields["units"])
        units.queryset = units_to_pick(pool)
        ticked = (
            numbers_in(cast("QueryDict", self.data).getlist("units"))
            if self.is_bound
            else self.initial.get("units", [])
        )
        text, topics = self.initial.get("q", ""), self.initial.get("topics", [])
        entries = found_units(pool, text, topics, ticked)
        units.choices = [(ModelChoiceIteratorValue(entry.pk, entry), unit_label(entry)) for entry in entries]
        if not entries:
            del self.fields["units"]
        if "q" in self.initial and len(entries) == len(ticked):
            # State next to the search why it found nothing
            reason = (
                f"No other unit of the ticked topics contains “{text}”."
                if text
                else "Enter words to search for."
            )
            self.fields["q"].help_text = f"<strong>{escape(reason)}</strong> {self.fields['q'].help_text}"

    @classmethod
    def searched(cls, posted: QueryDict, pool: Pool) -> Self:
        """The form with what was entered, and the units that its search finds."""
        values: dict[str, Any] = dict(posted.items())
        values |= {name: numbers_in(posted.getlist(name)) for name in ("topics", "units", "assessors")}
        return cls(pool=pool, initial=values | {"q": posted.get("q", "").strip()[:200]})

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
            "units": [entry.pk for entry in data.get("units", [])],
        }


class AdjudicationForm(DifferenceForm, RoundForm):
    """The units to adjudicate, the adjudicators, and whether these see the judgments that disagree."""

    adjudicators = PeopleField(
        queryset=User.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        help_text="They share the topics evenly. If you can, choose people who did not judge these units.",
    )
    is_blind = forms.BooleanField(
        required=False,
        label="Blind",
        help_text="Adjudicators see the unit only, not the judgments that disagree.",
    )
    field_order = ["rule", "steps", "name", "adjudicators", "is_blind", "minutes_allotted"]

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        super().__init__(*args, protocol=track.protocol.parsed, **kwargs)
        self.fields["name"].initial = "Adjudication"
        field = cast("forms.ModelMultipleChoiceField[User]", self.fields["adjudicators"])
        field.queryset = assessors_of(track)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `services.create` that the form knows."""
        data = self.cleaned_data
        chosen = {name: data[name] for name in ("name", "is_blind", "minutes_allotted")}
        return chosen | {"difference": self.difference, "adjudicators": list(data["adjudicators"])}
