"""The forms of the deadlines of a track, with a row for all runs and one for each kind, and of its milestones."""

import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any, NamedTuple

from django import forms

from assay.formats.text import lines_of
from tracks.deadlines.services import MAX_GRACE_MINUTES, MAX_REMINDER_DAYS, NewMilestone, Window
from tracks.models import Deadline, Milestone, Track
from web import times
from web.forms import LongSelect, StyledForm


class LocalTimeField(forms.CharField):
    """A local time, without a zone, as text."""

    widget = forms.DateTimeInput(attrs={"type": "datetime-local"})

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, max_length=40, **kwargs)


class ZoneField(forms.ChoiceField):
    """A time zone by name."""

    widget = LongSelect

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=[(name, name) for name in times.zone_names()], **kwargs)


class KindFields(NamedTuple):
    """The fields of a kind of run."""

    label: str
    opens: forms.BoundField
    closes: forms.BoundField
    grace: forms.BoundField


class DeadlinesForm(StyledForm):
    """The instants of a row stay exactly as they are while neither its local time nor the zone is changed."""

    zone = ZoneField(
        label="Time zone",
        help_text="Of all times of this form. AoE: anywhere on earth, twelve hours behind UTC.",
    )

    reminder_days = forms.IntegerField(
        label="Remind teams this many days before",
        required=False,
        min_value=1,
        max_value=MAX_REMINDER_DAYS,
        help_text="Teams that still owe runs or documents get one e-mail so many days before a closing time. "
        "Empty: no e-mail.",
    )

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        self.stored = {each.kind: each for each in track.deadlines.all()}
        self.kinds = {"": "All"} | {kind.key: kind.name for kind in track.protocol.parsed.runs.kinds}
        self.shown_zone = next((each.zone for each in self.stored.values()), times.AOE)
        super().__init__(*args, **kwargs)
        self.fields["zone"].initial = self.shown_zone
        self.fields["reminder_days"].initial = track.reminder_days
        for kind in self.kinds:
            row, name = self.stored.get(kind, Deadline()), self.kinds[kind] if kind else "all"
            for field, value in (("opens", row.opens_at), ("closes", row.closes_at)):
                self.fields[f"{field}-{kind}"] = LocalTimeField(
                    initial=times.local_text(value, self.shown_zone), label=f"{name} runs: {field}"
                )
            self.fields[f"grace-{kind}"] = forms.IntegerField(
                initial=row.grace_minutes,
                required=False,
                min_value=0,
                max_value=MAX_GRACE_MINUTES,
                label=f"{name} runs: grace period in minutes",
            )
        self.fields["opens-"].disabled = track.status != Track.Status.DRAFT

    def rows(self) -> Iterator[KindFields]:
        """The fields, row by row."""
        for kind in self.kinds:
            fields = (self[f"{name}-{kind}"] for name in ("opens", "closes", "grace"))
            yield KindFields(self.kinds[kind] if kind else "All runs", *fields)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        for kind in self.kinds:
            for name in ("opens", "closes"):
                data[f"{name}-{kind}"] = self._instant(f"{name}-{kind}", kind, data)
        return data

    def _instant(self, field: str, kind: str, data: dict[str, Any]) -> datetime | None:
        """The instant of a field; the stored one if local time and zone are the same, because they may mean two."""
        stored = self.stored.get(kind, Deadline())
        before = stored.opens_at if field.startswith("opens") else stored.closes_at
        text, zone = data.get(field) or "", data.get("zone", self.shown_zone)
        if self.fields[field].disabled or (text == self.fields[field].initial and zone == self.shown_zone):
            return before
        try:
            return times.instant_of(text, zone) if text else None
        except times.NoSuchTime as error:
            self.add_error(field, str(error))
            return before

    @property
    def windows(self) -> dict[str, Window]:
        """The window of each kind."""
        data = self.cleaned_data
        return {
            kind: Window(data[f"opens-{kind}"], data[f"closes-{kind}"], data.get(f"grace-{kind}") or 0)
            for kind in self.kinds
        }


LINE = re.compile(r"(\d{4}-\d\d-\d\d)(?: to (\d{4}-\d\d-\d\d))? ++(.+)")
MAX_TITLE = Milestone._meta.get_field("title").max_length or 0


class MilestonesForm(StyledForm):
    """All milestones of a track as text."""

    milestones = forms.CharField(
        required=False,
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "true"}),
        help_text="A line for each: a day and a title, or two days, such as “2027-05-03 Topics are released” and "
        "“2027-06-01 to 2027-06-30 Judging”.",
    )

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        lines = [f"{each.days} {each.title}" for each in track.milestones.all()]
        kwargs["initial"] = {"milestones": "\n".join(lines)}
        super().__init__(*args, **kwargs)

    def clean_milestones(self) -> list[NewMilestone]:
        lines = enumerate(lines_of(self.cleaned_data["milestones"]), start=1)
        return [_milestone(number, line.strip()) for number, line in lines if line.strip()]


def _milestone(number: int, line: str) -> NewMilestone:
    match = LINE.fullmatch(line)
    if match is None:
        raise forms.ValidationError(
            f"Line {number}: “{line[:80]}” is not a day and a title, such as “2027-05-03 Topics are released”."
        )
    if len(match[3]) > MAX_TITLE:
        raise forms.ValidationError(
            f"Line {number}: the title has {len(match[3])} characters; use at most {MAX_TITLE}."
        )
    try:
        days = [date.fromisoformat(text) if text else None for text in match.groups()[:2]]
    except ValueError as error:
        raise forms.ValidationError(f"Line {number}: {error}.") from None
    starts_on, ends_on = days
    assert starts_on is not None
    return NewMilestone(match[3], starts_on, ends_on)
