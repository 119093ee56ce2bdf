"""The forms of the judging page: for one choice, and for a choice for each member of a unit."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django import forms

from assay.protocols.schema import JudgingRules
from assessment.judgments import services as judgment_services
from assessment.judgments.errors import CommentNeeded, FollowUpRefused, UnknownChoice
from assessment.judgments.follow_ups import MAX_KEY, PREFIX, check_answers, field_of
from assessment.judgments.rules import check_choice
from pooling.models import PoolMember

IS_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MOST_SECONDS = 7 * 24 * 3600


class AnswersForm(forms.Form):
    """Choices with their comments and their answers to follow-up questions, in fields that share a suffix."""

    def __init__(self, *args: Any, rules: JudgingRules, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rules = rules

    def add_follow_ups(self, suffix: str = "") -> None:
        for question in self.rules.follow_ups:
            self.fields[field_of(question, suffix)] = forms.CharField(max_length=MAX_KEY, required=False)

    def follow_ups(self, suffix: str = "") -> dict[str, str]:
        """The submitted answers by question."""
        fields = {question.key: field_of(question, suffix) for question in self.rules.follow_ups}
        return {key: self.cleaned_data.get(field, "") for key, field in fields.items()}

    def check(self, language: str, suffix: str = "") -> None:
        """Check a choice with its comment and answers; what is wrong becomes an error of its field."""
        choice, comment = self.cleaned_data.get(f"choice{suffix}"), self.cleaned_data.get(f"comment{suffix}")
        if choice is None or comment is None:
            return
        try:
            check_choice(self.rules, choice=choice, comment=comment)
            check_answers(self.rules, choice=choice, language=language, answers=self.follow_ups(suffix))
        except (UnknownChoice, CommentNeeded) as refusal:
            self.add_error(f"{refusal.field}{suffix}", refusal.message)
        except FollowUpRefused as refusal:
            self.add_error(f"{PREFIX}{refusal.key}{suffix}", refusal.message)

    def clean_seconds(self) -> int | None:
        """An unreadable time is no reason to refuse a judgment."""
        text = self.cleaned_data["seconds"]
        return min(int(text), MOST_SECONDS) if text.isdecimal() and len(text) < 12 else None


class JudgmentForm(AnswersForm):
    """A choice with its comment. `request_id` identifies the submission, `shown` the judgment that the page showed."""

    choice = forms.CharField(
        max_length=50, error_messages={"required": "Choose a grade, or one of the other choices."}
    )
    comment = forms.CharField(max_length=10_000, required=False)
    request_id = forms.UUIDField()
    seconds = forms.CharField(required=False)
    shown = forms.IntegerField(required=False)

    def __init__(self, *args: Any, language: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.language = language
        self.add_follow_ups()

    def clean(self) -> dict[str, Any]:
        self.check(self.language)
        return self.cleaned_data

    @property
    def submission(self) -> dict[str, Any]:
        """The arguments of `submit`, except the task."""
        names = ("choice", "comment", "request_id", "seconds", "shown")
        return {name: self.cleaned_data[name] for name in names} | {"follow_ups": self.follow_ups()}


class SkipForm(forms.Form):
    """Why an assessor skips a task."""

    reason = forms.CharField(max_length=500, required=False)


class MembersForm(AnswersForm):
    """Choices for all members of a unit, in fields named by the member: `choice-17`, `comment-17`, `shown-17`.

    `languages` has the known languages of the members, by docno.
    """

    request_id = forms.UUIDField()
    seconds = forms.CharField(required=False)
    sent = forms.CharField(required=False, max_length=4_000)

    def __init__(
        self, *args: Any, members: Sequence[PoolMember], languages: Mapping[str, str], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.members, self.languages = members, languages
        for place, member in enumerate(members, 1):
            missing = f"Choose a grade for instance {place}, or one of the other choices."
            self.fields[f"choice-{member.pk}"] = forms.CharField(
                max_length=50, error_messages={"required": missing}
            )
            self.fields[f"comment-{member.pk}"] = forms.CharField(max_length=10_000, required=False)
            self.fields[f"shown-{member.pk}"] = forms.IntegerField(required=False)
            self.add_follow_ups(f"-{member.pk}")

    def clean_sent(self) -> list[UUID]:
        """Ignore what is not a UUID: the page did not send it."""
        return [UUID(text) for text in self.cleaned_data["sent"].split(",") if IS_UUID.fullmatch(text)]

    def clean(self) -> dict[str, Any]:
        for member in self.members:
            self.check(self.languages.get(member.docno, ""), f"-{member.pk}")
        return self.cleaned_data

    @property
    def submission(self) -> dict[str, Any]:
        """The arguments of `submit_members`, except the task."""
        data = self.cleaned_data
        answers = {
            member.docno: judgment_services.Answer(
                data[f"choice-{member.pk}"],
                data[f"comment-{member.pk}"],
                data[f"shown-{member.pk}"],
                self.follow_ups(f"-{member.pk}"),
            )
            for member in self.members
        }
        return {name: data[name] for name in ("request_id", "seconds", "sent")} | {"answers": answers}
