"""Form that imports topics and labels."""

from typing import Any

from django import forms

from web.forms import style_fields


class TopicFileForm(forms.Form):
    """A topic file, or labels for topics that are there."""

    holds = forms.ChoiceField(
        choices=[
            ("topics", "topics, beside those that are there"),
            ("all topics", "all topics: those that it has not are removed"),
            ("labels", "labels for the topics that are there"),
        ],
        label="The file holds",
    )
    upload = forms.FileField(
        label="File", widget=forms.ClearableFileInput(attrs={"accept": ".xml,.jsonl,.json,.csv,.tsv,.txt"})
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)
