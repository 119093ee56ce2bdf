"""The forms that import, filter and draw candidates."""

from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.core.files import File

from accounts.models import User
from assay.candidates.conditions import FIELDS, Condition, parse_conditions
from assay.candidates.samples import MOST_PER_TOPIC, Settings, Stratum, parse_stratum
from assay.errors import InputError
from assay.formats.text import lines_of
from corpus.imports.selectors import import_dir, offered_paths
from corpus.models import BuildFile, Collection
from tracks.candidates.from_collection import collections_with_questions
from tracks.candidates.selectors import DECISION, label_words, people_who_may_choose
from tracks.models import Track
from web.forms import StyledForm

MAX_TEXT = 10_000  # characters of conditions and quotas
MAX_SEED = 2**63 - 1
ACCEPTED = ".jsonl,.json,.gz,.xz,.bz2,.zip"  # the names that a browser offers
EXAMPLES = {"date": "2020-01-01..", "tags": "calculus|limits", "text": "words"}


class ImportForm(StyledForm):
    """An upload, a file of the import folder, or the questions of a collection; without, what the build has."""

    upload = forms.FileField(
        required=False, label="File", widget=forms.ClearableFileInput(attrs={"accept": ACCEPTED})
    )
    path = forms.CharField(
        required=False,
        max_length=500,
        label="File on the server",
        help_text="Its path in the import folder.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "list": "server-paths"}),
    )
    questions = forms.ModelChoiceField(
        Collection.objects.none(),
        required=False,
        label="Collection with the questions",
        empty_label="none",
        to_field_name="slug",
        help_text="An imported collection. Its questions that runs do not search become candidates.",
    )

    def __init__(self, *args: Any, track: Track, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        questions = cast("forms.ModelChoiceField[Collection]", self.fields["questions"])
        questions.queryset = collections_with_questions(track, user)
        self.offered = offered_paths()
        files = BuildFile.objects.filter(build__collection=track.collection_id, is_private=True)
        self.built = files.filter(name__endswith="-candidates.jsonl").first()
        if self.built is not None:
            self.fields[
                "upload"
            ].help_text = f"Without a file: {self.built.name}, made when {track.collection} was built."
        if import_dir() is None:
            del self.fields["path"]
        for field in self.fields.values():
            field.is_one_of_several = True  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        n = sum(bool(data.get(name)) for name in self.fields)
        if self.built is not None and not n and not self.errors:
            data["upload"] = File(self.built.file.open("rb"), name=self.built.name)
        elif n != 1 and not self.errors:
            path = ", a path on the server" if "path" in self.fields else ""
            self.add_error("upload", f"Choose a file to upload{path} or a collection, and only one of them.")
        return data


class ConditionsField(forms.CharField):
    """Conditions on candidates as they are written. `labels` are the names of labels that they may have."""

    def __init__(self, *, labels: tuple[str, ...] = (), **kwargs: Any) -> None:
        super().__init__(max_length=MAX_TEXT, required=False, **kwargs)
        self.labels = labels

    def clean(self, value: object) -> Any:
        return _read(lambda: parse_conditions(super(ConditionsField, self).clean(value), self.labels))


def _read(parse: Any) -> Any:
    """The value that the library reads in a text, or the error of the field."""
    try:
        return parse()
    except InputError as error:
        raise forms.ValidationError(str(error)) from None


class FilterForm(StyledForm):
    """One field for each thing that a candidate is filtered by: a number, a range, tags or words."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("text", *(name for name in FIELDS if name != "text")):
            attrs = {"placeholder": EXAMPLES.get(name, "5.. or 1..5"), "autocomplete": "off"}
            self.fields[name] = forms.CharField(
                required=False, max_length=200, widget=forms.TextInput(attrs=attrs)
            )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        self.conditions: list[Condition] = []
        for name in FIELDS:
            text = data.get(name, "").replace(",", " ") if name == "text" else data.get(name, "")
            if text:
                try:
                    self.conditions += parse_conditions(f"{name}={text}")
                except InputError as error:
                    self.add_error(name, str(error))
        return data


class SampleForm(StyledForm):
    """The rule of a sample, the two people who decide on it, and the labels that they give."""

    where = ConditionsField(
        label="Only candidates with",
        help_text="Conditions, separated by commas: <code>score=1.., formulas=1.., tags=calculus|limits</code>.",
    )
    quotas = forms.CharField(
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "class": "form-control mono"}),
        help_text="A line for each stratum: topics wanted, a colon, conditions. A number alone is for all others. A "
        "candidate belongs to the first stratum that it fits.",
    )
    per_topic = forms.IntegerField(
        min_value=1,
        max_value=MOST_PER_TOPIC,
        initial=2,
        label="Candidates for each topic",
        help_text="Draw more than you need, because some are rejected.",
    )
    seed = forms.IntegerField(
        min_value=0, max_value=MAX_SEED, initial=1, help_text="The same seed draws the same candidates."
    )
    first_person = forms.ModelChoiceField(User.objects.none())
    second_person = forms.ModelChoiceField(
        User.objects.none(), help_text="Each person sees the other’s decision after their own."
    )
    labels = forms.CharField(
        required=False,
        max_length=MAX_TEXT,
        label="Labels to give",
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "class": "form-control mono"}),
        help_text="A line for each label: its name, a colon, its values.",
    )

    def __init__(self, *args: Any, track: Track, by: User, **kwargs: Any) -> None:
        words = label_words(track)
        lines = [f"{name}: {', '.join(values)}" for name, values in words.items()]
        own = {"labels": "\n".join(lines), "first_person": by.pk}
        kwargs["initial"] = own | kwargs.get("initial", {})
        super().__init__(*args, **kwargs)
        self.names = (DECISION, *words)
        self.fields["where"].labels = self.names  # type: ignore[attr-defined]
        for name in ("first_person", "second_person"):
            self.fields[name].queryset = people_who_may_choose(track)  # type: ignore[attr-defined]

    def clean_quotas(self) -> tuple[Stratum, ...]:
        lines = [line for line in lines_of(self.cleaned_data["quotas"]) if line.strip()]
        strata: tuple[Stratum, ...] = _read(lambda: tuple(parse_stratum(line, self.names) for line in lines))
        return strata

    def clean_labels(self) -> Mapping[str, list[str]]:
        labels: dict[str, list[str]] = {}
        for line in filter(str.strip, lines_of(self.cleaned_data["labels"])):
            name, colon, values = (part.strip().lower() for part in line.partition(":"))
            own = list(dict.fromkeys(value.strip() for value in values.split(",") if value.strip()))
            if not colon or not name or not own or name in (*FIELDS, DECISION):
                raise forms.ValidationError(
                    f"“{line[:80]}” is not a name, a colon and values separated by commas."
                )
            labels[name] = own
        return labels

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `services.draw_sample`, except the track and the user."""
        data = self.cleaned_data
        return {
            "settings": Settings(data["seed"], data["quotas"], data["where"], data["per_topic"]),
            "labels": data["labels"],
            "people": [data["first_person"], data["second_person"]],
        }


class PeopleForm(StyledForm):
    """The two people who decide on a sample."""

    first_person = forms.ModelChoiceField(User.objects.none())
    second_person = forms.ModelChoiceField(User.objects.none())

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("first_person", "second_person"):
            self.fields[name].queryset = people_who_may_choose(track)  # type: ignore[attr-defined]
