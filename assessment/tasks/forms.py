"""The form of the judging page, and those of the admin."""

import re
from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID, uuid4

from django import forms
from django.core.exceptions import ValidationError

from assessment import services
from assessment.errors import CommentNeeded, UnknownChoice
from assessment.models import Batch, TopicAssignment
from assessment.rules import check_choice
from assessment.selectors import OwnJudgment, assessors_of, pooled_topics
from corpus.errors import Refused
from corpus.models import Topic, User
from pooling.models import PoolMember
from protocols.schema import JudgingRules

IS_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MOST_SECONDS = 7 * 24 * 3600


class JudgmentForm(forms.Form):
    """A choice with its comment. `request_id` names this sending, `shown` the judgment that the page showed."""

    choice = forms.CharField(
        max_length=50, error_messages={"required": "Choose a grade, or one of the other answers."}
    )
    comment = forms.CharField(max_length=10_000, required=False)
    request_id = forms.UUIDField()
    seconds = forms.CharField(required=False)
    shown = forms.IntegerField(required=False)

    def __init__(self, *args: Any, rules: JudgingRules, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rules = rules

    def clean_seconds(self) -> int | None:
        """A time that cannot be read is no reason to refuse a judgment."""
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


class MembersForm(forms.Form):
    """Choices for all members of a unit, in fields named by the member: `choice-17`, `comment-17`, `shown-17`."""

    request_id = forms.UUIDField()
    seconds = forms.CharField(required=False)
    sent = forms.CharField(required=False, max_length=4_000)

    def __init__(self, *args: Any, rules: JudgingRules, members: Sequence[PoolMember], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rules, self.members = rules, members
        for place, member in enumerate(members, 1):
            missing = f"Choose a grade for formula {place}, or one of the other answers."
            self.fields[f"choice-{member.pk}"] = forms.CharField(
                max_length=50, error_messages={"required": missing}
            )
            self.fields[f"comment-{member.pk}"] = forms.CharField(max_length=10_000, required=False)
            self.fields[f"shown-{member.pk}"] = forms.IntegerField(required=False)

    clean_seconds = JudgmentForm.clean_seconds

    def clean_sent(self) -> list[UUID]:
        """Numbers that cannot be read were not ours."""
        words = self.cleaned_data["sent"].split(",")
        return [UUID(word) for word in words if IS_UUID.fullmatch(word)]

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
    def asked(self) -> dict[str, Any]:
        """The arguments of the service, the task apart."""
        data = self.cleaned_data
        answers = {
            member.docno: services.Answer(
                data[f"choice-{member.pk}"], data[f"comment-{member.pk}"], data[f"shown-{member.pk}"]
            )
            for member in self.members
        }
        return {name: data[name] for name in ("request_id", "seconds", "sent")} | {"answers": answers}


def first_answer(previous: OwnJudgment | None) -> dict[str, Any]:
    """What the page holds before the assessor touches it: their last judgment, and a number for the next sending."""
    fresh: dict[str, Any] = {"request_id": uuid4(), "shown": 0}
    if previous is None:
        return fresh
    judgment = previous.judgment
    return fresh | {"choice": judgment.choice, "comment": judgment.comment, "shown": judgment.pk}


class BatchForm(forms.ModelForm[Batch]):
    """A batch in the admin. Pool and kind are settled when it is made."""

    class Meta:
        model = Batch
        fields = ["pool", "name", "kind", "minutes_allotted"]


class TopicAssignmentForm(forms.ModelForm[TopicAssignment]):
    """A topic given to an assessor of the track; who and what are settled once given, withdrawing is not."""

    batch: Batch

    class Meta:
        model = TopicAssignment
        fields = ["topic", "assessor", "is_withdrawn"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        topic = cast("forms.ModelChoiceField[Topic]", self.fields["topic"])
        assessor = cast("forms.ModelChoiceField[User]", self.fields["assessor"])
        if self.instance.pk is None:
            topic.queryset = pooled_topics(self.batch)
            assessor.queryset = assessors_of(self.batch.pool.track)
            return
        topic.queryset = Topic.objects.filter(pk=self.instance.topic_id)
        assessor.queryset = User.objects.filter(pk=self.instance.assessor_id)
        topic.disabled = assessor.disabled = True

    def clean(self) -> dict[str, Any] | None:
        data = super().clean()
        assessor = self.cleaned_data.get("assessor")
        if assessor is not None and self.instance.pk is None:
            try:
                services.check_may_judge(batch=self.batch, assessor=assessor)
            except Refused as refusal:
                raise ValidationError({"assessor": refusal.message}) from None
        return data


class ShareForm(forms.Form):
    """Among whom an organizer shares a batch's topics."""

    assessors = forms.ModelMultipleChoiceField(
        queryset=User.objects.none(), widget=forms.CheckboxSelectMultiple, label="Assessors"
    )

    def __init__(self, *args: Any, batch: Batch, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = cast("forms.ModelMultipleChoiceField[User]", self.fields["assessors"])
        field.queryset = assessors_of(batch.pool.track)
        field.initial = [assessor.pk for assessor in field.queryset]
