"""The form of the milestones of a track: a line for each."""

import re
from datetime import date
from typing import Any

from django import forms

from tracks.milestones.services import NewMilestone
from tracks.models import Milestone, Track
from web.forms import StyledForm

LINE = re.compile(r"(\d{4}-\d\d-\d\d)(?: to (\d{4}-\d\d-\d\d))? +(.+)")
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
        lines = enumerate(self.cleaned_data["milestones"].splitlines(), start=1)
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
