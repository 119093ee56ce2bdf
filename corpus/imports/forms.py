"""Forms of the import pages."""

from pathlib import Path
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError

from corpus.imports import selectors
from corpus.models import Collection
from web.forms import style_fields

ACCEPTED = ".xml,.jsonl,.json,.tsv,.csv,.txt,.gz,.xz,.zip"


class ImportForm(forms.Form):
    """Files for a collection, which is there or is made: an upload, or what stands ready on the server."""

    collection = forms.ModelChoiceField(
        Collection.objects.order_by("name"),
        required=False,
        empty_label="a new collection",
        help_text="Rows that are there already are brought up to date; none is doubled.",
    )
    slug = forms.SlugField(
        required=False, max_length=100, label="Short name", help_text="For the address, such as math-2018."
    )
    name = forms.CharField(required=False, max_length=200)
    hosts = forms.CharField(
        required=False,
        max_length=1000,
        help_text="Links to these sites lead into the collection: <code>math.stackexchange.com</code>. "
        "Several are parted by blanks.",
    )
    license = forms.CharField(required=False, max_length=200)
    upload = forms.FileField(
        required=False,
        label="A file",
        help_text="A dump's Posts.xml or another of its files, documents as one JSON object a line, or a formula "
        "index; gz, xz and zip are taken.",
        widget=forms.ClearableFileInput(attrs={"accept": ACCEPTED}),
    )
    path = forms.ChoiceField(
        required=False,
        label="On the server",
        help_text="A folder stands for all files in it.",
    )
    representation = forms.ChoiceField(
        required=False,
        label="Formulas of an index",
        help_text="Only if it is told wrongly: SLT and OPT are both MathML.",
        choices=[
            ("", "told from the file"),
            ("latex", "LaTeX"),
            ("slt", "Presentation MathML (SLT)"),
            ("opt", "Content MathML (OPT)"),
        ],
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered = [(path, path) for path in selectors.offered_paths()]
        cast("forms.ChoiceField", self.fields["path"]).choices = [("", "nothing"), *offered]
        if selectors.import_dir() is None:
            del self.fields["path"]
        for name in {"collection", "slug", "upload", "path"} & set(self.fields):
            self.fields[name].is_one_of_several = True  # type: ignore[attr-defined]  # so the page calls none optional
        style_fields(self)

    def clean_path(self) -> Path | None:
        name = self.cleaned_data["path"]
        path = selectors.offered_path(name)
        if name and path is None:
            raise ValidationError("There is no such file or folder on the server.")
        return path

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if not data.get("collection") and not data.get("slug") and "slug" not in self.errors:
            self.add_error("slug", "A new collection needs a short name.")
        if bool(data.get("upload")) == bool(data.get("path")) and not self.errors:
            self.add_error("upload", "Give a file, or choose one on the server: one of the two.")
        return data
