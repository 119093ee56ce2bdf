"""A row of a table on the judging page: a page made of its values and the questions about it, or a frame."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from django.urls import reverse
from django.utils.translation import gettext_noop

from assay.html.sanitize import plain
from assay.protocols.schema import FormRules, JudgingRules
from assessment.judging.keys import Keys
from assessment.judging.layouts.documents import Layout
from assessment.judgments.answers import ShownQuestion
from assessment.models import Task
from tracks.rows.selectors import ShownPart, parts_of, values_of

PREVIEW_FRAME = "frame/"  # relative to the address of a preview


@dataclass(frozen=True, kw_only=True)
class Row(Layout):
    """A row; `values` if they are not those of the entry. It has the parts of its page, or the address of its frame."""

    template = "assessment/judging/row.html"
    scripts = ("tracks/form_frame.js",)
    grade_can_submit = False

    noun: str = gettext_noop("Row")
    form: FormRules
    values: Mapping[str, str] | None = None
    parts: Sequence[ShownPart] = ()
    frame: str = ""

    @classmethod
    def of(cls, task: Task, rules: JudgingRules) -> Layout:
        return Layout.of(task, rules) if rules.form is None else cls(task=task, rules=rules, form=rules.form)

    @classmethod
    def sample(cls, task: Task, rules: JudgingRules) -> Layout:
        row = cls.of(task, rules)
        return replace(row, values=sample_values(row.form)) if isinstance(row, Row) else row

    @property
    def given(self) -> Mapping[str, str]:
        entry = self.task.entry
        return values_of(entry.topic, entry.docno) if self.values is None else self.values

    def with_answers(
        self, keys: Keys, entered: Mapping[str, object], questions: Sequence[ShownQuestion]
    ) -> Self:
        if self.form.frame:
            task = self.task.pk
            return replace(
                self, frame=reverse("assessment:task_frame", args=[task]) if task else PREVIEW_FRAME
            )
        shown = {question.question.key: question for question in questions}
        marked = {question.question.field for question in questions if question.question.kind == "span"}
        return replace(self, parts=parts_of(self.form, self.given, shown, marked))

    def as_unit(self, *, is_html: bool) -> dict[str, object]:
        row, unit = self.given, super().as_unit(is_html=is_html)
        if not self.form.frame:
            text = "".join(part.html for part in parts_of(self.form, row))
            unit["text"] = text if is_html else plain(text)
        return unit | {"row": row}


def sample_values(form: FormRules) -> dict[str, str]:
    """The values of a row: each is the name of its column."""
    return {**{name: f"value of {name}" for name in form.fields}, "topic": "1", "docno": "sample-1"}
