"""Controls of forms."""

import lxml.html
import pytest
from django import forms
from django.forms.renderers import DjangoTemplates
from django.test import Client
from pytest_django.asserts import assertHTMLEqual

from tests.helpers.factories import make_organizer, make_protocol
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
        forms.Textarea(attrs={"rows": 3}),
        forms.Select(
            attrs={"class": "form-select"},
            choices=[("", "none"), (0, "zero"), ("<'&\">", "<b>"), ("more & more", [("b", "B")])],
        ),
        forms.SelectMultiple(choices=[("", "none"), (0, "zero"), ("b", "B")]),
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


@pytest.mark.django_db
def test_page_lists_the_fields_with_an_error_without_a_script(client: Client) -> None:
    make_protocol("trec-adhoc")
    client.force_login(make_organizer())

    begun = client.get("/tracks/new/")
    refused = client.post("/tracks/new/", {"slug": "!!"})

    (empty,), (listed,) = (
        lxml.html.document_fromstring(page.content).find_class("errors") for page in (begun, refused)
    )
    assert "hidden" in empty.attrib
    assert "hidden" not in listed.attrib
    assert [(link.text, link.get("href")) for link in listed.iter("a")] == [
        ("Name", "#id_name"),
        ("Short name", "#id_slug"),
        ("Protocol", "#id_protocol"),
    ]
