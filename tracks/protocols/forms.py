"""The form that adds a protocol."""

from typing import Any

from django import forms

from assay.protocols.loader import ProtocolError, parse_protocol
from tracks.models import StoredProtocol
from web.forms import StyledForm

MAX_BYTES = 1 << 20


class ProtocolForm(StyledForm):
    """The TOML of a protocol, as a file or pasted, validated by the loader that reads the shipped protocols."""

    upload = forms.FileField(
        required=False,
        label="File",
        help_text="A TOML file.",
        widget=forms.ClearableFileInput(attrs={"accept": ".toml"}),
    )
    text = forms.CharField(
        required=False,
        label="TOML",
        strip=False,
        help_text="Used if you choose no file. You can start from a shipped protocol; give it a new slug.",
        widget=forms.Textarea(attrs={"rows": 24, "spellcheck": "false", "class": "form-control mono"}),
    )

    def clean_upload(self) -> str:
        """The text of the file."""
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

    def clean(self) -> dict[str, Any]:
        """The text, if the loader accepts it and its slug is not in use."""
        data = super().clean() or {}
        text = (data.get("upload") or data.get("text") or "").replace("\r\n", "\n")
        if not text.strip():
            raise forms.ValidationError("Choose a TOML file, or paste its text.")
        try:
            protocol = parse_protocol(text, name="protocol")
        except ProtocolError as error:
            raise forms.ValidationError(str(error)) from error
        if StoredProtocol.objects.filter(slug=protocol.slug).exists():
            raise forms.ValidationError(
                f"slug: there is already a protocol {protocol.slug}; choose another slug."
            )
        return {"text": text}
