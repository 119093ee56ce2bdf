"""The forms of the judging page, of a user's own keys, and of worked examples."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from assay.formats.text import lines_of
from assay.protocols.questions import from_given, from_text
from assay.protocols.schema import JudgingRules, Question
from assessment.errors import AnswerRefused
from assessment.judging.guidelines import training_judgments
from assessment.judging.keys import ACTIONS, OF_BROWSERS, Judged, collisions, positions
from assessment.judgments import services as judgment_services
from assessment.judgments.answers import GIVEN, PREFIX, check_answers, check_choice, field_of
from pooling.models import PoolMember
from tracks.models import Track
from web.forms import StyledForm

IS_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MAX_ANSWER = 10_000  # characters of an answer
MAX_GIVEN_JSON = 1_000_000  # characters of all answers of a frame
MOST_SECONDS = 7 * 24 * 3600


class Joined(forms.TextInput):
    """The values of several fields of a name as one text: check boxes without scripts."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> str:
        return ",".join(filter(None, data.getlist(name)))


class GivenField(forms.CharField):
    """The answers of a frame, as JSON: a list of texts for each name of a control."""

    def __init__(self) -> None:
        super().__init__(required=False, max_length=MAX_GIVEN_JSON, widget=forms.HiddenInput)

    def clean(self, value: object) -> dict[str, list[str]]:
        text = super().clean(value)
        try:
            given = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict) or not all(
            isinstance(texts, list) and all(isinstance(text, str) for text in texts)
            for texts in given.values()
        ):
            raise forms.ValidationError(
                gettext("The form sent something that is not a list of texts for each name.")
            )
        return given


class AnswersForm(forms.Form):
    """Choices with their comments and their answers to questions, in fields that share a suffix."""

    def __init__(self, *args: Any, rules: JudgingRules, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rules = rules

    def add_answers(self, suffix: str = "") -> None:
        if self.rules.form is not None and self.rules.form.frame:
            self.fields[GIVEN] = GivenField()
            return
        for question in self.rules.questions:
            field = forms.CharField(max_length=MAX_ANSWER, required=False, widget=Joined())
            self.fields[field_of(question.key, suffix)] = field

    def answers(self, suffix: str = "") -> dict[str, Any]:
        """The submitted answers by question, of a frame by the name of its controls."""
        if GIVEN in self.fields:
            return from_given(self.rules, self.cleaned_data.get(GIVEN, {}))
        return {
            question.key: from_text(question, self.cleaned_data.get(field_of(question.key, suffix), ""))
            for question in self.rules.questions
        }

    def check(self, questions: Sequence[Question], suffix: str = "") -> None:
        """Check a choice with its comment and answers; what is wrong becomes an error of its field."""
        choice, comment = self.cleaned_data.get(f"choice{suffix}"), self.cleaned_data.get(f"comment{suffix}")
        if choice is None or comment is None:
            return
        try:
            check_choice(self.rules, choice=choice, comment=comment)
            check_answers(self.rules, questions, choice=choice, answers=self.answers(suffix))
        except AnswerRefused as refusal:
            is_given = GIVEN in self.fields and refusal.field.startswith(PREFIX)
            self.add_error(GIVEN if is_given else f"{refusal.field}{suffix}", refusal.message)

    def clean_seconds(self) -> int | None:
        """An unreadable time is no reason to refuse a judgment."""
        text = self.cleaned_data["seconds"]
        return min(int(text), MOST_SECONDS) if text.isdecimal() and len(text) < 12 else None


class JudgmentForm(AnswersForm):
    """A choice with its comment. `request_id` identifies the submission, `shown` the judgment that the page showed."""

    choice = forms.CharField(
        max_length=50,
        error_messages={"required": gettext_lazy("Choose a grade, or one of the other choices.")},
    )
    comment = forms.CharField(max_length=10_000, required=False)
    request_id = forms.UUIDField()
    seconds = forms.CharField(required=False)
    shown = forms.IntegerField(required=False)

    def __init__(self, *args: Any, questions: Sequence[Question], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.questions = questions
        self.add_answers()

    def clean(self) -> dict[str, Any]:
        self.check(self.questions)
        return self.cleaned_data

    @property
    def submission(self) -> dict[str, Any]:
        """The arguments of `submit`, except the task."""
        names = ("choice", "comment", "request_id", "seconds", "shown")
        return {name: self.cleaned_data[name] for name in names} | {"answers": self.answers()}


class SkipForm(StyledForm):
    """The reason why an assessor skips a task."""

    reason = forms.CharField(max_length=500, required=False)


class MembersForm(AnswersForm):
    """Choices for all members of a unit, in fields named by the member: `choice-17`, `comment-17`, `shown-17`.

    `questions` has those about each member, by docno.
    """

    request_id = forms.UUIDField()
    seconds = forms.CharField(required=False)
    sent = forms.CharField(required=False, max_length=4_000)

    def __init__(
        self,
        *args: object,
        members: Sequence[PoolMember],
        questions: Mapping[str, Sequence[Question]],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.members, self.questions = members, questions
        for place, member in enumerate(members, 1):
            missing = gettext("Choose a grade for instance {n}, or one of the other choices.").format(n=place)
            self.fields[f"choice-{member.pk}"] = forms.CharField(
                max_length=50, error_messages={"required": missing}
            )
            self.fields[f"comment-{member.pk}"] = forms.CharField(max_length=10_000, required=False)
            self.fields[f"shown-{member.pk}"] = forms.IntegerField(required=False)
            self.add_answers(f"-{member.pk}")

    def clean_sent(self) -> list[UUID]:
        """Ignore what is not a UUID: the page did not send it."""
        return [UUID(text) for text in self.cleaned_data["sent"].split(",") if IS_UUID.fullmatch(text)]

    def clean(self) -> dict[str, Any]:
        for member in self.members:
            self.check(self.questions[member.docno], f"-{member.pk}")
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
                self.answers(f"-{member.pk}"),
            )
            for member in self.members
        }
        return {name: data[name] for name in ("request_id", "seconds", "sent")} | {"answers": answers}


class ReturnForm(StyledForm):
    """The reason why a unit must be judged again."""

    reason = forms.CharField(
        max_length=500,
        help_text="The assessor reads it next to the document, for example “Judge the formula alone”.",
    )


FEWEST = ("grade-1", "grade-2", "grade-3", "grade-4", "other-1", "other-2")
LABELS = {"grade": gettext_noop("Grade"), "other": gettext_noop("Choice without a grade")}


class KeyRow(NamedTuple):
    """A key on the form: what it does in each protocol, and its usual keys."""

    field: BoundField
    choices: str
    usual: list[str]


class KeyField(forms.CharField):
    """One letter, digit or sign, that the browser does not use."""

    def __init__(self, label: str) -> None:
        attributes = {
            "class": "form-control key-field",
            "autocomplete": "off",
            "autocapitalize": "none",
            "spellcheck": "false",
        }
        super().__init__(label=label, required=False, max_length=20, widget=forms.TextInput(attrs=attributes))

    def clean(self, value: object) -> str:
        key: str = super().clean(value).lower()
        if len(key) > 1 or not key.isprintable():
            raise forms.ValidationError(
                gettext("“{key}” belongs to the browser or the page. Use one letter, digit or sign.").format(
                    key=key
                )
            )
        if key in OF_BROWSERS:
            raise forms.ValidationError(
                gettext(
                    "“{key}” starts a search in some browsers. Use a letter, a digit or another sign."
                ).format(key=key)
            )
        return key


class KeysForm(forms.Form):
    """A field for each position of a choice and each action; an empty one means the usual key."""

    def __init__(self, *args: Any, protocols: Sequence[Judged], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.protocols = protocols
        names = {name for judged in protocols for name in positions(judged.rules)} | set(FEWEST)
        for name in sorted(names, key=lambda name: (name.split("-")[0], int(name.split("-")[1]))):
            kind, _, number = name.partition("-")
            self.fields[name] = KeyField(f"{gettext(LABELS[kind])} {number}")
        for action in ACTIONS:
            self.fields[action.name] = KeyField(gettext(action.label))
        for name, field in self.fields.items():
            field.widget.attrs["aria-describedby"] = f"id_{name}_help"

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = self.cleaned_data
        usual = {action.name: action.key for action in ACTIONS}
        holders: dict[str, str] = {}
        for name in sorted(self.fields, key=lambda name: not data.get(name)):  # own keys first
            key = data.get(name) or usual.get(name, "")
            if key and key in holders:
                own, other = (name, holders[key]) if data.get(name) else (holders[key], name)
                text = gettext("“{key}” is the key of “{action}”. Use another key for one of them.")
                self.add_error(own, text.format(key=key, action=self.fields[other].label))
            elif key:
                holders[key] = name
        for judged in self.protocols:
            for name, label in collisions(self.keys, judged.rules).items():
                text = gettext("“{key}” chooses “{choice}” in {protocol}. Use another key for one of them.")
                self.add_error(name, text.format(key=data[name], choice=label, protocol=judged.title))
        return data

    @property
    def keys(self) -> dict[str, str]:
        """The own keys that were entered."""
        return {name: key for name, key in self.cleaned_data.items() if key}

    @property
    def rows(self) -> list[KeyRow]:
        rows, of_actions = [], {action.name: [action.key] for action in ACTIONS}
        for field in self:
            at_position = [positions(judged.rules).get(field.name) for judged in self.protocols]
            choices = [choice for choice in at_position if choice is not None]
            labels = dict.fromkeys(choice.label for choice in choices)
            usual = dict.fromkeys(choice.shortcut for choice in choices if choice.shortcut)
            rows.append(KeyRow(field, " · ".join(labels), of_actions.get(field.name) or list(usual)))
        return rows


class ExampleForm(forms.Form):
    """A judged training unit, the choice that is right, and why."""

    topic = forms.CharField(max_length=200)
    docno = forms.CharField(max_length=200)
    choice = forms.ChoiceField()
    explanation = forms.CharField(max_length=5_000, required=False)

    def __init__(self, *args: Any, track: Track, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.track = track
        rules = track.protocol.parsed.judging
        self.fields["choice"].choices = [  # type: ignore[attr-defined]
            (choice.key, choice.label) for choice in rules.choices
        ]

    def clean_explanation(self) -> str:
        """A line of colons would end the example."""
        text = str(self.cleaned_data["explanation"]).replace("\r\n", "\n")
        if any(line.lstrip().startswith(":::") for line in lines_of(text)):
            raise forms.ValidationError(
                "A line of the explanation begins with “:::”, which would end the example."
            )
        return text

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = self.cleaned_data
        judged = training_judgments(self.track).filter(
            topic__code=data.get("topic"), docno=data.get("docno", "")
        )
        if not judged.exists():
            raise forms.ValidationError("This document was not judged in a training round of the track.")
        return data
