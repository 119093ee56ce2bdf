"""The forms that filter judgments and disagreements, and export those of a track."""

from collections.abc import Iterable
from typing import Any, cast

from django import forms
from django.db.models import Q
from django.utils.translation import gettext, gettext_lazy

from assay.protocols.schema import Grade, NonAnswer, Protocol
from assessment.judgments.answers import in_language
from assessment.judgments.disagreements import Difference, rules_for, scale_of
from tracks.models import Topic, Track
from web.forms import StyledForm

SEARCHED = ("comment", "docno", "latex", "topic__title", "task__entry__document__title")
LOOKUPS = {
    "topic": "topic__code",
    "choice": "choice",
    "since": "created_at__date__gte",
    "until": "created_at__date__lte",
}


class OwnFilterForm(StyledForm):
    """A filter of an assessor's own judgments."""

    q = forms.CharField(max_length=200, required=False, label=gettext_lazy("Search"))
    topic = forms.ChoiceField(required=False, label=gettext_lazy("Topic"))
    choice = forms.ChoiceField(required=False, label=gettext_lazy("Choice"))
    since = forms.DateField(
        required=False, label=gettext_lazy("Since"), widget=forms.DateInput(attrs={"type": "date"})
    )
    until = forms.DateField(
        required=False, label=gettext_lazy("Until"), widget=forms.DateInput(attrs={"type": "date"})
    )
    commented = forms.BooleanField(required=False, label=gettext_lazy("With a comment"))

    def __init__(
        self, *args: Any, topics: Iterable[Topic], choices: Iterable[Grade | NonAnswer], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._offer("topic", [(topic.code, topic.code) for topic in topics])
        self._offer("choice", [(choice.key, in_language(choice.label)) for choice in choices])
        for field in self.fields.values():
            field.is_one_of_several = True  # type: ignore[attr-defined]  # no field is marked as optional

    def _offer(self, name: str, values: list[tuple[str, str]]) -> None:
        field = cast("forms.ChoiceField", self.fields[name])
        field.choices = [("", gettext("All")), *values]

    @property
    def wanted(self) -> Q:
        """The conditions of the fields that are valid; all judgments without any. Days are in UTC."""
        data = {name: value for name, value in self.cleaned_data.items() if value}
        of_text = [Q(**{f"{place}__icontains": data["q"]}) for place in SEARCHED if "q" in data]
        wanted = Q(*of_text, _connector=Q.OR)
        wanted &= Q(**{lookup: data[name] for name, lookup in LOOKUPS.items() if name in data})
        return wanted & ~Q(comment="") if "commented" in data else wanted

    @property
    def is_narrow(self) -> bool:
        """True if a field besides the search is used or wrong."""
        return bool(self.errors) or any(self.cleaned_data[name] for name in self.fields if name != "q")


EXPORTS = [
    ("csv", "CSV, for spreadsheets and pandas"),
    ("jsonl", "lines of JSON"),
    ("turkle", "CSV with the columns of Turkle's results: current judgments only"),
]
EXPORTS_OF_PAIRS = [
    ("prefj", "preferences: topic, left, right, preferred document, assessor"),
    ("trec_eval", "preferences for trec_eval -R prefs"),
    ("pgc", "preferences for Greedy PGC: topic, winner, loser"),
]


class ExportForm(StyledForm):
    """The format of the file, and how it names people."""

    to = forms.ChoiceField(choices=EXPORTS, label="Format")
    names = forms.ChoiceField(
        choices=[("codes", "code names, such as A17"), ("usernames", "usernames")],
        label="Assessors",
        help_text="A code name represents an assessor in all exports of the track. Its number is random.",
    )
    comments = forms.ChoiceField(
        choices=[("with", "include them"), ("without", "leave them out")],
        help_text="Comments can name people, also where assessors have code names. Leave them out of a publication, "
        "or read them first.",
    )
    machines = forms.ChoiceField(
        choices=[("without", "leave them out"), ("with", "include them, in batches of the kind machine")],
        required=False,
        label="Judgments of machines",
        help_text="Do not show them to people who have not judged the same documents.",
    )

    about = forms.ChoiceField(
        choices=[
            ("", "all"),
            ("nuggets", "nuggets in answers"),
            ("citations", "citations, which are support"),
        ],
        required=False,
        label="Judgments of",
    )

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not track.protocol.parsed.judged.has_nuggets:
            del self.fields["about"]
        if track.protocol.parsed.judged.has_votes:
            cast("forms.ChoiceField", self.fields["to"]).choices = EXPORTS + EXPORTS_OF_PAIRS


MOST_STEPS = 999


class DifferenceForm(StyledForm):
    """A filter of the disagreements that the page shows, with the differences that the scale can have."""

    rule = forms.ChoiceField(label="Difference")
    steps = forms.IntegerField(
        min_value=1,
        max_value=MOST_STEPS,
        required=False,
        label="Steps",
        help_text="Only for grades some steps apart. Empty: 2.",
    )
    scale = forms.CharField(max_length=101, required=False, widget=forms.HiddenInput())

    def __init__(self, *args: Any, protocol: Protocol, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rules = rules_for(protocol, scale_of(protocol, self["scale"].value()))
        cast("forms.ChoiceField", self.fields["rule"]).choices = list(self.rules.items())
        if "steps" not in self.rules:
            del self.fields["steps"]

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = self.cleaned_data
        data["steps"] = data.get("steps") or Difference().steps
        return data

    @property
    def difference(self) -> Difference:
        return Difference(**{name: self.cleaned_data[name] for name in Difference._fields})

    @property
    def shown_difference(self) -> Difference:
        """The difference that the fields show, also before they are sent; the usual one in place of wrong values."""
        shown = {name: self[name].value() for name in self.fields if name in Difference._fields}
        steps = f"{shown.get('steps') or ''}"
        rule, usual = shown.get("rule"), Difference()
        return Difference(
            rule if rule in self.rules else usual.rule,
            int(steps) if steps.isdecimal() and 1 <= int(steps[:9]) <= MOST_STEPS else usual.steps,
            shown.get("scale") or usual.scale,
        )
