"""The forms that build a collection, and build it again with other options."""

from typing import Any, get_args

from django import forms
from django.core.exceptions import ValidationError

from assay.errors import InputError
from assay_extensions.building.leaks import decisions
from assay_extensions.building.settings import OVERLAP, Duplicates, NotBuilt, Settings, periods
from corpus.imports.forms import SourceForm
from corpus.models import Build
from web.forms import StyledForm

ACCEPTED = ".xml,.jsonl,.json,.tsv,.csv,.txt,.html,.xhtml,.gz,.xz,.bz2,.zip,.7z"
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


class OptionsForm(StyledForm):
    """The dates at which a source is cut, and what is made of it."""

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
    overlap = forms.FloatField(
        required=False,
        min_value=0.01,
        max_value=1,
        initial=OVERLAP,
        label="Overlap of near-duplicates",
        help_text="The part of their sequences of three words that two near-duplicates share.",
    )
    has_formulas = forms.BooleanField(
        required=False, initial=True, label="Look for formulas", help_text="Otherwise a dollar is a dollar."
    )
    converter = forms.ChoiceField(
        choices=list(CONVERTERS.items()), required=False, label="Conversion of formulas to MathML"
    )
    has_pages = forms.BooleanField(required=False, initial=True, label="Write an HTML page for each thread")
    removed = forms.CharField(
        required=False,
        max_length=1_000_000,
        label="Posts to leave out",
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text="One id per line, or lines of a report of leaks with their header. A question goes with its thread.",
    )

    def clean_overlap(self) -> float:
        overlap: float | None = self.cleaned_data["overlap"]
        return OVERLAP if overlap is None else overlap

    def clean_removed(self) -> list[str]:
        text = self.cleaned_data["removed"]
        if not text.strip():
            return []
        try:
            lines = decisions(text, "The list")
        except NotBuilt as refusal:
            raise ValidationError(refusal.message) from refusal
        if line := next((line for line, docno in lines if not docno), None):
            raise ValidationError(f"Line {line} names no post.")
        return [docno for _, docno in lines]

    def clean(self) -> dict[str, Any]:
        super().clean()
        data = self.cleaned_data
        if data.get("converter") and not data.get("has_formulas"):
            self.add_error("converter", "Without formulas there is nothing to convert.")
        if not self.errors:
            try:
                self.periods = periods(*(data[name] for name in NAMES.values()))
            except InputError as error:
                field = next((name for option, name in NAMES.items() if f"{option}:" in str(error)), "last")
                words = str(error)
                for option, name in sorted(NAMES.items(), reverse=True):
                    words = words.replace(option, f"“{self.fields[name].label}”")
                self.add_error(field, f"{words[:1].upper()}{words[1:]}.".replace("..", "."))
        return data

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `services.change`, except the build and the user."""
        data = self.cleaned_data
        collection, topics = self.periods
        settings = Settings(
            collection=collection,
            topics=topics,
            has_formulas=data["has_formulas"],
            has_pages=data["has_pages"],
            duplicates=next(choice for choice in get_args(Duplicates) if choice == data["duplicates"]),
            overlap=data["overlap"],
        )
        return {"settings": settings, "converter": data["converter"], "removed": data["removed"]}


def options_of(build: Build) -> dict[str, Any]:
    """The initial values of `OptionsForm` for a build."""
    settings = Settings.of(build.settings)
    collection, topics = settings.collection, settings.topics
    return {
        "first": collection.start,
        "last": collection.last,
        "topics_first": topics.start if topics and topics.start != collection.before else "",
        "topics_last": topics.last if topics else "",
        "duplicates": settings.duplicates,
        "overlap": settings.overlap,
        "has_formulas": settings.has_formulas,
        "has_pages": settings.has_pages,
        "converter": build.converter,
        "removed": "\n".join(build.removed),
    }


class BuildForm(OptionsForm, SourceForm):
    """A source, the dates at which it is cut, and what is made of it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        upload = self.fields["upload"]
        upload.widget.attrs["accept"] = ACCEPTED
        upload.help_text = (
            "The files of a dump, one zip or 7z archive of them, or documents as for an import."
        )

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        names = [file.name for file in data.get("upload") or ()]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            self.add_error("upload", f"Two files are named {twice[0]}; choose one of them.")
        return data

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `services.request`, except the user."""
        return self.source | self.options
