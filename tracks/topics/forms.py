"""The form that imports topics and labels."""

from typing import Any

from django import forms

from web.forms import style_fields


class TopicFileForm(forms.Form):
    """A topic file, or labels for existing topics."""

    holds = forms.ChoiceField(
        choices=[
            ("topics", "topics, to add or update"),
            ("all topics", "all topics: remove topics that are missing from the file"),
            ("labels", "labels for existing topics"),
        ],
        label="The file contains",
    )
    upload = forms.FileField(
        label="File", widget=forms.ClearableFileInput(attrs={"accept": ".xml,.jsonl,.json,.csv,.tsv,.txt"})
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)
