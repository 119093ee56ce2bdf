"""The form that creates a track."""

from typing import Any, cast

from django import forms

from tracks.models import StoredProtocol
from tracks.topics.forms import TOPIC_FILES
from tracks.tracks.forms import TrackForm


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
