"""The form that exports the judgments of a track."""

from typing import Any, cast

from django import forms

from assessment.judgments.exports import Form
from web.forms import style_fields


class ExportForm(forms.Form):
    """The format of the file, and how it names people."""

    to = forms.ChoiceField(
        choices=[("csv", "CSV, for spreadsheets and pandas"), ("jsonl", "lines of JSON")], label="Format"
    )
    names = forms.ChoiceField(
        choices=[("codes", "code names: A1, A2, …"), ("usernames", "usernames")],
        label="Assessors",
        help_text="The code names stay the same in every export of the track. Their order is random.",
    )
    comments = forms.ChoiceField(
        choices=[("with", "include them"), ("without", "leave them out")],
        help_text="Comments can name people, also where assessors have code names. Leave them out of a publication, "
        "or read them first.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)

    @property
    def format(self) -> Form:
        return cast("Form", self.cleaned_data["to"])

    @property
    def is_pseudonymous(self) -> bool:
        return bool(self.cleaned_data["names"] == "codes")

    @property
    def has_comments(self) -> bool:
        return bool(self.cleaned_data["comments"] == "with")
