"""The form that imports topics and labels."""

from typing import Any

from django import forms

from assay.formats.documents.batch import MAX_NAME
from tracks.models import Topic, Track
from web.forms import style_fields

TOPIC_FILES = ".xml,.jsonl,.json,.csv,.tsv,.txt,.sgml,.gz,.xz,.zip"  # the names that a browser offers
MAX_TEXT = 20_000  # characters of a scenario or of criteria


class TopicFileForm(forms.Form):
    """A topic file, or what it adds to existing topics: only what the state and the protocol of the track allow."""

    holds = forms.ChoiceField(label="The file contains")  # its choices depend on the track
    upload = forms.FileField(label="File", widget=forms.ClearableFileInput(attrs={"accept": TOPIC_FILES}))

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["holds"].choices = _contents(track)  # type: ignore[attr-defined]
        style_fields(self)


def _contents(track: Track) -> list[tuple[str, str]]:
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
    return choices


class TopicTextForm(forms.Form):
    """What assessors read with the topic, and the known item of a known-item task."""

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
    known_item = forms.CharField(
        required=False,
        max_length=MAX_NAME,
        label="Known item",
        help_text="The docno of the only relevant document. Only organizers see it.",
    )

    def __init__(self, *args: Any, topic: Topic, **kwargs: Any) -> None:
        kwargs["initial"] = {name: getattr(topic, name) for name in self.base_fields}
        super().__init__(*args, **kwargs)
        if topic.track.protocol.parsed.pool.strategy != "known-item":
            del self.fields["known_item"]
        style_fields(self)

    def clean_known_item(self) -> str:
        docno: str = self.cleaned_data["known_item"]
        if len(docno.split()) > 1:
            raise forms.ValidationError("A docno has no white space.")
        return docno
