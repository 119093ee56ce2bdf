"""The forms of the scoring room: freezing and importing."""

from typing import Any, cast

from django import forms
from django.core.files.uploadedfile import UploadedFile

from assay.formats.qrels.exports import FORMS
from assay.formats.qrels.reader import QrelsColumns, QrelsError, parse_qrels
from pooling.models import Pool
from tracks.models import Track
from web.forms import style_fields

MAX_MB = 16  # a million lines, which take about half a gigabyte while they are read
MAX_BYTES = MAX_MB << 20
COMPLAINTS_SHOWN = 20


def _name() -> forms.CharField:
    return forms.CharField(max_length=100, required=False, help_text="What this version is, in a few words.")


class FreezeForm(forms.Form):
    """Which pool's judgments become qrels, and whether others than main ones and adjudications count."""

    pool = forms.ModelChoiceField(queryset=Pool.objects.none(), empty_label=None)
    name = _name()
    dual = forms.BooleanField(
        required=False,
        label="Count dual judgments where nobody else has judged",
        help_text="Usually not: they are there to measure agreement.",
    )
    training = forms.BooleanField(
        required=False,
        label="Count training judgments where nobody else has judged",
        help_text="Usually not: assessors were still learning.",
    )

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.pools = Pool.objects.filter(track=track, status=Pool.Status.READY)
        cast(forms.ModelChoiceField[Pool], self.fields["pool"]).queryset = self.pools
        style_fields(self)

    @property
    def also(self) -> list[str]:
        """Kinds of batch that count besides main and adjudication."""
        return [kind for kind in ("dual", "training") if self.cleaned_data[kind]]


class ExportForm(forms.Form):
    """In which form a version is handed on, and whether it is split by topic."""

    to = forms.ChoiceField(
        choices=[(name, f"{name}: {form.words}") for name, form in FORMS.items()], label="Form"
    )
    test_share = forms.FloatField(
        required=False,
        min_value=0.01,
        max_value=0.99,
        label="Share of test topics",
        help_text="Such as 0.3, for a train and a test part; empty: one file.",
        widget=forms.NumberInput(attrs={"step": "0.01"}),
    )
    seed = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text="By which test topics are drawn; 1 if left empty.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)


class ImportForm(forms.Form):
    """An official qrels file. Every complaint is shown with its line."""

    file = forms.FileField(
        help_text=f"Topic, 0, docno, grade; or TSV or CSV under a header. UTF-8, at most {MAX_MB} MB."
    )
    name = _name()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)

    def clean_file(self) -> "UploadedFile[Any]":
        """Read the file; what it holds is in `columns`."""
        upload: UploadedFile[Any] = self.cleaned_data["file"]
        if (upload.size or 0) > MAX_BYTES:
            raise forms.ValidationError(
                f"The file has {(upload.size or 0) >> 20} MB; at most {MAX_MB} MB are accepted."
            )
        try:
            self.columns: QrelsColumns = parse_qrels(upload.read())
        except QrelsError as error:
            said = [str(complaint) for complaint in error.complaints[:COMPLAINTS_SHOWN]]
            more = error.n_complaints - len(said)
            raise forms.ValidationError([*said, f"and {more:,} more complaints"] if more else said) from None
        return upload
