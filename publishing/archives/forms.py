"""The forms with which organizers make and load archives."""

from typing import Any, ClassVar

from django import forms
from django.conf import settings

from publishing.models import Archive, LoadedArchive, parts
from tracks.models import StoredProtocol
from web.forms import ShortNameField, StyledForm

DATASET = r"^[A-Za-z0-9][A-Za-z0-9._/-]*\Z"  # an id of ir_datasets


class ArchiveForm(StyledForm, forms.ModelForm[Archive]):
    url = forms.URLField(
        label="Home page",
        required=False,
        max_length=300,
        assume_scheme="https",
        help_text="Where the test collection is described.",
    )
    parts = forms.MultipleChoiceField(
        label="Also in it",
        required=False,
        choices=parts,
        widget=forms.CheckboxSelectMultiple,
        help_text="Look at what they contain before you publish the archive.",
    )

    class Meta:
        model = Archive
        fields = ["form", "authors", "license", "url", "doi", "has_names", "has_comments", "parts"]
        labels = {"form": "Format"}
        widgets = {"authors": forms.Textarea(attrs={"rows": 3})}


class LoadForm(StyledForm, forms.ModelForm[LoadedArchive]):
    upload = forms.FileField(
        label="Archive",
        widget=forms.ClearableFileInput(attrs={"accept": ".zip"}),
        help_text="A .zip file made by Assay, or of a test collection: BEIR, Hugging Face or ir_datasets.",
    )

    class Meta:
        model = LoadedArchive
        fields = ["slug", "protocol"]
        field_classes: ClassVar = {"slug": ShortNameField}
        labels = {"slug": "Short name"}

    field_order = ["upload", "slug", "protocol"]


class FetchForm(StyledForm, forms.Form):
    prefix = "fetch"  # the upload has fields of the same names
    dataset = forms.RegexField(
        DATASET,
        label="Data set",
        max_length=200,
        error_messages={"invalid": "Enter an id of ir_datasets, such as beir/scifact/test."},
    )
    slug = ShortNameField(
        label="Short name", required=False, max_length=100, help_text="Of the track. Empty: from the id."
    )
    protocol = forms.ModelChoiceField(
        StoredProtocol.objects.all(), help_text="How runs are pooled, judged and scored."
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        allowed = ", ".join(settings.IR_DATASETS)
        self.fields["dataset"].help_text = f"Its id, such as beir/scifact/test. This site allows: {allowed}."
