"""The forms that start an import of judgments, and say what words of the file mean."""

from collections.abc import Mapping
from typing import Any, cast

from django import forms

from assay.formats.judgments.reader import MAPPED
from assessment.imports.selectors import pools_for_import
from assessment.models import Batch, JudgmentImport
from pooling.models import Pool
from tracks.models import Track
from web.forms import StyledForm
from web.pages import counted

MAX_MB = 256
OF_BATTLES = (
    " Battles can be a table with columns topic, model_a, model_b and winner, or RAGDoll's judgments.jsonl."
)
OF_RUBRICS = (
    " Verdicts can also be graded rubrics: JSON lines of RAGDoll with the keys qid, answer_text and criteria."
)
MOST_WORDS = 200  # assessors or answers that the form offers


class PlaceForm(StyledForm):
    """The pool and the batch of judgments for which the file names none."""

    pool = forms.ModelChoiceField(
        queryset=Pool.objects.none(),
        required=False,
        empty_label="as the file says",
        help_text="The units of the judgments are in this pool. Assay's own export names the pool of each judgment.",
    )
    batch = forms.CharField(
        max_length=100,
        initial="Imported",
        label="Name of the batch",
        help_text="For judgments of which the file names no batch. A batch of that name gets them, or a new one.",
    )
    kind = forms.ChoiceField(
        choices=Batch.Kind.choices,
        initial=Batch.Kind.MAIN,
        label="Kind of the batch",
        help_text="In a main batch, a unit gets no more judges than the batch asks for; a new one asks for as many as "
        "the protocol.",
    )

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast("forms.ModelChoiceField[Pool]", self.fields["pool"]).queryset = pools_for_import(track)


class StartForm(PlaceForm):
    """A file of judgments, and the batch that they become."""

    upload = forms.FileField(
        label="File",
        help_text="Turkle's results, Assay's export (CSV or lines of JSON), or any CSV with the columns topic, docno, "
        "assessor, and grade or choice. It may be compressed with gz, xz, bz2 or zip.",
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.jsonl,.json,.tsv,.txt,.gz,.xz,.bz2,.zip"}),
    )
    field_order = ["upload"]

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        super().__init__(*args, track=track, **kwargs)
        judged = track.protocol.parsed.judged
        if judged.has_votes and judged.is_blind:
            self.fields["upload"].help_text += OF_BATTLES
        elif judged.has_weights:
            self.fields["upload"].help_text += OF_RUBRICS

    def clean_upload(self) -> Any:
        upload = self.cleaned_data["upload"]
        if upload.size > MAX_MB << 20:
            raise forms.ValidationError(
                f"The file has {upload.size >> 20} MB; at most {MAX_MB} MB are accepted. Compress it with gz."
            )
        return upload


class WordsForm(StyledForm):
    """A form with a field for each word of an upload: what it means here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.words: dict[str, tuple[str, str]] = {}  # of each field: kind and word
        self.matched: set[str] = set()  # fields whose word has its meaning already

    def add(self, kind: str, word: str, meaning: forms.Field, *, is_matched: bool = False) -> None:
        """Ask for the meaning of a word of a kind."""
        name = f"{kind}-{len(self.words)}"
        self.words[name], self.fields[name] = (kind, word), meaning
        self.matched |= {name} if is_matched else set()

    @property
    def asked_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in self.matched or field.errors]

    @property
    def matched_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name in self.matched and not field.errors]

    @property
    def mapping(self) -> dict[str, dict[str, str]]:
        """The chosen meanings by kind and word."""
        chosen: dict[str, dict[str, str]] = {}
        for name, (kind, word) in self.words.items():
            if meaning := self.cleaned_data[name]:
                chosen.setdefault(kind, {})[word] = meaning
        return chosen


class MappingForm(WordsForm, PlaceForm):
    """The meanings of the columns, assessors and answers of a checked file in the track."""

    def __init__(self, *args: Any, source: JudgmentImport, **kwargs: Any) -> None:
        super().__init__(*args, track=source.track, **kwargs)
        self.initial.update(pool=source.pool_id, batch=source.batch, kind=source.kind)
        if source.report.get("form") in {"", "turkle"}:
            header: list[str] = source.report.get("header", [])
            given = {**source.report.get("columns", {}), **source.mapping.get("columns", {})}
            for of_field in MAPPED if header else ():
                choices = [("", "none"), *((column, column) for column in header)]
                self._add("columns", of_field, f"Column of the {of_field}", choices, given.get(of_field, ""))
        names = source.track.assessors.order_by("user__username").values_list("user__username", flat=True)
        choices = [("", "choose an assessor"), *((name, name) for name in names)]
        for name, here, n in source.report.get("assessors", [])[:MOST_WORDS]:
            self._add("assessors", name, f"Assessor {name} ({counted(n, 'judgment')})", choices, here)
        known = source.track.protocol.parsed.judging.choices
        choices = [
            ("", "choose a grade or another choice"),
            *((choice.key, choice.label) for choice in known),
        ]
        meanings: Mapping[str, str] = source.mapping.get("answers", {})
        for answer in source.report.get("answers", [])[:MOST_WORDS]:
            self._add("answers", answer, f"Answer “{answer}”", choices, meanings.get(answer, ""))

    def _add(self, kind: str, word: str, label: str, choices: list[tuple[str, str]], initial: str) -> None:
        meaning = forms.ChoiceField(choices=choices, required=False, label=label, initial=initial)
        meaning.is_one_of_several = True  # type: ignore[attr-defined]  # not marked as optional
        self.add(kind, word, meaning, is_matched=kind == "assessors" and bool(initial))
