"""Tags for the components that pages share: tables, empty pages, downloads. Others are included by their path."""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any
from urllib.parse import urlencode

from django import template
from django.core.paginator import Page
from django.forms import BaseForm, BoundField
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils.autoreload import file_changed
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from web import pages
from web.links import address_of

register = template.Library()
WITH_WORDS = {"choices", "nav_phase", "site_foot"}  # components whose HTML depends on the language too


@register.simple_block_tag
def table(content: str, label: str = "", style: str = "", caption: str = "", columns: str = "") -> SafeString:
    """A table that scrolls on its own: `{% table "Topics" style="table-sm" %}<thead>…{% endtable %}`.

    On a phone, its headings stay in sight, and so does the cell `<th scope="row">` of each row, which may be the first
    or the second.

    `label` (or else `caption`) names the scrolling region for a screen reader and makes it reachable by keyboard; give
    it to every table that is not stacked. `style` is one or more classes: `stacked` shows each row as a card on a phone
    (with `data-label` on its cells), `narrow-table` is only as wide as its content. `caption` is read aloud, not shown.

    Cells of the class `c2` are shown if the table has 44rem, those of `c3` if it has 56rem. `columns`, a name that is
    unique on the page, makes it so, and adds the link that shows them on smaller screens.
    """
    is_stacked = "stacked" in style.split()
    label = label or ("" if is_stacked else caption)
    context = {"content": content, "label": label, "style": style, "caption": caption, "columns": columns}
    return render_to_string("components/table.html", context)


@register.simple_block_tag
def empty_state(content: str, name: str = "inbox") -> SafeString:
    """The text that a page shows instead of an empty list: what will appear there, and the action that makes it appear.

    `name` is that of an icon.

    `{% empty_state %}<p>No batches yet. <a href="…">Create a batch</a>.</p>{% endempty_state %}`
    """
    return render_to_string("components/empty_state.html", {"content": content, "name": name})


@register.simple_block_tag
def warning(content: str) -> SafeString:
    """A sentence about something to look at: `{% warning %}3 topics have no known item.{% endwarning %}`."""
    return render_to_string("components/warning.html", {"content": content})


@register.simple_block_tag
def menu(content: str, label: str, symbol: str = "") -> SafeString:
    """Links and forms under a button, for what is rarely needed, and for all files of a page.

    `{% menu "More" %}<a href="…">Edit</a>{% endmenu %}`; `{% menu "Download" "download" %}` has an icon. Without links,
    there is no button.
    """
    if not content.strip():
        return SafeString()
    return render_to_string("components/menu.html", {"content": content, "label": label, "symbol": symbol})


@register.filter
def breadcrumb(content: str) -> SafeString:
    """Links to the pages above this one, each in `<li class="breadcrumb-item">`; nothing on a page without any.

    A filter, because Django finds no `block.super` for a block in a tag of its own.
    """
    return (
        render_to_string("components/breadcrumb.html", {"content": content})
        if content.strip()
        else SafeString()
    )


@register.simple_tag
@cache
def icon(name: str) -> SafeString:
    """An icon next to words, one of `server.assets.ICONS`: `{% icon "download" %}`. Screen readers skip it."""
    return format_html(
        '<svg class="i" aria-hidden="true"><use href="{}#{}"/></svg>', static("vendor/icons.svg"), name
    )


@register.filter
def file_name(name: str) -> SafeString:
    """A name that breaks between its words, not inside them, if it is longer than its place."""
    return format_html_join(SafeString("<wbr>"), "{}", ((part,) for part in re.split(r"(?<=_)|(?=\.)", name)))


@register.filter
def fields_with_errors(form: BaseForm | None) -> list[BoundField]:
    """The visible fields of a form that have an error; none of the form that a page lacks."""
    return [field for field in form.visible_fields() if field.errors] if form and form.errors else []


@register.simple_tag(takes_context=True)
def page_of(context: Mapping[str, Any], rows: Sequence[Any]) -> Page[Any]:
    """The rows of a long list that the address asks for: `{% page_of runs as listed %}`, then `pagination.html`."""
    return pages.page_of(rows, context["request"].GET.get("page"))


@register.inclusion_tag("components/digest.html")
def digest(value: str) -> dict[str, str]:
    """A checksum, of which the first eight and the last five characters are shown, with a button that copies all."""
    return {"value": value or ""}


@register.simple_block_tag
def plot(content: str, shown: object) -> SafeString:
    """A plot from `assay.plots` above its caption: `{% plot plot %}…{% endplot %}`. Its page loads `_plots.html`."""
    return render_to_string("components/plot.html", {"content": content, "plot": shown})


@register.simple_tag
def component(name: str, **values: object) -> SafeString:
    """A component whose HTML depends on nothing but its values: `{% component "key" key=keys.skip %}`.

    A page has many of these and each assessor gets the same ones, so each process renders them once for equal values
    in a language.
    """
    hashable = (tuple(value) if isinstance(value, list) else value for value in values.values())
    language = get_language() if name in WITH_WORDS else None
    return _rendered(name, language, tuple(values), *hashable)


@lru_cache(maxsize=1024, typed=True)
def _rendered(name: str, _language: str | None, names: tuple[str, ...], *values: object) -> SafeString:
    return render_to_string(f"components/{name}.html", dict(zip(names, values, strict=True)))


file_changed.connect(lambda **_: _rendered.cache_clear(), weak=False)  # of the server of developers


@register.simple_tag
def download_button(label: str, view_name: str, *args: object) -> SafeString:
    """A button that downloads a file: `{% download_button "TSV" "scoring:qrels_file" qrels.pk %}`."""
    return _download(label, address_of(view_name, *args), "btn btn-plain")


@register.simple_tag
def download_link(label: str, view_name: str, *args: object, **query: str) -> SafeString:
    """A link in a sentence that downloads a file; keywords become its query string."""
    address = address_of(view_name, *args)
    return _download(label, f"{address}?{urlencode(query)}" if query else address, "")


def _download(label: str, address: str, style: str) -> SafeString:
    return format_html(
        '<a{} href="{}" download>{}</a>', format_html(' class="{}"', style) if style else "", address, label
    )
