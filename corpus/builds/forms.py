"""The form that builds a collection."""

from typing import Any, get_args

from django import forms
from django.core.exceptions import ValidationError

from assay.building.settings import OVERLAP, Duplicates, Settings, periods
from assay.errors import InputError
from corpus.imports import selectors
from web.forms import FilesField, FilesInput, StyledForm

ACCEPTED = ".xml,.jsonl,.json,.tsv,.csv,.txt,.html,.xhtml,.gz,.xz,.zip,.7z"
CONVERTERS = {
    "": "keep LaTeX only",
    "latexml": "LaTeXML: Presentation and Content MathML",
    "latex2mathml": "latex2mathml: Presentation MathML only",
}
DUPLICATES = {
    "keep": "keep them",
    "exact": "leave out documents with exactly the same words",
    "near": "leave out near-duplicates too",
}
NAMES = {
    "--from": "first",
    "--until": "last",
    "--topics-from": "topics_first",
    "--topics-until": "topics_last",
}
DATE = "A year, month or day, such as 2018 or 2018-12-31."


class BuildForm(StyledForm):
    """A source, the dates at which it is cut, and what is made of it."""

    slug = forms.SlugField(max_length=100, label="Short name", help_text="For the URL, such as math-2018.")
    name = forms.CharField(required=False, max_length=200)
    hosts = forms.CharField(
        required=False,
        max_length=1000,
        help_text="Links to these hosts lead into the collection, such as <code>math.stackexchange.com</code>.",
    )
    license = forms.CharField(required=False, max_length=200)
    upload = FilesField(
        required=False,
        label="Files",
        help_text="The files of a Stack Exchange dump, one zip or 7z archive of them, or documents as an import takes "
        "them.",
        widget=FilesInput(attrs={"accept": ACCEPTED}),
    )
    path = forms.CharField(
        required=False,
        max_length=500,
        label="File or folder on the server",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "list": "server-paths"}),
        help_text="Its path in the import folder.",
    )
    first = forms.CharField(
        required=False, max_length=10, label="Collection from", help_text=f"{DATE} Empty: no limit."
    )
    last = forms.CharField(
        required=False, max_length=10, label="Collection until", help_text="2018 includes its last day."
    )
    topics_first = forms.CharField(
        required=False,
        max_length=10,
        label="Candidates for topics from",
        help_text="Empty: after the end of the collection.",
    )
    topics_last = forms.CharField(required=False, max_length=10, label="Candidates for topics until")
    duplicates = forms.ChoiceField(
        choices=list(DUPLICATES.items()), label="Documents that repeat an earlier one", initial="keep"
    )
    has_formulas = forms.BooleanField(
        required=False, initial=True, label="Look for formulas", help_text="Otherwise a dollar is a dollar."
    )
    converter = forms.ChoiceField(
        choices=list(CONVERTERS.items()), required=False, label="Conversion of formulas to MathML"
    )
    has_pages = forms.BooleanField(required=False, initial=True, label="Write an HTML page for each thread")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.offered = selectors.offered_paths()
        if selectors.import_dir() is None or not selectors.is_folder_here():
            del self.fields["path"]
            self.fields["upload"].required = True
        else:
            for name in ("upload", "path"):
                self.fields[name].is_one_of_several = True  # type: ignore[attr-defined]

    def clean_path(self) -> str:
        name: str = self.cleaned_data["path"]
        if name and selectors.offered_path(name) is None:
            raise ValidationError("There is no such file or folder in the import folder of the server.")
        return name

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if bool(data.get("upload")) == bool(data.get("path")) and not self.errors:
            self.add_error("upload", "Choose files to upload or a path on the server, not both.")
        names = [file.name for file in data.get("upload") or ()]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            self.add_error("upload", f"Two files are named {twice[0]}; choose one of them.")
        if data.get("converter") and not data.get("has_formulas"):
            self.add_error("converter", "Without formulas there is nothing to convert.")
        if not self.errors:
            self._read_dates(data)
        return data

    def _read_dates(self, data: dict[str, Any]) -> None:
        try:
            self.periods = periods(*(data[name] for name in NAMES.values()))
        except InputError as error:
            field = next((name for option, name in NAMES.items() if f"{option}:" in str(error)), "last")
            words = str(error)
            for option, name in sorted(NAMES.items(), reverse=True):
                words = words.replace(option, f"“{self.fields[name].label}”")
            self.add_error(field, f"{words[:1].upper()}{words[1:]}.".replace("..", "."))

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `services.request`, except the user."""
        data = self.cleaned_data
        collection, topics = self.periods
        settings = Settings(
            collection=collection,
            topics=topics,
            has_formulas=data["has_formulas"],
            has_pages=data["has_pages"],
            duplicates=next(each for each in get_args(Duplicates) if each == data["duplicates"]),
            overlap=OVERLAP,
        )
        new = {key: data[key] for key in ("slug", "name", "license")} | {"hosts": data["hosts"].split()}
        return {
            "new": new,
            "settings": settings,
            "converter": data["converter"],
            "uploads": data["upload"],
            "path": data.get("path", ""),
        }
