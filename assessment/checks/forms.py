"""The forms of hidden checks: their settings in a batch, and the units with known grades."""

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from assay.formats.compression import Limits, Unreadable, text_of
from assay.formats.judgments.cells import choice_of
from assay.formats.judgments.reader import JudgmentsError, parse_judgments
from assay.formats.qrels.columns import Row
from assay.formats.qrels.reader import (
    Complaint,
    GradeScale,
    QrelsColumns,
    QrelsError,
    columns_from,
    parse_qrels,
)
from assay.formats.text import decoded, first_messages
from assay.formats.topics.subtopics import labels_of
from assay.protocols.questions import Answers, WrongAnswer, check_answers, questions_for
from assay.protocols.schema import Grade
from assessment.checks.selectors import unknown_units
from assessment.models import Batch
from assessment.models.batches import MOST_CHECKS
from tracks.models import Track
from web.forms import StyledForm, bytes_of
from web.pages import counted

MAX_MB = 1
MAX_TEXT = 16 << 20  # bytes, decompressed
MAX_ERRORS = 20
MAX_HEADER = 1 << 12  # bytes in which a header is looked for
MOST_AFTER = 10_000
COLUMN_ENDS = bytes.maketrans(b"\t,;", b"   ")


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
    """A small file of known grades: qrels, or judgments with answers. Every error is shown with its line number."""

    file = forms.FileField(
        help_text="Topic, 0, docno, grade; or TSV or CSV with a header; or an export of judgments, whose answers to "
        f"questions are known too. UTF-8, at most {MAX_MB} MB."
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
        self.answers: dict[tuple[str, str], Answers] = {}
        try:
            content = decoded(text_of(bytes_of(upload), limits=Limits(max_text=MAX_TEXT))).data
            self.columns = self._read(content, upload.name or "file")
        except (QrelsError, JudgmentsError) as error:
            self.complaints, self.n_complaints = error.complaints, error.n_complaints
            raise forms.ValidationError(_lines(error.complaints, error.n_complaints)) from None
        except Unreadable as error:
            raise forms.ValidationError(str(error)) from None
        # Complaints about units, each with the first line that names it
        lines = [line.translate(COLUMN_ENDS).split() for line in content.splitlines()]
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

    def _read(self, content: bytes, name: str) -> QrelsColumns:
        """The grades of a file of qrels or judgments; `answers` gets the answers of judgments.

        Raises:
            QrelsError, JudgmentsError: The file has errors.
        """
        protocol, rules = self.track.protocol.parsed, self.track.protocol.parsed.judging
        if b"assessor" not in content[:MAX_HEADER].split(b"\n", 1)[0]:
            return parse_qrels(content, grades=GradeScale.of(protocol))
        known: list[Row] = []
        complaints: list[Complaint] = []
        subtopics = {topic.code: labels_of(topic.subtopics) for topic in self.track.topics.all()}
        for row in parse_judgments(content, name).rows:
            unit = row.topic, row.docno
            try:
                choice = choice_of(row, rules)
                questions = questions_for(rules, subtopics=subtopics.get(row.topic))
                given = check_answers(
                    rules, questions, choice=choice.key, answers=row.answers, needs_all=False
                )
            except (ValueError, WrongAnswer) as error:
                complaints.append(Complaint(row.line, str(error)))
                continue
            if row.is_current and unit in self.answers:
                complaints.append(Complaint(row.line, f"{row.docno} has two judgments; keep one"))
            elif row.is_current and isinstance(choice, Grade):
                known.append((row.topic.encode(), row.docno.encode(), choice.value))
                self.answers[unit] = given
        if complaints:
            raise JudgmentsError(name, complaints)
        return columns_from(known)


def _lines(complaints: Any, n: int) -> list[str]:
    shown, n_more = first_messages(complaints, n, MAX_ERRORS)
    return [*shown, f"and {counted(n_more, 'more error')}"] if n_more else shown
