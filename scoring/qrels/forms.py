"""Forms that freeze, import and export qrels."""

from typing import Any, cast

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict

from assay.formats.compression import Limits, Unreadable, text_of
from assay.formats.qrels.exports import forms_of
from assay.formats.qrels.reader import (
    GradeScale,
    QrelsColumns,
    QrelsError,
    QrelsForm,
    parse_qrels,
)
from assay.formats.text import decoded, first_messages
from pooling.models import Pool
from scoring.models import Qrels
from tracks.models import Machine, Track
from web.forms import StyledForm, bytes_of
from web.pages import counted

MAX_MB = 16  # a million lines; reading them takes about half a gigabyte of memory
MAX_BYTES = MAX_MB << 20
MAX_TEXT = 4 * MAX_BYTES  # decompressed
MAX_ERRORS = 20


def _name() -> forms.CharField:
    return forms.CharField(
        max_length=100, required=False, help_text="A few words that describe this version."
    )


class FreezeForm(StyledForm):
    """The pool whose judgments become qrels, and the kinds of judgments that count.

    A button of the preview gives `without`: a grade, or "score", and the topics without it, which are left out for that
    reason; or nothing, to update the preview.
    """

    pool = forms.ModelChoiceField(queryset=Pool.objects.none(), empty_label=None)
    machine = forms.ModelChoiceField(
        queryset=Machine.objects.none(),
        required=False,
        empty_label="People",
        label="Judgments of",
        help_text="People, or one machine. The two never mix.",
    )
    name = _name()
    also = forms.MultipleChoiceField(
        required=False,
        label="Count also",
        choices=[("dual", "second judgments"), ("training", "training judgments")],
        widget=forms.CheckboxSelectMultiple,
        help_text="Of units without other judgments. Usually none: second judgments measure agreement, and in training "
        "assessors were still learning.",
    )
    left_out = forms.CharField(
        required=False,
        label="Topics to leave out",
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="One on a line, with the reason: <code>A.12 can be read in two ways</code>. The judgments stay. "
        "Everybody who sees the version reads the reason.",
    )

    def __init__(self, data: QueryDict, *, track: Track) -> None:
        self.pools = Pool.objects.filter(track=track, status=Pool.Status.READY).defer("statistics", "recount")
        newest = self.pools.order_by("-pk").values_list("pk", flat=True).first()
        values: dict[str, Any] = {
            "pool": newest,
            **{name: data[name] for name in data},
            "also": data.getlist("also"),
        }
        level, *topics = data.get("without", "").split() or [""]
        reason = (
            "its rubric has no positive weight" if level == "score" else f"no unit of grade {level} or higher"
        )
        lines = [f"{topic} {reason}" for topic in topics]
        values["left_out"] = "\n".join(filter(None, [values.get("left_out", "").strip(), *lines]))
        super().__init__(values)
        self.fields["left_out"].widget.attrs["rows"] = min(max(2, values["left_out"].count("\n") + 1), 12)
        cast(forms.ModelChoiceField[Pool], self.fields["pool"]).queryset = self.pools
        machines = Machine.objects.filter(assessor__track=track)
        cast(forms.ModelChoiceField[Machine], self.fields["machine"]).queryset = machines
        if not machines.exists():
            del self.fields["machine"]

    def clean_left_out(self) -> dict[str, str]:
        """The reason of each topic."""
        lines = [line.strip() for line in self.cleaned_data["left_out"].splitlines() if line.strip()]
        reasons = dict(line.partition(" ")[::2] for line in lines)
        if len(reasons) < len(lines):
            raise forms.ValidationError("A topic is there twice.")
        return {topic.removesuffix(":"): reason.strip() for topic, reason in reasons.items()}

    @property
    def previewed(self) -> dict[str, Any] | None:
        """The arguments of `frozen.grade_pool`; None if a field is wrong."""
        if self.errors.keys() - {NON_FIELD_ERRORS}:
            return None
        data = self.cleaned_data
        machine, left_out = data.get("machine"), data["left_out"]
        return {"pool": data["pool"], "also": data["also"], "machine": machine, "left_out": left_out}

    @property
    def chosen(self) -> dict[str, Any]:
        """The arguments of `services.freeze_judgments`, but for the person and the digest."""
        return {**(self.previewed or {}), "name": self.cleaned_data["name"]}


class SupersedeForm(StyledForm):
    """The earlier version that a version corrects, and why."""

    old = forms.ModelChoiceField(
        queryset=Qrels.objects.none(), empty_label=None, label="Version that it corrects"
    )
    reason = forms.CharField(
        max_length=2_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Everybody who sees one of the versions reads it.",
    )

    def __init__(self, *args: Any, qrels: Qrels, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        earlier = Qrels.objects.filter(
            track=qrels.track_id, version__lt=qrels.version, machine=qrels.machine_id
        )
        cast(forms.ModelChoiceField[Qrels], self.fields["old"]).queryset = earlier


class ExportForm(StyledForm):
    """The format of an export, and whether it is split by topic."""

    to = forms.ChoiceField(label="Format")
    test_share = forms.FloatField(
        required=False,
        min_value=0.01,
        max_value=0.99,
        label="Share of test topics",
        help_text="For example 0.3, for a training part and a test part. Leave empty for one file.",
        widget=forms.NumberInput(attrs={"step": "0.01"}),
    )
    seed = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text="Test topics are chosen at random with this seed. Default: 1.",
    )

    def __init__(self, *args: Any, qrels: Qrels, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        forms_of_kind = forms_of(qrels.protocol.parsed, qrels.set_key)
        choices = [(name, f"{name}: {form.words}") for name, form in forms_of_kind.items()]
        cast(forms.ChoiceField, self.fields["to"]).choices = choices


class ImportForm(StyledForm):
    """A qrels file. Every error is shown with its line number."""

    file = forms.FileField(
        help_text=f"Topic, 0, docno, grade; or TSV or CSV with a header. Plain or compressed; at most "
        f"{MAX_MB} MB."
    )
    name = _name()

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.grades = GradeScale.of(track.protocol.parsed)
        self.form = QrelsForm.of(track.protocol.parsed)
        if self.form.kind != "grades":
            self.fields["file"].help_text = f"Columns: {self.form.title}. At most {MAX_MB} MB."
        elif track.protocol.parsed.qrels.columns is not None:
            self.fields["file"].help_text = f"Columns: {self.form.title}. Or: {self.fields['file'].help_text}"

    def clean_file(self) -> "UploadedFile[Any]":
        """Read the file into `columns`."""
        upload: UploadedFile[Any] = self.cleaned_data["file"]
        if (upload.size or 0) > MAX_BYTES:
            raise forms.ValidationError(
                f"The file has {(upload.size or 0) >> 20} MB; at most {MAX_MB} MB are accepted."
            )
        try:
            content = text_of(bytes_of(upload), limits=Limits(max_text=MAX_TEXT))
            content, self.notes = decoded(content)
            self.columns: QrelsColumns = parse_qrels(content, grades=self.grades, form=self.form)
        except Unreadable as error:
            raise forms.ValidationError(str(error)) from None
        except QrelsError as error:
            self.complaints, self.n_complaints = error.complaints, error.n_complaints
            lines, n_more = first_messages(error.complaints, error.n_complaints, MAX_ERRORS)
            lines += [f"and {counted(n_more, 'more error')}"] if n_more else []
            raise forms.ValidationError([*lines, error.advice] if error.advice else lines) from None
        return upload

    @property
    def contents(self) -> dict[str, Any]:
        """Return what `services.import_file` needs of the form."""
        name = self.cleaned_data["file"].name or ""
        own = {"file_name": name, "name": self.cleaned_data["name"]}
        return own | {"columns": self.columns, "notes": self.notes}
