"""Choices of what a table of a paper contains."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django import forms

from assay.formats.runs.rows import MAX_TOPIC
from assay.protocols.description import label_title
from assay.protocols.schema import RunQuestion
from assay.statistics.leaderboard import STRONGEST
from tracks.models import Track
from web.forms import StyledForm

DIGITS = ["4", "3", "2"]


class PaperForm(StyledForm):
    """The measures and the decimals of tables, and which tracks they have."""

    measure = forms.MultipleChoiceField(required=False, label="Measures", widget=forms.CheckboxSelectMultiple)
    digits = forms.ChoiceField(required=False, label="Decimals", choices=[(n, n) for n in DIGITS])

    def _choices(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = cast(forms.MultipleChoiceField, self.fields[name])
        field.choices = choices
        if not choices:
            field.widget = forms.MultipleHiddenInput()

    def asked(self, name: str) -> Any:
        """A choice that is valid; None if there is none."""
        return self.cleaned_data.get(name) if self.is_bound else None

    @property
    def n_digits(self) -> int:
        return int(self.asked("digits") or DIGITS[0])


class TablesForm(PaperForm):
    """The tracks next to a track, the measures, the answers about runs and the decimals of its tables."""

    other = forms.MultipleChoiceField(
        required=False, label="Other tracks, left of this one", widget=forms.CheckboxSelectMultiple
    )

    question = forms.MultipleChoiceField(
        required=False,
        label="Answers about runs",
        help_text="Columns of the results. None chosen: the answers to all public questions.",
        widget=forms.CheckboxSelectMultiple,
    )

    baselines = forms.ChoiceField(
        required=False,
        label="Compare the best run with",
        choices=[(key, f"the {words}") for key, words in STRONGEST.items()],
    )

    field_order = ("other", "measure", "question", "baselines", "digits")

    def __init__(
        self,
        data: Mapping[str, object],
        *,
        others: Sequence[Track],
        measures: Sequence[str],
        questions: Mapping[str, RunQuestion],
    ) -> None:
        super().__init__(data)
        self._choices("question", [(key, asked.label) for key, asked in questions.items()])
        self._choices("other", [(track.slug, track.name) for track in others])
        self._choices("measure", [(measure, measure) for measure in measures])


class ComparisonForm(PaperForm):
    """The tracks that are compared, and the label by which their topics are divided."""

    track = forms.MultipleChoiceField(label="Tracks", widget=forms.CheckboxSelectMultiple)
    label = forms.ChoiceField(required=False, label="Classes of topics by")

    level = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=10**7,  # as the option of the command
        label="Relevant from grade",
        help_text="Lowest grade that the numbers of units count as relevant. Empty: that of each protocol.",
    )

    topic = forms.CharField(
        required=False,
        max_length=MAX_TOPIC,
        label="Examples of topic",
        help_text="Code of the topic whose units are examples of the grades. Empty: one with comments on most grades.",
    )

    field_order = ("track", "label", "level", "topic", "measure", "digits")

    def __init__(
        self,
        data: Mapping[str, object] | None,
        *,
        tracks: Sequence[Track],
        labels: Sequence[str],
        measures: Sequence[str],
    ) -> None:
        super().__init__(data)
        self._choices("track", [(track.slug, track.name) for track in tracks])
        self._choices("measure", [(measure, measure) for measure in measures])
        cast(forms.ChoiceField, self.fields["label"]).choices = [
            ("", "complexity, or else the most common label"),
            *((label, label_title(label)) for label in labels),
        ]
