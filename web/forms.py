"""Shared parts of the forms of all apps."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from html import escape
from typing import Any, BinaryIO, ClassVar, cast
from unicodedata import combining, normalize

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Model
from django.forms.models import ModelChoiceIterator, ModelChoiceIteratorValue
from django.forms.renderers import BaseRenderer, DjangoTemplates
from django.forms.utils import ErrorList, flatatt
from django.http import HttpRequest
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from assay.errors import BadFile, Refused
from web.names import check_line

INPUTS = ("text", "number", "email", "date", "datetime", "hidden")
SELECT, TEXTAREA = "django/forms/widgets/select.html", "django/forms/widgets/textarea.html"
PLAIN = {SELECT, TEXTAREA, *(f"django/forms/widgets/{kind}.html" for kind in INPUTS)}
NO_LABEL = "---------"  # of Django, for the empty choice
REQUIRED = {  # what is said of a field without a value: of the first kind that it is
    forms.FileField: gettext_lazy("Choose a file."),
    forms.ChoiceField: gettext_lazy("Make a choice."),
    forms.Field: gettext_lazy("Fill in this field."),
}
NOT_LISTED = gettext_lazy("Choose one of the list: “%(value)s” is not in it.")
WRONG = (  # what is said instead of the words of Django, by the class that has them
    (forms.ChoiceField, "invalid_choice", NOT_LISTED),
    (forms.MultipleChoiceField, "invalid_choice", NOT_LISTED),
    (forms.ModelMultipleChoiceField, "invalid_choice", NOT_LISTED),
    (forms.ModelChoiceField, "invalid_choice", gettext_lazy("Choose one of the list.")),
    (forms.DateField, "invalid", gettext_lazy("Enter a day such as 2026-05-01.")),
)


@contextmanager
def refusals_in(form: forms.BaseForm, field: str | None = None) -> Iterator[None]:
    """Make the refusal of a service an error of a form, or of one of its fields: the one that it names, or the file."""
    try:
        yield
    except Refused as refusal:
        named = refusal.field if refusal.field in form.fields else None
        file = _sent_file(form) if isinstance(refusal, BadFile) else None
        form.add_error(field or named or file, refusal.message)


def _sent_file(form: forms.BaseForm) -> str | None:
    """The field of the file that a form was sent with, or of its path on the server."""
    sent = [
        name for name, field in form.fields.items() if isinstance(field, forms.FileField) or name == "path"
    ]
    return next((name for name in sent if form.cleaned_data.get(name)), None)


def errors_in(form: forms.BaseForm) -> list[str]:
    """Every error of a form, in the order of its fields, for a message."""
    return [str(error) for errors in form.errors.values() for error in errors]


def offer(field: forms.ModelChoiceField[Any], objects: Iterable[Model]) -> None:
    """Let a field offer the objects of its query set, which the caller has read: the field would query them again."""
    field.choices = [
        (ModelChoiceIteratorValue(each.pk, each), field.label_from_instance(each)) for each in objects
    ]


class StyledField(forms.BoundField):
    """A control with its Bootstrap class, which points to its help and errors (`components/field.html`)."""

    def __init__(self, form: forms.BaseForm, field: forms.Field, name: str) -> None:
        super().__init__(form, field, name)
        if isinstance(field, forms.ModelChoiceField) and field.empty_label == NO_LABEL:
            field.empty_label = "Choose one" if field.required else "none"

    def build_widget_attrs(self, attrs: dict[str, Any], widget: forms.Widget | None = None) -> dict[str, Any]:
        widget = widget or self.field.widget
        if type(widget) is forms.Select and isinstance(widget.choices, ModelChoiceIterator):
            # Django would query them a second time, to see if the first is empty; a list would count them
            widget.choices = [*iter(widget.choices)]
        own = {"aria-describedby": f"id_{self.html_name}_help"}
        if not isinstance(widget, forms.CheckboxSelectMultiple):  # the class would be on the list too
            own["class"] = "form-select" if isinstance(widget, forms.Select) else "form-control"
        return super().build_widget_attrs(own | widget.attrs | attrs, widget)


class StyledForm(forms.Form):
    """A form whose controls are styled, and whose inputs of one line take one line. It is the first base."""

    bound_field_class = StyledField

    def full_clean(self) -> None:
        for field in self.fields.values():
            _say_plainly(field)
            if type(field.widget) is forms.TextInput and check_line not in field.validators:
                field.validators.append(check_line)
        super().full_clean()

    def add_error(self, field: str | None, error: Any) -> None:
        """Name fields by their labels: the message of a model about a taken value has the name of its column."""
        for name, errors in getattr(error, "error_dict", {}).items():
            for problem in errors:
                if problem.code == "unique" and name in self.fields:
                    model = problem.params["model_name"].lower()
                    problem.message = (
                        f"Another {model} has this {self[name].label.lower()}. Choose another one."
                    )
        super().add_error(field, error)


def _say_plainly(field: forms.Field) -> None:
    """Replace the words of Django about a missing or wrong value and about limits; those of a field of ours stay."""
    messages = field.error_messages
    for kind, code, words in WRONG:
        if messages.get(code) is kind.default_error_messages[code]:
            messages[code] = words
    if messages["required"] == forms.Field.default_error_messages["required"]:
        messages["required"] = next(words for kind, words in REQUIRED.items() if isinstance(field, kind))
    messages.setdefault("min_value", gettext_lazy("Enter a number of at least %(limit_value)s."))
    messages.setdefault(
        "max_length", gettext_lazy("Use at most %(limit_value)d characters: this has %(show_value)d.")
    )
    messages.setdefault("max_value", gettext_lazy("Enter a number of at most %(limit_value)s."))


class Renderer(DjangoTemplates):
    """Renders plain controls without a template, for which Django takes five times longer."""

    def render(
        self, template_name: str, context: dict[str, Any], request: HttpRequest | None = None
    ) -> SafeString:
        if template_name not in PLAIN:
            return SafeString(super().render(template_name, context, request))
        widget = context["widget"]
        name, value, attributes = {"name": widget["name"]}, widget["value"], widget["attrs"]
        if template_name == SELECT:
            return SafeString(f"<select{_written(name | attributes)}>{_groups(widget)}</select>")
        if template_name == TEXTAREA:
            text = "" if value is None else conditional_escape(value)
            return SafeString(f"<textarea{_written(name | attributes)}>\n{text}</textarea>")
        own = {"type": widget["type"], **name, "value": value}
        return SafeString(f"<input{_written(own | attributes)}>")


def _written(attributes: dict[str, Any]) -> str:
    """Attributes in HTML, each after a space."""
    return "".join(
        f" {key}" if value is True else f' {key}="{conditional_escape(value)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )


def _groups(widget: dict[str, Any]) -> str:
    """The options of a select, some of them in groups."""
    shown = []
    for label, options, _ in widget["optgroups"]:
        values = ({"value": option["value"]} | option["attrs"] for option in options)
        words = (conditional_escape(option["label"]) for option in options)
        lines = [
            f"<option{_written(value)}>{word}</option>" for value, word in zip(values, words, strict=True)
        ]
        if label:
            lines = [f'<optgroup label="{conditional_escape(label)}">', *lines, "</optgroup>"]
        shown += lines
    return "\n".join(shown)


class LongSelect(forms.Select):
    """A select for hundreds of words, whose choices are pairs of the same word: a browser sends the label of an option.

    Django makes every option again for each page, which takes most of its time.
    """

    def render(
        self,
        name: str,
        value: object,
        attrs: dict[str, Any] | None = None,
        renderer: BaseRenderer | None = None,
    ) -> SafeString:
        chosen = self.format_value(value)
        options = _options(tuple(str(word) for word, _ in self.choices))
        for word in chosen:
            option = f"<option>{escape(word)}</option>"
            options = options.replace(option, option.replace(">", " selected>", 1), 1)
        return SafeString(
            f"<select{flatatt({'name': name} | self.build_attrs(self.attrs, attrs))}>{options}</select>"
        )


@lru_cache
def _options(words: tuple[str, ...]) -> str:
    return "\n".join(f"<option>{escape(word)}</option>" for word in words)


class _BoundShortName(StyledField):
    """A short name, which follows from the name if nobody enters one: of a long name, from the first words."""

    MOST_MADE = 40  # letters, as in `web/forms.js`

    @property
    def data(self) -> Any:
        """The text that was entered, or else the word that `web/forms.js` makes of the name."""
        text: str = super().data or ""
        if text.strip() or "name" not in self.form.fields:
            return text
        letters = normalize("NFKD", self.form["name"].data or "").lower()
        words = re.sub("[^a-z0-9]+", "-", "".join(sign for sign in letters if not combining(sign))).strip("-")
        most = min(self.MOST_MADE, self.field.max_length)  # type: ignore[attr-defined]
        return re.sub("-[^-]*$", "", f"{words}-"[: most + 1])[:most]

    @property
    def errors(self) -> ErrorList:
        """None while the name is wrong, from which it can be made."""
        return self.form.error_class() if "name" in self.form.errors and not self.data else super().errors

    def build_widget_attrs(self, attrs: dict[str, Any], widget: forms.Widget | None = None) -> dict[str, Any]:
        built = super().build_widget_attrs(attrs, widget)
        if "name" in self.form.fields:
            built.pop("required", None)
        return built

    @property
    def states_optional(self) -> bool:
        return "name" in self.form.fields


class ShortNameField(forms.SlugField):
    """The word for something in addresses, which other software calls a slug. Without one it is made from the name."""

    bound_field_class = _BoundShortName
    default_error_messages: ClassVar = {
        "invalid": "Use the letters a to z, digits, hyphens and underscores, without spaces.",
        "required": "Enter a short name: none can be made from the name.",
    }

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        words = self.default_error_messages["invalid"]
        checked = {"pattern": r"[a-zA-Z0-9_\-]+", "title": words}  # before files are uploaded
        return super().widget_attrs(widget) | checked | {"data-follows": "name"}


class FilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Any number of files, as a list."""

    def clean(self, data: object, initial: object = None) -> Any:
        files = data if isinstance(data, (list, tuple)) else [data] if data else []
        cleaned = [super(FilesField, self).clean(file, initial) for file in files]
        return cleaned if cleaned or not self.required else super().clean(None, initial)


def bytes_of(upload: "UploadedFile[Any]") -> BinaryIO:
    """The file of an upload. A large one is a temporary file, so that it is never completely in memory."""
    return cast(BinaryIO, upload.file)


class CompareForm(forms.Form):
    """The id of what a page is compared with."""

    other = forms.IntegerField(min_value=1, max_value=2**63 - 1)
