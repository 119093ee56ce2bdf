"""The form that starts an import."""

from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError

from accounts.models import User
from corpus.collections.selectors import changeable_by
from corpus.imports import selectors
from corpus.models import Collection
from web.forms import FilesField, FilesInput, ShortNameField, StyledForm

ACCEPTED = (
    ".xml,.jsonl,.json,.tsv,.csv,.txt,.html,.xhtml,.gz,.xz,.zip,.tar,.tgz,.bz2,.png,.jpg,.jpeg,.gif,.webp"
)


class SourceForm(StyledForm):
    """A new collection, and its files: an upload, or a file or folder on the server."""

    slug = ShortNameField(
        max_length=100, label="Short name", help_text="For the URL, such as math-2018. Empty: from the name."
    )
    name = forms.CharField(required=False, max_length=200)
    hosts = forms.CharField(
        required=False,
        max_length=1000,
        help_text="Links to these hosts lead into the collection, such as <code>math.stackexchange.com</code>. "
        "Separate several hosts by spaces.",
    )
    license = forms.CharField(required=False, max_length=200)
    upload = FilesField(
        required=False,
        label="Files",
        widget=FilesInput(attrs={"accept": ACCEPTED}),
        error_messages={"required": "Choose files to upload."},
    )
    path = forms.CharField(
        required=False,
        max_length=500,
        label="File or folder on the server",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.offered = selectors.offered_paths()
        if selectors.import_dir() is None:
            del self.fields["path"]
            self.fields["upload"].required = True
        elif selectors.is_folder_here():
            start = "Its path in the import folder. A folder means all files in it. Type a part of the path to search"
            more = f" the {len(self.offered.paths)} paths that are offered. There may be more: type them."
            self.fields["path"].help_text = start + ("." if self.offered.are_all else more)
            self.fields["path"].widget.attrs["list"] = "server-paths"
        else:
            self.fields["path"].label = "File or folder of the workers"
            self.fields["path"].help_text = (
                "Its path in the import folder, which this server does not see. A worker that sees it looks it up. A "
                "folder means all files in it."
            )
        for name in {"name", "upload", "path"} & set(self.fields):
            self.fields[name].is_one_of_several = True  # type: ignore[attr-defined]  # the page does not mark it as optional

    def clean_path(self) -> str:
        name: str = self.cleaned_data["path"]
        if name and selectors.is_folder_here() and selectors.offered_path(name) is None:
            raise ValidationError("There is no such file or folder in the import folder of the server.")
        return name

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if bool(data.get("upload")) == bool(data.get("path")) and not self.errors:
            self.add_error("upload", "Choose files to upload or a path on the server, not both.")
        return data

    @property
    def source(self) -> dict[str, Any]:
        """The arguments of services that make a collection of files."""
        data = self.cleaned_data
        new = {key: data[key] for key in ("slug", "name", "license")} | {"hosts": data["hosts"].split()}
        return {"new": new, "uploads": data["upload"], "path": data.get("path", "")}


class ImportForm(SourceForm):
    """An upload, or a file or folder on the server, to import into an existing or a new collection."""

    collection = forms.ModelChoiceField(
        Collection.objects.none(),
        required=False,
        empty_label="a new collection",
        help_text="Rows that exist already are updated, not duplicated.",
    )
    representation = forms.ChoiceField(
        required=False,
        label="Representation of formulas",
        help_text="Set this only if detection is wrong. SLT and OPT are both MathML.",
        choices=[
            ("", "detect from the file"),
            ("latex", "LaTeX"),
            ("slt", "Presentation MathML (SLT)"),
            ("opt", "Content MathML (OPT)"),
        ],
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        collection = cast("forms.ModelChoiceField[Collection]", self.fields["collection"])
        collection.queryset = changeable_by(user).order_by("name")
        self.fields["slug"].required = False
        self.fields["upload"].help_text = (
            "Select all files of a dump, or one zip or tar archive of them. Each may be compressed with gz, xz, bz2 or "
            "zip."
        )
        collection.is_one_of_several = True  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if not data.get("collection") and not data.get("slug") and "slug" not in self.errors:
            self.add_error("name", "Enter a name for the new collection.")
        return data

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `services.import_upload_or_path`, except the user."""
        data = self.cleaned_data
        return self.source | {
            "collection": data["collection"],
            "representation": data["representation"] or None,
        }
