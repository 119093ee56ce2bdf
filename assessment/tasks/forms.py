"""The forms of the judging page: for one choice, and for a choice for each member of a unit."""

import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django import forms

from assay.protocols.schema import JudgingRules
from assessment.judgments import services as judgment_services
from assessment.judgments.errors import CommentNeeded, UnknownChoice
from assessment.judgments.rules import check_choice
from pooling.models import PoolMember

IS_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MOST_SECONDS = 7 * 24 * 3600


class JudgmentForm(forms.Form):
    """A choice with its comment. `request_id` identifies the submission, `shown` the judgment that the page showed."""

    choice = forms.CharField(
        max_length=50, error_messages={"required": "Choose a grade, or one of the other choices."}
    )
    comment = forms.CharField(max_length=10_000, required=False)
    request_id = forms.UUIDField()
    seconds = forms.CharField(required=False)
    shown = forms.IntegerField(required=False)

    def __init__(self, *args: Any, rules: JudgingRules, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rules = rules

    def clean_seconds(self) -> int | None:
        """An unreadable time is no reason to refuse a judgment."""
        text = self.cleaned_data["seconds"]
        return min(int(text), MOST_SECONDS) if text.isdecimal() and len(text) < 12 else None

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = self.cleaned_data
        if "choice" in data and "comment" in data:
            try:
                check_choice(self.rules, choice=data["choice"], comment=data["comment"])
            except (UnknownChoice, CommentNeeded) as refusal:
                self.add_error(refusal.field, refusal.message)
        return data


class SkipForm(forms.Form):
    """Why an assessor skips a task."""

    reason = forms.CharField(max_length=500, required=False)


class MembersForm(forms.Form):
    """Choices for all members of a unit, in fields named by the member: `choice-17`, `comment-17`, `shown-17`."""

    request_id = forms.UUIDField()
    seconds = forms.CharField(required=False)
    sent = forms.CharField(required=False, max_length=4_000)

    def __init__(self, *args: Any, rules: JudgingRules, members: Sequence[PoolMember], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rules, self.members = rules, members
        for place, member in enumerate(members, 1):
            missing = f"Choose a grade for instance {place}, or one of the other choices."
            self.fields[f"choice-{member.pk}"] = forms.CharField(
                max_length=50, error_messages={"required": missing}
            )
            self.fields[f"comment-{member.pk}"] = forms.CharField(max_length=10_000, required=False)
            self.fields[f"shown-{member.pk}"] = forms.IntegerField(required=False)

    clean_seconds = JudgmentForm.clean_seconds

    def clean_sent(self) -> list[UUID]:
        """Ignore what is not a UUID: the page did not send it."""
        return [UUID(text) for text in self.cleaned_data["sent"].split(",") if IS_UUID.fullmatch(text)]

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = self.cleaned_data
        for member in self.members:
            name = f"choice-{member.pk}"
            if name in data and f"comment-{member.pk}" in data:
                try:
                    check_choice(self.rules, choice=data[name], comment=data[f"comment-{member.pk}"])
                except (UnknownChoice, CommentNeeded) as refusal:
                    self.add_error(f"{refusal.field}-{member.pk}", refusal.message)
        return data

    @property
    def submission(self) -> dict[str, Any]:
        """The arguments of `submit_members`, except the task."""
        data = self.cleaned_data
        answers = {
            member.docno: judgment_services.Answer(
                data[f"choice-{member.pk}"], data[f"comment-{member.pk}"], data[f"shown-{member.pk}"]
            )
            for member in self.members
        }
        return {name: data[name] for name in ("request_id", "seconds", "sent")} | {"answers": answers}
