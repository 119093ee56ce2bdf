"""The forms with which organizers make and load archives."""

from django import forms

from publishing.models import Archive, LoadedArchive
from web.forms import StyledForm


class ArchiveForm(StyledForm, forms.ModelForm[Archive]):
    """The content of an archive, and its citation."""

    url = forms.URLField(
        label="Home page",
        required=False,
        max_length=300,
        assume_scheme="https",
        help_text="Where the test collection is described.",
    )

    class Meta:
        model = Archive
        fields = ["form", "authors", "license", "url", "doi", "has_names", "has_comments"]
        widgets = {"authors": forms.Textarea(attrs={"rows": 3})}


class LoadForm(StyledForm, forms.ModelForm[LoadedArchive]):
    """An archive to load."""

    upload = forms.FileField(
        label="Archive",
        widget=forms.ClearableFileInput(attrs={"accept": ".zip"}),
        help_text="A .zip file made by Assay, or of a test collection: BEIR, Hugging Face or ir_datasets.",
    )

    class Meta:
        model = LoadedArchive
        fields = ["slug", "protocol"]

    field_order = ["upload", "slug", "protocol"]
