"""Protocols in the admin."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from accounts.models import User
from assay.protocols.loader import ProtocolError, parse_protocol
from tracks.models import StoredProtocol
from tracks.protocols import services
from web.admin import Undeletable


class ProtocolForm(forms.ModelForm[StoredProtocol]):
    """The TOML of a protocol, validated by the loader that reads the shipped protocols."""

    text = forms.CharField(
        label="TOML",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 40, "cols": 110, "spellcheck": "false"}),
        help_text="Paste the TOML of a protocol. You can start from a shipped protocol; give it a new slug.",
    )

    class Meta:
        model = StoredProtocol
        fields = ["text"]

    def clean_text(self) -> str:
        """The text, if the loader accepts it and its slug is not in use."""
        text: str = self.cleaned_data["text"].replace("\r\n", "\n")
        try:
            protocol = parse_protocol(text, name="protocol")
        except ProtocolError as error:
            raise forms.ValidationError(str(error)) from error
        if StoredProtocol.objects.filter(slug=protocol.slug).exists():
            raise forms.ValidationError(
                f"slug: there is already a protocol {protocol.slug}; choose another slug."
            )
        return text


@admin.register(StoredProtocol)
class StoredProtocolAdmin(Undeletable, admin.ModelAdmin[StoredProtocol]):
    """Add and view protocols. They are never edited: a changed protocol gets a new slug."""

    form = ProtocolForm
    list_display = ["slug", "title", "is_shipped", "created_at"]
    search_fields = ["slug", "title"]

    def has_change_permission(self, request: HttpRequest, obj: StoredProtocol | None = None) -> bool:
        return False

    def get_fields(self, request: HttpRequest, obj: StoredProtocol | None = None) -> Any:
        return ["text"] if obj is None else ["slug", "title", "digest", "is_shipped", "created_by", "text"]

    def save_model(self, request: HttpRequest, obj: StoredProtocol, form: Any, change: bool) -> None:
        """Store the protocol through the service, and continue with the row that it created."""
        by = request.user if isinstance(request.user, User) else None
        stored = services.store(text=form.cleaned_data["text"], by=by)
        obj.pk, obj.slug, obj.title = stored.pk, stored.slug, stored.title
