"""The forms of texts in Markdown: guidelines, and other texts of organizers."""

from typing import Any

from django import forms

from web.forms import StyledForm

MOST_CHARACTERS = 200_000


class MarkdownField(forms.CharField):
    """A text in Markdown, with the line ends of Unix: browsers send those of Windows."""

    def __init__(self, *, rows: int) -> None:
        widget = forms.Textarea(attrs={"rows": rows, "spellcheck": "true"})
        super().__init__(
            label="Markdown", max_length=MOST_CHARACTERS, required=False, strip=False, widget=widget
        )

    def clean(self, value: Any) -> str:
        return str(super().clean(value)).replace("\r\n", "\n").replace("\r", "\n")


class MarkdownForm(StyledForm):
    """A text in Markdown; `revision` is the one that the page showed."""

    text = MarkdownField(rows=24)
    revision = forms.IntegerField(widget=forms.HiddenInput, min_value=0, max_value=2**31 - 1)


class GuidelinesForm(MarkdownForm):
    """The draft, and what changed in it."""

    summary = forms.CharField(
        label="What changed",
        max_length=500,
        required=False,
        help_text="Assessors read it until they open the new version.",
    )
