"""The forms that import topics and labels, edit a topic, and create a track with its topics."""

from typing import Any, cast

from django import forms

from assay.formats.documents.batch import MAX_NAME
from assay.formats.topics.reader import split_of
from tracks.models import StoredProtocol, Topic, Track
from tracks.tracks.forms import TrackForm
from web.forms import StyledForm

TOPIC_FILES = ".xml,.jsonl,.json,.csv,.tsv,.txt,.sgml,.gz,.xz,.zip"  # the names that a browser offers
MAX_TEXT = 20_000  # characters of a scenario or of criteria


class TopicFileForm(StyledForm):
    """A topic file, or what it adds to existing topics: only what the state and the protocol of the track allow."""

    holds = forms.ChoiceField(label="The file contains")  # its choices depend on the track
    upload = forms.FileField(label="File", widget=forms.ClearableFileInput(attrs={"accept": TOPIC_FILES}))

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        protocol = track.protocol.parsed
        choices = []
        if track.status == Track.Status.DRAFT:
            choices += [
                ("topics", "topics, to add or update"),
                ("all topics", "all topics: remove topics that are missing from the file"),
            ]
        choices.append(("labels", "labels for existing topics"))
        if protocol.pool.strategy == "known-item":
            choices.append(
                ("known items", "known items of existing topics: a topic and a docno per line, or qrels")
            )
        self.fields["holds"].choices = choices  # type: ignore[attr-defined]


class TopicTextForm(StyledForm):
    """The texts that assessors read with the topic, its labels, and the known item of a known-item task."""

    scenario = forms.CharField(
        required=False,
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text="Who asks, and what for. Plain text; empty lines separate paragraphs, LaTeX is between dollars.",
    )
    criteria = forms.CharField(
        required=False,
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text="What makes a document relevant, partially relevant or not relevant to this topic.",
    )
    split = forms.CharField(
        required=False,
        max_length=MAX_NAME,
        help_text="The part of the track it belongs to, such as train or test. Tables of papers have a row for each.",
    )
    known_item = forms.CharField(
        required=False,
        max_length=MAX_NAME,
        label="Known item",
        help_text="The docno of the only relevant document. Only organizers see it.",
    )

    def __init__(self, *args: Any, topic: Topic, **kwargs: Any) -> None:
        self.allowed = topic.track.protocol.parsed.topics.labels
        kwargs["initial"] = {name: getattr(topic, name) for name in self.base_fields}
        kwargs["initial"] |= {f"label-{label}": topic.labels.get(label, "") for label in self.allowed}
        super().__init__(*args, **kwargs)
        for label, values in self.allowed.items():
            field = forms.ChoiceField(choices=[("", "–"), *((value, value) for value in values)])
            self.fields[f"label-{label}"] = field if values else forms.CharField(max_length=MAX_NAME)
            self.fields[f"label-{label}"].required = False
            self.fields[f"label-{label}"].label = label.replace("-", " ").capitalize()
        if topic.track.protocol.parsed.pool.strategy != "known-item":
            del self.fields["known_item"]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        labels = {label: data.pop(f"label-{label}", "") for label in self.allowed}
        return data | {"labels": {label: value for label, value in labels.items() if value}}

    def clean_split(self) -> str:
        return split_of(self.cleaned_data["split"])

    def clean_known_item(self) -> str:
        docno: str = self.cleaned_data["known_item"]
        if len(docno.split()) > 1:
            raise forms.ValidationError("A docno has no white space.")
        return docno


class ProtocolChoice(forms.ModelChoiceField[StoredProtocol]):
    """A protocol with its title: the short name alone says little."""

    def label_from_instance(self, obj: StoredProtocol) -> str:
        return f"{obj.slug}: {obj.title}"


class NewTrackForm(TrackForm):
    """A new track, optionally with its topic file. A field that is missing gets a value that can be changed later."""

    topics = forms.FileField(
        required=False,
        label="Topic file",
        help_text="You can also import the topics later.",
        widget=forms.ClearableFileInput(attrs={"accept": TOPIC_FILES}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        stored = cast("forms.ModelChoiceField[StoredProtocol]", self.fields["protocol"]).queryset
        attrs = self.fields["protocol"].widget.attrs
        self.fields["protocol"] = ProtocolChoice(stored, help_text="It cannot change once the track is open.")
        self.fields["protocol"].widget.attrs.update(attrs)
