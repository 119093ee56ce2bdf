"""The form of the dates of a track: deadlines, in a row for all runs and one for each kind, and milestones."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django import forms
from django.conf import settings
from django.utils.choices import BaseChoiceIterator

from accounts.audit.selectors import events
from tracks.deadline_acceptance import deadlines_of
from tracks.deadlines.services import (
    MAX_GRACE_MINUTES,
    MAX_REMINDER_DAYS,
    NewMilestone,
    Window,
    milestone_problems,
    window_problems,
)
from tracks.models import Deadline, Milestone, Track
from web import times
from web.forms import LongSelect, StyledForm
from web.statements import Prepared


class LocalTimeField(forms.CharField):
    """A local time, without a zone, as text."""

    widget = forms.DateTimeInput(attrs={"type": "datetime-local"})

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, max_length=40, **kwargs)

    def to_python(self, value: Any) -> str:
        """The text as browsers send it, also if it was typed with a space before the time."""
        text = super().to_python(value) or ""
        return text.replace(" ", "T")


class Zones(BaseChoiceIterator):
    """The zones as choices. Django would copy and check those of a list or function, zone by zone, for each form."""

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((name, name) for name in times.zone_names())


class ZoneField(forms.ChoiceField):
    """A time zone by name."""

    widget = LongSelect

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=Zones(), **kwargs)


class KindFields(NamedTuple):
    label: str
    opens: forms.BoundField
    closes: forms.BoundField
    grace: forms.BoundField


class MilestoneFields(NamedTuple):
    """A milestone: its name and its days."""

    title: forms.BoundField
    first: forms.BoundField
    last: forms.BoundField


_MILESTONES = Prepared(lambda track: Milestone.objects.filter(track=track))
MORE = 1  # empty rows of milestones
MAX_TITLE = Milestone._meta.get_field("title").max_length


class DatesForm(StyledForm):
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
        self.track = track
        self.stored = deadlines_of(track)
        rules = track.protocol.parsed.runs
        self.kinds = {"": "All"} | {kind.key: kind.name for kind in rules.kinds}
        self.shown_zone = next((deadline.zone for deadline in self.stored.values()), times.AOE)
        super().__init__(*args, **kwargs)
        self.fields["zone"].initial = self.shown_zone
        self.fields["reminder_days"].initial = track.reminder_days
        if not settings.SENDS_MAIL:
            text = (
                "This site has no mail server, so nobody is reminded. The number is kept for when it has one."
            )
            self.fields["reminder_days"].help_text = text
        self.fields["names_hidden_until"] = LocalTimeField(
            initial=times.local_text(track.names_hidden_until, self.shown_zone),
            label="Hide names until",
            help_text="Empty: everybody reads the names.",
        )
        for kind in self.kinds:
            row, name = self.stored.get(kind, Deadline()), self.kinds[kind] if kind else "all"
            for field, value in (("opens", row.opens_at), ("closes", row.closes_at)):
                self.fields[f"{field}-{kind}"] = LocalTimeField(
                    initial=times.local_text(value, self.shown_zone), label=f"{name} runs: {field}"
                )
            of_all = kind and not row.closes_at and not rules.phase_of(kind).after_closing
            self.fields[f"grace-{kind}"] = forms.IntegerField(
                initial=None if of_all else row.grace_minutes,
                required=False,
                min_value=0,
                max_value=MAX_GRACE_MINUTES,
                label=f"{name} runs: grace period in minutes",
            )
        if track.status != Track.Status.DRAFT:
            self.fields["opens-"].disabled = True
            self.fields["opens-"].help_text = "Cannot change: the track was opened."
        self._add_milestones(_MILESTONES(track=track.pk))

    def _add_milestones(self, milestones: list[Milestone]) -> None:
        typed = sum(name.startswith("title-") for name in self.data or self.initial)
        self.n_milestones = (typed or len(milestones) + MORE) + ("more" in self.initial)
        for n in range(self.n_milestones):
            row = milestones[n] if n < len(milestones) else Milestone()
            self.fields[f"title-{n}"] = forms.CharField(
                initial=row.title, required=False, max_length=MAX_TITLE, label=f"Milestone {n + 1}"
            )
            for name, value in (("first", row.starts_on), ("last", row.ends_on)):
                self.fields[f"{name}-{n}"] = forms.DateField(
                    initial=value,
                    required=False,
                    widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
                    label=f"Milestone {n + 1}: {name} day",
                )

    def milestone_rows(self) -> Iterator[MilestoneFields]:
        """The fields of the milestones, row by row."""
        for n in range(self.n_milestones):
            yield MilestoneFields(*(self[f"{name}-{n}"] for name in ("title", "first", "last")))

    def rows(self) -> list[KindFields]:
        """The fields, row by row; the first is that of all runs."""
        return [
            KindFields(
                self.kinds[kind] if kind else "All runs",
                *(self[f"{name}-{kind}"] for name in ("opens", "closes", "grace")),
            )
            for kind in self.kinds
        ]

    def opened_at(self) -> datetime | None:
        """The instant at which an opened track was first opened."""
        opening = events(self.track.pk).filter(action="track.opened").last()
        return opening.at if opening else self.stored.get("", Deadline()).opens_at

    def differs_by_kind(self) -> bool:
        """Return whether a field of a kind of run is filled in or wrong."""
        return any(field.value() or field.errors for row in self.rows()[1:] for field in row[1:])

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        data["names_hidden_until"] = self._instant("names_hidden_until", self.track.names_hidden_until, data)
        for kind in self.kinds:
            row = self.stored.get(kind, Deadline())
            for name, before in (("opens", row.opens_at), ("closes", row.closes_at)):
                data[f"{name}-{kind}"] = self._instant(f"{name}-{kind}", before, data)
        for n in range(self.n_milestones):
            title, first, last = (data.get(f"{name}-{n}") for name in ("title", "first", "last"))
            if title and not first and f"first-{n}" not in self.errors:
                self.add_error(f"first-{n}", f"Enter the day of “{title}”.")
            elif (first or last) and not title and f"title-{n}" not in self.errors:
                self.add_error(f"title-{n}", "Enter a title, or remove the day.")
        for kind, window in self.windows.items():
            if self.errors.keys().isdisjoint({f"{part}-{kind}" for part in ("opens", "closes", "grace")}):
                for part, problem in window_problems(self.track, kind, window):
                    self.add_error(f"{part}-{kind}", problem)
        rows = self._filled
        for index, part, problem in milestone_problems([row for _, row in rows]):
            self.add_error(f"{part}-{rows[index][0]}", problem)
        return data

    def _instant(self, field: str, before: datetime | None, data: dict[str, Any]) -> datetime | None:
        """The instant of a field; the stored one if local time and zone are the same, because they may mean two."""
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
        data, windows = self.cleaned_data, dict[str, Window]()
        for kind in self.kinds:
            closes_at, grace = data[f"closes-{kind}"], data.get(f"grace-{kind}")
            if grace is None and closes_at:  # that of all runs, as the page says
                grace = data.get("grace-")
            windows[kind] = Window(data[f"opens-{kind}"], closes_at, grace or 0)
        return windows

    @property
    def _filled(self) -> list[tuple[int, NewMilestone]]:
        """The milestones of the rows that are filled in, each with the number of its row."""
        data = self.cleaned_data
        return [
            (n, NewMilestone(data[f"title-{n}"], data[f"first-{n}"], data.get(f"last-{n}")))
            for n in range(self.n_milestones)
            if data.get(f"title-{n}") and data.get(f"first-{n}")
        ]

    @property
    def milestones(self) -> list[NewMilestone]:
        return [row for _, row in self._filled]
