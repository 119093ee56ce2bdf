"""The editor of a text in Markdown with its preview: of guidelines, agreements, announcements and pages of the site."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.safestring import mark_safe

from accounts.access import AuthenticatedRequest
from assay.errors import Refused
from tracks.markdown import Rendered, TextChanged, plain_html
from web.forms import StyledForm
from web.pages import FORM_PAGE

MOST_CHARACTERS = 200_000


class MarkdownField(forms.CharField):
    """A text in Markdown, with the line ends of Unix: browsers send those of Windows."""

    def __init__(self, *, rows: int) -> None:
        widget = forms.Textarea(attrs={"rows": rows, "spellcheck": "true"})
        super().__init__(
            label="Markdown", max_length=MOST_CHARACTERS, required=False, strip=False, widget=widget
        )

    def clean(self, value: object) -> str:
        return str(super().clean(value)).replace("\r\n", "\n").replace("\r", "\n")


class MarkdownForm(StyledForm):
    """A text in Markdown; `revision` is the one that the page showed."""

    text = MarkdownField(rows=20)
    revision = forms.IntegerField(widget=forms.HiddenInput, min_value=0, max_value=2**31 - 1)


class Done(NamedTuple):
    """The message about what a button did, and the address of the next page."""

    message: str
    address: str


class Button(NamedTuple):
    """A button of an editor. `press` gets the values of the form; without it, the page only shows the preview."""

    action: str
    label: str
    press: Callable[..., Done] | None = None
    style: str = "btn-primary"


PREVIEW = Button("preview", "Preview", style="btn-plain")


def _rendered(text: str) -> Rendered:
    return Rendered(mark_safe(plain_html(text)))  # noqa: S308  sanitized


def editor(
    request: AuthenticatedRequest,
    form: MarkdownForm,
    buttons: Sequence[Button],
    page: Mapping[str, object],
    *,
    template: str = "tracks/editor.html",
    rendered: Callable[[str], Rendered] = _rendered,
) -> HttpResponse:
    """Show a text and its preview, or do what the pressed button does. `form` has the stored text as its initial.

    After `TextChanged`, the next press of the button replaces the other text.
    """
    status = 200
    if request.method == "POST":
        form = type(form)(request.POST)
        pressed = {button.action: button.press for button in buttons}.get(request.POST.get("action", ""))
        if not form.is_valid():
            status = 422
        elif pressed:
            try:
                message, address = pressed(**form.cleaned_data)
            except Refused as refusal:
                form.add_error(None, refusal.message)
                status = 409
                if isinstance(refusal, TextChanged):
                    form.data = request.POST.copy()
                    form.data["revision"] = str(refusal.revision)
            else:
                messages.success(request, message)
                return redirect(address)
    preview = rendered(str(form["text"].value() or ""))
    context = {"layout": "tracks/base.html", "form": form, "buttons": buttons, "preview": preview}
    return render(request, template, FORM_PAGE | context | dict(page), status=status)
