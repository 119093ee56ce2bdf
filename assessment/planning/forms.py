"""The forms that change a plan: each proposes changes, which the page shows before they are made."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, cast

from django import forms

from accounts.forms import PeopleField
from accounts.models import User
from assay.errors import Refused
from assessment.batches.selectors import pools_to_plan
from assessment.models import Batch
from assessment.planning import proposals
from assessment.planning.grid import Grid, unpacked
from assessment.planning.rules import Change
from assessment.planning.selectors import judges_of
from pooling.models import Pool
from tracks.models import Track
from web.forms import StyledForm, offer
from web.names import in_isolation
from web.pages import counted

NOBODY = "Nobody"
Choices = list[tuple[str, str]]


class NewBatchForm(StyledForm, forms.ModelForm[Batch]):
    """A new batch of a pool of a track, for people. The page of a machine creates those for the machine."""

    assessors = PeopleField(
        User.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="The topics are shared evenly among them when you create and open the batch.",
    )

    field_order = ("pool", "name", "kind", "assessors")

    class Meta:
        model = Batch
        fields = ["pool", "name", "kind", "minutes_allotted", "judges", "is_shared"]
        labels = {
            "minutes_allotted": "Minutes for a task",
            "judges": "People per unit",
            "is_shared": "Open to join: assessors take units by themselves",
        }

    def __init__(self, *args: Any, track: Track, pools: list[Pool], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        pool = cast("forms.ModelChoiceField[Pool]", self.fields["pool"])
        pool.queryset, pool.empty_label = pools_to_plan().filter(track=track), None
        offer(pool, pools)
        kind = cast("forms.ChoiceField", self.fields["kind"])
        if not self.is_bound:
            self.initial.setdefault("name", f"Batch {Batch.objects.filter(pool__in=pools).count() + 1}")
        kind.choices = [choice for choice in Batch.Kind.choices if choice[0] != Batch.Kind.MACHINE]
        judges = (judge.user for judge in judges_of(track).values() if not judge.team)
        able = sorted((user for user in judges if user.guest_until is None), key=lambda user: user.username)
        assessors = cast("forms.ModelMultipleChoiceField[User]", self.fields["assessors"])
        assessors.initial = [user.pk for user in able]
        assessors.queryset = User.objects.filter(pk__in=assessors.initial)
        offer(assessors, able)

    @property
    def batch_fields(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.Meta.fields}


class PlanForm(StyledForm):
    """A form about the topics and assessors of a grid. `action` is its name on the page."""

    action: ClassVar[str]
    heading: ClassVar[str]

    def __init__(self, *args: Any, grid: Grid, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.auto_id = f"id_{self.action}_%s"
        self.grid = grid
        self.people = {str(column.assessor.pk): column.assessor for column in grid.columns}
        for name, choices in self.choices().items():
            cast("forms.ChoiceField", self.fields[name]).choices = choices
        for name, field in self.fields.items():
            field.widget.attrs["aria-describedby"] = f"id_{self.action}_{name}_help"

    @abstractmethod
    def choices(self) -> dict[str, Choices]:
        """The choices of each field, by name."""

    @abstractmethod
    def changes(self) -> list[Change]:
        """The changes that the form proposes."""

    def _named(self, assessors: Iterable[User]) -> Choices:
        """Assessors with their group and what they still have to judge."""
        columns = {column.assessor.pk: column for column in self.grid.columns}
        return [
            (str(user.pk), f"{in_isolation(user.named)}{f' ({group})' if group else ''}: {n_left} left")
            for user in assessors
            for group, n_left in [(columns[user.pk].group, columns[user.pk].to_do)]
        ]


class ShareForm(PlanForm):
    """Shares what nobody has."""

    action = "share"
    heading = "Share topics"
    assessors = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple)
    shares = forms.CharField(
        max_length=20_000,
        required=False,
        help_text="Empty: the same number of units for everybody. Or user names with a percent or the most units, "
        "such as “ada 50%, emmy 200”; the others share the rest. Topics are not divided.",
    )

    def __init__(self, *args: Any, grid: Grid, **kwargs: Any) -> None:
        super().__init__(*args, grid=grid, **kwargs)
        self.fields["assessors"].initial = [str(user.pk) for user in grid.able]

    def choices(self) -> dict[str, Choices]:
        return {"assessors": self._named(self.grid.able)}

    def changes(self) -> list[Change]:
        loads = {column.assessor.pk: column.judged + column.to_do for column in self.grid.columns}
        users = [self.people[pk] for pk in self.cleaned_data["assessors"]]
        parts = proposals.parts_of(self.cleaned_data["shares"], self.grid.plan, users)
        changes = proposals.changes_to_share(self.grid.plan, users, loads, parts)
        if not changes:
            raise Refused(
                "Nothing would change: every topic is assigned, or may be judged by none of the chosen assessors."
            )
        return changes


class MoveForm(PlanForm):
    """Moves a topic from one assessor to another; either of them may be nobody."""

    action = "move"
    heading = "Assign or move a topic"
    topic = forms.ChoiceField()
    giver = forms.ChoiceField(required=False, label="From")
    getter = forms.ChoiceField(required=False, label="To")

    def __init__(self, *args: Any, grid: Grid, **kwargs: Any) -> None:
        super().__init__(*args, grid=grid, **kwargs)
        for name in ("giver", "getter"):
            self.fields[name].is_one_of_several = True  # type: ignore[attr-defined]

    def choices(self) -> dict[str, Choices]:
        nobody = [("", NOBODY)]
        return {
            "topic": [
                (str(row.topic.pk), f"{row.topic.code}: {counted(row.n_units, 'unit')}")
                for row in self.grid.rows
            ],
            "giver": nobody + self._named(self.grid.holders),
            "getter": nobody + self._named(self.grid.able),
        }

    def changes(self) -> list[Change]:
        topic = self.grid.plan.topics[int(self.cleaned_data["topic"])]
        giver, getter = self.cleaned_data["giver"], self.cleaned_data["getter"]
        if giver == getter:
            raise Refused("Nothing would change: choose two different assessors.")
        people = [(giver, True), (getter, False)]
        return [Change(topic, self.people[pk], is_withdrawn=is_lost) for pk, is_lost in people if pk]


class TakeForm(PlanForm):
    """Takes every topic that is not finished from a person."""

    action = "take"
    heading = "Take everything from one person"
    person = forms.ChoiceField(label="From")
    heirs = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        required=False,
        label="Share it among",
        help_text="Without a choice, and where none of them may judge a topic, its place is free.",
    )

    def choices(self) -> dict[str, Choices]:
        return {"person": self._named(self.grid.holders), "heirs": self._named(self.grid.able)}

    def changes(self) -> list[Change]:
        person = self.people[self.cleaned_data["person"]]
        heirs = [self.people[pk] for pk in self.cleaned_data["heirs"]]
        changes = proposals.changes_to_take_over(self.grid.plan, person, heirs, self.grid.units_to_do)
        if not changes:
            raise Refused(f"Nothing would change: {person} has nothing left to judge.")
        return changes


class JoinForm(PlanForm):
    """Gives a person who comes late a part of what is open."""

    action = "join"
    heading = "Add a person"
    newcomer = forms.ChoiceField(label="Person")
    is_begun_moved = forms.BooleanField(
        required=False,
        label="Also move topics that somebody has begun",
        help_text="The new assessor judges the rest of them.",
    )

    def choices(self) -> dict[str, Choices]:
        return {"newcomer": self._named(self.grid.able)}

    def changes(self) -> list[Change]:
        newcomer = self.people[self.cleaned_data["newcomer"]]
        others = [user for user in self.grid.holders if user != newcomer]
        changes = proposals.changes_to_join(
            self.grid.plan,
            newcomer,
            others,
            self.grid.units_to_do,
            is_begun_moved=self.cleaned_data["is_begun_moved"],
        )
        if not changes:
            raise Refused(
                f"Nothing would change: nothing is open that {newcomer} may judge, or nobody has more to do than "
                f"{newcomer}."
            )
        return changes


FORMS: tuple[type[PlanForm], ...] = (ShareForm, MoveForm, TakeForm, JoinForm)


class ChangesField(forms.Field):
    """Values that name changes of a plan."""

    widget = forms.MultipleHiddenInput
    grid: Grid

    def to_python(self, value: Any) -> list[Change]:
        try:
            return [unpacked(text, self.grid) for text in value or ()]
        except ValueError:
            raise forms.ValidationError(
                "A change is not about a topic and an assessor of this batch."
            ) from None


class ConfirmForm(forms.Form):
    """The changes of a preview, as the page sends them back."""

    seen = forms.CharField(max_length=64)
    change = ChangesField()

    def __init__(self, *args: Any, grid: Grid, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast("ChangesField", self.fields["change"]).grid = grid
