"""The forms of hidden checks: their settings in a batch, and the units with known grades."""

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from assay.formats.qrels.reader import Complaint, GradeScale, QrelsColumns, QrelsError, parse_qrels
from assessment.checks.selectors import unknown_units
from assessment.models import Batch
from assessment.models.batches import MOST_CHECKS
from tracks.models import Track
from web.forms import StyledForm

MAX_MB = 1
MAX_ERRORS = 20
MOST_AFTER = 10_000


class ChecksForm(StyledForm):
    """The number of checks that are mixed into the tasks of each assessor."""

    gold_percent = forms.IntegerField(
        min_value=0,
        max_value=MOST_CHECKS,
        label="Units with known grades, in percent",
        help_text="Hidden tasks for every 100 units of an assessor. 0: none.",
    )
    repeat_percent = forms.IntegerField(
        min_value=0,
        max_value=MOST_CHECKS,
        label="Repeats of own units, in percent",
        help_text="Hidden tasks for every 100 units of an assessor. 0: none.",
    )
    repeat_after = forms.IntegerField(
        min_value=1,
        max_value=MOST_AFTER,
        label="Units between a judgment and its repeat",
        help_text="At least this many; the exact number is random.",
    )

    def __init__(self, *args: Any, batch: Batch, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial = {name: getattr(batch, name) for name in self.fields}


class GoldForm(StyledForm):
    """A small qrels file of known grades. Every error is shown with its line number."""

    file = forms.FileField(
        help_text=f"Topic, 0, docno, grade; or TSV or CSV with a header. UTF-8, at most {MAX_MB} MB."
    )

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.track = track

    def clean_file(self) -> "UploadedFile[Any]":
        """Read the file into `columns`."""
        upload: UploadedFile[Any] = self.cleaned_data["file"]
        if (upload.size or 0) > MAX_MB << 20:
            raise forms.ValidationError(
                f"The file has {(upload.size or 0) / (1 << 20):.1f} MB; at most {MAX_MB} MB is accepted."
            )
        content = upload.read()
        try:
            self.columns: QrelsColumns = parse_qrels(
                content, grades=GradeScale.of(self.track.protocol.parsed)
            )
        except QrelsError as error:
            self.complaints, self.n_complaints = error.complaints, error.n_complaints
            raise forms.ValidationError(_lines(error.complaints, error.n_complaints)) from None
        # Complaints about units, each with the first line that names it
        lines = [line.replace(b"\t", b" ").replace(b",", b" ").split() for line in content.splitlines()]
        complaints = []
        for code, docno, message in unknown_units(self.track, self.columns):
            number = next(
                (n for n, words in enumerate(lines, 1) if code.encode() in words and docno.encode() in words),
                0,
            )
            complaints.append(Complaint(number, message))
        complaints = sorted(complaints)
        if complaints:
            self.complaints, self.n_complaints = complaints, len(complaints)
            raise forms.ValidationError(_lines(complaints, len(complaints)))
        return upload


def _lines(complaints: Any, n: int) -> list[str]:
    shown = [str(complaint) for complaint in complaints[:MAX_ERRORS]]
    return [*shown, f"and {n - len(shown):,} more errors"] if n > len(shown) else shown
