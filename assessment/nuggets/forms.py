"""The forms of nuggets: one, a merge, an import, and where the segments next to a list come from."""

from typing import Any, cast

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy

from assay.formats.qrels.columns import MAX_WEIGHT
from assay.nuggets.formats import FORMS
from assessment.nuggets.services import MAX_KIND, MAX_TEXT
from pooling.models import Nugget
from tracks.models import Track
from web.forms import StyledForm

MAX_MB = 20


class SourcesField(forms.CharField):
    """Docnos: several fields of the name, or one with docnos that are separated by spaces or commas."""

    class Widget(forms.TextInput):
        def value_from_datadict(self, data: Any, files: Any, name: str) -> str:
            values = data.getlist(name) if hasattr(data, "getlist") else [data.get(name) or ""]
            return " ".join(values)

    def __init__(self) -> None:
        help_text = gettext_lazy("Docnos, separated by spaces. A segment that you tick is added.")
        super().__init__(
            label=gettext_lazy("Sources"),
            required=False,
            max_length=10_000,
            widget=self.Widget(),
            help_text=help_text,
        )

    def clean(self, value: object) -> Any:
        docnos = str(super().clean(value)).replace(",", " ").split()
        return list(dict.fromkeys(docnos))


class CriterionForm(StyledForm):
    """The fields of a criterion besides those of a nugget. All may be left out."""

    weight = forms.FloatField(
        required=False,
        min_value=-MAX_WEIGHT,
        max_value=MAX_WEIGHT,
        label=gettext_lazy("Weight"),
        help_text=gettext_lazy("Negative for what an answer must avoid."),
    )
    kind = forms.CharField(required=False, max_length=MAX_KIND, label=gettext_lazy("Type"))
    made_from = forms.CharField(required=False, max_length=MAX_TEXT, label=gettext_lazy("Source nugget"))


class NuggetForm(CriterionForm):
    """A nugget: what it says, how important it is, and which segments state it."""

    text = forms.CharField(
        max_length=MAX_TEXT,
        label=gettext_lazy("Nugget"),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    importance = forms.ChoiceField(
        choices=Nugget.Importance.choices,
        label=gettext_lazy("Importance"),
        help_text=gettext_lazy("Vital: a good answer must state it."),
    )
    sources = SourcesField()


class ChangeForm(NuggetForm):
    """A nugget of the list, by its id. `shown` is the key that the page showed."""

    nugget = forms.IntegerField()
    shown = forms.CharField(max_length=64)


class MergeForm(CriterionForm):
    """The text of the nugget that replaces several others, by their ids."""

    ids = forms.TypedMultipleChoiceField(coerce=int)
    text = forms.CharField(max_length=MAX_TEXT, label=gettext_lazy("Merged nugget"))
    importance = forms.ChoiceField(choices=Nugget.Importance.choices, label=gettext_lazy("Importance"))

    def __init__(self, *args: Any, nuggets: QuerySet[Nugget], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered = cast(forms.TypedMultipleChoiceField, self.fields["ids"])
        offered.choices = [(str(nugget.pk), nugget.text) for nugget in nuggets]


class ImportForm(StyledForm):
    file = forms.FileField(
        help_text=f"JSON lines: {', '.join(form.title for form in FORMS.values())}. UTF-8, at most {MAX_MB} MB."
    )

    def clean_file(self) -> "UploadedFile[Any]":
        upload: UploadedFile[Any] = self.cleaned_data["file"]
        if (upload.size or 0) > MAX_MB << 20:
            size = (upload.size or 0) / (1 << 20)
            raise forms.ValidationError(f"The file has {size:.1f} MB; at most {MAX_MB} MB is accepted.")
        return upload


class SegmentsForm(StyledForm):
    """The track whose relevant documents are next to the lists."""

    judged_in = forms.ModelChoiceField(
        queryset=Track.objects.none(), to_field_name="slug", label="Track that judged relevance"
    )
    from_grade = forms.IntegerField(min_value=0, max_value=999, label="Relevant from grade")

    def __init__(self, *args: Any, tracks: QuerySet[Track], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast(forms.ModelChoiceField[Track], self.fields["judged_in"]).queryset = tracks
