"""Shared parts of the forms of all apps."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from django import forms
from django.core.files.uploadedfile import UploadedFile

from assay.errors import Refused


@contextmanager
def refusals_in(form: forms.BaseForm, field: str | None = None) -> Iterator[None]:
    """Make the refusal of a service an error of a form, or of one of its fields."""
    try:
        yield
    except Refused as refusal:
        form.add_error(field, refusal.message)


def style_fields(form: forms.BaseForm) -> None:
    """Give each control its Bootstrap class, and point it to its help and errors (`components/field.html`)."""
    for name, field in form.fields.items():
        kind = "form-select" if isinstance(field.widget, forms.Select) else "form-control"
        if not isinstance(field.widget, forms.CheckboxSelectMultiple):  # the class would be on the list too
            field.widget.attrs.setdefault("class", kind)
        field.widget.attrs.setdefault("aria-describedby", f"id_{form.add_prefix(name)}_help")


class StyledForm(forms.Form):
    """A form whose controls `style_fields` styles. It comes before another base that is a form."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        style_fields(self)


class FilesInput(forms.ClearableFileInput):
    """An input that takes several files."""

    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Any number of files, as a list."""

    def clean(self, data: Any, initial: Any = None) -> Any:
        files = data if isinstance(data, (list, tuple)) else [data] if data else []
        cleaned = [super(FilesField, self).clean(file, initial) for file in files]
        return cleaned if cleaned or not self.required else super().clean(None, initial)


def bytes_of(upload: "UploadedFile[Any]") -> BinaryIO:
    """The file of an upload. A large one is a temporary file, so that it is never completely in memory."""
    return cast(BinaryIO, upload.file)


class CompareForm(forms.Form):
    """The id of what a page is compared with."""

    other = forms.IntegerField(min_value=1, max_value=2**63 - 1)
