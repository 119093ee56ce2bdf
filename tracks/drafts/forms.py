"""The form that begins a draft."""

from typing import Any

from django import forms

from tracks.models import StoredProtocol
from web.forms import StyledForm

MAX_BYTES = 1 << 20


class StartForm(StyledForm):
    """A protocol to start from, a file, or an empty draft."""

    empty = forms.BooleanField(required=False)
    base = forms.ModelChoiceField(StoredProtocol.objects.all(), required=False, to_field_name="slug")
    upload = forms.FileField(
        required=False,
        label="File",
        help_text="A TOML file. It may have errors: you correct them in the editor.",
        widget=forms.ClearableFileInput(attrs={"accept": ".toml"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["upload"].required = not {"base", "empty"} & set(self.data)

    def clean_upload(self) -> str:
        """The decoded text; empty without a file."""
        upload = self.cleaned_data["upload"]
        if not upload:
            return ""
        if upload.size > MAX_BYTES:
            raise forms.ValidationError(
                f"The file has {upload.size:,} bytes; at most {MAX_BYTES:,} are accepted."
            )
        try:
            return str(upload.read().decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise forms.ValidationError(
                f"The file is not UTF-8: byte {error.start:,} cannot be read."
            ) from error
