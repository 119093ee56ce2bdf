"""The forms of documents of teams."""

from typing import Any

from django import forms

from participation.models import Team
from web.forms import StyledForm


class DocumentForm(StyledForm):
    """What a team says about a document."""

    title = forms.CharField(max_length=200)
    is_public = forms.BooleanField(
        required=False,
        label="Public after the release",
        help_text="Everyone gets it once a leaderboard is released to everyone. Archives of the track contain it.",
    )


class UploadForm(DocumentForm):
    """A new document."""

    file = forms.FileField(label="PDF", widget=forms.FileInput(attrs={"accept": ".pdf,application/pdf"}))
    word = forms.ChoiceField(label="Document", required=False)
    field_order = ("word", "title", "file", "is_public")

    def __init__(self, *args: Any, team: Team, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        owed = team.track.protocol.parsed.runs.documents
        if not owed:
            del self.fields["word"]
            return
        self.fields["word"].choices = [*owed.items(), ("", "Another document")]  # type: ignore[attr-defined]
