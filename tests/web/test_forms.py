"""Controls of forms."""

import pytest
from django import forms
from django.forms.renderers import DjangoTemplates
from pytest_django.asserts import assertHTMLEqual

from web.forms import PLAIN, Renderer


@pytest.mark.parametrize(
    "widget",
    [
        forms.TextInput(attrs={"required": True, "disabled": False, "title": 'a "b" & <c>'}),
        forms.NumberInput(attrs={"min": 0, "class": "form-control"}),
        forms.EmailInput(),
        forms.DateInput(attrs={"type": "date"}),
        forms.DateTimeInput(attrs={"type": "datetime-local"}),
        forms.HiddenInput(),
    ],
    ids=lambda widget: type(widget).__name__,
)
@pytest.mark.parametrize("value", [None, "", 0, "<'&\">"])
def test_plain_control_is_that_of_django(widget: forms.Widget, value: object) -> None:
    assert widget.template_name in PLAIN
    own, of_django = (
        widget.render("n", value, {"id": "id_n"}, each) for each in (Renderer(), DjangoTemplates())
    )
    assertHTMLEqual(own, of_django)
