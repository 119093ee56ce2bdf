"""The form of a user's own keys."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django import forms
from django.forms import BoundField

from assessment.keys.rules import ACTIONS, OF_BROWSERS, collisions, positions
from assessment.keys.selectors import Judged

FEWEST = ("grade-1", "grade-2", "grade-3", "grade-4", "other-1", "other-2")
LABELS = {"grade": "Grade", "other": "Choice without a grade"}


class Row(NamedTuple):
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

    def clean(self, value: Any) -> str:
        key: str = super().clean(value).lower()
        if len(key) > 1 or not key.isprintable():
            raise forms.ValidationError(
                f"“{key}” belongs to the browser or the page. Use one letter, digit or sign."
            )
        if key in OF_BROWSERS:
            raise forms.ValidationError(
                f"“{key}” starts a search in some browsers. Use a letter, a digit or another sign."
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
            self.fields[name] = KeyField(f"{LABELS[kind]} {number}")
        for action in ACTIONS:
            self.fields[action.name] = KeyField(action.label)
        for name, field in self.fields.items():
            field.widget.attrs["aria-describedby"] = f"id_{name}_help"

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = self.cleaned_data
        usual = {action.name: action.key for action in ACTIONS}
        holders: dict[str, str] = {}
        for name in sorted(self.fields, key=lambda name: not data.get(name)):  # own keys first
            key = data.get(name) or usual.get(name, "")
            if key and key in holders:
                self._refuse(name if data.get(name) else holders[key], key, holders[key], name)
            elif key:
                holders[key] = name
        for judged in self.protocols:
            for name, label in collisions(self.keys, judged.rules).items():
                key = data[name]
                self.add_error(
                    name, f"“{key}” chooses “{label}” in {judged.title}. Use another key for one of them."
                )
        return data

    def _refuse(self, name: str, key: str, *names: str) -> None:
        """State which other field has the key."""
        (other,) = (self.fields[each].label for each in names if each != name)
        self.add_error(name, f"“{key}” is the key of “{other}”. Use another key for one of them.")

    @property
    def keys(self) -> dict[str, str]:
        """The own keys that were entered."""
        return {name: key for name, key in self.cleaned_data.items() if key}

    @property
    def rows(self) -> list[Row]:
        return [self._row(field) for field in self]

    def _row(self, field: BoundField) -> Row:
        actions = [action.key for action in ACTIONS if action.name == field.name]
        at_position = [positions(judged.rules).get(field.name) for judged in self.protocols]
        choices = [choice for choice in at_position if choice is not None]
        labels = dict.fromkeys(choice.label for choice in choices)
        usual = dict.fromkeys(choice.shortcut for choice in choices if choice.shortcut)
        return Row(field, " · ".join(labels), actions or list(usual))
