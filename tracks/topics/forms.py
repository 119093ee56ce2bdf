"""The forms that import topics and labels, edit a topic, and create a track with its topics."""

from typing import Any, cast

from django import forms

from assay.formats.documents.batch import MAX_NAME, Unusable
from assay.formats.topics.reader import MAX_CODE, split_of
from assay.formats.topics.subtopics import as_lines, from_lines
from assay.protocols.description import label_title
from tracks.markdown import plain_html
from tracks.models import StoredProtocol, Topic, Track
from tracks.topics.selectors import FORMULA_UNITS
from tracks.tracks.forms import TrackForm
from web.forms import StyledForm

TOPIC_FILES = ".xml,.jsonl,.json,.csv,.tsv,.txt,.sgml,.gz,.xz,.bz2,.zip"  # the names that a browser offers
MAX_TEXT = 20_000  # characters of a scenario or of criteria
MAX_BODY = 200_000


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
        if protocol.judging.form is not None:
            choices.insert(0, ("rows", "rows of the table that the form shows"))
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
    subtopics = forms.CharField(
        required=False,
        max_length=MAX_BODY,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="A line for each part or meaning, with its number: <code>1: Find a map.</code>",
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
        kwargs["initial"] = {name: getattr(topic, name, "") for name in self.base_fields}
        kwargs["initial"]["subtopics"] = as_lines(topic.subtopics)
        kwargs["initial"] |= {f"label-{label}": topic.labels.get(label, "") for label in self.allowed}
        super().__init__(*args, **kwargs)
        for label, values in self.allowed.items():
            field = forms.ChoiceField(choices=[("", "–"), *((value, value) for value in values)])
            self.fields[f"label-{label}"] = field if values else forms.CharField(max_length=MAX_NAME)
            self.fields[f"label-{label}"].required = False
            self.fields[f"label-{label}"].label = label_title(label).capitalize()
        if topic.track.protocol.parsed.pool.strategy != "known-item":
            del self.fields["known_item"]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        labels = {label: data.pop(f"label-{label}", "") for label in self.allowed}
        return data | {"labels": {label: value for label, value in labels.items() if value}}

    def clean_subtopics(self) -> list[dict[str, str]]:
        try:
            return list(from_lines(self.cleaned_data["subtopics"]))
        except Unusable as reason:
            raise forms.ValidationError(f"{str(reason)[0].upper()}{str(reason)[1:]}.") from None

    def clean_split(self) -> str:
        return split_of(self.cleaned_data["split"])

    def clean_known_item(self) -> str:
        docno: str = self.cleaned_data["known_item"]
        if len(docno.split()) > 1:
            raise forms.ValidationError("A docno has no white space.")
        return docno


MARKDOWN, HTML = "markdown", "html"


class TopicForm(TopicTextForm):
    """All of a topic of a draft. Its body is HTML or Markdown, with LaTeX between dollars."""

    title = forms.CharField(
        required=False, max_length=MAX_TEXT, help_text="Text, with LaTeX between dollars: <code>$x^2$</code>."
    )
    body = forms.CharField(required=False, max_length=MAX_BODY, widget=forms.Textarea(attrs={"rows": 10}))
    markup = forms.ChoiceField(
        required=False, choices=[(HTML, "HTML"), (MARKDOWN, "Markdown")], label="The body is written in"
    )
    tags = forms.CharField(required=False, max_length=MAX_TEXT, help_text="Separated by commas.")
    latex = forms.CharField(required=False, max_length=MAX_TEXT, label="LaTeX of the topic formula")
    formula_id = forms.CharField(
        required=False,
        max_length=MAX_CODE,
        label="Id of the topic formula",
        help_text="Its id in the title or the body, such as <code>q_1</code>.",
    )
    field_order = ("code", "title", "body", "markup", "tags", "latex", "formula_id")

    def __init__(self, *args: Any, topic: Topic, **kwargs: Any) -> None:
        super().__init__(*args, topic=topic, **kwargs)
        self.initial.update(tags=", ".join(topic.tags), markup=HTML if topic.pk else MARKDOWN)
        if topic.track.protocol.parsed.unit not in FORMULA_UNITS:
            del self.fields["latex"], self.fields["formula_id"]

    def clean_tags(self) -> list[str]:
        return [tag.strip() for tag in self.cleaned_data["tags"].split(",") if tag.strip()]

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if data.pop("markup", "") == MARKDOWN:
            data["body"] = plain_html(data.get("body", ""))
        return data


class NewTopicForm(TopicForm):
    """Also the code of the topic."""

    code = forms.CharField(max_length=MAX_CODE, help_text="As in runs and qrels, such as <code>A.1</code>.")


class CorrectionForm(StyledForm):
    """The texts of a topic of an opened track, and why they change."""

    title = forms.CharField(required=False, max_length=MAX_TEXT)
    body = forms.CharField(
        required=False,
        strip=False,
        max_length=MAX_BODY,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text="HTML.",
    )
    narrative = forms.CharField(
        required=False,
        strip=False,
        max_length=MAX_BODY,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="HTML.",
    )
    reason = forms.CharField(
        max_length=2_000, widget=forms.Textarea(attrs={"rows": 2}), help_text="Everybody reads it."
    )


def form_for(topic: Topic) -> type[TopicTextForm]:
    """The form that edits a topic: all of it in a draft, only what runs do not depend on in an opened track."""
    return TopicForm if topic.track.status == Track.Status.DRAFT else TopicTextForm


class ProtocolChoice(forms.ModelChoiceField[StoredProtocol]):
    """A protocol with its title first: the short name alone says little."""

    def label_from_instance(self, obj: StoredProtocol) -> str:
        return f"{obj.title} ({obj.slug})"


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
        shows_chosen = {"hx-get": "", "hx-target": "#chosen", "hx-select": "#chosen", "hx-swap": "outerHTML"}
        self.fields["protocol"].widget.attrs.update(attrs | shows_chosen)
