"""The forms of texts in Markdown: guidelines, and other texts of organizers."""

from typing import Any

from django import forms

from web.forms import style_fields

MOST_CHARACTERS = 200_000


class MarkdownForm(forms.Form):
    """A text in Markdown; `revision` is the one that the page showed."""

    text = forms.CharField(
        label="Markdown",
        max_length=MOST_CHARACTERS,
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 24, "spellcheck": "true"}),
    )
    revision = forms.IntegerField(widget=forms.HiddenInput, min_value=0, max_value=2**31 - 1)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)

    def clean_text(self) -> str:
        """Browsers send the line ends of Windows."""
        return str(self.cleaned_data["text"]).replace("\r\n", "\n").replace("\r", "\n")


class GuidelinesForm(MarkdownForm):
    """The draft, and what changed in it."""

    summary = forms.CharField(
        label="What changed",
        max_length=500,
        required=False,
        help_text="Assessors read it until they open the new version.",
    )
